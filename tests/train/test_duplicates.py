"""Duplicates in the window: exact counts, and draws by log2(1 + copies)."""

from collections import Counter

import numpy as np
import pytest

from train.duplicates import FIRST_SLOTS, Duplicates, position_keys


def _inputs(numbers):
    """Network inputs, one for each number: equal for equal numbers."""
    found = np.zeros((len(numbers), 15), np.uint8)
    found[:, 2:4] = np.array(numbers, np.uint16).view(np.uint8).reshape(-1, 2)
    return found


def _figures(numbers):
    """(different numbers, sum of log2(1 + copies)) counted plainly."""
    copies = np.array(list(Counter(numbers).values()))
    return len(copies), pytest.approx(np.log2(1 + copies).sum())


def _seen(duplicates):
    return duplicates.distinct, duplicates.weight


def test_inputs_have_equal_keys_only_when_all_of_them_is_equal():
    inputs = np.zeros((16, 15), np.uint8)
    inputs[np.arange(15), np.arange(15)] = 1
    keys = position_keys(np.concatenate([inputs, inputs]))
    assert (keys[:16] == keys[16:]).all() and len(np.unique(keys)) == 16
    many = np.random.default_rng(0).integers(0, 48, (50_000, 15)).astype(np.uint8)
    assert len(np.unique(position_keys(many))) == len(np.unique(many, axis=0))


def test_counts_are_those_of_the_rows_as_they_come_and_go():
    random, window, duplicates = np.random.default_rng(1), [], Duplicates()
    for turn in range(60):
        numbers = (40 * turn + random.geometric(0.01, 300)).tolist()
        window = (window + numbers)[-2_000:]
        duplicates.add(_inputs(numbers))
        duplicates.keep_newest(2_000)
        assert len(duplicates) == len(window)
        assert _seen(duplicates) == _figures(window)
    # Some 2,900 different numbers have come, but never more than 600 were there at once.
    assert len(duplicates._counts.keys) == 2 * FIRST_SLOTS, "what has gone takes no room"


def test_more_positions_than_the_first_table_holds_are_counted():
    duplicates, numbers = Duplicates(), [*range(5 * FIRST_SLOTS), *range(FIRST_SLOTS)]
    duplicates.add(_inputs(numbers))
    assert _seen(duplicates) == _figures(numbers)


def test_rows_are_drawn_by_the_weight_of_their_position_and_copies_evenly():
    numbers = np.repeat([0, 1, 2, 3], [1, 3, 15, 63])
    numbers = np.random.default_rng(5).permutation(numbers).tolist()
    duplicates = Duplicates()
    duplicates.add(_inputs(numbers))
    draws = 26_000
    rows = np.bincount(duplicates.draw(draws, (3,)), minlength=len(numbers))
    by_number = np.bincount(numbers, weights=rows)
    shares = np.array([1, 2, 4, 6]) / 13  # log2(1 + n)
    deviations = np.sqrt(draws * shares * (1 - shares))
    assert (np.abs(by_number - draws * shares) < 5 * deviations).all()
    each = rows[np.array(numbers) == 3]
    assert abs(each - draws * 6 / 13 / 63).max() < 5 * (draws * 6 / 13 / 63) ** 0.5


def test_draws_depend_on_the_window_and_the_seed_alone():
    numbers = np.random.default_rng(2).geometric(0.02, 4_000).tolist()
    grown, at_once = Duplicates(), Duplicates()
    for first in range(0, 4_000, 250):
        grown.add(_inputs(numbers[first : first + 250]))
        grown.keep_newest(1_500)
    at_once.add(_inputs(numbers[-1_500:]))
    assert (grown.draw(200, (7, 1)) == at_once.draw(200, (7, 1))).all()
    assert (grown.draw(200, (7, 1)) != grown.draw(200, (7, 2))).any()


def test_nothing_is_drawn_of_an_empty_window():
    with pytest.raises(ValueError, match="no row to draw"):
        Duplicates().draw(1, (0,))
