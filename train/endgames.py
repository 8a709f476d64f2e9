"""A table of endgames in self-play: games it decides are ended, the search looks into it.

The modes of ``selfplay.endgames``: ``none`` leaves the games as they are; ``adjudicate`` ends a
game as soon as the table proves its result, but for a share that is played on so that endgames
are still seen; ``search`` makes positions that the table decides leaves of the search; ``both``
does both. With a table finished games are rescored (:func:`train.samples.rescore`), unless
``selfplay.rescore`` is off.
"""

from typing import final

import numpy as np

from agents.tablebase.probe import TableArrays, Tablebase, open_table
from oware_env.kernel import kernel
from oware_env.lockstep import Lockstep
from oware_env.positions import DRAW_OPENING, Positions, random_bits, to_unit
from oware_env.rules import SEEDS
from train.config import Config
from train.samples import Bounds


@kernel
def draw_played_on(keys, share):
    """Which games are played on to their end, bool[G]: a ``share`` of them, drawn from their keys.

    It is the second number that a game draws for its opening; the first is its first move.
    """
    played_on = np.empty(len(keys), np.bool_)
    for game in range(len(keys)):
        played_on[game] = to_unit(random_bits(keys[game], 0, DRAW_OPENING, 1)) < share
    return played_on


def final_bounds(table: Tablebase, positions: Positions, max_plies: int) -> Bounds:
    """What the table proves of B positions: their stores and the bounds of what is to come."""
    low, high = table.bounds(positions, max_plies)
    ahead = positions.boards[:, 12] - positions.boards[:, 13]
    return Bounds(ahead + low, ahead + high)


def sure_scores(bounds: Bounds, south_to_move: np.ndarray) -> np.ndarray:
    """Totals (South, North), int16[B, 2], that each side is sure of.

    They sum to 48 where the bounds are equal. A side that is proved to win has more.
    """
    mover = (SEEDS + bounds.least.astype(np.int16)) // 2
    opponent = (SEEDS - bounds.greatest.astype(np.int16)) // 2
    scores = np.stack((mover, opponent), axis=1)
    return np.where(south_to_move[:, None], scores, scores[:, ::-1])


@final
class Endgames:
    """What the mode of a configuration makes of the games of one unit."""

    def __init__(self, config: Config, keys: np.ndarray) -> None:
        """Open the table; ``keys`` are those of the unit's games. Raises OwareError without it."""
        settings = config.selfplay
        self.max_plies = config.max_plies
        self.table = open_mode_table(config)
        self.is_searched = settings.endgames in ("search", "both")
        self.is_adjudicating = settings.endgames in ("adjudicate", "both")
        self.is_rescoring = settings.rescore
        self._played_on = draw_played_on(keys, settings.played_on)

    @property
    def search_table(self) -> TableArrays | None:
        """The table that the search looks into, if it does."""
        return self.table.arrays if self.table is not None and self.is_searched else None

    def decided(self, games: Lockstep) -> tuple[np.ndarray, np.ndarray]:
        """The running games to be ended, bool[running], and their scores, int16[ended, 2]."""
        if self.table is None or not self.is_adjudicating:
            return np.zeros(games.running, np.bool_), np.empty((0, 2), np.int16)
        bounds = final_bounds(self.table, games.positions(), self.max_plies)
        rows = bounds.decided & ~self._played_on[games.games]
        ended = Bounds(bounds.least[rows], bounds.greatest[rows])
        return rows, sure_scores(ended, games.south_to_move[rows])

    def best_moves(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """Positions that the table decides, rows int64[K], and their best moves.

        Those are the moves bool[K, 6] that are proved to keep the most seeds, and the result with
        them. The few positions of large tables where bounds prove no such move are left out.
        """
        if self.table is None:
            return np.empty(0, np.int64), np.empty((0, 6), np.bool_)
        bounds = final_bounds(self.table, positions, self.max_plies)
        rows = bounds.decided.nonzero()[0]
        faced = Positions(*(array[rows] for array in positions))
        lows, _ = self.table.move_bounds(faced, self.max_plies)
        most = lows.max(axis=1)
        ahead = faced.boards[:, 12] - faced.boards[:, 13]
        keeps = np.sign(ahead + most) >= np.sign(bounds.least[rows])
        return rows[keeps], (lows == most[:, None])[keeps]

    def searched_moves(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`best_moves` where the search looks into the table; elsewhere its visits tell."""
        if not self.is_searched:
            positions = Positions(*(array[:0] for array in positions))
        return self.best_moves(positions)

    def bounds(self, inputs: np.ndarray, plies: np.ndarray) -> Bounds | None:
        """What rescoring takes as proved of N network inputs, or None when there is none."""
        if self.table is None or not self.is_rescoring:
            return None
        boards = inputs[:, :14].astype(np.int8)
        positions = Positions(boards, plies, np.zeros(len(plies), np.uint64))
        return final_bounds(self.table, positions, self.max_plies)


def open_mode_table(config: Config) -> Tablebase | None:
    """The table of a configuration, None in mode ``none``; built when it is small and missing.

    Raises OwareError when there is none, saying how to build it.
    """
    settings = config.selfplay
    return None if settings.endgames == "none" else open_table(settings.table)
