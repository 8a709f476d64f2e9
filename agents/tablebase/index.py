"""Every board of twelve houses as a number without gaps, by number of seeds; both ways.

A board is twelve counts, and so twelve bars in a row of stars: bar i stands behind the seeds of
houses 0 .. i, at place ``seeds so far + i``. Twelve places name a set of twelve numbers, and the
combinatorial number system (Knuth, TAOCP 4A, 7.2.1.3) numbers such sets without a gap: place b of
bar i adds C(b, i + 1). The last bar holds the seeds in all, so boards with fewer seeds come first.
"""

import math

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import SEEDS

HOUSES = 12
_CHOOSE = np.array(
    [[math.comb(place, bars) for bars in range(HOUSES + 1)] for place in range(SEEDS + HOUSES)],
    np.int64,
)


def count_boards(seeds: int) -> int:
    """How many boards hold at most so many seeds: C(seeds + 12, 12); none for -1."""
    return math.comb(seeds + HOUSES, HOUSES)


def level_starts(seeds: int) -> np.ndarray:
    """Index of the first board of 0 .. ``seeds`` seeds and, last, of all boards, int64."""
    return np.array([count_boards(level - 1) for level in range(seeds + 2)], np.int64)


@kernel(inner=True)
def board_index(board):
    """The index of a board: of its twelve houses, the stores do not matter."""
    place, index = np.int64(-1), np.int64(0)
    for house in range(12):
        place += np.int64(board[house]) + 1
        index += _CHOOSE[np.uint64(place), np.uint64(house + 1)]
    return index


@kernel
def fill_board(index, seeds, board):
    """Write the houses of the board with this index, which holds so many seeds, into ``board``."""
    above = place = np.int64(seeds) + 11
    rest = np.int64(index) - _CHOOSE[place, 12]
    for house in range(11, 0, -1):
        place -= 1
        while _CHOOSE[place, house] > rest:
            place -= 1
        rest -= _CHOOSE[place, house]
        board[house] = above - place - 1
        above = place
    board[0] = above
