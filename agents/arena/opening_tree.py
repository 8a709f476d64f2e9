"""How an agent opens: the tree of the moves that it likes first, with their shares and values.

Values are always South's, the first player's: +1 South wins, -1 North wins. (Agents see the mover's
view; a tree that is read from top to bottom needs one view for all its plies.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from agents.base import Agent
from agents.plots import Block
from oware_env.batch import fill_statuses, play_rows
from oware_env.errors import OwareError
from oware_env.notation import format_moves, move_letter
from oware_env.positions import Decisions, Positions, game_keys
from oware_env.rules import Rules, initial_board, require_abapa
from oware_env.state import State

MOST_PLIES = 40  # of a tree: beyond it little but single lines is left
ROUNDING = 1 - 1e-6  # policies are float32: their products miss a bound by less


class OpeningLine(NamedTuple):
    """One line of a tree, as a table shows it."""

    line: str  # its moves as letters
    frequency: float
    value: float  # South's
    games: int
    replies: str  # the moves that follow it in the tree, with their shares


class Level(NamedTuple):
    """The K lines of one length; the fields are those of :class:`OpeningTree`."""

    parents: np.ndarray
    moves: np.ndarray
    frequencies: np.ndarray
    values: np.ndarray
    games: np.ndarray


class OpeningTree(NamedTuple):
    """N lines of play from the start position, ply by ply; node 0 is the start itself.

    The lines of one length stand in the order of their parents, houses A to F below each.
    """

    source: str  # whose tree it is
    rules: Rules
    parents: np.ndarray  # int64[N], node the last move was made in; -1 for node 0
    moves: np.ndarray  # int64[N], that move 0-5; -1 for node 0
    plies: np.ndarray  # int64[N], length of the line
    frequencies: np.ndarray  # float64[N], share of games that begin like this
    values: np.ndarray  # float64[N], South's; NaN where there is none, as when a game is over
    games: np.ndarray  # int64[N], games that were counted; 0 in a tree of a policy

    def line(self, node: int) -> str:
        """The moves that lead to a node as letters, such as ``"FfEc"``."""
        moves: list[int] = []
        while node > 0:
            moves.append(int(self.moves[node]))
            node = int(self.parents[node])
        return format_moves(moves[::-1], south_to_move=True)

    def state(self, node: int) -> State:
        """The state at a node."""
        state = State.initial(self.rules)
        for letter in self.line(node):
            state = state.play(letter)
        return state

    def children(self, node: int) -> np.ndarray:
        """The lines one move longer, the most frequent first, int64[K]."""
        found = np.flatnonzero(self.parents == node)
        return found[np.argsort(-self.frequencies[found], kind="stable")]

    def main_line(self) -> list[int]:
        """Node 0 and, from ply to ply, the most frequent move, to where the tree ends."""
        nodes = [0]
        while len(children := self.children(nodes[-1])):
            nodes.append(int(children[0]))
        return nodes

    def letters(self) -> list[str]:
        """The last move of each line as a letter; ``""`` for node 0."""
        moves = zip(self.moves.tolist(), self.plies.tolist(), strict=True)
        return [move_letter(move, ply % 2 == 1) if ply else "" for move, ply in moves]

    def lefts(self) -> np.ndarray:
        """Where each line begins in a picture that lays all of one length side by side, float64[N].

        Each takes its frequency and lies within its parent's place: in [0, 1].
        """
        found, taken = np.zeros(len(self.moves)), np.zeros(len(self.moves))
        for node, parent in enumerate(self.parents.tolist()[1:], 1):
            found[node] = found[parent] + taken[parent]
            taken[parent] += self.frequencies[node]
        return found

    def rows(self, ply: int | None = None) -> list[OpeningLine]:
        """All lines, or those of one length, the most frequent first: for a table."""
        nodes = np.flatnonzero(self.plies > 0 if ply is None else self.plies == ply)
        nodes = nodes[np.argsort(-self.frequencies[nodes], kind="stable")]
        return [self._row(node) for node in nodes.tolist()]

    def _row(self, node: int) -> OpeningLine:
        whole, south = self.frequencies[node], int(self.plies[node]) % 2 == 0
        replies = [
            f"{move_letter(int(self.moves[child]), south)} {self.frequencies[child] / whole:.0%}"
            for child in self.children(node)
        ]
        value, games = float(self.values[node]), int(self.games[node])
        return OpeningLine(self.line(node), float(whole), value, games, ", ".join(replies))


def opening_tree(
    agent: Agent, plies: int, least: float = 0.02, rules: Rules = Rules()
) -> OpeningTree:
    """The lines of up to ``plies`` moves that come up in at least a ``least`` share of games.

    That is if both sides drew their moves in proportion to the agent's policy: of a network the
    shares it gives, of a search those of its visits. Values are the agent's. It is asked once a
    ply, about all positions together. Raises OwareError when ``plies`` or ``least`` is of no use.
    """
    check_size(plies, least)
    boards, frequencies = initial_board()[None], np.ones(1)
    parents = moves = np.array([-1])
    levels: list[Level] = []
    first = 0  # node of the first board
    for ply in range(plies + 1):
        running = _running(boards, ply, require_abapa(rules))
        values, policy = np.full(len(boards), np.nan), np.zeros((0, 6))
        if len(running):
            decisions = _decide(agent, boards[running], ply, first + running)
            values[running] = decisions.value if ply % 2 == 0 else -decisions.value
            policy = decisions.policy.astype(np.float64)
        levels.append(Level(parents, moves, frequencies, values, np.zeros(len(boards), np.int64)))
        shares = frequencies[running, None] * policy
        rows, moves = (shares >= least * ROUNDING).nonzero()
        if ply == plies or not len(rows):
            break
        parents, frequencies = first + running[rows], shares[rows, moves]
        first += len(boards)
        boards = _after(boards[running[rows]], ply, moves, rules)
    return join_levels(agent.name, rules, levels)


def blocks(tree: OpeningTree) -> list[Block]:
    """The lines as :func:`agents.plots.openings` draws them.

    Raises OwareError when there is none.
    """
    if len(tree.moves) == 1:
        raise OwareError(f"the opening tree of {tree.source} has no line: give it a smaller least")
    lefts, letters = tree.lefts().tolist(), tree.letters()
    return [
        Block(
            lefts[node],
            float(tree.frequencies[node]),
            int(tree.plies[node]),
            float(tree.values[node]),
            letters[node],
        )
        for node in range(1, len(letters))
    ]


def join_levels(source: str, rules: Rules, levels: Sequence[Level]) -> OpeningTree:
    """The tree of its lines of length 0, 1, 2 ..."""
    plies = np.repeat(np.arange(len(levels)), [len(level.moves) for level in levels])
    parents, moves, *rest = (np.concatenate(arrays) for arrays in zip(*levels, strict=True))
    return OpeningTree(source, rules, parents, moves, plies, *rest)


def check_size(plies: int, least: float) -> None:
    """Raise OwareError when a tree cannot be of so many plies or have such a bound."""
    if isinstance(plies, bool) or not isinstance(plies, int) or not 1 <= plies <= MOST_PLIES:
        raise OwareError(f"plies must be a whole number from 1 to {MOST_PLIES}, not {plies!r}")
    if not 0 < least <= 1:
        raise OwareError(f"least must be a share above 0 and at most 1, not {least!r}")


def _running(boards: np.ndarray, ply: int, rules: Rules) -> np.ndarray:
    """The rows of boards that are not over, int64[K]."""
    statuses = np.empty(len(boards), np.int16)
    fill_statuses(boards, np.full(len(boards), ply, np.int32), rules.max_plies, statuses)
    return np.flatnonzero(statuses < 64)


def _decide(agent: Agent, boards: np.ndarray, ply: int, nodes: np.ndarray) -> Decisions:
    """The agent's decisions at one ply; each node is a game of its own."""
    keys = game_keys(np.uint64(0), nodes)
    return agent.decide(Positions(boards, np.full(len(boards), ply, np.int32), keys))


def _after(boards: np.ndarray, ply: int, moves: np.ndarray, rules: Rules) -> np.ndarray:
    """The boards after a move in each; the boards given change too."""
    plies, statuses = np.full(len(boards), ply, np.int32), np.empty(len(boards), np.int16)
    play_rows(boards, plies, moves.astype(np.int8), rules.max_plies, statuses)
    return boards
