import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.tablebase.index import board_index, count_boards, fill_board, level_starts


def test_every_board_of_up_to_seven_seeds_has_its_own_number_without_gaps():
    starts = level_starts(7)
    assert starts[-1] == count_boards(7) == math.comb(19, 12)
    board, seen = np.zeros(14, np.int8), set()
    for seeds in range(8):
        for index in range(starts[seeds], starts[seeds + 1]):
            fill_board(index, seeds, board)
            assert board[:12].sum() == seeds
            assert board.min() >= 0
            assert board_index(board) == index
            seen.add(board[:12].tobytes())
    assert len(seen) == starts[-1]


@pytest.mark.parametrize(
    ("seeds", "boards"), [(0, 1), (1, 12), (2, 78), (10, 352716), (16, 13037895)]
)
def test_levels_have_the_published_sizes(seeds, boards):
    starts = level_starts(seeds)
    assert starts[seeds + 1] - starts[seeds] == boards
    assert starts[0] == 0


@given(st.lists(st.integers(0, 11), min_size=0, max_size=48))
def test_boards_of_any_number_of_seeds_come_back_from_their_number(houses):
    board = np.zeros(14, np.int8)
    for house in houses:
        board[house] += 1
    index = board_index(board)
    assert count_boards(len(houses) - 1) <= index < count_boards(len(houses))
    again = np.zeros(14, np.int8)
    fill_board(index, len(houses), again)
    assert again.tolist() == board.tolist()


def test_stores_do_not_matter():
    board = np.array([1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 1, 20, 21], np.int8)
    emptied = board.copy()
    emptied[12:] = 0
    assert board_index(board) == board_index(emptied)
