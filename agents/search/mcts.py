"""Monte-Carlo tree search over many games in lock-step, guided by an evaluator.

``Search`` runs the simulations and hands back visit counts; ``Mcts`` is the agent that plays by
them, with the means of match play: a time a move, trees kept between moves, confidence bounds.
Self-play adds noise at the root and temperature to the choice.
"""

import time as clock
from typing import NamedTuple

import numpy as np

from agents.base import Evaluator
from agents.policy import draw_moves
from agents.search.confidence import highest_bounds, lower_bounds
from agents.search.kept_trees import MOST_KEPT, Kept, KeptTrees, pack_trees
from agents.search.roots import add_root_noise, is_settled, read_roots, root_priors
from agents.search.tree import (
    Leaves,
    Tree,
    expand,
    new_leaves,
    new_tree,
    plant,
    prove_roots,
    select,
)
from agents.tablebase.probe import TableArrays
from oware_env.errors import OwareError
from oware_env.positions import Decisions, Positions
from oware_env.rules import Rules, require_abapa

EXPLORATION = 1.25  # the constant of PUCT, as in AlphaZero's supplement; noisy values want it
MOST_SIMULATIONS = 1 << 20  # of one timed move: a tree of 128 MB
SLICE = 8  # simulations between two looks at the clock
# A tree has room for the root, a node a simulation, and six moves that a table may decide.
SPARE_NODES = 7
# How a move is chosen; the first is usual: it scored 58 % (docs/match_play.md).
CHOICES = ("lcb", "visits")


class SearchResult(NamedTuple):
    """What the search of B positions found."""

    visits: np.ndarray  # int32[B, 6]; sums to the simulations but for moves proved to lose
    values: np.ndarray  # float32[B], mean value of the root for the mover; exact when proved
    priors: np.ndarray  # float32[B, 6], the evaluator's policy at the root, noise included


