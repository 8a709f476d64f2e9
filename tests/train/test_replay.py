"""The replay window: what it keeps, what it draws and what a restart brings back."""

import numpy as np
import pytest

from oware_env.encoding import NETWORK_SIZE
from oware_env.errors import OwareError
from train.config import Replay
from train.replay import ReplayWindow
from train.samples import Samples


def _unit(number, length=10):
    """A unit whose every array says which unit and row it came from."""
    rows = np.arange(length)
    inputs = np.full((length, NETWORK_SIZE), number, np.uint8)
    policies = np.tile(rows[:, None], (1, 6)).astype(np.float32)
    return Samples(
        inputs,
        policies,
        results=(rows % 3).astype(np.int8),
        margins=rows.astype(np.int8),
        values=np.where(rows % 4, rows / 10, np.nan).astype(np.float32),
        plies=(30 + rows).astype(np.int32),
        games=np.full(length, 1000 + number, np.int32),
    )


def _units_in(window):
    return np.unique(window.contents().inputs[:, 0]).tolist()


def _same(first, second):
    return all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


@pytest.fixture
def filled(tmp_path):
    """A function that makes windows, each in a folder of its own, and fills them with units."""
    made = []

    def fill(units, length=10, **settings):
        window = ReplayWindow(Replay(**settings), tmp_path / str(len(made)))
        window._shards.rows_per_file = 16  # so that a test meets the edges of files
        made.append(window)
        for number in range(units):
            window.add(_unit(number, length))
        return window

    yield fill
    for window in made:
        window.close()


def test_the_window_keeps_everything_up_to_its_least_size(filled):
    window = filled(5, least=50, growth=0.0)
    assert len(window) == 50 and _units_in(window) == [0, 1, 2, 3, 4]


def test_a_window_that_does_not_grow_drops_the_oldest_positions(filled):
    window = filled(9, least=45, growth=0.0)
    assert (len(window), window.total, window.start) == (45, 90, 45)
    assert window.contents().margins[:6].tolist() == [5, 6, 7, 8, 9, 0]


def test_the_window_grows_by_the_configured_share_of_further_positions(filled):
    window, sizes = filled(0, least=20, growth=0.5), []
    for number in range(10):
        window.add(_unit(number))
        sizes.append((window.limit, len(window)))
    # 20 positions are kept always, and half of all that came after the first 20.
    assert [limit for limit, _ in sizes] == [20, 20, 25, 30, 35, 40, 45, 50, 55, 60]
    assert [size for _, size in sizes] == [10, 20, 25, 30, 35, 40, 45, 50, 55, 60]


def test_the_window_never_exceeds_its_greatest_size(filled):
    window = filled(40, least=20, growth=1.0, most=100)
    assert window.limit == 100 and len(window) == 100


def test_equal_seeds_draw_equal_samples_and_others_do_not(filled):
    window = filled(5, least=100)
    first = window.sample(64, (7, 1))
    assert _same(first, window.sample(64, (7, 1)))
    assert not _same(first, window.sample(64, (7, 2)))
    assert not _same(first, window.sample(64, (8, 1)))


def test_samples_are_rows_of_the_window_drawn_evenly(filled):
    window = filled(6, least=40, growth=0.0)
    drawn = window.sample(8_000, (0, 0))
    rows = (drawn.inputs[:, 0].astype(int) - 2) * 10 + drawn.margins
    counts = np.bincount(rows, minlength=40)
    assert counts.min() > 120 and counts.max() < 280  # 200 each, within 5 deviations
    assert (drawn.policies[:, 0] == drawn.margins).all()
    assert (drawn.results == drawn.margins % 3).all()


def test_every_kind_of_target_comes_back_as_it_was(filled):
    unit = Samples(
        inputs=_unit(3).inputs,
        policies=np.random.default_rng(0).random((10, 6), np.float32),
        results=np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], np.int8),
        margins=np.array([-48, 48, 127, 0, -1, 1, 5, -7, 127, 20], np.int8),
        values=np.array([-1, 1, np.nan, 0, 0.25, -0.1, np.nan, 0.9, 1e-7, 1], np.float32),
        plies=np.array([0, 1, 399, 70_000, 5, 6, 7, 8, 9, 10], np.int32),
        games=np.arange(10, dtype=np.int32) + 2_000_000_000,
    )
    window = filled(0, least=100)
    window.add(unit)
    assert _same(window.contents(), unit)
    assert [a.dtype for a in window.contents()] == [a.dtype for a in unit]


def test_a_restored_window_goes_on_like_the_one_that_was_saved(filled):
    window = filled(9, least=25, growth=0.3)
    state = window.state()
    expected = filled(14, least=25, growth=0.3)
    for number in range(70, 75):
        window.add(_unit(number))  # lost: after the checkpoint
    window.restore(state)
    assert window.total == 90
    for number in range(9, 14):
        window.add(_unit(number))
    assert _same(window.contents(), expected.contents())
    assert _same(window.sample(16, (1,)), expected.sample(16, (1,)))


def test_the_last_two_checkpoints_can_be_gone_back_to(filled):
    window = filled(9, least=25, growth=0.0)
    older, contents = window.state(), window.contents()
    for number in range(9, 20):
        window.add(_unit(number))
    newer, newer_contents = window.state(), window.contents()
    window.add(_unit(20))
    window.restore(newer)
    assert _same(window.contents(), newer_contents)
    window.restore(older)
    assert _same(window.contents(), contents)


def test_files_that_left_the_window_are_deleted_in_the_end(filled):
    window = filled(100, least=25, growth=0.0)
    window.state()
    window.state()
    assert len(list(window._shards.folder.iterdir())) <= 25 // 16 + 2


def test_a_window_that_keeps_all_deletes_no_file_and_draws_the_same(filled):
    kept, window = (filled(100, least=25, growth=0.0, keep=keep) for keep in (True, False))
    for _ in range(3):
        state = kept.state()
        kept.restore(state)
        kept.add(_unit(100))
        window.add(_unit(100))
    assert (kept.start, len(kept)) == (window.start, len(window)) == (1005, 25)
    assert _same(kept.sample(30, (1,)), window.sample(30, (1,)))
    assert kept._shards.first == 0 and len(kept._shards.read(0, 1030)) == 1030


def test_a_damaged_file_of_the_window_is_refused(filled):
    window = filled(9, least=40, growth=0.0)
    state = window.state()
    newest = max(window._shards.folder.iterdir())
    newest.write_bytes(newest.read_bytes()[:-41])
    with pytest.raises(OwareError, match=r"rows was cut off: it holds \d+ of \d+ rows"):
        window.restore(state)


def test_positions_with_other_columns_are_refused(filled):
    window = filled(3, least=40)
    state = window.state()
    for columns in (["inputs", "policies", "results", "margins"], None):
        with pytest.raises(OwareError, match="written by an earlier version"):
            window.restore(state | {"columns": columns})
    window.restore(state)


def test_drawing_does_not_change_what_the_window_holds(filled):
    window, untouched = filled(3, least=20), filled(3, least=20)
    window.sample(5, (0,)).inputs[:] = 99
    assert _same(window.contents(), untouched.contents())
