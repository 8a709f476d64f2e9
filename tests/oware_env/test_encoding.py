import numpy as np
import pytest

from oware_env import encoding
from oware_env.errors import OwareError
from oware_env.notation import Placement
from oware_env.rules import initial_board, pack
from oware_env.state import State
from oware_env.tactics import TACTICS, write_tactics


def observe(states, kind, max_plies=400):
    out = np.full((len(states), encoding.observation_size(kind)), np.nan, np.float32)
    boards = np.array([state.board for state in states])
    plies = np.array([state.ply for state in states], np.int32)
    encoding.encode_observations(boards, plies, max_plies, out)
    return out


def test_counts_show_both_rows_the_stores_and_the_plies_left():
    state = State.parse("1-2-3-4-5-6-0-1-2-3-4-5-7-5-N", ply=100)
    (seen,) = observe([state], "counts")
    own_first = [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 5, 7]
    assert np.allclose(seen[:14] * 48, own_first)
    assert seen[14] == 0.75


def test_onehot_adds_a_class_for_each_house_and_one_for_all_big_houses():
    state = State.parse("12-11-0-0-0-13-1-0-0-0-0-0-6-5-S")
    (seen,) = observe([state], "onehot")
    (counts,) = observe([state], "counts")
    assert np.array_equal(seen[:15], counts)
    classes = seen[15:].reshape(12, encoding.HOUSE_CLASSES)
    assert np.array_equal(classes.sum(axis=1), np.ones(12))
    assert classes.argmax(axis=1).tolist() == [12, 11, 0, 0, 0, 12, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["counts", "onehot"])
def test_observations_of_whole_games_stay_in_the_box(random_game, kind):
    for seed in range(5):
        seen = observe(random_game(seed), kind)
        assert seen.dtype == np.float32
        assert seen.min() >= 0 and seen.max() <= 1


@pytest.mark.parametrize("kind", ["counts", "onehot"])
def test_a_seat_swap_gives_identical_observations(random_game, kind):
    states = random_game(1)
    swapped = [
        State.from_placement(
            Placement(state.houses[6:] + state.houses[:6], state.stores[::-1], not south),
            ply=state.ply,
        )
        for state in states
        for south in [state.south_to_move]
    ]
    assert np.array_equal(observe(states, kind), observe(swapped, kind))


def test_the_plies_left_run_from_one_to_zero():
    states = [State.parse(State.initial().to_text(), ply=ply) for ply in (0, 200, 399, 400)]
    assert observe(states, "counts")[:, 14].tolist() == [1, 0.5, np.float32(1 / 400), 0]


@pytest.mark.parametrize("size", [encoding.COUNTS_SIZE, encoding.ONEHOT_SIZE])
def test_packed_sides_are_seen_like_their_board(random_game, size):
    kind = "counts" if size == encoding.COUNTS_SIZE else "onehot"
    for state in random_game(2)[::10]:
        out = np.full(size, np.nan, np.float32)
        encoding.encode_sides(*pack(state.board), state.ply, 400, out)
        assert np.array_equal(out, observe([state], kind)[0])


def test_a_network_sees_the_board_and_the_last_plies():
    boards = np.tile(initial_board(), (4, 1))
    boards[1] = State.parse("48-0-0-0-0-0-0-0-0-0-0-0-0-0-S").board
    plies = np.array([0, 336, 337, 400], np.int32)
    seen = encoding.network_input(boards, plies, 400)
    assert seen.dtype == np.uint8
    assert np.array_equal(seen[:, :14], boards)
    assert seen[:, 14].tolist() == [64, 64, 63, 0]


def test_a_network_sees_what_moves_and_replies_take():
    state = State.parse("1-0-0-2-3-5-2-1-1-2-1-0-15-15-S")
    seen = encoding.network_input(state.board[None], np.zeros(1, np.int32), 400)[0]
    expected = np.empty(TACTICS, np.uint8)
    write_tactics(state.board, expected)
    assert seen.shape == (encoding.NETWORK_SIZE,) and expected.any()
    assert np.array_equal(seen[15:], expected)


@pytest.mark.parametrize("kind", ["count", "", None, 15, ["counts"]])
def test_an_unknown_observation_is_refused(kind):
    with pytest.raises(OwareError, match="observation must be 'counts' or 'onehot', not"):
        encoding.observation_size(kind)
