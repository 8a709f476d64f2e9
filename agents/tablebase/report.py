"""What a table proves of a position, in words."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.tablebase.checks import MOST_SEEDS
from agents.tablebase.files import tables_folder
from agents.tablebase.probe import NO_MARGIN, Tablebase, open_table
from oware_env.errors import OwareError
from oware_env.files import is_folder, said
from oware_env.notation import move_letter
from oware_env.positions import Positions, as_positions
from oware_env.state import State

FEWEST_SEEDS = 8  # of the table that is built when there is none


class Verdicts(NamedTuple):
    """What is proved of a state, in words."""

    state: str
    moves: dict[int, str]  # legal move -> words


def describe_position(state: State, seeds: int | None = None, folder: Path | None = None) -> str:
    """The proved bounds and verdict of a running state and of each of its moves, a line each.

    Raises OwareError as :func:`verdicts` does.
    """
    found, left = verdicts(state, seeds, folder), state.rules.max_plies - state.ply
    lines = [f"{state.to_text()}, {left} plies left: {found.state}"]
    for move, words in found.moves.items():
        lines.append(f"  {move_letter(move, state.south_to_move)}: {words}")
    return "\n".join(lines)


def verdicts(state: State, seeds: int | None = None, folder: Path | None = None) -> Verdicts:
    """What a table proves of a running state and of each of its moves.

    ``seeds`` is the table to ask; when left out, the smallest there is that holds the state.
    Raises OwareError when the game is over, or when no table says anything of it.
    """
    if state.is_over:
        raise OwareError(f"the game is over in {state.to_text()}: there is nothing to prove")
    held = sum(state.houses)
    if held > MOST_SEEDS:
        raise OwareError(f"{held} seeds are on the board: tables hold up to {MOST_SEEDS}")
    table = open_table(_smallest(held, folder) if seeds is None else seeds, folder=folder)
    left = state.rules.max_plies - state.ply
    if held > table.seeds:
        raise OwareError(
            f"{held} seeds are on the board and the table holds up to {table.seeds}: "
            f"build a larger one with oware-tablebase build --seeds {held}"
        )
    if not (
        table.first <= left <= table.last or (left < table.first and held <= table.exact_seeds)
    ):
        raise OwareError(
            f"{left} plies are left and the table is proved for {table.first} to {table.last}: "
            "build it with another --first or --max-plies"
        )
    return _verdicts(state, table)


def _verdicts(state: State, table: Tablebase) -> Verdicts:
    own, other = state.stores if state.south_to_move else state.stores[::-1]
    ahead = own - other
    bounds = table.bounds(_position(state), state.rules.max_plies)
    low, high = (int(bound[0]) for bound in bounds)
    lows, highs = move_bounds(state, table)
    moves = {
        int(move): verdict(ahead, int(lows[move]), int(highs[move]))
        for move in np.flatnonzero(lows != NO_MARGIN)
    }
    return Verdicts(verdict(ahead, low, high), moves)


def move_bounds(state: State, table: Tablebase) -> tuple[np.ndarray, np.ndarray]:
    """What a table proves of each move of a running state: :meth:`Tablebase.move_bounds` of it.

    (low, high), int8[6] each, NO_MARGIN where there is no move: the ``verdicts`` of a picture.
    """
    low, high = table.move_bounds(_position(state), state.rules.max_plies)
    return low[0], high[0]


def _position(state: State) -> Positions:
    return as_positions(state.board[None], np.array([state.ply]), np.zeros(1))


def verdict(ahead: int, low: int, high: int) -> str:
    """Bounds of the final margin in words; ``ahead`` is the mover's lead in stores so far."""
    low, high = ahead + low, ahead + high
    words = {(1, 1): "won", (0, 0): "drawn", (-1, -1): "lost"}
    sure = words.get((int(np.sign(low)), int(np.sign(high))), "open")
    seeds = f"by {low:+d}" if low == high else f"by {low:+d} to {high:+d}"
    return sure if sure == "drawn" else f"{sure} {seeds}"


def _smallest(held: int, folder: Path | None) -> int:
    """Seeds of the smallest table in the folder that holds so many, or of the one to build."""
    folder, numbers = Path(folder or tables_folder()), []
    if is_folder(folder):
        with said(folder, "cannot be read"):
            names = os.listdir(folder)
        found = (re.fullmatch(r"abapa-([1-9][0-9]?)\.safetensors", name) for name in names)
        numbers = [int(match[1]) for match in found if match]
    return min(
        (number for number in numbers if held <= number <= MOST_SEEDS),
        default=max(held, FEWEST_SEEDS),
    )
