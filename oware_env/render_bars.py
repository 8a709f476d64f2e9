"""What a player thinks of a position, as bars below its board: a policy and a value."""

from collections.abc import Sequence
from math import inf, isnan
from typing import NamedTuple

from oware_env.errors import OwareError, shown
from oware_env.render_shapes import BLUE, FAINT, INK, TRACK, Box, Label, Line, Shape

PANEL = 172  # height that the bars add to a picture

_TITLE, _TOP, _FLOOR = 27, 38, 126  # y of titles and of whole bars' tops and feet in the panel
_LEAST = 1.5  # height of a bar that is hardly anything
_WIDTH = 58
_GOOD, _BAD = "#009E73", "#D55E00"


class Place(NamedTuple):
    """Where the bars go."""

    top: float  # of the panel
    columns: tuple[float, ...]  # x of the mover's six houses
    letters: str  # theirs
    offered: tuple[bool, ...]  # whether each may be played
    store: float  # x of the mover's store
    other_store: float


def bars(policy: Sequence[float] | None, value: float | None, place: Place) -> list[Shape]:
    """The bars of a policy (six shares of the mover's houses) and of a value (-1 to 1).

    None leaves a bar out, and so does NaN for the value. Raises OwareError for anything else.
    """
    shapes: list[Shape] = []
    if policy is not None:
        shares = _numbers(policy)
        if len(shares) != 6 or not all(0 <= share <= 1.001 for share in shares):
            raise OwareError(f"a policy is six shares from 0 to 1, not {shown(shares or policy)}")
        shapes += _policy(shares, place)
    if value is not None:
        number = (_numbers([value]) or [inf])[0]
        if isnan(number):
            return shapes
        if not -1.001 <= number <= 1.001:
            raise OwareError(f"a value lies between -1 and 1 for the mover, not {shown(value)}")
        shapes += _value(number, place)
    return shapes


def _numbers(values: Sequence[float]) -> list[float]:
    """The numbers that are given, none when something else stands among them."""
    try:
        given = list(values)
        return [] if any(isinstance(one, str | bytes) for one in given) else list(map(float, given))
    except (TypeError, ValueError, OverflowError):
        return []


def _policy(shares: list[float], place: Place) -> list[Shape]:
    """A bar below each house of the mover, with its share in per cent."""
    shapes: list[Shape] = [_text(place.other_store, place.top + _FLOOR - 36, "policy")]
    for x, letter, share, offered in zip(
        place.columns, place.letters, shares, place.offered, strict=True
    ):
        floor, height = place.top + _FLOOR, max(_LEAST, (_FLOOR - _TOP) * min(1.0, share))
        shapes.append(_text(x, floor + 29, letter, bold=True))
        if not offered and share == 0:
            shapes.append(Line(((x - 12, floor), (x + 12, floor)), TRACK, 4))
            continue
        left, whole = x - _WIDTH / 2, _FLOOR - _TOP
        shapes.append(Box((left, place.top + _TOP), (_WIDTH, whole), 7, TRACK))
        if share > 0:
            radius, part = min(7.0, height / 2), f"share {letter}"
            shapes.append(Box((left, floor - height), (_WIDTH, height), radius, BLUE, part))
        # Inside a bar that reaches near the top the number would leave the track.
        inside = height > whole - 24
        y = floor - height + 21 if inside else floor - height - 7
        number = f"{share:.0%}" if share == 0 or share >= 0.005 else "<1%"
        colour = "#FFFFFF" if inside else INK if share > 0 else FAINT
        shapes.append(Label((x, y), number, 18, colour, share > 0, part=f"number {letter}"))
    return shapes


def _value(value: float, place: Place) -> list[Shape]:
    """A bar from the middle: up where the mover is ahead, down where it is behind."""
    x, width = place.store, 40
    upper, floor = place.top + _TOP, place.top + _FLOOR
    middle, half = (upper + floor) / 2, (floor - upper) / 2
    height = max(_LEAST, half * min(1.0, abs(value)))
    y, colour = (middle - height, _GOOD) if value > 0 else (middle, _BAD)
    return [
        _text(x, place.top + _TITLE, "value"),
        Box((x - width / 2, upper), (width, floor - upper), 7, TRACK),
        Box((x - width / 2, y), (width, height), min(5.0, height / 2), colour, "value"),
        Line(((x - width / 2 - 7, middle), (x + width / 2 + 7, middle)), FAINT, 2),
        Label((x, floor + 29), f"{value:+.2f}", 22, INK, True, part="value number"),
    ]


def _text(x: float, y: float, text: str, bold: bool = False) -> Label:
    return Label((x, y), text, 20 if bold else 18, FAINT, bold)
