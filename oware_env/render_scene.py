"""What one picture of a board shows, as plain counts and paths, and the words that go with it."""

from typing import NamedTuple

from oware_env.render_shapes import LETTERS


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


def result_text(winner: str | None, reason: str, scores: tuple[int, int]) -> str:
    """``"South wins 27-21 (majority)"``: the ``result`` of a scene; scores are South's, North's."""
    what = f"{winner.capitalize()} wins" if winner else "Draw"
    return f"{what} {scores[0]}-{scores[1]} ({reason.replace('_', ' ')})"


def status_text(scene: Scene) -> str:
    """Who is to move, or how the game ended."""
    return scene.result or f"{'South' if scene.south_to_move else 'North'} to move"


def letters_text(houses: tuple[int, ...]) -> str:
    """``"a b"``."""
    return " ".join(LETTERS[house] for house in houses)


def last_move_text(scene: Scene) -> str:
    """``"c sowed 7, captured A B"`` or ``"F sowed 1, void slam"``."""
    assert scene.origin is not None
    captured = f", captured {letters_text(scene.captured)}" if scene.captured else ""
    spared = ", void slam" if scene.spared else ""
    return f"{LETTERS[scene.origin]} sowed {len(scene.path)}{captured}{spared}"


def own_houses(scene: Scene) -> range:
    """The six houses of the side to move."""
    return range(6) if scene.south_to_move else range(6, 12)


def lead_of(scene: Scene) -> int:
    """Seeds by which the store of the side to move is ahead."""
    south, north = scene.stores
    return south - north if scene.south_to_move else north - south
