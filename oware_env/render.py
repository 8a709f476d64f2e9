"""Boards as pictures: one SVG writer, terminal text, pixels without a display, a window.

Draws plain counts and paths (a :class:`Scene`) and knows no rules. The picture is composed once,
as a list of shapes; SVG and pixels draw that list. It stands on its own background, so it reads
on light and dark pages; marks differ in form as well as in colour (Okabe and Ito 2008).
"""

from collections import Counter
from html import escape
from itertools import pairwise
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from oware_env.notation import NORTH_LETTERS, SOUTH_LETTERS, format_position
from oware_env.render_raster import PixelWindow, pixels
from oware_env.render_shapes import Box, Disc, Label, Line, Point, Polygon, Shape, ring, to_svg

LETTERS = SOUTH_LETTERS + NORTH_LETTERS

# Geometry, in pixels of rgb_array and units of the SVG.
WIDTH, HEIGHT = 972, 474
_COLUMN, _PITCH = 206, 112  # x of the houses A and f; distance between columns
_NORTH_Y, _SOUTH_Y = 178, 338  # y of the two rows
_MIDDLE = (_NORTH_Y + _SOUTH_Y) / 2
_PIT = 48  # radius of a house
_TRACK = 10  # the sowing trail runs this far above and below the middle line
_STORE_X = (902, 70)  # centres of South's and North's store
_STORE_TOP, _STORE_BOTTOM, _STORE_WIDTH = 106, 410, 88
_SEED = 7.4  # radius of a seed, smaller in a crowded house
_SPACING = 2.2  # distance of neighbouring seeds, in radii

_PAGE, _INK, _FAINT = "#FBF6EC", "#2B2118", "#75695C"
_WOOD, _EDGE, _HOLLOW, _FLOOR = "#7B4B2A", "#5F3719", "#3E2412", "#4B2D18"
_SEED_FILL, _SEED_EDGE, _SHINE = "#D9D3C3", "#2A1A0E", "#FFFFFF"
_COUNT, _TRAIL = "#FFF4DF", "#FFE9BF"
_LEGAL, _LEGAL_PAGE, _CAPTURED = "#56B4E9", "#0072B2", "#F0E442"


class Scene(NamedTuple):
    """What one picture shows, as plain counts and paths. Houses are absolute: 0-5 A-F, 6-11 a-f."""

    houses: tuple[int, ...]  # 12 counts A-F, a-f
    stores: tuple[int, int]  # (South, North)
    south_to_move: bool
    ply: int = 0
    legal: tuple[int, ...] = ()  # houses offered to the side to move
    origin: int | None = None  # house the last move was played from
    path: tuple[int, ...] = ()  # houses the last move sowed, in order
    captured: tuple[int, ...] = ()  # houses the last move captured
    result: str | None = None  # how the game ended, None while it runs


def svg(scene: Scene) -> str:
    """The picture as a self-contained SVG element: no script, style sheet, id or outside asset."""
    position = format_position(scene.houses, scene.stores, scene.south_to_move)
    title = escape(f"Oware board {position}: {_status_text(scene)}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH * 2 // 3}" height="{HEIGHT * 2 // 3}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{title}" font-family="system-ui, Helvetica, Arial, sans-serif">'
    ]
    lines += [to_svg(shape) for shape in _compose(scene)]
    return "\n".join([*lines, "</svg>"])


def rgb_array(scene: Scene) -> np.ndarray:
    """The same picture as pixels, uint8[474, 972, 3], drawn by Pillow without a display."""
    return pixels(_compose(scene), WIDTH, HEIGHT)


class Window:
    """The same picture in a window (pygame-ce); raises OwareError when that is not installed."""

    def __init__(self) -> None:
        self._window = PixelWindow("Oware")

    def show(self, scene: Scene) -> None:
        """Show a scene; the first opens the window. Nothing happens once the window is closed."""
        self._window.show(rgb_array(scene))

    def close(self) -> None:
        """Close the window for good; again is harmless."""
        self._window.close()


