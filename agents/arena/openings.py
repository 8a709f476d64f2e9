"""Openings: distinct positions after a few random plies, so that fixed players do not repeat games.

Opening k of a seed is the same however many are asked for. Each is played from both seats, which
cancels whatever advantage it gives to a side.
"""

from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.lockstep import play_randomly
from oware_env.positions import game_key
from oware_env.rules import Rules, initial_board, require_abapa, status

_TRIES = 100  # random games drawn for each opening asked for, before giving up


class Openings(NamedTuple):
    """K distinct running positions at the same ply."""

    boards: np.ndarray  # int8[K, 14], mover's view
    moves: np.ndarray  # int8[K, plies], how each arose from the start position

    @property
    def ply(self) -> int:
        """Plies played; South is to move when it is even."""
        return self.moves.shape[1]


@kernel
def _draw(seed, first, max_plies, boards, moves, running):
    """Play row k as random game number ``first + k`` until its opening is complete or it ends."""
    for row in range(len(boards)):
        ply = play_randomly(boards[row], 0, moves[row], game_key(seed, first + row), max_plies)
        running[row] = ply == moves.shape[1] and status(boards[row], ply, max_plies) < 64


def random_openings(count: int, plies: int, seed: int = 0, rules: Rules = Rules()) -> Openings:
    """The first ``count`` distinct openings of a seed after ``plies`` uniformly random moves.

    Raises :class:`OwareError` when there are not that many.
    """
    require_abapa(rules)
    if not 0 <= plies < rules.max_plies:
        raise OwareError(
            f"opening plies must be from 0 to {rules.max_plies - 1} "
            f"(below the move limit), not {plies}"
        )
    found = Openings(np.empty((0, 14), np.int8), np.empty((0, plies), np.int8))
    size = 2 * count + 64
    for first in range(0, _TRIES * size, size):
        boards, moves = np.tile(initial_board(), (size, 1)), np.empty((size, plies), np.int8)
        running = np.empty(size, np.bool_)
        bits = np.uint64(int(seed) & (2**64 - 1))
        _draw(bits, first, rules.max_plies, boards, moves, running)
        boards = np.concatenate([found.boards, boards[running]])
        moves = np.concatenate([found.moves, moves[running]])
        rows = np.sort(np.unique(boards, axis=0, return_index=True)[1])[:count]
        found = Openings(boards[rows], moves[rows])
        if len(rows) == count:
            return found
    raise OwareError(
        f"only {len(found.boards)} distinct openings of {plies} plies were found and {count} are "
        "needed: ask for more opening plies or fewer games"
    )
