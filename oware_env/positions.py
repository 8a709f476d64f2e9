"""The batch types that agents see, and random numbers keyed by (run seed, game id, ply).

Nothing here holds a generator: a number is a hash of what it is for, so the same game gives the
same moves whichever process plays it and in whatever order (law 4 of the design).
"""

from typing import Any, NamedTuple

import numpy as np

from oware_env.errors import OwareError, on_one_line, shown
from oware_env.kernel import kernel
from oware_env.rules import SEEDS

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


_TYPES = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.uint64)


def as_positions(boards: Any, plies: Any, keys: Any) -> Positions:
    """Positions from anything array-like, with the documented types and the very same numbers.

    Raises OwareError for other shapes, and for numbers that no position has.
    """
    positions = Positions(
        _exactly("boards", boards, np.int8),
        _exactly("plies", plies, np.int32),
        _exactly("keys", keys, np.uint64),
    )
    shapes = [array.shape for array in positions]
    if shapes[1] != shapes[0][:1] or shapes[0] != (*shapes[1], 14) or shapes[2] != shapes[1]:
        found = ", ".join(str(shape) for shape in shapes)
        raise OwareError(f"boards, plies and keys must be [B, 14], [B], [B], not {found}")
    if len(positions.plies):
        counts = positions.boards
        if counts.min() < 0 or counts.max() > SEEDS:
            row = int(((counts < 0) | (counts > SEEDS)).any(axis=1).argmax())
            raise OwareError(
                f"row {row}: a board holds 0 to {SEEDS} seeds in each place, "
                f"not {counts[row].tolist()}"
            )
        if positions.plies.min() < 0:
            row = int(positions.plies.argmin())
            raise OwareError(f"row {row}: a ply is at least 0, not {positions.plies[row]}")
    return positions


def checked_positions(positions: Any) -> Positions:
    """What an agent is asked about, with the documented types and shapes; raises OwareError.

    Those of our own loops are taken as they are, without a look at every number in them.
    """
    if type(positions) is Positions:
        boards, plies, keys = positions
        types = getattr(boards, "dtype", 0), getattr(plies, "dtype", 0), getattr(keys, "dtype", 0)
        if types == _TYPES:
            shape = plies.shape
            if len(shape) == 1 and boards.shape == (*shape, 14) and keys.shape == shape:
                return positions
    if not isinstance(positions, tuple) or len(positions) != 3:
        raise OwareError(
            f"positions must be Positions(boards, plies, keys), not {shown(positions)}"
        )
    return as_positions(*positions)


def as_array(name: str, values: Any) -> np.ndarray:
    """What numpy makes of ``values``, as kernels can read it; OwareError naming it when nothing.

    A list with a boolean in it becomes one of booleans, also where numpy would count it as 0 or 1.
    """
    try:
        array = np.asarray(values)
    except Exception as error:  # rows of different lengths, a tensor that holds on to its data
        raise OwareError(f"{name} cannot be made an array: {on_one_line(str(error))}") from None
    counted = isinstance(values, list | tuple) and array.dtype.kind in "iu"
    if counted and not {bool, np.bool_}.isdisjoint(map(type, values)):
        return array.astype(np.bool_)
    if not array.dtype.isnative:  # bytes in the order of another machine
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _exactly(name: str, values: Any, kind: type) -> np.ndarray:
    """``values`` as an array of a type that holds the very same numbers, else OwareError."""
    given = as_array(name, values)
    if given.dtype == kind:
        return np.ascontiguousarray(given, kind)
    if given.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            converted: np.ndarray = np.ascontiguousarray(given.astype(kind))
        if (converted == given).all():
            return converted
    raise OwareError(f"{name} must be whole numbers of {np.dtype(kind)}, not {shown(values)}")
