import numpy as np
import pytest

from oware_env import positions
from oware_env.errors import OwareError
from oware_env.positions import as_positions, count_moves, game_keys, pick_move, to_unit
from oware_env.rules import initial_board

PURPOSES = (
    positions.DRAW_MOVE,
    positions.DRAW_TIE,
    positions.DRAW_OPENING,
    positions.DRAW_NOISE,
    positions.DRAW_TEMPERATURE,
    positions.DRAW_ROLLOUT,
)
# The 0.1 % point of chi-square with k degrees of freedom; the seeds are fixed, so a test either
# always passes or shows a real fault.
CHI_SQUARE = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 63: 103.44}


def key_of(seed, game=0):
    """A game's key for calls from Python: Numba takes a plain int for an int64."""
    return np.uint64(positions.game_key(np.uint64(seed), game))


def bits_of(key, ply, purpose, draw):
    return np.uint64(positions.random_bits(key, ply, purpose, draw))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def assert_uniform(values, classes):
    counts = np.bincount(values, minlength=classes)
    assert len(counts) == classes
    assert chi_square(counts) < CHI_SQUARE[classes - 1], counts


@pytest.mark.parametrize("mask", range(1, 64))
def test_a_picked_move_is_one_of_the_mask_and_all_are_picked_alike(mask):
    legal = [move for move in range(6) if mask >> move & 1]
    assert count_moves(mask) == len(legal)
    key = key_of(mask)
    picked = [pick_move(mask, bits_of(key, ply, positions.DRAW_MOVE, 0)) for ply in range(3000)]
    assert set(picked) == set(legal)
    if len(legal) > 1:
        assert_uniform(np.searchsorted(legal, picked), len(legal))


@pytest.mark.parametrize("bits", [0, 1, 2**32 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("mask", range(1, 64))
def test_the_most_extreme_bits_pick_a_legal_move(mask, bits):
    assert mask >> pick_move(mask, np.uint64(bits)) & 1


@pytest.mark.parametrize("purpose", PURPOSES)
def test_numbers_of_a_purpose_are_uniform_over_games_plies_and_draws(purpose):
    keys = game_keys(np.uint64(7), np.arange(40))
    values = np.array(
        [
            to_unit(bits_of(key, ply, purpose, draw))
            for key in keys
            for ply in range(40)
            for draw in range(10)
        ]
    )
    assert values.min() >= 0 and values.max() < 1
    assert_uniform((values * 64).astype(int), 64)


def test_numbers_that_differ_in_anything_differ():
    seen = set()
    for seed in range(3):
        for game in range(3):
            key = key_of(seed, game)
            for ply in (0, 1, 2, 399, 2**31 - 1):
                for purpose in PURPOSES:
                    for draw in (0, 1, 5, 2**20):
                        seen.add(int(bits_of(key, ply, purpose, draw)))
    assert len(seen) == 3 * 3 * 5 * len(PURPOSES) * 4
    assert len(set(PURPOSES)) == len(PURPOSES)


def test_neighbouring_draws_are_independent():
    key = key_of(1, 0)
    bits = [bits_of(key, ply, positions.DRAW_MOVE, 0) for ply in range(60_000)]
    bits = (np.array(bits, np.uint64) >> np.uint64(61)).astype(int)
    assert_uniform(bits[:-1] * 8 + bits[1:], 64)


def test_every_bit_is_set_half_the_time():
    key = key_of(2, 0)
    bits = [bits_of(key, 0, positions.DRAW_NOISE, draw) for draw in range(20_000)]
    bits = np.array(bits, np.uint64)
    for place in range(64):
        ones = int((bits >> np.uint64(place) & np.uint64(1)).sum())
        assert abs(ones - 10_000) < 4.5 * np.sqrt(5_000), place


def test_the_keys_of_games_are_those_of_each_game_and_all_differ():
    games = np.array([0, 1, 5, 10**12])
    keys = game_keys(np.uint64(3), games)
    assert keys.dtype == np.uint64
    assert [int(key) for key in keys] == [int(key_of(3, game)) for game in games]
    many = np.concatenate([game_keys(np.uint64(seed), np.arange(2000)) for seed in range(5)])
    assert len(np.unique(many)) == 10_000


def test_keys_are_the_same_in_every_run():
    # Recorded once: a change would silently make every seeded run a different one.
    assert int(positions.mix(np.uint64(0))) == 0xE220A8397B1DCDAF  # splitmix64's first number
    assert int(key_of(0, 0)) == 0xF2253E3606A0BF0F
    assert int(bits_of(key_of(0, 0), 3, positions.DRAW_TIE, 2)) == 0x19BC5BFEF8731CC8


def test_positions_get_their_documented_types():
    made = positions.as_positions([initial_board().tolist()] * 2, [0, 3], [1, 2])
    assert made.boards.dtype == np.int8 and made.boards.shape == (2, 14)
    assert made.plies.dtype == np.int32
    assert made.keys.dtype == np.uint64
    assert all(array.flags.c_contiguous for array in made)


@pytest.mark.parametrize(
    ("boards", "plies", "keys"),
    [
        (np.zeros((2, 14)), np.zeros(3), np.zeros(2)),
        (np.zeros((2, 13)), np.zeros(2), np.zeros(2)),
        (np.zeros((2, 14)), np.zeros(2), np.zeros(1)),
        (np.zeros(14), np.zeros(1), np.zeros(1)),
    ],
)
def test_positions_of_other_shapes_are_refused(boards, plies, keys):
    with pytest.raises(ValueError, match=r"must be \[B, 14\], \[B\], \[B\], not"):
        positions.as_positions(boards, plies, keys)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boards": np.full((2, 14), 4.5)}, "boards must be whole numbers of int8"),
        ({"boards": np.full((2, 14), 300)}, "boards must be whole numbers of int8"),
        ({"boards": [[1], [2, 3]]}, "boards cannot be made an array: "),
        ({"boards": "x"}, "boards must be whole numbers of int8, not 'x'"),
        ({"boards": np.zeros((2, 13), np.int8)}, "must be .B, 14., .B., .B., not .2, 13"),
        ({"plies": [0, 2**31]}, "plies must be whole numbers of int32"),
        ({"plies": np.zeros((2, 1), np.int32)}, "must be .B, 14., .B., .B., not"),
        ({"plies": np.zeros((), np.int32)}, "must be .B, 14., .B., .B., not"),
        ({"keys": [0, -1]}, "keys must be whole numbers of uint64"),
        ({"keys": [0.5, 1.0]}, "keys must be whole numbers of uint64"),
        ({"keys": [np.nan, 1.0]}, "keys must be whole numbers of uint64"),
    ],
)
def test_nothing_is_changed_to_fit_the_documented_types(change, message):
    given = {"boards": np.full((2, 14), 4), "plies": [0, 1], "keys": np.zeros(2)}
    assert as_positions(**given).boards.dtype == np.int8
    with pytest.raises(OwareError, match=message):
        as_positions(**(given | change))


