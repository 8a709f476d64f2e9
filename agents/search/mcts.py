"""Monte-Carlo tree search over many games in lock-step, guided by an evaluator.

``Search`` runs the simulations and hands back visit counts. Self-play adds noise at the root and
temperature to the choice; how matches are played is in :mod:`agents.search.match_play`.
"""

import time as clock
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from agents.base import Evaluator
from agents.search.confidence import lower_bounds
from agents.search.exploration import Exploration, as_exploration
from agents.search.kept_trees import Kept, KeptTrees, pack_trees
from agents.search.roots import (
    add_root_noise,
    is_settled,
    prove_roots,
    read_roots,
    root_priors,
)
from agents.search.rounds import Leaves, expand, new_leaves, select
from agents.search.transpositions import slots_for
from agents.search.tree import Tree, new_tree, plant
from agents.tablebase.probe import TableArrays
from oware_env.errors import OwareError, as_integer, shown
from oware_env.positions import Positions
from oware_env.rules import Rules, require_abapa

MOST_SIMULATIONS = 1 << 20  # of one move: a tree of 128 MB
SLICE = 8  # simulations between two looks at the clock
# A tree has room for the root, a node a simulation, and six moves that a table may decide.
SPARE_NODES = 7


class SearchResult(NamedTuple):
    """What the search of B positions found."""

    visits: np.ndarray  # int32[B, 6]; sums to the simulations but for moves proved to lose
    values: np.ndarray  # float32[B], mean value of the root for the mover; exact when proved
    priors: np.ndarray  # float32[B, 6], the evaluator's policy at the root, noise included


class Limits(NamedTuple):
    """How far a search goes; see :func:`agents.search.rounds.select`."""

    games: int
    simulations: int
    exploration: Exploration
    endings: tuple[int, TableArrays | None]


@runtime_checkable
class GrowingEvaluator(Protocol):
    """An evaluator that can run the rounds of a search by itself, compiled."""

    def grow(self, tree: Tree, leaves: Leaves, limits: Limits) -> int:
        """Select, judge, expand until all games are done; the first leaf judged NaN, or -1."""
        ...


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
        exploration: float | Exploration = Exploration(),
        table: TableArrays | None = None,
    ) -> None:
        count = as_integer(simulations)
        if count is None or count < 1:
            raise OwareError(f"a search needs at least 1 simulation, not {shown(simulations)}")
        if count > MOST_SIMULATIONS:
            raise OwareError(
                f"a search takes at most {MOST_SIMULATIONS:,} simulations, not {shown(simulations)}"
            )
        self.evaluator = evaluator
        self.rules = require_abapa(rules)
        self.simulations = count
        self.exploration = as_exploration(exploration)
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
            slots = slots_for(room) if self.exploration.transpositions else 0
            self._tree = new_tree(games, room, slots)
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
        limits = Limits(len(keys), simulations, self.exploration, self._endings)
        if isinstance(self.evaluator, GrowingEvaluator):
            self._refuse_nan(self.evaluator.grow(self._tree, self._leaves, limits))
            return
        while count := select(self._tree, *limits, self._leaves):
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
        self._refuse_nan(expand(self._tree, self._leaves, count, logits, values))

    def _refuse_nan(self, row: int) -> None:
        """Raise ValueError when ``row`` of the leaves, -1 for none, was judged NaN."""
        if row >= 0:
            board, ply = self._leaves.boards[row].tolist(), self._leaves.plies[row]
            raise ValueError(f"the evaluator returned NaN for board {board} at ply {ply}")
