import json
from pathlib import Path

import numpy as np
import pytest

from oware_env.errors import OwareError
from oware_env.perft import perft, perft_split
from oware_env.rules import initial_board
from oware_env.state import State

TABLES = json.loads((Path(__file__).parents[1] / "golden" / "perft.json").read_text())
CASES = [
    pytest.param(
        position,
        depth,
        leaves,
        id=f"depth {depth}",
        marks=[pytest.mark.slow] if depth > 9 else [],
    )
    for position, counts in TABLES.items()
    for depth, leaves in enumerate(counts, 1)
]


@pytest.mark.parametrize(("position", "depth", "leaves"), CASES)
def test_leaf_counts_are_the_published_ones(position, depth, leaves):
    board = State.parse(position).board
    found = perft(board, depth)
    assert found == leaves, f"{found} leaves, not {leaves}; by move: {perft_split(board, depth)}"


def walk(state, depth):
    """Leaf count by State.play alone, no kernel loop."""
    if depth == 0:
        return 1
    return sum(walk(state.play(move), depth - 1) for move in state.legal_moves)


@pytest.mark.parametrize("number", range(4))
def test_the_kernel_counts_what_states_count(random_game, number):
    states = random_game(number)
    state = states[len(states) * 3 // 4]
    assert perft(state.board, 4, state.ply) == walk(state, 4)


def test_the_split_of_a_count_sums_to_it():
    split = perft_split(initial_board(), 6)
    assert list(split) == [0, 1, 2, 3, 4, 5]
    assert sum(split.values()) == perft(initial_board(), 6)


def test_a_board_is_its_own_only_leaf_at_depth_nothing():
    assert perft(initial_board(), 0) == 1


def test_no_leaf_lies_beyond_the_move_limit():
    assert perft(initial_board(), 3, ply=397) == 190
    assert perft(initial_board(), 3, ply=398) == 0
    assert perft(initial_board(), 3, max_plies=2) == 0


def test_a_finished_game_has_no_children():
    over = State.parse("1-0-0-0-0-0-1-0-0-0-0-0-25-21-S").board
    assert perft(over, 1) == 0
    assert perft_split(over, 3) == {}


def test_the_board_given_is_left_as_it_is():
    board = initial_board()
    perft(board, 5)
    perft_split(board, 3)
    assert np.array_equal(board, initial_board())


@pytest.mark.parametrize(
    ("count", "depth", "least"), [(perft, -1, 0), (perft_split, 0, 1), (perft_split, -3, 1)]
)
def test_a_depth_too_small_is_refused(count, depth, least):
    with pytest.raises(OwareError, match=f"depth must be at least {least}, not {depth}"):
        count(initial_board(), depth)


@pytest.mark.parametrize("count", [perft, perft_split])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((initial_board(), 1.0), "depth must be a whole number, not 1.0"),
        ((initial_board(), True), "depth must be a whole number, not True"),
        ((initial_board(), 1001), "depth must be at most 1000, not 1001"),
        ((initial_board(), 10**5000), "depth must be at most 1000, not int of very many digits"),
        ((initial_board(), 1, -1), "ply must be between 0 and max_plies 400, not -1"),
        ((initial_board(), 1, 401), "ply must be between 0 and max_plies 400, not 401"),
        ((initial_board(), 1, 0, 0), "max_plies must be between 1 and 2147483647, not 0"),
        ((initial_board(), 1, 0, 2.5), "max_plies must be a whole number, not 2.5"),
        ((np.zeros(3, np.int8), 1), "a board must be 14 integers, not int8 of shape"),
        ((np.full(14, 4.0), 1), "a board must be 14 integers, not float64 of shape"),
        (([[1], 2], 1), "a board cannot be made an array: "),
        ((np.full(14, 100, np.int8), 1), "a board holds 48 seeds, not .100, 100"),
        ((np.array([-4, *[4] * 13]), 1), "a board holds 48 seeds, not .-4, 4"),
    ],
)
def test_what_the_kernel_could_not_bear_is_refused(count, arguments, message):
    with pytest.raises(OwareError, match=message):
        count(*arguments)


def test_the_greatest_depth_is_counted():
    loop = State.parse("1-0-0-0-0-0-1-0-0-0-0-0-23-23-S").board
    assert perft(loop, 1000, max_plies=2000) == 1
