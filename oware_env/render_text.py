"""A board as text for a terminal."""

from oware_env.render_scene import Scene, last_move_text, letters_text, status_text
from oware_env.render_shapes import LETTERS


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
        f"{status_text(scene)}, ply {scene.ply}",
    ]
    if scene.legal:
        lines[-1] += f"; legal {letters_text(scene.legal)}"
    if scene.origin is not None:
        lines.append(f"last move: {last_move_text(scene)}")
    return "\n".join(lines)
