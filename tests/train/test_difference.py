"""Differences over seeds: intervals that hold what they promise, and how many seeds are missing."""

import math

import numpy as np
import pytest

from train.difference import difference


def test_the_interval_is_students():
    found = difference(np.array([0.5, 0.5, 0.5]), np.array([0.6, 0.7, 0.65]))
    assert found.mean == pytest.approx(0.15)
    # t(0.975, 2 degrees of freedom) = 4.3027; deviation 0.05 of three values
    assert found.high - found.mean == pytest.approx(4.3027 * 0.05 / math.sqrt(3), rel=1e-4)
    assert found.is_clear


def test_95_of_100_intervals_hold_the_truth():
    random, held, tries = np.random.default_rng(1), 0, 2000
    for _ in range(tries):
        found = difference(np.zeros(3), random.normal(0.3, 1.0, 3))
        held += found.low <= 0.3 <= found.high
    assert abs(held / tries - 0.95) < 0.02


def test_one_seed_has_no_interval():
    found = difference(np.array([0.5]), np.array([0.9]))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert not found.is_clear and found.seeds_needed() is None


def test_the_seeds_needed_make_it_clear_and_one_fewer_do_not():
    random = np.random.default_rng(0)
    values = random.normal(0.0, 1.0, 4)
    values += 0.3 - values.mean()
    found = difference(np.zeros(4), values)
    needed = found.seeds_needed()
    assert needed is not None and needed > 4

    def is_clear(seeds):
        # Seeds of the same mean and deviation: half at either side of the mean.
        side = found.deviation * math.sqrt((seeds - 1) / seeds)
        spread = np.where(np.arange(seeds) % 2, side, -side)
        spread -= spread.mean()
        spread *= found.deviation / spread.std(ddof=1)
        return difference(np.zeros(seeds), found.mean + spread).is_clear

    assert is_clear(needed) and not is_clear(needed - 1)


def test_no_difference_at_all_is_never_clear():
    assert difference(np.zeros(2), np.array([0.1, -0.1])).seeds_needed() is None
