"""How games began: openings drawn from an agent's policy, and the tree of what was played."""

from typing import NamedTuple, final

import numpy as np

from agents.arena.match import Games, pair_count, play_openings
from agents.arena.opening_tree import ROUNDING, Level, OpeningTree, check_size, join_levels
from agents.arena.openings import Openings
from agents.arena.ratings import score_interval
from agents.base import Agent
from agents.policy import draw_moves
from oware_env.errors import OwareError
from oware_env.notation import parse_moves
from oware_env.positions import Decisions, Positions
from oware_env.rules import Rules, initial_board


class LineResult(NamedTuple):
    """How the games that began with a line ended for South: -1 all lost, +1 all won."""

    line: str
    games: int
    result: float  # wins minus losses over the games
    low: float  # its 95 % interval, as if games were independent
    high: float


@final
class Drawing:
    """Draws its moves in proportion to another agent's policy ** (1 / temperature).

    Only in the first ``plies`` of a game; from then on it plays as the other does.
    """

    def __init__(self, agent: Agent, plies: int, temperature: float = 1.0) -> None:
        """Raises OwareError when the temperature is not above 0 or ``plies`` is negative."""
        if not 0 < temperature < np.inf:
            raise OwareError(f"a temperature must be a number above 0, not {temperature!r}")
        if plies < 0:
            raise OwareError(f"plies must be 0 or more, not {plies!r}")
        self.agent, self.plies, self.temperature = agent, plies, temperature
        self.name = f"{agent.name}, drawn for {plies} plies"

    def decide(self, positions: Positions) -> Decisions:
        """The other's decisions, with drawn moves in the first plies."""
        decisions = self.agent.decide(positions)
        exponents = np.full(len(positions.plies), 1 / self.temperature)
        drawn = draw_moves(decisions.policy, positions.keys, positions.plies, exponents)
        return decisions._replace(
            moves=np.where(positions.plies < self.plies, drawn, decisions.moves)
        )


def play_from_start(agent: Agent, games: int, seed: int = 0, rules: Rules = Rules()) -> Games:
    """Games of an agent against itself, all from the start position and in lock-step.

    They differ as far as the agent draws its moves: see :class:`Drawing`. Raises OwareError when
    the number of games is not even and positive.
    """
    pairs = pair_count(games)
    start = Openings(np.tile(initial_board(), (pairs, 1)), np.empty((pairs, 0), np.int8))
    return play_openings((agent, agent), start, seed=seed, rules=rules).games


def played_tree(
    games: Games, plies: int, least: float = 0.02, source: str = "games", rules: Rules = Rules()
) -> OpeningTree:
    """The lines of up to ``plies`` moves that at least a ``least`` share of games began with.

    Values are mean results, South's wins minus its losses over the games. ``rules`` are those that
    were played. Raises OwareError when ``plies`` or ``least`` is of no use, or there is no game.
    """
    check_size(plies, least)
    total = len(games.plies)
    if not total:
        raise OwareError("an opening tree needs games, and there are none")
    results = south_results(games)
    top = np.array([-1])
    levels = [Level(top, top, np.ones(1), np.array([results.mean()]), np.array([total]))]
    nodes = np.zeros(total, np.int64)  # where each game stands, -1 where it left the tree
    first = 1  # node of the next level's first line
    for ply in range(min(plies, games.moves.shape[1])):
        going = ((nodes >= 0) & (games.plies > ply)).nonzero()[0]
        steps = 6 * nodes[going] + games.moves[going, ply]
        found, lines, counts = np.unique(steps, return_inverse=True, return_counts=True)
        means = np.bincount(lines, results[going], len(found)) / counts
        kept = counts >= least * total * ROUNDING
        if not kept.any():
            break
        step, count = found[kept], counts[kept]
        levels.append(Level(step // 6, step % 6, count / total, means[kept], count))
        numbers = np.where(kept, first + np.cumsum(kept) - 1, -1)
        nodes[:] = -1
        nodes[going] = numbers[lines]
        first += len(step)
    return join_levels(source, rules, levels)


def line_results(tree: OpeningTree, games: Games, ply: int) -> list[LineResult]:
    """The lines of one length in the tree of these games, the most frequent first, with intervals.

    Games that draw their moves from the start on are independent of each other. See
    :func:`agents.arena.ratings.score_interval`.
    """
    points = (south_results(games) + 1) / 2
    found = []
    for row in tree.rows(ply):
        moves = parse_moves(row.line, south_to_move=True)
        own = points[(games.moves[:, :ply] == moves).all(axis=1)]
        low, high = score_interval(own)
        found.append(LineResult(row.line, len(own), 2 * own.mean() - 1, 2 * low - 1, 2 * high - 1))
    return found


def south_results(games: Games) -> np.ndarray:
    """1 where South won, 0 for a draw, -1 where it lost: int64[G]."""
    scores = games.scores.astype(np.int64)
    return np.sign(scores[:, 0] - scores[:, 1])
