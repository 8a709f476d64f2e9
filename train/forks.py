"""Forks: late positions of a unit's games from which another move than the one played is tried.

Between the full board and the table of endgames a game shows one line, that which the search likes
best, so a network hardly learns what comes after a mistake there. A fork begins at such a position
with a move that the game did not make, drawn from the policy, and goes on like any game: searched,
noted and ended as ever. With the table near, the search knows well what these positions are worth.

After the forks of KataGo's self-play (Wu 2019, "Accelerating self-play learning in Go", appendix).
"""

import numpy as np

from agents.base import Evaluator
from agents.policy import draw_moves
from agents.trained import PolicyAgent
from oware_env.kernel import kernel
from oware_env.lockstep import Lockstep
from oware_env.positions import DRAW_FORK, Positions, random_bits
from train.config import Config

ABOVE = 6  # seeds over those of the table, at most, where a fork begins
LEAST_CHANCE = 1e-3  # added to that of each move: one that was not played always has some


@kernel
def _lots(keys, plies):
    """A number drawn for each position, uint64[B]."""
    lots = np.empty(len(keys), np.uint64)
    for row in range(len(keys)):
        lots[row] = random_bits(keys[row], plies[row], DRAW_FORK, 0)
    return lots


class Forks:
    """The forks of the games of one unit: ``look`` at every ply, ``begin`` them once it is over."""

    def __init__(self, config: Config, evaluator: Evaluator) -> None:
        self._rules, self._times = config.rules, config.selfplay.forks
        self._most = config.selfplay.table + ABOVE
        self._agent = PolicyAgent(evaluator, "forks")
        self._seen: list[tuple[np.ndarray, ...]] = []

    def look(self, games: Lockstep, moves: np.ndarray) -> None:
        """Note where a fork might begin: running games of few seeds, about to make these moves."""
        boards, plies, keys = games.positions()
        has_choice = np.bitwise_count(games.statuses) > 1
        rows = (boards[:, :12].sum(axis=1) <= self._most) & has_choice
        columns = boards, plies, keys, games.south_to_move, games.games, moves
        self._seen.append(tuple(column[rows].copy() for column in columns))

    def begin(self) -> tuple[Lockstep, np.ndarray]:
        """The forks, their first moves made, and the number of the game that each comes from."""
        boards, plies, keys, south, origins, moves = self._drawn()
        keys = _lots(keys, plies)  # a game of its own
        positions = Positions(boards, plies, keys)
        games = Lockstep(positions, south, self._rules)
        is_legal = games.statuses[:, None] >> np.arange(6) & 1
        weights = self._agent.decide(positions).policy + LEAST_CHANCE * is_legal
        weights[np.arange(len(moves)), moves] = 0.0
        games.play(draw_moves(weights, keys, plies, np.ones(len(plies))))
        return games, origins

    def _drawn(self) -> list[np.ndarray]:
        """The columns of what was seen, for up to so many positions of each game, by lot."""
        columns = [np.concatenate(parts) for parts in zip(*self._seen, strict=True)]
        _, plies, keys, _, origins, _ = columns
        order = np.lexsort((_lots(keys, plies), origins))
        sorted_ = origins[order]
        places = np.arange(len(order)) - np.searchsorted(sorted_, sorted_)
        rows = np.sort(order[places < self._times])
        return [column[rows] for column in columns]
