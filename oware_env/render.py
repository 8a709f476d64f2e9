"""Boards as pictures. (draft)"""

from typing import NamedTuple


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
    return ""


def ansi(scene: Scene) -> str:
    return str(scene)
