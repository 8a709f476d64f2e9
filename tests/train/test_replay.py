"""The replay window: what it keeps, what it draws and what a restart brings back."""

import numpy as np

from train.config import Replay
from train.replay import ReplayWindow
from train.samples import Samples


def _unit(number, length=10):
    """A unit whose every array says which unit and row it came from."""
    rows = np.arange(length)
    inputs = np.full((length, 15), number, np.uint8)
    policies = np.tile(rows[:, None], (1, 6)).astype(np.float32)
    return Samples(inputs, policies, (rows % 3).astype(np.int8), rows.astype(np.int8))


def _units_in(window):
    return np.unique(window.contents().inputs[:, 0]).tolist()


def _same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def _filled(units, **settings):
    window = ReplayWindow(Replay(**settings))
    for number in range(units):
        window.add(_unit(number))
    return window


def test_the_window_keeps_everything_up_to_its_least_size():
    window = _filled(5, least=50, growth=0.0)
    assert len(window) == 50 and _units_in(window) == [0, 1, 2, 3, 4]


def test_a_window_that_does_not_grow_drops_the_oldest_whole_units():
    window = _filled(9, least=50, growth=0.0)
    assert len(window) == 50 and _units_in(window) == [4, 5, 6, 7, 8]
    assert window.total == 90


def test_the_window_never_falls_below_its_limit_when_units_are_whole():
    window = _filled(9, least=45, growth=0.0)
    assert len(window) == 50, "dropping one more unit would leave 40 of 45"


def test_the_window_grows_by_the_configured_share_of_further_positions():
    sizes = []
    window = ReplayWindow(Replay(least=20, growth=0.5))
    for number in range(10):
        window.add(_unit(number))
        sizes.append((window.limit, len(window)))
    # 20 positions are kept always, and half of all that came after the first 20.
    assert [limit for limit, _ in sizes] == [20, 20, 25, 30, 35, 40, 45, 50, 55, 60]
    assert [size for _, size in sizes] == [10, 20, 30, 30, 40, 40, 50, 50, 60, 60]


def test_the_window_never_exceeds_its_greatest_size_by_a_whole_unit():
    window = _filled(40, least=20, growth=1.0, most=100)
    assert window.limit == 100 and len(window) == 100


def test_one_unit_larger_than_the_window_is_kept_whole():
    window = ReplayWindow(Replay(least=5, growth=0.0, most=5))
    window.add(_unit(0, 30))
    assert len(window) == 30
    window.add(_unit(1, 30))
    assert _units_in(window) == [1] and len(window) == 30


def test_equal_seeds_draw_equal_samples_and_others_do_not():
    window = _filled(5, least=100)
    first = window.sample(64, (7, 1))
    assert _same(first, window.sample(64, (7, 1)))
    assert not _same(first, window.sample(64, (7, 2)))
    assert not _same(first, window.sample(64, (8, 1)))


def test_samples_are_rows_of_the_window_drawn_evenly():
    window = _filled(4, least=100)
    drawn = window.sample(8_000, (0, 0))
    rows = drawn.inputs[:, 0].astype(int) * 10 + drawn.margins
    counts = np.bincount(rows, minlength=40)
    assert counts.min() > 120 and counts.max() < 280  # 200 each, within 5 deviations
    assert (drawn.policies[:, 0] == drawn.margins).all()
    assert (drawn.results == drawn.margins % 3).all()


def test_a_restored_window_goes_on_like_the_one_that_was_saved():
    window = _filled(9, least=25, growth=0.3)
    other = ReplayWindow(Replay(least=25, growth=0.3))
    other.restore(window.contents(), window.lengths(), window.total)
    for number in range(9, 14):
        assert _same(window.contents(), other.contents())
        assert _same(window.sample(16, (number,)), other.sample(16, (number,)))
        assert (window.lengths(), window.total) == (other.lengths(), other.total)
        window.add(_unit(number))
        other.add(_unit(number))


def test_drawing_does_not_change_what_the_window_holds():
    window, untouched = _filled(3, least=20), _filled(3, least=20)
    window.sample(5, (0,)).inputs[:] = 99
    for number in range(3, 6):
        window.add(_unit(number))
        untouched.add(_unit(number))
    assert _same(window.contents(), untouched.contents())
