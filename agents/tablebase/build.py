"""Building a table: all boards at once, one ply further at a time, on all cores.

What is kept of the layers: from ``first`` to ``last`` plies left the least and the greatest value
each board takes, bounds that are proved for every number of plies left in that range. Even and odd
numbers are kept apart, since many values go up and down from ply to ply. Of the boards with up to
EXACT_SEEDS seeds every value is kept: below ``first`` as a whole, above where the bounds differ.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from agents.tablebase.checks import check_plies, check_rules, check_seeds
from agents.tablebase.files import (
    TABLES,
    prepare_place,
    read_contents,
    table_path,
    write_contents,
)
from agents.tablebase.index import count_boards, level_starts
from agents.tablebase.induction import (
    CONSTANTS,
    fill_settled,
    fill_successors,
    gather_open,
    induce,
)
from agents.tablebase.room import check_room
from oware_env.errors import OwareError
from oware_env.files import Lock, is_there
from oware_env.rules import Rules

FIRST = 100  # plies left from which on bounds are kept
BOARD_BYTES = 31  # of memory, the successors' 24 among them
EXACT_SEEDS = 10
EXACT_BYTES = (
    300_000_000  # of memory for all layers of those boards; fewer seeds when it takes more
)
SECONDS_BETWEEN_CHECKPOINTS = 30.0
_SAVED = ("layers", "low", "high", "margins")  # arrays of a checkpoint

Progress = Callable[[int, int], None]  # plies done, plies in all


class Build:
    """A table under construction; every array is over the boards in the order of their index."""

    def __init__(self, seeds: int, rules: Rules, first: int, last: int) -> None:
        self.facts: dict[str, Any] = {
            "rules": list(rules),
            "seeds": seeds,
            "first": first,
            "last": last,
            "exact_seeds": _exact_seeds(seeds, last),
        }
        self.rules, self.first, self.last = tuple(rules[1:]), first, last
        self.starts = level_starts(seeds)
        self.boards = int(self.starts[-1])
        self.plies = 0  # plies left in the newest layer
        self.layers = np.empty((2, self.boards + CONSTANTS), np.int8)  # of even and odd plies
        self.layers[:, self.boards :] = np.arange(CONSTANTS)
        self.low = np.full((2, self.boards), 127, np.int8)  # of even and odd plies
        self.high = np.full((2, self.boards), -1, np.int8)
        exact_boards = count_boards(self.facts["exact_seeds"])
        self.margins = np.zeros((last + 1, exact_boards), np.int8)  # every layer of few seeds
        self.seeds = np.repeat(np.arange(seeds + 1, dtype=np.int8), np.diff(self.starts))

    def run(self, checkpoint: Path, threads: int, progress: Progress) -> None:
        """Go on from the newest layer, or the first, to the last; leaves a checkpoint now and then.

        Raises OwareError when the disk does not take it.
        """
        cuts = np.linspace(0, self.boards, 8 * threads + 1).astype(np.int64).tolist()
        parts = list(pairwise(cuts))
        saved_at = time.monotonic()
        with ThreadPoolExecutor(threads) as pool:

            def everywhere(kernel: Callable[..., None], *arguments: Any) -> None:
                """Run a kernel over all parts of the boards, on all threads."""
                for _ in pool.map(lambda part: kernel(part, *arguments), parts):
                    pass

            successors = np.empty((self.boards, 6), np.int32)
            everywhere(fill_successors, self.starts, self.rules, successors)
            if not self.plies:
                everywhere(fill_settled, self.starts, self.rules, self.layers[0])
                if not self.first:
                    self.low[0] = self.high[0] = self.layers[0, : self.boards]
                self._keep_margins()
            while self.plies < self.last:
                self.plies += 1
                parity = self.plies % 2
                is_kept = self.plies >= self.first
                bounds = (self.low[parity], self.high[parity]) if is_kept else None
                layers = (self.layers[1 - parity], self.layers[parity])
                everywhere(induce, self.starts, successors, layers, bounds)
                self._keep_margins()
                progress(self.plies, self.last)
                if time.monotonic() - saved_at > SECONDS_BETWEEN_CHECKPOINTS:
                    self.save(checkpoint)
                    saved_at = time.monotonic()

    def _keep_margins(self) -> None:
        """Keep the newest layer of the boards whose every value is kept."""
        boards = self.margins.shape[1]
        newest = self.layers[self.plies % 2, :boards]
        np.subtract(newest, self.seeds[:boards], out=self.margins[self.plies])

    def save(self, checkpoint: Path) -> None:
        """Write all that :meth:`restore` needs."""
        arrays = {name: getattr(self, name) for name in _SAVED}
        write_contents(checkpoint, arrays, self.facts | {"plies": self.plies})

    def restore(self, checkpoint: Path) -> bool:
        """Put back a checkpoint; False when there is none of this table that can be read."""
        try:
            arrays, facts = read_contents(checkpoint)
        except OwareError:
            return False
        plies = facts.get("plies")
        if facts | self.facts != facts or type(plies) is not int or not 0 <= plies <= self.last:
            return False
        mine = {name: getattr(self, name) for name in _SAVED}
        if {name: _kind(array) for name, array in arrays.items()} != {
            name: _kind(array) for name, array in mine.items()
        }:
            return False
        self.plies = plies
        for name, array in arrays.items():
            mine[name][:] = array
        return True

    def arrays(self) -> dict[str, np.ndarray]:
        """The finished table: see probe.TableArrays."""
        boards = self.margins.shape[1]
        is_open = (self.low[:, :boards] < self.high[:, :boards]).any(axis=0)
        opened = np.flatnonzero(is_open).astype(np.int32)
        rows = np.full(boards, -1, np.int32)
        rows[opened] = np.arange(len(opened))
        open_exact = np.empty((len(opened), self.last + 1 - self.first), np.int8)
        gather_open(self.margins[self.first :], opened, open_exact)
        return {
            "low": self.low - self.seeds,
            "high": self.high - self.seeds,
            "exact": self.margins[: self.first],
            "open_rows": rows,
            "open_exact": open_exact,
        }


def _kind(array: np.ndarray) -> tuple[np.dtype, tuple[int, ...]]:
    return array.dtype, array.shape


def _exact_seeds(seeds: int, last: int) -> int:
    """Up to how many seeds every value is kept."""
    most = min(seeds, EXACT_SEEDS)
    while (last + 1) * count_boards(most) > EXACT_BYTES:
        most -= 1
    return most


def build_table(
    seeds: int,
    rules: Rules = Rules(),
    *,
    plies: tuple[int, int] | None = None,
    folder: Path | None = None,
    progress: Progress = lambda done, of: None,
) -> Path:
    """Build the table of all boards with up to ``seeds`` seeds and return its file.

    ``plies`` is the range of plies left that its bounds are proved for, 100 to the rules'
    max_plies when left out. An interrupted build of the same table goes on where it last saved.
    Memory: about 31 bytes a board, and EXACT_BYTES. Raises OwareError in one line, also when
    another process is building it.
    """
    path, range_ = _checked(seeds, rules, plies, folder)
    with _alone(path):
        _build(path, seeds, rules, range_, progress)
    return path


def build_missing(seeds: int, rules: Rules = Rules(), folder: Path | None = None) -> Path:
    """The file of a table, built as by :func:`build_table` when there is none.

    A process that is building it is waited for. Raises OwareError in one line.
    """
    path, range_ = _checked(seeds, rules, None, folder)
    with _alone(path, wait=True):
        if not is_there(path):
            _build(path, seeds, rules, range_, lambda done, of: None)
    return path


def _checked(
    seeds: int, rules: Rules, plies: tuple[int, int] | None, folder: Path | None
) -> tuple[Path, tuple[int, int]]:
    """The file to write and the range of plies left; OwareError before any work is done."""
    check_seeds(seeds)
    most = check_rules(rules).max_plies
    first, last = check_plies((min(FIRST, most), most) if plies is None else plies)
    path = table_path(seeds, rules, folder)
    boards, few = count_boards(seeds), count_boards(_exact_seeds(seeds, last))
    check_room(f"a table of {seeds} seeds", BOARD_BYTES * boards + (last + 1) * few)
    is_usual = folder is None and not os.environ.get(TABLES)
    remedy = f"; set {TABLES} to a folder that can be" if is_usual else ""
    prepare_place(path, remedy)  # now, not after a long build
    return path, (first, last)


def _alone(path: Path, wait: bool = False) -> Lock:
    """The right to build a table."""
    return Lock(path.parent, f"table {path.stem} in", f".{path.stem}.lock", wait)


def _build(
    path: Path, seeds: int, rules: Rules, range_: tuple[int, int], progress: Progress
) -> None:
    """Go on with an unfinished build, or begin, and write the table."""
    checkpoint = path.with_suffix(".unfinished")
    try:
        build = Build(seeds, rules, *range_)
        build.restore(checkpoint)
        build.run(checkpoint, os.cpu_count() or 1, progress)
        write_contents(path, build.arrays(), build.facts)
    except MemoryError:
        raise OwareError(
            f"there is not enough memory to build {path}: ask for fewer seeds"
        ) from None
    checkpoint.unlink(missing_ok=True)
