"""Positions and moves as text, both ways. Knows seats (South, North) but plays nothing.

Position string, as in Aalina: twelve counts A-F then a-f, South's store, North's store and the
side to move, joined by dashes: ``4-4-4-4-4-4-4-4-4-4-4-4-0-0-S``. Moves are letters: A-F for
South's houses and a-f for North's, each in sowing order.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from oware_env.errors import OwareError
from oware_env.rules import MAJORITY_SEEDS, SEEDS

SOUTH_LETTERS = "ABCDEF"
NORTH_LETTERS = "abcdef"
START = "4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"
_SHAPE = re.compile(r"-?\d+(-+\d+){13}-[SN]")


class Placement(NamedTuple):
    """A position in absolute seats."""

    houses: tuple[int, ...]  # 12 counts, A-F then a-f
    stores: tuple[int, int]  # (South, North)
    south_to_move: bool


def format_position(houses: Sequence[int], stores: Sequence[int], south_to_move: bool) -> str:
    """The position string of twelve counts A-F, a-f, two stores and the side to move."""
    counts = "-".join(str(int(count)) for count in (*houses, *stores))
    return counts + ("-S" if south_to_move else "-N")


def parse_position(text: str) -> Placement:
    """Read a position string. Raises :class:`OwareError` that says what is wrong with it."""
    if not isinstance(text, str):
        raise OwareError(f"a position must be text such as {START}, not {text!r}")
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
        if not (field.isascii() and field.isdigit() and len(field) < 4):
            raise OwareError(f"position {text!r} holds {field!r} where a number of seeds belongs")
    counts = [int(field) for field in fields[:14]]
    placement = Placement(tuple(counts[:12]), (counts[12], counts[13]), fields[14] == "S")
    check_placement(placement, text)
    return placement


def check_placement(placement: Placement, text: str = "") -> None:
    """Raise :class:`OwareError` when a game can never stand like this."""
    houses, stores, south_to_move = placement
    if len(houses) != 12 or len(stores) != 2:
        raise OwareError(
            f"a position has 12 houses and 2 stores, not {len(houses)} and {len(stores)}"
        )
    text = text or format_position(houses, stores, south_to_move)
    total = sum(houses) + sum(stores)
    if min(*houses, *stores) < 0:
        raise OwareError(f"position {text!r} holds a negative number of seeds")
    if total != SEEDS:
        raise OwareError(f"position {text!r} holds {total} seeds, it must hold {SEEDS}")
    mover_row = houses[:6] if south_to_move else houses[6:]
    if max(stores) < MAJORITY_SEEDS and not any(mover_row) and any(houses):
        side = "South" if south_to_move else "North"
        raise OwareError(f"position {text!r} cannot arise: {side} is to move and owns no seed")


def move_letter(move: int, south_to_move: bool) -> str:
    """The letter of move 0-5 for the side to move: ``"C"`` for South's 2, ``"c"`` for North's."""
    return (SOUTH_LETTERS if south_to_move else NORTH_LETTERS)[move]


def parse_move(text: str, south_to_move: bool) -> int:
    """The move 0-5 that a letter names for the side to move.

    Raises :class:`OwareError` when the text is no house, or a house of the other side.
    """
    letters = SOUTH_LETTERS if south_to_move else NORTH_LETTERS
    move = letters.find(text) if len(text) == 1 else -1
    if move >= 0:
        return move
    side = "South" if south_to_move else "North"
    if len(text) == 1 and text in SOUTH_LETTERS + NORTH_LETTERS:
        raise OwareError(f"{text!r} is not {side}'s house: {side} plays {letters[0]}-{letters[5]}")
    raise OwareError(f"{text!r} is not a move: {side} plays one letter {letters[0]}-{letters[5]}")


def format_moves(moves: Sequence[int], south_to_move: bool) -> str:
    """Moves of a game as one run of letters, alternating case: ``"FfEcCc"``."""
    return "".join(
        move_letter(move, south_to_move ^ bool(number % 2)) for number, move in enumerate(moves)
    )


def parse_moves(text: str, south_to_move: bool) -> list[int]:
    """Read a run of letters; the error of a wrong letter names its place (from 1)."""
    moves = []
    for number, letter in enumerate(text):
        try:
            moves.append(parse_move(letter, south_to_move ^ bool(number % 2)))
        except OwareError as error:
            raise OwareError(f"move {number + 1}: {error}") from None
    return moves
