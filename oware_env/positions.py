"""The batch types that agents see, and random numbers keyed by (run seed, game id, ply).

Nothing here holds a generator: a number is a hash of what it is for, so the same game gives the
same moves whichever process plays it and in whatever order (law 4 of the design).
"""

from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError, shown
from oware_env.kernel import kernel

# What a random number is for: draws of different purposes never meet.
DRAW_MOVE, DRAW_TIE, DRAW_OPENING, DRAW_NOISE, DRAW_TEMPERATURE, DRAW_ROLLOUT = range(6)


class Positions(NamedTuple):
    """B positions, each seen by its side to move. All games running: terminal ones never appear."""

    boards: np.ndarray  # int8[B, 14]
    plies: np.ndarray  # int32[B], plies played since the start of the game
    keys: np.ndarray  # uint64[B], names the game: hash of (run seed, game id)


class Decisions(NamedTuple):
    """An agent's answer to B positions."""

    moves: np.ndarray  # int8[B], 0-5, legal
    policy: np.ndarray  # float32[B, 6], sums to 1 over the legal moves
    value: np.ndarray  # float32[B] in [-1, 1] for the mover; NaN when the agent has none


@kernel
def mix(number):
    """Scramble a uint64 (the finaliser of splitmix64: Steele, Lea and Flood 2014, section 4)."""
    number = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@kernel
def game_key(seed, game):
    """The key of game number ``game`` in the run with seed ``seed``."""
    return mix(mix(np.uint64(seed)) ^ mix(np.uint64(game) + np.uint64(0x632BE59BD9B4E019)))


@kernel
def game_keys(seed, games):
    """The keys of several games of a run: uint64[B] from game numbers int64[B]."""
    keys = np.empty(len(games), np.uint64)
    for row in range(len(games)):
        keys[row] = game_key(seed, games[row])
    return keys


@kernel
def random_bits(key, ply, purpose, draw):
    """64 random bits for the ``draw``-th number of a purpose at one ply of one game."""
    place = np.uint64(ply) | np.uint64(purpose) << np.uint64(32) | np.uint64(draw) << np.uint64(40)
    return mix(np.uint64(key) ^ mix(place))


@kernel
def to_unit(bits):
    """Random bits as a float64 in [0, 1)."""
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


# Every six-bit mask as its moves in order, and how many they are: picking one takes no loop.
_MOVES_OF = np.array(
    [([m for m in range(6) if mask >> m & 1] + [-1] * 6)[:6] for mask in range(64)], np.int8
)
_COUNT_OF = np.array([mask.bit_count() for mask in range(64)], np.int64)


@kernel
def count_moves(mask):
    """How many moves a six-bit mask holds."""
    return _COUNT_OF[mask]


@kernel
def pick_move(mask, bits):
    """The move of a non-empty six-bit mask that random ``bits`` point at, uniformly."""
    # The top 32 bits times the count, shifted down: no division, bias below 2^-29.
    place = (bits >> np.uint64(32)) * np.uint64(_COUNT_OF[mask]) >> np.uint64(32)
    return np.int64(_MOVES_OF[mask, place])


def as_positions(boards: np.ndarray, plies: np.ndarray, keys: np.ndarray) -> Positions:
    """Positions from anything array-like, with the documented types.

    Raises :class:`OwareError` for other shapes, and for values that these types cannot hold.
    """
    positions = Positions(
        _as_type("boards", boards, np.int8),
        _as_type("plies", plies, np.int32),
        _as_type("keys", keys, np.uint64),
    )
    count = positions.plies.size
    if [array.shape for array in positions] != [(count, 14), (count,), (count,)]:
        shapes = ", ".join(str(array.shape) for array in positions)
        raise OwareError(f"boards, plies and keys must be [B, 14], [B], [B], not {shapes}")
    return positions


def _as_type(name: str, values: np.ndarray, dtype: type) -> np.ndarray:
    """Values as a contiguous array of a type that holds them unchanged."""
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        return np.ascontiguousarray(values)
    try:
        given = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise OwareError(f"{name} must be an array, not {shown(values)}") from None
    array: np.ndarray | None
    with np.errstate(invalid="ignore"):
        array = np.ascontiguousarray(given, dtype) if given.dtype.kind in "iuf" else None
    if array is None or not np.array_equal(array, given):
        raise OwareError(f"{name} must be whole numbers of {np.dtype(dtype)}, not {shown(values)}")
    return array