def ansi(scene: Scene, colour: bool = False) -> str:
    """The board as terminal text of six or seven lines, with ANSI colours on request."""
    marks = {house: "96;1" for house in scene.legal} | {house: "93;1" for house in scene.captured}

    def row(first: str, houses: range, last: str, letters: bool) -> str:
        """One line of the board: counts or letters of six houses between two ends."""
        cells = []
        for house in houses:
            text = f"{LETTERS[house] if letters else scene.houses[house]:>4}"
            painted = colour and house in marks
            cells.append(f"\x1b[{marks[house]}m{text}\x1b[0m" if painted else text)
        return f"{first:>9} |{''.join(cells)} | {last}".rstrip()

    north, south = range(11, 5, -1), range(6)
    lines = [
        row("", north, "", letters=True).replace("|", " ").rstrip(),
        row(f"North {scene.stores[1]:>2}", north, "", letters=False),
        row("", south, f"{scene.stores[0]} South", letters=False),
        row("", south, "", letters=True).replace("|", " ").rstrip(),
        f"{_status_text(scene)}, ply {scene.ply}",
    ]
    if scene.legal:
        lines[-1] += f"; legal {_letters(scene.legal)}"
    if scene.origin is not None:
        lines.append(f"last move: {_last_move_text(scene)}")
    return "\n".join(lines)


def _status_text(scene: Scene) -> str:
    return scene.result or f"{'South' if scene.south_to_move else 'North'} to move"


def _letters(houses: tuple[int, ...]) -> str:
    return " ".join(LETTERS[house] for house in houses)


def _last_move_text(scene: Scene) -> str:
    """``"c sowed 7, captured A B"``."""
    assert scene.origin is not None
    captured = f", captured {_letters(scene.captured)}" if scene.captured else ""
    return f"{LETTERS[scene.origin]} sowed {len(scene.path)}{captured}"


def _compose(scene: Scene) -> list[Shape]:
    """The whole picture, from back to front."""
    shapes: list[Shape] = [
        Box((0, 0), (WIDTH, HEIGHT), 16, _PAGE, "page"),
        Box((16, 90), (WIDTH - 32, 340), 48, _EDGE),
        Box((16, 86), (WIDTH - 32, 340), 48, _WOOD, "board"),
    ]
    shapes += _header(scene)
    for house in range(12):
        shapes += _house(scene, house)
    for south in (True, False):
        shapes += _store(scene, south)
    if scene.origin is not None and scene.path:
        shapes += _trail(scene.origin, scene.path)
    return shapes


def _header(scene: Scene) -> list[Shape]:
    played = "" if scene.origin is None else f"{_last_move_text(scene)} · "
    return [
        Label((24, 40), _status_text(scene), 23, _INK, True, "start", "status"),
        Label((WIDTH - 24, 40), f"{played}ply {scene.ply}", 19, _FAINT, False, "end", "played"),
    ]


def _centre(house: int) -> Point:
    """Where a house lies: A-F from left to right below, f-a from left to right above."""
    column = house if house < 6 else 11 - house
    return _COLUMN + _PITCH * column, _SOUTH_Y if house < 6 else _NORTH_Y


def _house(scene: Scene, house: int) -> list[Shape]:
    """Pit, seeds, count, letter and marks of one house."""
    (x, y), letter, seeds = _centre(house), LETTERS[house], scene.houses[house]
    south = house < 6
    shapes = _pit(x, y, letter)
    places, radius = seed_places((x, y), seeds)
    for place in places:
        shapes += _seed(place, radius, letter)
    count_y = y + _PIT + 33 if south else y - _PIT - 14
    shapes.append(Label((x, count_y), str(seeds), 26, _COUNT, True, part=f"count {letter}"))
    if house in scene.legal:
        shapes.append(Disc((x, y), _PIT + 3, None, _LEGAL, 5, part=f"legal {letter}"))
    if house in scene.captured:
        shapes.append(Disc((x, y), _PIT + 3, None, _CAPTURED, 6, 16, f"captured {letter}"))
    return shapes + _name(x, south, letter, house in scene.legal, f"letter {letter}")


def _pit(x: float, y: float, letter: str) -> list[Shape]:
    # A lighter floor, set a little lower, makes the hollow look carved under light from above.
    hollow = Disc((x, y), _PIT, _HOLLOW, part=f"house {letter}")
    return [hollow, Disc((x, y + 2.5), _PIT - 4, _FLOOR)]


def _seed(place: Point, radius: float, where: str) -> list[Shape]:
    body = Disc(place, radius, _SEED_FILL, _SEED_EDGE, 1.2, part=f"seed {where}")
    shine = place[0] - 0.3 * radius, place[1] - 0.33 * radius
    return [body, Disc(shine, 0.27 * radius, _SHINE)]


def _name(x: float, south: bool, text: str, marked: bool, part: str) -> list[Shape]:
    """A house letter or a seat's name outside the board, on a badge when it may be played."""
    y = 460 if south else 76
    if not marked:
        return [Label((x, y), text, 20, _FAINT, True, part=part)]
    width = 30 if len(text) == 1 else 76
    badge = Box((x - width / 2, y - 20), (width, 26), 13, _LEGAL_PAGE)
    return [badge, Label((x, y), text, 20, "#FFFFFF", True, part=part)]


