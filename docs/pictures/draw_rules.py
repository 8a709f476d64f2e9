"""Draws the pictures of docs/rules.md, each from a position of that page.

    python docs/pictures/draw_rules.py

Writes rules-*.svg beside itself.
"""

from pathlib import Path

from oware_env.state import State

# Picture: position, and the move that is shown, or None for the position itself.
PICTURES = {
    "sowing": ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", "C"),
    "lap": ("12-0-0-0-0-0-0-0-0-0-0-4-16-16-S", "A"),
    "chain": ("0-0-0-0-0-4-2-1-2-1-5-0-12-21-S", "F"),
    "slam": ("3-0-0-0-0-1-1-0-0-0-0-0-22-21-S", "F"),
    "feeding": ("1-0-0-2-0-1-0-0-0-0-0-0-22-22-S", None),
}


def draw(name: str) -> str:
    """One picture as SVG."""
    position, move = PICTURES[name]
    state = State.parse(position)
    return (state.play(move) if move else state).svg()


def main() -> None:
    """Write all of them."""
    for name in PICTURES:
        path = Path(__file__).parent / f"rules-{name}.svg"
        path.write_text(draw(name) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
