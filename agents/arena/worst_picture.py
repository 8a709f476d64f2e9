"""A bad move as a picture: its position, what was played, and how every move ends by the table."""

import numpy as np

from agents.arena.grading import Worst
from agents.tablebase.probe import Tablebase
from agents.tablebase.report import verdict
from oware_env.notation import move_letter, parse_move
from oware_env.positions import as_positions
from oware_env.render_shapes import FLOOR, INK, MIDDLE, PIT, Box, Disc, Label, Shape, centre, to_svg
from oware_env.rules import Rules
from oware_env.state import State

PLAYED, BETTER, OTHER = "#D55E00", "#009E73", "#EEE4D1"
_SIGN = (98, 52)  # size of the sign above a house; the rows are 64 apart
_CAPTION = (545, 40)  # its middle, between the status and the ply


def worst_svg(worst: Worst, table: Tablebase, rules: Rules = Rules()) -> str:
    """The position of a bad move as a self-contained SVG; the mover is shown as South.

    Above each house that may be played stands how the game ends after it if both sides play
    perfectly: won, drawn, lost, or open where the table does not decide it, and the final lead in
    seeds. The house that was played has a dashed ring and an orange sign, those that give nothing
    away a full ring and a green one; the line on top says the same in words.
    """
    state = State.parse(worst.position, rules, worst.ply)
    better, ends = worst.better.split(), verdicts_of(state, table)
    shapes: list[Shape] = [Label(_CAPTION, caption(worst), 21, INK, True, part="caption")]
    for letter, words in ends.items():
        colour = PLAYED if letter == worst.move else BETTER if letter in better else OTHER
        shapes += _sign(letter, words, colour)
    for letter in better:
        shapes.append(Disc(_centre(letter), PIT + 3, None, BETTER, 8, part=f"better {letter}"))
    place = _centre(worst.move)
    shapes.append(Disc(place, PIT + 3, None, FLOOR, 8))  # hides the ring of a legal house
    shapes.append(Disc(place, PIT + 3, None, PLAYED, 8, 12, f"played {worst.move}"))
    drawn = "\n".join(to_svg(shape) for shape in shapes)
    return state.svg().replace("</svg>", f"{drawn}\n</svg>")


def caption(worst: Worst) -> str:
    """What the picture shows, in one line: ``"plays D and loses 6 seeds; best: B or C"``."""
    seeds = "seed" if worst.regret == 1 else "seeds"
    best = " or ".join(worst.better.split())
    return f"plays {worst.move}, gives {worst.regret} {seeds} away; best: {best}"


def verdicts_of(state: State, table: Tablebase) -> dict[str, str]:
    """What the table proves of each legal move, by letter, such as ``{"D": "lost by -5"}``."""
    position = as_positions(state.board[None], np.array([state.ply]), np.zeros(1))
    lows, highs = (bounds[0] for bounds in table.move_bounds(position, state.rules.max_plies))
    south = state.south_to_move
    own, other = state.stores if south else state.stores[::-1]
    return {
        move_letter(move, south): verdict(own - other, int(lows[move]), int(highs[move]))
        for move in state.legal_moves
    }


def _centre(letter: str) -> tuple[float, float]:
    return centre(parse_move(letter, south_to_move=True))


def _sign(letter: str, words: str, fill: str) -> list[Shape]:
    """A verdict above its house, in one line or two."""
    (x, _), (width, height) = _centre(letter), _SIGN
    ink = INK if fill == OTHER else "#FFFFFF"
    lines = words.split(" by ")
    first = MIDDLE + (7 if len(lines) == 1 else -4)
    corner = (x - width / 2, MIDDLE - height / 2)
    return [
        Box(corner, _SIGN, 9, fill, f"sign {letter}"),
        *(
            Label((x, first + 22 * number), line, 20, ink, True, part=f"verdict {letter}")
            for number, line in enumerate(lines)
        ),
    ]
