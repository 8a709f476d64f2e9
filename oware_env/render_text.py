"""A board as text: plain lines that go anywhere, and one painted for a terminal with colours."""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from oware_env.render_scene import Scene, last_move_text, letters_text, status_text
from oware_env.render_shapes import LETTERS
from oware_env.render_trail import houses_passed


def ansi(scene: Scene, colour: bool = False) -> str:
    """The board as terminal text of six or seven lines, with ANSI colours on request."""
    marks = {house: "96;1" for house in scene.legal} | {house: "93;1" for house in scene.captured}
    marks |= {house: "33;1" for house in scene.spared}

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
        _status(scene),
    ]
    if scene.origin is not None:
        lines.append(f"last move: {last_move_text(scene)}")
    return "\n".join(lines)


def _status(scene: Scene) -> str:
    legal = f"; legal {letters_text(scene.legal)}" if scene.legal else ""
    return f"{status_text(scene)}, ply {scene.ply}{legal}"


# The painted board, in characters: its width, the middles of stores and columns, where a way turns.
_WIDTH, _STORES, _FIRST, _PITCH = 57, {False: 5, True: 52}, 13, 6
_TURNS, _TRACK = (10, 46), range(8, 49)
_NORTH, _SOUTH = range(11, 5, -1), range(6)

# Colours of the 256 that terminals know, always dark on light or light on dark.
_WOOD, _PIT, _FAINT, _BADGE = "48;5;94;38;5;230", "48;5;234;38;5;230", "2", "48;5;25;38;5;231;1"
_LEGAL, _CAPTURED, _SPARED = "48;5;234;38;5;117;1", "48;5;227;38;5;16;1", "48;5;214;38;5;16;1"


class _Piece(NamedTuple):
    """Text of one style, centred on a column of a line."""

    middle: int
    text: str
    style: str


def painted(scene: Scene) -> str:
    """The board in 256 colours, nine lines of up to 57 characters, the last move's way inside.

    A ring marks where it began, a dot a seed dropped (a number: that many), an arrow the last one.
    Captured houses are yellow, those spared by a void slam orange; badges mark the legal houses.
    """
    upper, lower = _trail(scene)
    stores = [_store(scene, south, number=False) for south in (False, True)]
    counts = [_store(scene, south, number=True) for south in (False, True)]
    lines = [
        _line("", _letters(scene, south=False)),
        _line(_WOOD, []),
        _line(_WOOD, [*stores, *_counts(scene, _NORTH)]),
        _line(_WOOD, [*counts, upper]),
        _line(_WOOD, [*stores, lower]),
        _line(_WOOD, [*stores, *_counts(scene, _SOUTH)]),
        _line(_WOOD, []),
        _line("", _letters(scene, south=True)),
        _status(scene),
    ]
    return "\n".join(lines)


def _line(ground: str, pieces: list[_Piece]) -> str:
    """Pieces on a ground of one style, filled up to the width of the board."""
    text, at = "", 0
    for piece in sorted(pieces):
        start = piece.middle - len(piece.text) // 2
        text += _paint(" " * (start - at), ground) + _paint(piece.text, piece.style)
        at = start + len(piece.text)
    return text + _paint(" " * (_WIDTH - at), ground) if ground else text


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text and style else text


def _column(house: int) -> int:
    return _FIRST + _PITCH * (house if house < 6 else 11 - house)


def _counts(scene: Scene, houses: range) -> list[_Piece]:
    """The houses of one row with their seeds, painted as what happened or may happen to them."""
    styles = {
        **dict.fromkeys(scene.legal, _LEGAL),
        **dict.fromkeys(scene.captured, _CAPTURED),
        **dict.fromkeys(scene.spared, _SPARED),
    }
    return [
        _Piece(_column(house), f"{scene.houses[house]:>3} ", styles.get(house, _PIT))
        for house in houses
    ]


def _letters(scene: Scene, south: bool) -> list[_Piece]:
    """The names of one side's houses and of the seat itself; a badge on what may be played."""
    names = [
        _Piece(_column(house), f" {LETTERS[house]} ", _BADGE if house in scene.legal else _FAINT)
        for house in (_SOUTH if south else _NORTH)
    ]
    moves = scene.result is None and south == scene.south_to_move
    seat = " South " if south else " North "
    return [*names, _Piece(_STORES[south], seat, _BADGE if moves else _FAINT)]


def _store(scene: Scene, south: bool, number: bool) -> _Piece:
    """One line of a side's store, the one with its number of seeds or another."""
    return _Piece(_STORES[south], f"{scene.stores[not south]:>3}   " if number else " " * 6, _PIT)


def _trail(scene: Scene) -> tuple[_Piece, _Piece]:
    """The way of the last move on the two lines between the rows: North's, South's."""
    lines = {False: [" "] * _WIDTH, True: [" "] * _WIDTH}  # by whether it is South's
    if scene.origin is not None and scene.path:
        for before, after in pairwise(houses_passed(scene.origin, scene.path)):
            _step(lines, before, after)
        for house, seeds in Counter(scene.path).items():
            lines[house < 6][_column(house)] = "•" if seeds == 1 else str(seeds)
        last = scene.path[-1]
        lines[last < 6][_column(last)] = "▼" if last < 6 else "▲"
        lines[scene.origin < 6][_column(scene.origin)] = "○"
    middle = _TRACK.start + len(_TRACK) // 2
    upper, lower = ("".join(lines[south][_TRACK.start : _TRACK.stop]) for south in (False, True))
    return _Piece(middle, upper, _WOOD), _Piece(middle, lower, _WOOD)


def _step(lines: dict[bool, list[str]], before: int, after: int) -> None:
    """The way from one house to the next, along its row or round the end into the other one."""
    start, end, south = _column(before), _column(after), before < 6
    if south == (after < 6):
        for column in range(min(start, end), max(start, end) + 1):
            lines[south][column] = "─"
        return
    turn, corners = (_TURNS[1], "╮╯") if south else (_TURNS[0], "╭╰")
    for line, corner in ((False, corners[0]), (True, corners[1])):
        for column in range(min(start, turn), max(start, turn) + 1):
            lines[line][column] = "─"
        lines[line][turn] = corner
