"""One line of the table, and the interleaved timing that all rows share."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

ROUNDS = 9

clock = time.process_time
"""Processor seconds of this process: everything here runs on one core, and what other programs
take from it is no property of ours."""


class Mark(NamedTuple):
    """What a figure has to reach."""

    value: float
    unit: str  # "x" for the ratio to the peer, else the unit of our own figure
    at_most: bool = False  # less is better

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {show(self.value, self.unit)}"


class Figure(NamedTuple):
    """One measured line."""

    what: str
    ours: float
    unit: str
    mark: Mark
    peer: str = ""  # who, empty when there is none
    peer_value: float | None = None  # in our unit
    ratio: float | None = None  # ours to the peer's

    @property
    def is_reached(self) -> bool:
        """Whether the mark is reached."""
        value = self.ratio if self.mark.unit == "x" else self.ours
        if value is None:
            return False
        return value <= self.mark.value if self.mark.at_most else value >= self.mark.value


def show(value: float, unit: str) -> str:
    """A figure with its unit, to three significant digits: ``"26.1M moves/s"``."""
    if unit == "%":
        return f"{value:.0%}"
    if unit == "x":
        return f"{value:.2g} x" if value < 10 else f"{value:.0f} x"
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size and unit.endswith("/s"):
            return f"{value / size:.3g}{letter} {unit}"
    return f"{value:.3g} {unit}"


def interleave(
    ours: Callable[[int], float], theirs: Callable[[int], float], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Median speeds of two functions of a seed, and the median of the rounds' ratios.

    Round 0 warms both up and is not counted.
    """
    pairs = [(ours(seed), theirs(seed)) for seed in range(rounds + 1)][1:]
    medians = [statistics.median(column) for column in zip(*pairs, strict=True)]
    return medians[0], medians[1], statistics.median(a / b for a, b in pairs)
