"""Differences between two arms of an experiment: over seeds, with honest intervals.

A training run is one draw: another seed gives another strength. So what is compared are the means
of each seed, and their spread says how far the mean of all seeds may be off (Student's t; the doubt
from the few games of each seed is part of that spread). One seed says nothing about others: then
there is no interval.
"""

import math
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
MOST_SEEDS = 1000


class Difference(NamedTuple):
    """How much more B has than A, as the mean over seeds."""

    mean: float
    low: float  # 95 % interval; NaN with one seed
    high: float
    deviation: float  # between seeds; NaN with one seed
    seeds: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes no difference."""
        return self.low > 0 or self.high < 0

    def seeds_needed(self) -> int | None:
        """Seeds after which a difference of this size would be clear; None beyond MOST_SEEDS.

        None as well when there is one seed only, from which nothing of the kind follows.
        """
        if math.isnan(self.deviation):
            return None
        for seeds in range(max(2, self.seeds), MOST_SEEDS + 1):
            if half_width(self.deviation, seeds) < abs(self.mean):
                return seeds
        return None


def difference(a: np.ndarray, b: np.ndarray) -> Difference:
    """B minus A by seed, float[S] each. NaN in either makes the difference NaN."""
    by_seed = np.asarray(b, np.float64) - np.asarray(a, np.float64)
    seeds, mean = len(by_seed), float(by_seed.mean())
    if seeds < 2:
        return Difference(mean, math.nan, math.nan, math.nan, seeds)
    deviation = float(by_seed.std(ddof=1))
    half = half_width(deviation, seeds)
    return Difference(mean, mean - half, mean + half, deviation, seeds)


def half_width(deviation: float, seeds: int) -> float:
    """Half of the 95 % interval of a mean over seeds."""
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, seeds - 1)) * deviation / math.sqrt(seeds)
