"""What is proved of each move, as marks on a board: "W +4", "D", "L -2", "?" where it is open.

The bounds are plain numbers from outside; nothing here knows how they were proved. The marks
differ in letter, sign and form as well as in colour.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError, shown
from oware_env.positions import as_array
from oware_env.render_shapes import Box, Label, Point, Shape

Bounds = tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray]
"""(low, high) of the mover's six moves: by how many seeds more than the opponent it still gains."""

NO_MOVE = -128  # stands in both bounds where there is no move

_HEIGHT, _SIZE = 25, 16
_PAPER, _INK = "#FFF4DF", "#2A1A0E"


class _Look(NamedTuple):
    """How a mark of one kind looks."""

    fill: str
    ink: str
    radius: float


# White on the first and third is 6 to 1 and more; a loss has corners, a win has none.
_LOOKS = {
    "W": _Look("#00694D", "#FFFFFF", 12),
    "D": _Look(_PAPER, _INK, 12),
    "L": _Look("#A34300", "#FFFFFF", 3),
    "?": _Look("#5A5047", "#FFFFFF", 3),
}


class Verdict(NamedTuple):
    """What is proved of one move, or of a position: bounds of the final difference of seeds."""

    low: int
    high: int

    @property
    def letter(self) -> str:
        """``"W"``, ``"D"`` or ``"L"`` for the mover; ``"?"`` when the bounds leave it open."""
        signs = {(bound > 0) - (bound < 0) for bound in self}
        return {1: "W", 0: "D", -1: "L"}[signs.pop()] if len(signs) == 1 else "?"

    @property
    def text(self) -> str:
        """The letter, and of a win or loss by how many seeds: ``"W +4"``, ``"L -6..-2"``."""
        if self.letter in "D?":
            return self.letter
        exact = self.low == self.high
        return f"{self.letter} {self.low:+d}" + ("" if exact else f"..{self.high:+d}")


def read_verdicts(bounds: Bounds, lead: int) -> list[Verdict | None]:
    """The verdict of each of six moves, None where there is none to play.

    ``lead``: seeds by which the mover's store is ahead, part of the final difference. Raises
    OwareError for bounds that cannot be.
    """
    try:
        low, high = (as_array("verdicts", bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.empty(0)
    if any(bound.shape != (6,) or bound.dtype.kind not in "iu" for bound in (low, high)):
        raise OwareError(f"verdicts are (low, high), six whole numbers each, not {shown(bounds)}")
    found: list[Verdict | None] = []
    for least, greatest in zip(low.tolist(), high.tolist(), strict=True):
        if least == greatest == NO_MOVE:
            found.append(None)
        elif not -48 <= least <= greatest <= 48:
            raise OwareError(
                f"bounds of a margin go from -48 to 48, low first: {least}, {greatest}"
            )
        else:
            found.append(Verdict(lead + least, lead + greatest))
    return found


def best(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """What follows for the position: the mover takes the best move. None when there is none."""
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return None
    return Verdict(max(one.low for one in known), max(one.high for one in known))


def mark(verdict: Verdict, place: Point, name: str) -> list[Shape]:
    """A small label around ``place``; ``name`` is the house or seat it belongs to."""
    look, (x, y) = _LOOKS[verdict.letter], place
    width = max(_HEIGHT + 4, 20 + 0.55 * _SIZE * len(verdict.text))
    border = 1.5
    outer = Box(
        (x - width / 2 - border, y - _HEIGHT / 2 - border),
        (width + 2 * border, _HEIGHT + 2 * border),
        look.radius + border,
        _INK if verdict.letter == "D" else _PAPER,
    )
    inner = Box(
        (x - width / 2, y - _HEIGHT / 2),
        (width, _HEIGHT),
        look.radius,
        look.fill,
        f"verdict {name}",
    )
    words = Label((x, y + 5.5), verdict.text, _SIZE, look.ink, True, part=f"proved {name}")
    return [outer, inner, words]
