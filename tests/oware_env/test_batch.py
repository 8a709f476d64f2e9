from collections import Counter

import numpy as np
import pytest

from oware_env.batch import Batch
from oware_env.encoding import observation_size
from oware_env.errors import OwareError
from oware_env.positions import DRAW_MOVE, game_keys, pick_move, random_bits
from oware_env.rules import AWARI, REASONS, Rules, initial_board
from oware_env.state import IllegalMove, State


def keyed_moves(batch):
    """A random legal move for every row that depends on its game and ply alone."""
    moves = [
        pick_move(int(status), np.uint64(random_bits(key, ply, DRAW_MOVE, 0)))
        for status, key, ply in zip(batch.statuses, batch.keys, batch.plies, strict=True)
    ]
    return np.array(moves, np.int8)


def contents(batch):
    """A copy of everything a batch holds."""
    arrays = (batch.boards, batch.plies, batch.keys, batch.games, batch.south_to_move)
    return [array.copy() for array in (*arrays, batch.statuses)]


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def play_out(size, games, seed=5, rules=Rules()):
    """Play keyed moves until games 0 .. ``games`` - 1 are over: {game: (scores, plies, reason)}."""
    batch = Batch(size, rules, seed)
    ended = {}
    while not set(range(games)) <= set(ended):
        finished = batch.step(keyed_moves(batch))
        for game, scores, plies, reason in zip(*finished[1:], strict=True):
            ended[int(game)] = (tuple(scores.tolist()), int(plies), REASONS[reason])
    return ended


def replay(game, seed=5, rules=Rules()):
    """The same game, played move by move with States."""
    key = game_keys(np.uint64(seed), np.array([game]))[0]
    state = State.initial(rules)
    while not state.is_over:
        mask = sum(1 << move for move in state.legal_moves)
        state = state.play(pick_move(mask, np.uint64(random_bits(key, state.ply, DRAW_MOVE, 0))))
    return state.outcome.scores, state.ply, state.outcome.reason


@pytest.mark.parametrize("size", [1, 3, 16])
def test_a_game_of_a_seed_is_the_same_whatever_the_size(size):
    games = 12
    ended = play_out(size, games)
    assert [ended[game] for game in range(games)] == [replay(game) for game in range(games)]


def test_finished_games_are_settled_as_states_settle_them():
    rules = Rules(max_plies=120)
    ended = play_out(64, 150, seed=9, rules=rules)
    for game, result in ended.items():
        assert result == replay(game, 9, rules)
    assert set(Counter(reason for _, _, reason in ended.values())) == set(REASONS[1:])
    # An odd number of plies ends with North to move: both seats are settled the right way round.
    assert {plies % 2 for _, plies, _ in ended.values()} == {0, 1}


def test_masks_observations_and_states_of_the_rows_agree():
    batch = Batch(8, seed=1)
    for _ in range(150):
        masks, seen = batch.legal_mask(), batch.observe("onehot")
        assert masks.dtype == np.int8 and seen.dtype == np.float32
        for row in range(len(batch)):
            state = batch.state(row)
            assert tuple(np.flatnonzero(masks[row])) == state.legal_moves
            assert not state.is_over
            assert state.ply == batch.plies[row]
            assert np.array_equal(seen[row, :14], state.board.astype(np.float32) / np.float32(48))
        batch.step(keyed_moves(batch))


def test_a_finished_row_starts_the_next_game_at_once():
    batch = Batch(3, Rules(max_plies=5), seed=2)
    for _ in range(4):
        assert len(batch.step(keyed_moves(batch)).rows) == 0
    finished = batch.step(keyed_moves(batch))
    assert finished.rows.tolist() == finished.games.tolist() == [0, 1, 2]
    assert finished.plies.tolist() == [5, 5, 5]
    assert [REASONS[reason] for reason in finished.reasons] == ["move_limit"] * 3
    assert finished.scores.sum(axis=1).tolist() == [48] * 3
    assert batch.games.tolist() == [3, 4, 5]
    assert np.array_equal(batch.keys, game_keys(np.uint64(2), np.arange(3, 6)))
    fresh = Batch(3, Rules(max_plies=5), seed=2)
    for name in ("boards", "plies", "south_to_move", "statuses"):
        assert np.array_equal(getattr(batch, name), getattr(fresh, name))


def test_what_a_step_returns_has_the_documented_types():
    finished = Batch(2, Rules(max_plies=1)).step(np.array([0, 5]))
    types = [array.dtype for array in finished]
    assert types == [np.int64, np.int64, np.int16, np.int32, np.int8]
    assert finished.scores.shape == (2, 2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64])
def test_moves_of_any_integer_type_are_played_alike(dtype):
    batch, expected = Batch(4, seed=3), Batch(4, seed=3)
    for _ in range(20):
        moves = keyed_moves(batch)
        batch.step(moves.astype(dtype))
        expected.step(moves)
    assert same(contents(batch), contents(expected))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (2, "row 2: house C is empty"),
        (6, "row 2: a move is 0-5"),
        (-1, "row 2: a move is 0-5"),
        (127, "row 2: a move is 0-5"),
    ],
)
def test_an_illegal_move_names_its_row_and_changes_nothing(bad, why):
    batch = Batch(4)
    batch.step(np.full(4, 2))
    batch.step(np.full(4, 0))
    before = contents(batch)
    moves = np.array([0, 1, bad, bad])
    with pytest.raises(IllegalMove) as caught:
        batch.step(moves)
    assert caught.value.why == why
    assert caught.value.position == batch.state(2).to_text()
    assert caught.value.legal_moves == ("A", "B", "D", "E", "F")
    assert why in str(caught.value) and "\n" not in str(caught.value)
    assert same(contents(batch), before)
    batch.step(np.zeros(4, int))
    assert batch.plies.tolist() == [3] * 4


