"""Boards as pictures: one SVG writer, terminal text, pixels without a display, a window.

Draws plain counts and paths (a :class:`Scene`) and knows no rules. The picture is composed once,
as a list of shapes; SVG and pixels draw that list. It stands on its own background, so it reads
on light and dark pages; marks differ in form as well as in colour (Okabe and Ito 2008).
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from oware_env.notation import format_position
from oware_env.render_bars import PANEL, Place, bars
from oware_env.render_raster import PixelWindow, pixels
from oware_env.render_shapes import (
    BLUE,
    FAINT,
    FLOOR,
    INK,
    LETTERS,
    PAGE,
    PIT,
    Box,
    Disc,
    Label,
    Line,
    Point,
    Shape,
    centre,
    seed_places,
    to_svg,
)
from oware_env.render_trail import trail

# Geometry, in pixels of rgb_array and units of the SVG.
WIDTH, HEIGHT = 972, 474
_STORE_X = (902, 70)  # centres of South's and North's store
_STORE_TOP, _STORE_BOTTOM, _STORE_WIDTH = 106, 410, 88

_WOOD, _EDGE, _HOLLOW = "#7B4B2A", "#5F3719", "#3E2412"
_SEED_FILL, _SEED_EDGE, _SHINE = "#D9D3C3", "#2A1A0E", "#FFFFFF"
_COUNT = "#FFF4DF"
_LEGAL, _CAPTURED, _SPARED = "#56B4E9", "#F0E442", "#E69F00"


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
    spared: tuple[int, ...] = ()  # houses it would have captured, all there were: a void slam
    result: str | None = None  # how the game ended, None while it runs


def svg(scene: Scene, policy: Sequence[float] | None = None, value: float | None = None) -> str:
    """The picture as a self-contained SVG element: no script, style sheet, id or outside asset.

    With a ``policy`` (shares of the mover's houses 0-5) or a ``value`` (-1 to 1 for the mover,
    NaN for none) bars below the board show them. Raises OwareError when they are none.
    """
    shapes, height = compose(scene, policy, value)
    position = format_position(scene.houses, scene.stores, scene.south_to_move)
    title = escape(f"Oware board {position}: {_status_text(scene)}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH * 2 // 3}" height="{height * 2 // 3}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{title}" font-family="system-ui, Helvetica, Arial, sans-serif">'
    ]
    lines += [to_svg(shape) for shape in shapes]
    return "\n".join([*lines, "</svg>"])


def rgb_array(
    scene: Scene, policy: Sequence[float] | None = None, value: float | None = None
) -> np.ndarray:
    """The same picture as pixels, drawn by Pillow without a display: uint8[474, 972, 3].

    With bars it is 646 high.
    """
    shapes, height = compose(scene, policy, value)
    return pixels(shapes, WIDTH, height)


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
    """``"c sowed 7, captured A B"`` or ``"F sowed 1, void slam"``."""
    assert scene.origin is not None
    captured = f", captured {_letters(scene.captured)}" if scene.captured else ""
    spared = ", void slam" if scene.spared else ""
    return f"{LETTERS[scene.origin]} sowed {len(scene.path)}{captured}{spared}"


def compose(
    scene: Scene, policy: Sequence[float] | None = None, value: float | None = None
) -> tuple[list[Shape], int]:
    """The whole picture as shapes, from back to front, and its height."""
    judged = bars(policy, value, _place(scene))
    height = HEIGHT + PANEL * bool(judged)
    shapes: list[Shape] = [
        Box((0, 0), (WIDTH, height), 16, PAGE, "page"),
        Box((16, 90), (WIDTH - 32, 340), 48, _EDGE),
        Box((16, 86), (WIDTH - 32, 340), 48, _WOOD, "board"),
    ]
    shapes += _header(scene)
    for house in range(12):
        shapes += _house(scene, house)
    for south in (True, False):
        shapes += _store(scene, south)
    if scene.origin is not None and scene.path:
        shapes += trail(scene.origin, scene.path)
    return shapes + judged, height


def _place(scene: Scene) -> Place:
    """Where bars for the side to move go; its houses are in its order of sowing."""
    south = scene.south_to_move
    houses = range(6) if south else range(6, 12)
    return Place(
        top=HEIGHT,
        columns=tuple(centre(house)[0] for house in houses),
        letters="".join(LETTERS[house] for house in houses),
        offered=tuple(not scene.legal or house in scene.legal for house in houses),
        store=_STORE_X[not south],
        other_store=_STORE_X[south],
    )


def _header(scene: Scene) -> list[Shape]:
    played = "" if scene.origin is None else f"{_last_move_text(scene)} · "
    return [
        Label((24, 40), _status_text(scene), 23, INK, True, "start", "status"),
        Label((WIDTH - 24, 40), f"{played}ply {scene.ply}", 19, FAINT, False, "end", "played"),
    ]


def _house(scene: Scene, house: int) -> list[Shape]:
    """Pit, seeds, count, letter and marks of one house."""
    (x, y), letter, seeds = centre(house), LETTERS[house], scene.houses[house]
    south = house < 6
    shapes = _pit(x, y, letter)
    places, radius = seed_places((x, y), seeds)
    for place in places:
        shapes += _seed(place, radius, letter)
    count_y = y + PIT + 33 if south else y - PIT - 14
    shapes.append(Label((x, count_y), str(seeds), 26, _COUNT, True, part=f"count {letter}"))
    if house in scene.legal:
        shapes.append(Disc((x, y), PIT + 3, None, _LEGAL, 5, part=f"legal {letter}"))
    if house in scene.captured:
        shapes.append(Disc((x, y), PIT + 3, None, _CAPTURED, 6, 16, f"captured {letter}"))
    if house in scene.spared:
        shapes.append(Disc((x, y), PIT + 9, None, _SPARED, 5, 40, f"spared {letter}"))
    return shapes + _name(x, south, letter, house in scene.legal, f"letter {letter}")


def _pit(x: float, y: float, letter: str) -> list[Shape]:
    # A lighter floor, set a little lower, makes the hollow look carved under light from above.
    hollow = Disc((x, y), PIT, _HOLLOW, part=f"house {letter}")
    return [hollow, Disc((x, y + 2.5), PIT - 4, FLOOR)]


def _seed(place: Point, radius: float, where: str) -> list[Shape]:
    body = Disc(place, radius, _SEED_FILL, _SEED_EDGE, 1.2, part=f"seed {where}")
    shine = place[0] - 0.3 * radius, place[1] - 0.33 * radius
    return [body, Disc(shine, 0.27 * radius, _SHINE)]


def _name(x: float, south: bool, text: str, marked: bool, part: str) -> list[Shape]:
    """A house letter or a seat's name outside the board, on a badge when it may be played."""
    y = 460 if south else 76
    if not marked:
        return [Label((x, y), text, 20, FAINT, True, part=part)]
    width = 30 if len(text) == 1 else 76
    badge = Box((x - width / 2, y - 20), (width, 26), 13, BLUE)
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
        Box((left + 4, _STORE_TOP + 6), (_STORE_WIDTH - 8, height - 8), 35, FLOOR),
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
