"""Boards as pictures: one SVG writer, terminal text, pixels without a display, a window.

Draws plain counts and paths (a :class:`Scene`) and knows no rules. The picture is composed once,
as a list of shapes; SVG and pixels draw that list. It stands on its own background, so it reads
on light and dark pages, in either theme; marks differ in form as well as in colour (Okabe and Ito
2008).
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from oware_env.errors import OwareError
from oware_env.notation import format_position
from oware_env.render_bars import PANEL, Place, bars
from oware_env.render_raster import PixelWindow, pixels
from oware_env.render_scene import (
    Scene,
    last_move_text,
    lead_of,
    own_houses,
    result_text,
    status_text,
)
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
from oware_env.render_text import ansi, painted
from oware_env.render_themes import ADAPTS, DARK, Theme, adaptive_style, check_theme, in_dark
from oware_env.render_trail import trail
from oware_env.render_verdicts import Bounds, best, mark, read_verdicts

__all__ = [
    "HEIGHT",
    "LETTERS",
    "PANEL",
    "PIT",
    "WIDTH",
    "Bounds",
    "Scene",
    "Theme",
    "Window",
    "ansi",
    "centre",
    "compose",
    "painted",
    "proved_text",
    "result_text",
    "rgb_array",
    "seed_places",
    "svg",
    "verdict_marks",
]

# Geometry, in pixels of rgb_array and units of the SVG.
WIDTH, HEIGHT = 972, 474
_STORE_X = (902, 70)  # centres of South's and North's store
_STORE_TOP, _STORE_BOTTOM, _STORE_WIDTH = 106, 410, 88

_WOOD, _EDGE, _HOLLOW = "#7B4B2A", "#5F3719", "#3E2412"
_SEED_FILL, _SEED_EDGE, _SHINE = "#D9D3C3", "#2A1A0E", "#FFFFFF"
_COUNT = "#FFF4DF"
_LEGAL, _CAPTURED, _SPARED = "#56B4E9", "#F0E442", "#E69F00"


def svg(
    scene: Scene,
    policy: Sequence[float] | None = None,
    value: float | None = None,
    verdicts: Bounds | None = None,
    theme: Theme = "light",
) -> str:
    """The picture as a self-contained SVG element: no script, id or outside asset.

    A ``policy`` (shares of the mover's houses 0-5) and a ``value`` (-1 to 1 for the mover, NaN for
    none) are bars below the board. ``verdicts`` are marks on the mover's houses, and on its store
    for the position: proved bounds (low, high) of each move's margin, int8[6] each, as
    ``move_bounds`` of an endgame table gives them. ``theme``: "light", "dark", or "auto" for what
    the reader's system asks for, by a style sheet that touches nothing else on a page.
    Raises OwareError when one of them is none.
    """
    check_theme(theme)
    shapes, height = compose(scene, policy, value, verdicts)
    if theme == "dark":
        shapes = in_dark(shapes)
    title = escape(_title(scene, verdicts))
    adapts = f'class="{ADAPTS}" ' if theme == "auto" else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {adapts}viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH * 2 // 3}" height="{height * 2 // 3}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{title}" font-family="system-ui, Helvetica, Arial, sans-serif">'
    ]
    lines += [adaptive_style()] if theme == "auto" else []
    lines += [to_svg(shape) for shape in shapes]
    return "\n".join([*lines, "</svg>"])


def rgb_array(
    scene: Scene,
    policy: Sequence[float] | None = None,
    value: float | None = None,
    verdicts: Bounds | None = None,
    theme: Theme = "light",
) -> np.ndarray:
    """The same picture as pixels, drawn by Pillow without a display: uint8[474, 972, 3].

    With bars it is 646 high. Pixels cannot adapt: raises OwareError for the theme "auto" as well.
    """
    check_theme(theme)
    if theme == "auto":
        raise OwareError("pixels do not adapt to a reader: their theme is 'light' or 'dark'")
    shapes, height = compose(scene, policy, value, verdicts)
    if theme == "dark":
        return pixels(in_dark(shapes), WIDTH, height, DARK[PAGE])
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


def _title(scene: Scene, verdicts: Bounds | None) -> str:
    """What the picture shows, for who cannot see it."""
    position = format_position(scene.houses, scene.stores, scene.south_to_move)
    title = f"Oware board {position}: {status_text(scene)}"
    proved = "" if verdicts is None else proved_text(scene, verdicts)
    return f"{title}; proved: {proved}" if proved else title


def proved_text(scene: Scene, bounds: Bounds) -> str:
    """The verdicts of the mover's houses in a row, such as ``"A W +4, C D"``."""
    verdicts = read_verdicts(bounds, lead_of(scene))
    return ", ".join(
        f"{LETTERS[house]} {verdict.text}"
        for house, verdict in zip(own_houses(scene), verdicts, strict=True)
        if verdict is not None
    )


def compose(
    scene: Scene,
    policy: Sequence[float] | None = None,
    value: float | None = None,
    verdicts: Bounds | None = None,
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
    if verdicts is not None:
        shapes += verdict_marks(scene, verdicts)
    return shapes + judged, height


def verdict_marks(scene: Scene, bounds: Bounds) -> list[Shape]:
    """The verdicts of the mover's houses on their outer rims, and the position's on its store."""
    shapes: list[Shape] = []
    verdicts = read_verdicts(bounds, lead_of(scene))
    south = scene.south_to_move
    for house, verdict in zip(own_houses(scene), verdicts, strict=True):
        if verdict is not None:
            x, y = centre(house)
            rim = y + PIT - 5 if south else y - PIT + 5
            shapes += mark(verdict, (x, rim), LETTERS[house])
    if whole := best(verdicts):
        place = (_STORE_X[not south], _STORE_BOTTOM if south else _STORE_TOP)
        shapes += mark(whole, place, "South" if south else "North")
    return shapes


def _place(scene: Scene) -> Place:
    """Where bars for the side to move go; its houses are in its order of sowing."""
    south, houses = scene.south_to_move, own_houses(scene)
    return Place(
        top=HEIGHT,
        columns=tuple(centre(house)[0] for house in houses),
        letters="".join(LETTERS[house] for house in houses),
        offered=tuple(not scene.legal or house in scene.legal for house in houses),
        store=_STORE_X[not south],
        other_store=_STORE_X[south],
    )


def _header(scene: Scene) -> list[Shape]:
    played = "" if scene.origin is None else f"{last_move_text(scene)} · "
    return [
        Label((24, 40), status_text(scene), 23, INK, True, "start", "status"),
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
