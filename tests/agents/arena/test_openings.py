"""Openings: distinct, reached by legal moves, the same whatever is asked for."""

import numpy as np
import pytest

from agents.arena.openings import random_openings
from oware_env import Rules, State
from oware_env.errors import OwareError


def test_openings_are_distinct_running_and_reached_by_their_moves():
    openings = random_openings(200, 7, seed=3)
    assert openings.ply == 7
    assert len({board.tobytes() for board in openings.boards}) == 200
    for board, moves in zip(openings.boards, openings.moves, strict=True):
        state = State.initial()
        for move in moves:
            state = state.play(int(move))
        assert not state.is_over
        assert np.array_equal(state.board, board)


def test_an_opening_does_not_depend_on_how_many_are_asked_for():
    few, many = random_openings(5, 6, seed=1), random_openings(400, 6, seed=1)
    assert np.array_equal(few.boards, many.boards[:5])
    assert np.array_equal(few.moves, many.moves[:5])
    assert not np.array_equal(few.boards, random_openings(5, 6, seed=2).boards)


def test_openings_are_asked_for_up_to_all_there_are():
    assert len(random_openings(1, 0).boards) == 1
    assert len(random_openings(36, 2).boards) == 36
    with pytest.raises(OwareError, match="only 36 distinct openings of 2 plies were found and 37"):
        random_openings(37, 2)


def test_games_that_end_in_the_opening_are_left_out():
    openings = random_openings(50, 60, seed=0)
    for moves in openings.moves:
        state = State.initial()
        for move in moves:
            state = state.play(int(move))
        assert not state.is_over


def test_openings_must_stay_below_the_move_limit():
    with pytest.raises(OwareError, match="opening plies must be from 0 to 9"):
        random_openings(1, 10, rules=Rules(max_plies=10))