def test_a_house_that_does_not_feed_is_refused_with_the_reason():
    batch = Batch(1)
    for letter in "EcDaBbAdEfBeEf":  # leaves North without a seed, C, D and F feed
        state = batch.state(0)
        batch.step(np.array([state.explain(letter).move]))
    with pytest.raises(IllegalMove, match="row 0: the opponent has no seeds and must be fed"):
        batch.step(np.array([0]))


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        (np.zeros(3, int), "not int64 of shape (3,)"),
        (np.zeros((4, 1), int), "not int64 of shape (4, 1)"),
        (np.zeros(4), "not float64 of shape (4,)"),
        (np.zeros(4, bool), "not bool of shape (4,)"),
        (np.array(["A"] * 4), "not <U1 of shape (4,)"),
        (0, "not int64 of shape ()"),
        (None, "not object of shape ()"),
        ([True, 0, 0, 0], "not bool of shape (4,)"),
        (np.full(4, np.nan), "not float64 of shape (4,)"),
    ],
)
def test_moves_of_a_wrong_type_or_shape_are_refused(moves, found):
    batch = Batch(4)
    before = contents(batch)
    with pytest.raises(OwareError) as caught:
        batch.step(moves)
    assert str(caught.value) == f"moves must be 4 integers, one a row, {found}"
    assert same(contents(batch), before)


def test_results_go_into_the_array_that_is_given():
    batch = Batch(4)
    masks, seen = np.full((4, 6), 9, np.int8), np.full((4, 15), 9, np.float32)
    assert batch.legal_mask(out=masks) is masks
    assert batch.observe(out=seen) is seen
    assert np.array_equal(masks, batch.legal_mask())
    assert np.array_equal(seen, batch.observe())


@pytest.mark.parametrize(
    ("out", "found"),
    [
        (np.empty((3, 6), np.int8), "int8[3, 6]"),
        (np.empty((4, 5), np.int8), "int8[4, 5]"),
        (np.empty((4, 6), np.int64), "int64[4, 6]"),
        ([[0] * 6] * 4, "[[0, 0"),
    ],
)
def test_an_array_that_a_mask_does_not_fit_is_refused(out, found):
    with pytest.raises(OwareError) as caught:
        Batch(4).legal_mask(out=out)
    assert str(caught.value).startswith(f"out must be int8[4, 6], not {found}")


@pytest.mark.parametrize("kind", ["counts", "onehot"])
def test_an_array_that_observations_do_not_fit_is_refused(kind):
    size = observation_size(kind)
    for shape, dtype in (((4, size + 1), np.float32), ((4, size), np.float64)):
        with pytest.raises(OwareError, match=rf"out must be float32\[4, {size}\], not float"):
            Batch(4).observe(kind, out=np.empty(shape, dtype))


def test_positions_are_copies():
    batch = Batch(2, seed=4)
    positions = batch.positions()
    batch.step(np.array([0, 1]))
    assert np.array_equal(positions.boards, np.tile(initial_board(), (2, 1)))
    assert positions.plies.tolist() == [0, 0]
    assert np.array_equal(positions.keys, game_keys(np.uint64(4), np.arange(2)))


def test_seeds_name_different_games():
    assert np.array_equal(Batch(5, seed=1).keys, Batch(5, seed=np.int64(1)).keys)
    assert not np.isin(Batch(5, seed=1).keys, Batch(5, seed=2).keys).any()
    assert np.array_equal(Batch(9, seed=1).keys[:5], Batch(5, seed=1).keys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "a batch needs a whole number of games of at least 1, not 0"),
        ({"size": -3}, "not -3"),
        ({"size": 2.0}, "not 2.0"),
        ({"size": True}, "not True"),
        ({"size": 2, "seed": -1}, "a seed must be a whole number from 0 to 2**64 - 1, not -1"),
        ({"size": 2, "seed": 1.5}, "not 1.5"),
        ({"size": 2, "seed": 2**64}, "not 18446744073709551616"),
        ({"size": 2, "seed": None}, "not None"),
        ({"size": 2, "seed": 10**5000}, "not int of very many digits"),
        ({"size": 2**40}, "the number of games of a batch must be at most 16777216, not 109951"),
        ({"size": 2, "rules": AWARI}, "games are played under abapa, not awari"),
        ({"size": 2, "rules": Rules(max_plies=0)}, "max_plies must be between 1"),
    ],
)
def test_a_wrong_argument_is_refused(arguments, message):
    with pytest.raises(OwareError) as caught:
        Batch(**arguments)
    assert message in str(caught.value)


def test_rows_and_arrays_that_are_not_there_are_refused():
    batch = Batch(4)
    for row in (4, -1, True, 1.0, None):
        with pytest.raises(OwareError, match=r"^row must be "):
            batch.state(row)
    frozen = np.zeros((4, 6), np.int8)
    frozen.flags.writeable = False
    with pytest.raises(OwareError, match="out must be an array that can be written"):
        batch.legal_mask(frozen)
    with pytest.raises(OwareError, match="moves cannot be made an array: "):
        batch.step([0, [1, 2], 3, 4])
