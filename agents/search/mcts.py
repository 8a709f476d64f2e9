"""Monte-Carlo tree search over many games in lock-step, guided by an evaluator.

``Search`` runs the simulations and hands back visit counts; ``Mcts`` is the agent that plays the
most visited move. Self-play adds noise at the root and temperature to the choice.
"""

from typing import NamedTuple

import numpy as np

from agents.base import Evaluator
from agents.policy import draw_moves
from agents.search.roots import add_root_noise, read_roots, root_priors
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

    def run(
        self,
        positions: Positions,
        noise: float | np.ndarray = 0.0,
        simulations: np.ndarray | None = None,
    ) -> SearchResult:
        """Search B running positions; ``noise`` is the share of random noise in the root priors.

        It may be one number or float64[B]. ``simulations``, integers [B], are those of each
        position where they are not all the search's own, at most as many and at least 1; visits of
        a root that is proved sum to the search's own even so.

        Raises ValueError when a position is over, is given too many simulations or none, or the
        evaluator returns NaN.
        """
        games = len(positions.plies)
        if games > len(self._leaves.games):
            # The root, a node a simulation, and six moves of the root that a table may decide.
            self._tree = new_tree(games, self.simulations + 7)
            self._leaves = new_leaves(games)
        tree, leaves = self._tree, self._leaves
        over = plant(tree, positions.boards, positions.plies, self._endings, leaves)
        if over >= 0:
            raise ValueError(f"row {over}: the game is over, there is nothing to search")
        if simulations is not None:
            _give_simulations(tree, games, self.simulations, simulations)
        self._judge(games, positions.keys)
        if self._endings[1] is not None:
            prove_roots(tree, games, self._endings)
        if np.any(noise):
            add_root_noise(tree, positions.keys, np.full(games, noise, np.float64))
        while True:
            count = select(tree, games, self.simulations, self.exploration, self._endings, leaves)
            if count == 0:
                break
            self._judge(count, positions.keys)
        visits, values = np.empty((games, 6), np.int32), np.empty(games, np.float32)
        read_roots(tree, self.simulations, self.exploration, visits, values)
        return SearchResult(visits, values, root_priors(tree, games))

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


def _give_simulations(tree: Tree, games: int, most: int, given: np.ndarray) -> None:
    """Let each tree end after its own simulations: what it is not given of ``most`` counts as done.

    Raises ValueError when one is given more, or none.
    """
    if not np.all((given >= 1) & (given <= most)):
        raise ValueError(f"simulations must be from 1 to the search's {most}, not {given}")
    tree.simulations[:games] = most - given


class Mcts:
    """The agent: search, then the most visited move, ties at random from the game's key."""

    def __init__(self, search: Search, name: str) -> None:
        self.search = search
        self.name = name

    def decide(self, positions: Positions) -> Decisions:
        """Moves by visit count, policy = share of visits, value = mean value of the root."""
        result = self.search.run(positions)
        most = (result.visits == result.visits.max(axis=1, keepdims=True)).astype(np.int32)
        even = np.ones(len(most))
        moves = draw_moves(most, positions.keys, positions.plies, even)
        policy = result.visits / result.visits.sum(axis=1, keepdims=True, dtype=np.float32)
        return Decisions(moves, policy.astype(np.float32), result.values)