@pytest.mark.parametrize(
    ("place", "values", "message"),
    [
        (0, np.full((2, 14), 4.5), "boards must be whole numbers of int8, not"),
        (0, np.full((2, 14), 260), "boards must be whole numbers of int8, not"),
        (0, np.full((2, 14), -1), "row 0: a board holds 0 to 48 seeds in each place, not"),
        (0, [[4] * 14, [4] * 13], "boards cannot be made an array: "),
        (0, np.full((2, 14), np.nan), "boards must be whole numbers of int8, not"),
        (1, [False, True], "plies must be whole numbers of int32, not"),
        (1, [0, 2**31], "plies must be whole numbers of int32, not"),
        (1, [0, -3], "row 1: a ply is at least 0, not -3"),
        (2, [0, -1], "keys must be whole numbers of uint64, not"),
        (2, [0, 2**64], "keys must be whole numbers of uint64, not"),
        (2, ["a", "b"], "keys must be whole numbers of uint64, not"),
        (2, [None, None], "keys must be whole numbers of uint64, not"),
    ],
)
def test_positions_keep_every_number_or_are_refused(place, values, message):
    given = [np.tile(initial_board(), (2, 1)), [0, 0], [1, 2]]
    given[place] = values
    with pytest.raises(OwareError, match=message) as caught:
        positions.as_positions(*given)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_positions_of_the_documented_types_are_taken_as_they_are():
    made = positions.as_positions(np.tile(initial_board(), (2, 1)), [0, 3], [1, 2])
    assert positions.checked_positions(made) is made
    again = positions.checked_positions(tuple(array.tolist() for array in made))
    assert all(np.array_equal(one, other) for one, other in zip(made, again, strict=True))
    for other in (None, made.boards, made[:2], [1, 2, 3]):
        with pytest.raises(OwareError, match=r"positions must be Positions\(boards, plies, keys\)"):
            positions.checked_positions(other)
