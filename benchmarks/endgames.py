"""Solving every board with few seeds under the move limit, on all cores, and asking the table."""

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from agents.tablebase.build import build_table
from agents.tablebase.probe import TableArrays, Tablebase, probe
from benchmarks.figure import Figure, Mark, clock
from oware_env.kernel import kernel

MARKS = {10: 2.0, 12: 8.0}  # most seconds by seeds
PROBED_SEEDS = 10
PROBES = 1_000_000
ROUNDS = 3


@kernel
def probe_all(boards, left, table):
    """Ask for every board; a sum of the bounds, so that nothing is left out."""
    total = 0
    for row in range(len(boards)):
        low, high = probe(boards[row], left, table)
        total += low + high
    return total


def build_seconds(seeds: int, folder: Path) -> float:
    """Wall-clock seconds of one build, file included."""
    started = time.perf_counter()
    build_table(seeds, folder=folder)
    return time.perf_counter() - started


def random_boards(seeds: int, count: int) -> np.ndarray:
    """Boards of so many seeds thrown at random into the houses, int8[count, 14]."""
    random = np.random.default_rng(0)
    boards = np.zeros((count, 14), np.int8)
    for house in random.integers(0, 12, (seeds, count)):
        boards[np.arange(count), house] += 1
    return boards


def probes_per_second(table: TableArrays) -> float:
    """Probes a second inside a kernel, on one core."""
    boards = random_boards(PROBED_SEEDS, PROBES)
    probe_all(boards[:2], 200, table)  # compiles
    rates = []
    for _ in range(ROUNDS):
        started = clock()
        probe_all(boards, 200, table)
        rates.append(PROBES / (clock() - started))
    return statistics.median(rates)


def endgames() -> list[Figure]:
    """Measure the rows of the tables: how long they take to build, and what asking takes."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build_table(2, folder=folder)  # compiles
        for seeds, most in MARKS.items():
            seconds = statistics.median(build_seconds(seeds, folder) for _ in range(ROUNDS))
            what = f"all endgames up to {seeds} seeds, {os.cpu_count()} cores"
            figures.append(Figure(what, seconds, "s", Mark(most, "s", at_most=True)))
        table = Tablebase(folder / f"abapa-{PROBED_SEEDS}.safetensors").arrays
        rate = probes_per_second(table)
    what = "asking a table inside a kernel"
    return [*figures, Figure(what, rate, "boards/s", Mark(5e6, "boards/s"))]