def _store(scene: Scene, south: bool) -> list[Shape]:
    """One side's store: a count, and rows of four seeds stacked from the bottom.

    A line marks half of all seeds, which is six rows: who is above it has won.
    """
    x, seeds = _STORE_X[0 if south else 1], scene.stores[0 if south else 1]
    name = "South" if south else "North"
    left, height = x - _STORE_WIDTH / 2, _STORE_BOTTOM - _STORE_TOP
    shapes: list[Shape] = [
        Box((left, _STORE_TOP), (_STORE_WIDTH, height), 38, _HOLLOW, f"store {name}"),
        Box((left + 4, _STORE_TOP + 6), (_STORE_WIDTH - 8, height - 8), 35, _FLOOR),
    ]
    floor, apart = _STORE_BOTTOM - 30, 18
    half = floor - 5.5 * apart
    shapes.append(Line(((left + 12, half), (left + _STORE_WIDTH - 12, half)), _WOOD, 2))
    for number in range(seeds):
        row, column = divmod(number, 4)
        shapes += _seed((x + 16 * (column - 1.5), floor - apart * row), 6.6, name)
    shapes.append(Label((x, _STORE_TOP + 44), str(seeds), 34, _COUNT, True, part=f"count {name}"))
    marked = scene.result is None and south == scene.south_to_move
    return shapes + _name(x, south, name, marked, f"name {name}")


def seed_places(centre: Point, seeds: int) -> tuple[list[Point], float]:
    """A tidy place for each seed of a house, on rings, and the radius that lets all fit in."""
    counts = _ring_counts(seeds)
    distances: list[float] = []  # of the rings from the centre, in spacings
    for count in counts:
        apart = 0.5 / sin(pi / count) if count > 1 else 0.0
        distances.append(max(apart, distances[-1] + 1.0) if distances else apart)
    outermost = distances[-1] if distances else 0.0
    radius = min(_SEED, (_PIT - 3) / (outermost * _SPACING + 1.0))
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


def _on_track(house: int) -> Point:
    """Where the trail passes a house: South's half runs below the middle line, North's above."""
    return _centre(house)[0], _MIDDLE + (_TRACK if house < 6 else -_TRACK)


def _trail(origin: int, path: tuple[int, ...]) -> list[Shape]:
    """The way of the last sowing: out of its origin, past every house sown, into the last one."""
    steps = sum((after - before) % 12 for before, after in pairwise((origin, *path)))
    houses = [(origin + step) % 12 for step in range(min(steps, 12) + 1)]
    points = [_centre(origin), _on_track(origin)]
    for before, after in pairwise(houses):
        if (before < 6) != (after < 6):
            points += _bend(before)
        points.append(_on_track(after))
    shapes: list[Shape] = [
        Line(tuple(points), _TRAIL, 3.5, f"trail {LETTERS[origin]}{LETTERS[path[-1]]}"),
        Disc(_centre(origin), 8, _FLOOR, _TRAIL, 3.5, part=f"origin {LETTERS[origin]}"),
    ]
    shapes.append(_arrow(path[-1]))
    for house, seeds in Counter(path).items():
        shapes += _drop(house, seeds)
    return shapes


def _bend(before: int) -> list[Point]:
    """The half circle from one row's track to the other's, beyond house F or house f."""
    x, side = _centre(before)[0], 1 if before < 6 else -1
    angles = [pi * step / 12 for step in range(13)]
    return [
        (x + side * (26 + _TRACK * sin(angle)), _MIDDLE + side * _TRACK * cos(angle))
        for angle in angles
    ]


def _drop(house: int, seeds: int) -> list[Shape]:
    """A dot for one seed dropped in a house, its number when laps dropped more."""
    (x, y), part = _on_track(house), f"sown {LETTERS[house]}"
    if seeds == 1:
        return [Disc((x, y), 5.5, _TRAIL, part=part)]
    number = Label((x, y + 5), str(seeds), 15, _INK, True)
    return [Disc((x, y), 9.5, _TRAIL, part=part), number]


def _arrow(house: int) -> Shape:
    """The arrow head that points into the house of the last seed."""
    (x, y), down = _on_track(house), 1 if house < 6 else -1
    base, tip = y + 8 * down, y + 23 * down
    return Polygon(((x - 9, base), (x + 9, base), (x, tip)), _TRAIL, f"landing {LETTERS[house]}")
