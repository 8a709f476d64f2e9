"""Draws the picture of docs/environment.md: a policy, a value, and what a table proves.

    python docs/pictures/draw_judged.py

Writes judged.svg beside itself.
"""

from pathlib import Path

from agents.play.analysis import proved_moves
from oware_env.state import State

POSITION = "0-1-1-1-1-1-0-2-0-0-0-1-20-20-S"
POLICY, VALUE = [0, 0.1, 0, 0.1, 0.7, 0.1], 0.4


def draw() -> str:
    """The picture as SVG."""
    state = State.parse(POSITION)
    return state.svg(POLICY, VALUE, proved_moves(state))


def main() -> None:
    """Write it."""
    path = Path(__file__).with_name("judged.svg")
    path.write_text(draw() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