class Search:
    """Searches batches of positions with a fixed number of simulations each.

    With a ``table`` of endgames, positions that it decides are leaves with their exact value;
    results that are certain climb the tree, moves that are proved to lose are no longer tried,
    and a search ends as soon as its root is proved.

    The trees' memory is kept between calls; no knowledge is, so a call's result depends on its
    arguments alone.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        rules: Rules = Rules(),
        *,
        simulations: int,
        exploration: float = EXPLORATION,
        table: TableArrays | None = None,
    ) -> None:
        if simulations < 1:
            raise OwareError(f"a search needs at least 1 simulation, not {simulations}")
        if not 0.0 <= exploration < np.inf:
            raise OwareError(f"exploration must be a number of at least 0, not {exploration}")
        self.evaluator = evaluator
        self.rules = require_abapa(rules)
        self.simulations = simulations
        self.exploration = float(exploration)
        self._endings = rules.max_plies, table
        self._tree: Tree = new_tree(0, 1)
        self._leaves: Leaves = new_leaves(0)

    def run(self, positions: Positions, noise: float = 0.0) -> SearchResult:
        """Search B running positions; ``noise`` is the share of random noise in the root priors.

        Raises ValueError when a position is over or the evaluator returns NaN.
        """
        self.begin(positions)
        if noise > 0.0:
            add_root_noise(self._tree, positions.keys, noise)
        self.grow(positions.keys, self.simulations)
        return self.read(len(positions.plies))

    def begin(self, positions: Positions, known: KeptTrees | None = None) -> None:
        """Start the trees of B running positions, from what is ``known`` of them if anything.

        A tree takes over as many nodes as a search makes, at most.
        """
        games, own = len(positions.plies), self.simulations + SPARE_NODES
        room = own if known is None else 2 * own
        if games > len(self._leaves.games) or room > self._tree.ints.shape[1]:
            self._tree = new_tree(games, room)
            self._leaves = new_leaves(games)
        tree, leaves = self._tree, self._leaves
        over = plant(tree, positions.boards, positions.plies, self._endings, leaves)
        if over >= 0:
            raise ValueError(f"row {over}: the game is over, there is nothing to search")
        count = games
        if known is not None:
            rows = np.flatnonzero(~known.graft(tree, positions, own))
            count = len(rows)
            leaves.games[:count], leaves.boards[:count] = rows, positions.boards[rows]
            leaves.plies[:count] = positions.plies[rows]
        if count:
            self._judge(count, positions.keys)
        if self._endings[1] is not None:
            prove_roots(tree, games, self._endings)

    def grow(self, keys: np.ndarray, simulations: int) -> None:
        """Run the games on until each has finished ``simulations`` since it was begun."""
        tree, leaves = self._tree, self._leaves
        games, exploration = len(keys), self.exploration
        while count := select(tree, games, simulations, exploration, self._endings, leaves):
            self._judge(count, keys)

    def grow_until(self, keys: np.ndarray, deadline: float) -> None:
        """Run the games on until ``perf_counter`` says ``deadline``, by SLICE simulations at least.

        Ends early with all simulations done, or when no root has a choice any more.
        """
        done = 0
        while done < self.simulations:
            done = min(done + SLICE, self.simulations)
            self.grow(keys, done)
            if clock.perf_counter() >= deadline or is_settled(self._tree, len(keys)):
                break

    def read(self, games: int) -> SearchResult:
        """What the trees of the first ``games`` games say."""
        visits, values = np.empty((games, 6), np.int32), np.empty(games, np.float32)
        read_roots(self._tree, self.simulations, self.exploration, visits, values)
        return SearchResult(visits, values, root_priors(self._tree, games))

    def bounds(self, visits: np.ndarray) -> np.ndarray:
        """Lower confidence bounds float32[B, 6] of the moves with ``visits``, as read."""
        return lower_bounds(self._tree, visits)

    def pack(self, keys: np.ndarray, most: int) -> Kept:
        """A copy of the trees of the games named by ``keys``, of at most ``most`` nodes each."""
        return pack_trees(self._tree, keys, most)

    def _judge(self, count: int, keys: np.ndarray) -> None:
        """Have the packed leaves evaluated and put what came back into the trees."""
        games, boards, plies = (array[:count] for array in self._leaves)
        logits, values = self.evaluator(Positions(boards, plies, keys[games]))
        if logits.shape != (count, 6) or values.shape != (count,):
            raise ValueError(
                f"the evaluator answered {count} positions with logits {logits.shape} and values "
                f"{values.shape}; they must be ({count}, 6) and ({count},)"
            )
        row = expand(self._tree, self._leaves, count, logits, values)
        if row >= 0:
            raise ValueError(
                f"the evaluator returned NaN for board {boards[row].tolist()} at ply {plies[row]}: "
                f"logits {logits[row].tolist()}, value {values[row]}"
            )


class MatchPlay(NamedTuple):
    """How a tree search plays. ``str()`` gives the parameters of a spec."""

    sims: int | None = None  # simulations a move; exactly one of this and the next is given
    time: float | None = None  # seconds a move and position
    reuse: bool = False  # keep the trees from move to move
    choice: str = CHOICES[0]  # of the move; see Mcts

    def __str__(self) -> str:
        limit = f"sims={self.sims}" if self.time is None else f"time={self.time:.10g}"
        kept = ",reuse=yes" if self.reuse else ""
        return limit + kept + (f",choice={self.choice}" if self.choice != CHOICES[0] else "")


class Mcts:
    """The agent: search, then the move with the highest lower confidence bound (``confidence.py``).

    With ``choice="visits"`` it is the most visited move. Ties are broken at random from the
    game's key.

    With a ``time`` each position gets so many seconds of its own, one position after another, as
    from alpha-beta: what an agent finds does not depend on how many games are played side by side,
    but nothing is gained from batches either. A position where there is no choice takes less, and
    the simulations of the search are the limit of its memory.

    With ``reuse`` the agent keeps its trees from move to move, **by key**: a position found below
    the tree of its key, at most two plies on, starts with the part of the tree that is left, up to
    as many nodes as a search makes. Simulations are counted as without: a move costs the same and
    knows more. Decisions then depend on the calls before. Games that did not come in the last two
    calls are forgotten, and each call keeps at most MOST_KEPT nodes, shared out evenly.
    """

    def __init__(
        self,
        search: Search,
        name: str,
        *,
        time: float | None = None,
        reuse: bool = False,
        choice: str = CHOICES[0],
    ) -> None:
        """Raises OwareError when ``time`` is no number above 0 or ``choice`` is unknown."""
        is_number = isinstance(time, int | float) and not isinstance(time, bool)
        if time is not None and not (is_number and 0 < time < np.inf):
            raise OwareError(f"a search's time must be a number of seconds above 0, not {time!r}")
        if choice not in CHOICES:
            raise OwareError(f"choice must be one of {', '.join(CHOICES)}, not {choice!r}")
        self.search = search
        self.name = name
        self.time = time
        self.choice = choice
        self._known = KeptTrees() if reuse else None

    def decide(self, positions: Positions) -> Decisions:
        """Moves, policy = share of visits, value = mean value of the root."""
        games = len(positions.plies)
        policy, values = np.empty((games, 6), np.float32), np.empty(games, np.float32)
        answers = Decisions(np.empty(games, np.int8), policy, values)
        kept: list[Kept] = []
        together = games if self.time is None else 1
        for start in range(0, games, together or 1):
            part = slice(start, start + together)
            asked = Positions(*(array[part] for array in positions))
            for whole, found in zip(answers, self._search(asked), strict=True):
                whole[part] = found
            if self._known is not None:
                kept.append(self.search.pack(asked.keys, MOST_KEPT // games))
        if self._known is not None:
            self._known.add_call(kept)
        return answers

    def _search(self, positions: Positions) -> Decisions:
        """Search positions together and choose."""
        keys, search = positions.keys, self.search
        deadline = clock.perf_counter() + (self.time or 0.0)
        search.begin(positions, self._known)
        if self.time is None:
            search.grow(keys, search.simulations)
        else:
            search.grow_until(keys, deadline)
        visits, values, _ = search.read(len(keys))
        if self.choice == "lcb":
            moves = highest_bounds(search.bounds(visits), visits, keys, positions.plies)
        else:
            most = (visits == visits.max(axis=1, keepdims=True)).astype(np.int32)
            moves = draw_moves(most, keys, positions.plies, np.ones(len(most)))
        policy = visits / visits.sum(axis=1, keepdims=True, dtype=np.float32)
        return Decisions(moves, policy.astype(np.float32), values)


def match_player(
    evaluator: Evaluator,
    rules: Rules,
    play: MatchPlay,
    *,
    exploration: float = EXPLORATION,
    table: TableArrays | None = None,
) -> Mcts:
    """The agent that searches with an evaluator as ``play`` says, named after it.

    Raises OwareError when not exactly one of ``sims`` and ``time`` is given, or a value is wrong.
    """
    sims, time, reuse, choice = play
    if (sims is None) == (time is None):
        raise OwareError(
            f"a tree search needs exactly one of sims and time, such as sims=64 or time=0.1, "
            f"not sims={sims} and time={time}"
        )
    simulations = MOST_SIMULATIONS if sims is None else sims
    search = Search(evaluator, rules, simulations=simulations, exploration=exploration, table=table)
    return Mcts(search, str(play), time=time, reuse=reuse, choice=choice)
