"""The few shapes a board picture is made of, each as SVG, and where houses and seeds lie.

``render`` composes a picture as one list of these; the SVG here and the pixels of
``render_raster`` draw the same list, so both show the same board.
"""

from html import escape
from math import cos, pi, sin
from typing import NamedTuple

from oware_env.notation import NORTH_LETTERS, SOUTH_LETTERS

Point = tuple[float, float]

PIT = 48  # radius of a house
_SEED = 7.4  # radius of a seed, smaller in a crowded house
_SPACING = 2.2  # distance of neighbouring seeds, in radii

MIDDLE = 258  # y between the two rows
_COLUMN, _PITCH = 206, 112  # x of the houses A and f; distance between columns
_ROW = 80  # y of a row's distance from the middle

PAGE, INK, FAINT, TRACK = "#FBF6EC", "#2B2118", "#75695C", "#EEE4D1"
BLUE, FLOOR = "#0072B2", "#4B2D18"

LETTERS = SOUTH_LETTERS + NORTH_LETTERS


class Disc(NamedTuple):
    """A circle, filled, outlined or both."""

    centre: Point
    radius: float
    fill: str | None = None
    stroke: str | None = None
    width: float = 0.0  # of the outline, centred on the radius
    dashes: int = 0  # number of dashes the outline is broken into; 0 for a full one
    part: str = ""  # what of the board it shows, such as "seed A"; kept in the SVG


class Box(NamedTuple):
    """A filled rectangle with round corners."""

    corner: Point  # left top
    size: Point  # width, height
    radius: float
    fill: str
    part: str = ""


class Line(NamedTuple):
    """A line through points, with round joints."""

    points: tuple[Point, ...]
    stroke: str
    width: float
    part: str = ""


class Polygon(NamedTuple):
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str
    part: str = ""


class Label(NamedTuple):
    """One line of text on its baseline."""

    place: Point
    text: str
    size: float
    fill: str
    bold: bool = False
    anchor: str = "middle"  # "start", "middle" or "end"
    part: str = ""


Shape = Disc | Box | Line | Polygon | Label


def centre(house: int) -> Point:
    """Where a house lies: A-F from left to right below, f-a from left to right above."""
    column = house if house < 6 else 11 - house
    return _COLUMN + _PITCH * column, MIDDLE + (_ROW if house < 6 else -_ROW)


def ring(centre: Point, radius: float, count: int, turn: float) -> list[Point]:
    """``count`` points evenly on a circle, the first ``turn`` radians clockwise from the top."""
    angles = [turn + 2 * pi * number / count for number in range(count)]
    return [(centre[0] + radius * sin(a), centre[1] - radius * cos(a)) for a in angles]


def seed_places(centre: Point, seeds: int) -> tuple[list[Point], float]:
    """A tidy place for each seed of a house, on rings, and the radius that lets all fit in."""
    counts = _ring_counts(seeds)
    distances: list[float] = []  # of the rings from the centre, in spacings
    for count in counts:
        apart = 0.5 / sin(pi / count) if count > 1 else 0.0
        distances.append(max(apart, distances[-1] + 1.0) if distances else apart)
    outermost = distances[-1] if distances else 0.0
    radius = min(_SEED, (PIT - 3) / (outermost * _SPACING + 1.0))
    places: list[Point] = []
    for distance, count in zip(distances, counts, strict=True):
        # Two lie side by side and four in a square, not one above the other.
        turn = {2: pi / 2, 4: pi / 4}.get(count, 0.0)
        places += ring(centre, distance * _SPACING * radius, count, turn)
    return places, radius


def _ring_counts(seeds: int) -> list[int]:
    """How many seeds lie on each ring, from the inside; each ring takes about six more."""
    rings = sum(seeds > full for full in (0, 5, 16, 33))
    counts = []
    for left in range(rings, 0, -1):
        counts.append(max(1, (seeds - 3 * left * (left - 1)) // left) if left > 1 else seeds)
        seeds -= counts[-1]
    return counts


def to_svg(shape: Shape) -> str:
    """One shape as an SVG element."""
    part = f' data-part="{escape(shape.part)}"' if shape.part else ""
    if isinstance(shape, Disc):
        return _svg_disc(shape, part)
    if isinstance(shape, Box):
        (x, y), (width, height) = shape.corner, shape.size
        return (
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{shape.radius:g}" fill="{shape.fill}"{part}/>'
        )
    if isinstance(shape, Label):
        (x, y), weight = shape.place, ' font-weight="700"' if shape.bold else ""
        return (
            f'<text x="{x:g}" y="{y:g}" font-size="{shape.size:g}" text-anchor="{shape.anchor}" '
            f'fill="{shape.fill}"{weight}{part}>{escape(shape.text)}</text>'
        )
    points = " ".join(f"{round(x, 1):g},{round(y, 1):g}" for x, y in shape.points)
    if isinstance(shape, Polygon):
        return f'<polygon points="{points}" fill="{shape.fill}"{part}/>'
    return (
        f'<polyline points="{points}" fill="none" stroke="{shape.stroke}" '
        f'stroke-width="{shape.width:g}" stroke-linecap="round" stroke-linejoin="round"{part}/>'
    )


def _svg_disc(disc: Disc, part: str) -> str:
    (x, y), fill = disc.centre, disc.fill or "none"
    stroke = f' stroke="{disc.stroke}" stroke-width="{disc.width:g}"' if disc.stroke else ""
    if disc.dashes:
        stroke += f' stroke-dasharray="{pi * disc.radius / disc.dashes:.2f}"'
    place = f'cx="{round(x, 1):g}" cy="{round(y, 1):g}" r="{disc.radius:g}"'
    return f'<circle {place} fill="{fill}"{stroke}{part}/>'
