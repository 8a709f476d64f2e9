"""The way of the last sowing over a board: a line from its origin, a dot for every seed dropped."""

from collections import Counter
from itertools import pairwise
from math import cos, pi, sin

from oware_env.render_shapes import (
    FLOOR,
    LETTERS,
    MIDDLE,
    Disc,
    Label,
    Line,
    Point,
    Polygon,
    Shape,
    centre,
)

_TRACK = 10  # the trail runs this far above and below the middle line
_TRAIL, _NUMBER = "#FFE9BF", "#2A1A0E"


def _on_track(house: int) -> Point:
    """Where the trail passes a house: South's half runs below the middle line, North's above."""
    return centre(house)[0], MIDDLE + (_TRACK if house < 6 else -_TRACK)


def houses_passed(origin: int, path: tuple[int, ...]) -> list[int]:
    """The houses on the way of a sowing from its origin to its end, one round at most."""
    steps = sum((after - before) % 12 for before, after in pairwise((origin, *path)))
    return [(origin + step) % 12 for step in range(min(steps, 12) + 1)]


def trail(origin: int, path: tuple[int, ...]) -> list[Shape]:
    """The way of the last sowing: out of its origin, past every house sown, into the last one."""
    houses = houses_passed(origin, path)
    points = [centre(origin), _on_track(origin)]
    for before, after in pairwise(houses):
        if (before < 6) != (after < 6):
            points += _bend(before)
        points.append(_on_track(after))
    shapes: list[Shape] = [
        Line(tuple(points), _TRAIL, 3.5, f"trail {LETTERS[origin]}{LETTERS[path[-1]]}"),
        Disc(centre(origin), 8, FLOOR, _TRAIL, 3.5, part=f"origin {LETTERS[origin]}"),
    ]
    shapes.append(_arrow(path[-1]))
    for house, seeds in Counter(path).items():
        shapes += _drop(house, seeds)
    return shapes


def _bend(before: int) -> list[Point]:
    """The half circle from one row's track to the other's, beyond house F or house f."""
    x, side = centre(before)[0], 1 if before < 6 else -1
    angles = [pi * step / 12 for step in range(13)]
    return [
        (x + side * (26 + _TRACK * sin(angle)), MIDDLE + side * _TRACK * cos(angle))
        for angle in angles
    ]


def _drop(house: int, seeds: int) -> list[Shape]:
    """A dot for one seed dropped in a house, its number when laps dropped more."""
    (x, y), part = _on_track(house), f"sown {LETTERS[house]}"
    if seeds == 1:
        return [Disc((x, y), 5.5, _TRAIL, part=part)]
    number = Label((x, y + 5), str(seeds), 15, _NUMBER, True)
    return [Disc((x, y), 9.5, _TRAIL, part=part), number]


def _arrow(house: int) -> Shape:
    """The arrow head that points into the house of the last seed."""
    (x, y), down = _on_track(house), 1 if house < 6 else -1
    base, tip = y + 8 * down, y + 23 * down
    return Polygon(((x - 9, base), (x + 9, base), (x, tip)), _TRAIL, f"landing {LETTERS[house]}")
