"""Asking a table: bounds of a board's full margin, proved for the plies left that the table covers.

They are equal, and so the exact value, for boards of up to 10 seeds and for most others. A board
with more seeds than the table holds, or at plies left it was not built for, gets the bounds that
hold of any board, -seeds and seeds: nothing is ever guessed.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.tablebase.build import build_missing
from agents.tablebase.checks import check_arrays, check_positions, check_seeds, read_facts
from agents.tablebase.files import read_contents, table_path
from agents.tablebase.index import board_index, level_starts
from oware_env.errors import OwareError
from oware_env.files import is_there
from oware_env.kernel import kernel
from oware_env.positions import Positions
from oware_env.rules import Rules, describe_rules, legal_moves, play

NO_MARGIN = -128  # stands where there is no move
BUILT_AT_ONCE = 10  # a missing table of up to so many seeds is built when first asked for


class TableArrays(NamedTuple):
    """A table as kernels take it."""

    low: np.ndarray  # int8[2, N], least margin over the even and odd plies left first .. last
    high: np.ndarray  # int8[2, N], greatest
    exact: np.ndarray  # int8[first, M], margin with 0 .. first - 1 plies left, of few seeds
    open_rows: np.ndarray  # int32[M], row in open_exact of a board whose bounds differ, else -1
    open_exact: np.ndarray  # int8[K, last - first + 1], its margin from first to last
    limits: np.ndarray  # int64[4]: seeds, seeds of exact, first, last


@kernel(inner=True)
def probe(board, left, table):
    """Proved bounds (low, high) of the mover's full margin with ``left`` plies left.

    Equal bounds are the exact value; those of a board the table does not cover are -seeds, seeds.
    """
    low, high, exact, open_rows, open_exact, limits = table
    most, most_exact, first, last = limits[0], limits[1], limits[2], limits[3]
    seeds = np.int64(0)
    for house in range(12):
        seeds += board[house]
    is_covered = seeds <= most and (
        first <= left <= last or (0 <= left < first and seeds <= most_exact)
    )
    if not is_covered:
        return -seeds, seeds
    index = board_index(board)
    if left < first:
        margin = np.int64(exact[left, index])
        return margin, margin
    least, greatest = np.int64(low[left % 2, index]), np.int64(high[left % 2, index])
    if least < greatest and seeds <= most_exact:
        margin = np.int64(open_exact[open_rows[index], left - first])
        return margin, margin
    return least, greatest


@kernel
def _probe_all(boards, left, table, low, high):
    for row in range(len(left)):
        low[row], high[row] = probe(boards[row], left[row], table)


@kernel
def _probe_moves(boards, left, table, feeding, slam, lows, highs):
    for row in range(len(left)):
        moves = legal_moves(boards[row], feeding)
        for move in range(6):
            lows[row, move] = highs[row, move] = NO_MARGIN
            if moves >> move & 1:
                after = boards[row].copy()
                captured = play(after, move, slam)
                low, high = probe(after, left[row] - 1, table)
                lows[row, move], highs[row, move] = captured - high, captured - low


class Tablebase:
    """An open table. Its arrays are mapped from the file: opening costs one check of all bytes."""

    def __init__(self, path: Path, rules: Rules = Rules()) -> None:
        """Raises OwareError when the file is missing, damaged, or made under other rules.

        What it says of itself is compared with what it holds, so that no kernel reads beyond it.
        """
        arrays, said = read_contents(path)
        facts = read_facts(said, path)
        self.path, self.rules = path, facts.rules
        if self.rules[1:] != rules[1:]:
            raise OwareError(
                f"table {path} was made under {describe_rules(self.rules)}, it says nothing of "
                f"{describe_rules(rules)}"
            )
        check_arrays(arrays, facts, path)
        self.seeds, self.first, self.last = facts.seeds, facts.first, facts.last
        self.exact_seeds = facts.exact_seeds
        limits = np.array([self.seeds, self.exact_seeds, self.first, self.last], np.int64)
        self.arrays = TableArrays(**arrays, limits=limits)

    def bounds(self, positions: Positions, max_plies: int) -> tuple[np.ndarray, np.ndarray]:
        """Proved bounds (low, high) of the mover's full margin in B positions, int8[B] each.

        Raises OwareError for what is no board.
        """
        positions = check_positions(positions, max_plies)
        left = max_plies - positions.plies.astype(np.int64)
        low, high = np.empty(len(left), np.int8), np.empty(len(left), np.int8)
        _probe_all(positions.boards, left, self.arrays, low, high)
        return low, high

    def level_bounds(self, seeds: int) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (low, high) over all plies left first .. last of every board of so many seeds.

        Raises OwareError when the table has none such.
        """
        if check_seeds(seeds, least=0) > self.seeds:
            raise OwareError(f"{self.path} holds boards of up to {self.seeds} seeds, not {seeds}")
        starts = level_starts(seeds)
        level = slice(starts[seeds], starts[seeds + 1])
        return self.arrays.low[:, level].min(axis=0), self.arrays.high[:, level].max(axis=0)

    def move_bounds(self, positions: Positions, max_plies: int) -> tuple[np.ndarray, np.ndarray]:
        """The same for every move, from before it, int8[B, 6] each; NO_MARGIN where not legal.

        The margin of a position is at least the greatest low and at most the greatest high.
        Raises OwareError as :meth:`bounds` does.
        """
        positions = check_positions(positions, max_plies)
        left = max_plies - positions.plies.astype(np.int64)
        lows, highs = np.empty((len(left), 6), np.int8), np.empty((len(left), 6), np.int8)
        rules = self.rules
        _probe_moves(positions.boards, left, self.arrays, rules.feeding, rules.slam, lows, highs)
        return lows, highs


@cache
def open_table(seeds: int, rules: Rules = Rules(), folder: Path | None = None) -> Tablebase:
    """The table of up to so many seeds in the tables folder, opened once a process.

    A small one that is missing is built, in a second or two; a process that is building it is
    waited for. Raises OwareError for a larger one, saying how to build it, and for one that is
    damaged or holds another number of seeds.
    """
    path = table_path(seeds, rules, folder)
    if not is_there(path):
        if seeds > BUILT_AT_ONCE:
            raise OwareError(
                f"there is no table of {seeds} seeds ({path}): "
                f"build it with oware-tablebase build --seeds {seeds}"
            )
        build_missing(seeds, rules, folder)
    table = Tablebase(path, rules)
    if table.seeds != seeds:
        raise OwareError(
            f"{path} holds the table of {table.seeds} seeds, not of {seeds}: delete it and build"
        )
    return table
