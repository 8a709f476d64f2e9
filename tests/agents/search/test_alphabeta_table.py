"""The transposition table: what it keeps, what it gives back, and for whom."""

import numpy as np
import pytest

from agents.search.alphabeta_state import INFINITY, SOONER, WIN
from agents.search.alphabeta_table import AT_LEAST, AT_MOST, EXACT, key_of, look_up, store

NOTHING = (False, 0, -1)


@pytest.fixture
def table():
    return np.zeros((1, 4), np.int64)  # one bucket: two entries


def whole(table, key, rest, is_exact=1, level=0):
    return look_up(table, key, level, rest, is_exact, -INFINITY, INFINITY)


def test_what_is_stored_is_found_again(table):
    store(table, 7, 0, 5, 1, -123, EXACT, 4)
    assert whole(table, 7, 5) == (True, -123, 4)
    assert whole(table, 8, 5) == NOTHING


def test_an_exact_search_believes_equal_depth_only(table):
    store(table, 7, 0, 5, 1, 50, EXACT, 4)
    assert whole(table, 7, 4, is_exact=1) == (False, 0, 4)
    assert whole(table, 7, 4, is_exact=0) == (True, 50, 4)
    assert whole(table, 7, 6, is_exact=0) == (False, 0, 4)


@pytest.mark.parametrize(
    ("bound", "alpha", "beta", "decides"),
    [
        (AT_LEAST, 0, 100, True),
        (AT_LEAST, 0, 101, False),
        (AT_MOST, 100, 200, True),
        (AT_MOST, 99, 200, False),
        (EXACT, 0, 200, True),
    ],
)
def test_a_bound_decides_outside_the_window_only(table, bound, alpha, beta, decides):
    store(table, 7, 0, 5, 1, 100, bound, 2)
    assert look_up(table, 7, 0, 5, 1, alpha, beta)[0] == decides


def test_a_result_is_as_far_from_the_node_wherever_that_stands(table):
    store(table, 7, 3, 5, 1, WIN - 6 * SOONER + 4, EXACT, 2)  # three plies below the node
    assert whole(table, 7, 5, level=4) == (True, WIN - 7 * SOONER + 4, 2)
    store(table, 7, 3, 5, 1, -WIN + 6 * SOONER - 4, EXACT, 2)
    assert whole(table, 7, 5, level=1) == (True, -WIN + 4 * SOONER - 4, 2)


def test_the_deeper_entry_stays_and_the_newest_too(table):
    store(table, 1, 0, 9, 1, 10, EXACT, 0)
    for key in (2, 3, 4):
        store(table, key, 0, 2, 1, key, EXACT, 0)
    assert whole(table, 1, 9)[0] and whole(table, 4, 2)[0]
    assert whole(table, 2, 2) == whole(table, 3, 2) == NOTHING


def test_a_deeper_search_moves_the_former_entry_on(table):
    store(table, 1, 0, 3, 1, 10, EXACT, 0)
    store(table, 2, 0, 4, 1, 20, EXACT, 0)
    assert whole(table, 1, 3)[0] and whole(table, 2, 4)[0]


def test_entries_of_former_searches_make_room(table):
    store(table, 1, 0, 9, 1, 10, EXACT, 0)
    store(table, 2, 0, 1, 2, 20, EXACT, 0)
    store(table, 3, 0, 1, 2, 30, EXACT, 0)
    assert whole(table, 1, 9) == NOTHING


def test_a_key_tells_boards_plies_left_and_goals_apart():
    keys = {
        int(key_of(first, second, left, goal))
        for first in (5, 6)
        for second in (5, 6)
        for left in (0, 1, 399, 8191)
        for goal in range(4)
    }
    assert len(keys) == 2 * 2 * 4 * 4
