"""Positions and moves as text, both ways. Knows seats (South, North) but plays nothing.

Position string, as in Aalina: twelve counts A-F then a-f, South's store, North's store and the
side to move, joined by dashes: ``4-4-4-4-4-4-4-4-4-4-4-4-0-0-S``. Moves are letters: A-F for
South's houses and a-f for North's, each in sowing order.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError, integer, shown
from oware_env.rules import HOUSES, MAJORITY_SEEDS, SEEDS

SOUTH_LETTERS = "ABCDEF"
NORTH_LETTERS = "abcdef"
START = "4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"
_SHAPE = re.compile(r"-?\d+(-+\d+){13}-[SN]", re.ASCII)
_COUNT = re.compile(r"0|[1-9][0-9]{0,2}")  # of seeds


class Placement(NamedTuple):
    """A position in absolute seats."""

    houses: tuple[int, ...]  # 12 counts, A-F then a-f
    stores: tuple[int, int]  # (South, North)
    south_to_move: bool


def format_position(houses: Sequence[int], stores: Sequence[int], south_to_move: bool) -> str:
    """The position string of twelve counts A-F, a-f, two stores and the side to move."""
    counts = [str(integer(count, "a number of seeds")) for count in (*houses, *stores)]
    return "-".join(counts) + ("-S" if read_side(south_to_move) else "-N")


def read_side(south_to_move: object) -> bool:
    """Whether South moves, as a plain bool. Raises :class:`OwareError` for what is no bool."""
    if isinstance(south_to_move, bool | np.bool_):
        return bool(south_to_move)
    raise OwareError(
        f"the side to move is True for South or False for North, not {shown(south_to_move)}"
    )


def parse_position(text: str) -> Placement:
    """Read a position string. Raises :class:`OwareError` that says what is wrong with it."""
    if not isinstance(text, str):
        raise OwareError(f"a position must be text such as {START}, not {shown(text)}")
    fields = text.strip().split("-")
    if len(fields) != 15 or "" in fields:
        if _SHAPE.fullmatch(text.strip()) and "--" in "-" + text.strip():
            raise OwareError(f"position {text!r} holds a negative number of seeds")
        raise OwareError(
            f"position {text!r} has {len(fields)} fields; it must have 15 joined by '-': "
            "12 houses, 2 stores and S or N"
        )
    if fields[14] not in ("S", "N"):
        raise OwareError(
            f"position {text!r} must end in S or N (the side to move), not {fields[14]!r}"
        )
    for field in fields[:14]:
        if not _COUNT.fullmatch(field):
            raise OwareError(f"position {text!r} holds {field!r} where a number of seeds belongs")
    counts = [int(field) for field in fields[:14]]
    placement = Placement(tuple(counts[:12]), (counts[12], counts[13]), fields[14] == "S")
    return check_placement(placement, text)


def check_placement(placement: Placement, text: str = "") -> Placement:
    """The placement as plain ints; raises :class:`OwareError` when a game never stands so."""
    houses, stores, south_to_move = _plain(placement)
    if len(houses) != 12 or len(stores) != 2:
        raise OwareError(
            f"a position has 12 houses and 2 stores, not {len(houses)} and {len(stores)}"
        )
    text = text or _written(houses, stores, south_to_move)
    total = sum(houses) + sum(stores)
    if min(*houses, *stores) < 0:
        raise OwareError(f"position {text!r} holds a negative number of seeds")
    if total != SEEDS:
        raise OwareError(f"position {text!r} holds {shown(total)} seeds, it must hold {SEEDS}")
    mover_row = houses[:6] if south_to_move else houses[6:]
    if max(stores) < MAJORITY_SEEDS and not any(mover_row) and any(houses):
        side = "South" if south_to_move else "North"
        raise OwareError(f"position {text!r} cannot arise: {side} is to move and owns no seed")
    return Placement(houses, (stores[0], stores[1]), south_to_move)


def _plain(placement: Placement) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Houses, stores and side of what may be anything."""
    try:
        houses, stores, south_to_move = placement
        rows = tuple(houses), tuple(stores)
    except (TypeError, ValueError):
        raise OwareError(
            "a placement is (12 houses, 2 stores, whether South is to move), not "
            + shown(placement)
        ) from None
    counts = [tuple(integer(count, "a number of seeds") for count in row) for row in rows]
    return counts[0], counts[1], read_side(south_to_move)


def _written(houses: tuple[int, ...], stores: tuple[int, ...], south_to_move: bool) -> str:
    """The position string for a message, also of counts that no position has."""
    if max(map(abs, (*houses, *stores))) > 10**9:
        return shown((*houses, *stores))
    return format_position(houses, stores, south_to_move)


def move_letter(move: int, south_to_move: bool) -> str:
    """The letter of move 0-5 for the side to move: ``"C"`` for South's 2, ``"c"`` for North's."""
    if not 0 <= integer(move, "a move") < HOUSES:
        raise OwareError(f"a move is 0-5, not {shown(move)}")
    return (SOUTH_LETTERS if read_side(south_to_move) else NORTH_LETTERS)[move]


def parse_move(text: str, south_to_move: bool) -> int:
    """The move 0-5 that a letter names for the side to move.

    Raises :class:`OwareError` when the text is no house, or a house of the other side.
    """
    south_to_move = read_side(south_to_move)
    letters = SOUTH_LETTERS if south_to_move else NORTH_LETTERS
    is_letter = isinstance(text, str) and len(text) == 1
    move = letters.find(text) if is_letter else -1
    if move >= 0:
        return move
    side = "South" if south_to_move else "North"
    if is_letter and text in SOUTH_LETTERS + NORTH_LETTERS:
        raise OwareError(f"{text!r} is not {side}'s house: {side} plays {letters[0]}-{letters[5]}")
    raise OwareError(
        f"{shown(text)} is not a move: {side} plays one letter {letters[0]}-{letters[5]}"
    )


def format_moves(moves: Sequence[int], south_to_move: bool) -> str:
    """Moves of a game as one run of letters, alternating case: ``"FfEcCc"``."""
    south_to_move = read_side(south_to_move)
    return "".join(
        move_letter(move, south_to_move ^ bool(number % 2)) for number, move in enumerate(moves)
    )


def parse_moves(text: str, south_to_move: bool) -> list[int]:
    """Read a run of letters; the error of a wrong letter names its place (from 1)."""
    south_to_move = read_side(south_to_move)
    if not isinstance(text, str):
        raise OwareError(f"moves are a run of letters such as FfEc, not {shown(text)}")
    moves = []
    for number, letter in enumerate(text):
        try:
            moves.append(parse_move(letter, south_to_move ^ bool(number % 2)))
        except OwareError as error:
            raise OwareError(f"move {number + 1}: {error}") from None
    return moves
