"""A bad move as a picture: its position, what was played, and how every move ends by the table."""

from agents.arena.grading import Worst
from agents.tablebase.probe import Tablebase
from agents.tablebase.report import move_bounds
from oware_env.notation import parse_move
from oware_env.render import PIT, centre, verdict_marks
from oware_env.render_shapes import FLOOR, INK, Disc, Label, Shape, to_svg
from oware_env.rules import Rules
from oware_env.state import State

PLAYED, BETTER = "#D55E00", "#009E73"
_CAPTION = (545, 40)  # its middle, between the status and the ply


def worst_svg(worst: Worst, table: Tablebase, rules: Rules = Rules()) -> str:
    """The position of a bad move as a self-contained SVG; the mover is shown as South.

    On each house that may be played stands how the game ends after it if both sides play
    perfectly, as in any picture with ``verdicts``. The house that was played has a dashed orange
    ring, those that give nothing away a full green one; the line on top says the same in words.
    """
    state = State.parse(worst.position, rules, worst.ply)
    shapes: list[Shape] = [Label(_CAPTION, caption(worst), 21, INK, True, part="caption")]
    for letter in worst.better.split():
        shapes.append(Disc(_centre(letter), PIT + 3, None, BETTER, 8, part=f"better {letter}"))
    place = _centre(worst.move)
    shapes.append(Disc(place, PIT + 3, None, FLOOR, 8))  # hides the ring of a legal house
    shapes.append(Disc(place, PIT + 3, None, PLAYED, 8, 12, f"played {worst.move}"))
    shapes += verdict_marks(state.scene(), move_bounds(state, table))  # over the rings
    drawn = "\n".join(to_svg(shape) for shape in shapes)
    return state.svg().replace("</svg>", f"{drawn}\n</svg>")


def caption(worst: Worst) -> str:
    """What the picture shows, in one line: ``"plays D, gives 6 seeds away; best: B or C"``."""
    seeds = "seed" if worst.regret == 1 else "seeds"
    best = " or ".join(worst.better.split())
    return f"plays {worst.move}, gives {worst.regret} {seeds} away; best: {best}"


def _centre(letter: str) -> tuple[float, float]:
    return centre(parse_move(letter, south_to_move=True))
