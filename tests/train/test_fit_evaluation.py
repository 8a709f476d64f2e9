"""Fitting the evaluation: the same sample gives the same weights, and the fit predicts."""

import numpy as np
import pytest

from agents.search import evaluation_weights
from agents.search.evaluation import MOST_JUDGED, PHASES, SEED, full
from train.fit_evaluation import (
    _PLACE,
    FitSettings,
    Sample,
    features,
    fit,
    loss,
    play_sample,
    write_weights,
)

SETTINGS = FitSettings(games=60, depth=2, table=4, seed=3)


@pytest.fixture(scope="module")
def sample():
    return play_sample(SETTINGS)


def test_a_sample_is_labelled_from_the_side_to_move(sample):
    assert len(sample.boards) == len(sample.results) == len(sample.games) > 2000
    assert set(np.unique(sample.results)) <= {0, 0.5, 1}
    assert np.array_equal(np.unique(sample.games), np.arange(60))
    assert (sample.boards.sum(axis=1) == 48).all()
    won = sample.boards[:, 12] > 22
    lost = sample.boards[:, 13] > 22
    assert sample.results[won & ~lost].mean() > 0.8 > 0.2 > sample.results[lost & ~won].mean()


def test_equal_settings_give_equal_weights(sample):
    again = play_sample(SETTINGS)
    assert all(np.array_equal(a, b) for a, b in zip(sample, again, strict=True))
    assert np.array_equal(fit(sample, 3.0, 3), fit(again, 3.0, 3))


def test_the_fit_predicts_better_than_a_guess(sample):
    fitted = fit(sample, 3.0)
    assert loss(features(sample.boards) @ fitted, sample.results) < 0.8
    assert loss(np.zeros(len(sample.boards)), sample.results) == 1


def test_features_times_weights_are_the_evaluation(sample):
    table = np.concatenate(
        [evaluation_weights.WORTHS.reshape(PHASES, -1), evaluation_weights.PHASE_WEIGHTS], axis=1
    )
    boards = sample.boards[::50]
    values = features(boards) @ table.ravel()
    assert np.array_equal(values, [full(board) for board in boards])


def test_a_ridge_holds_what_was_never_seen_at_zero():
    boards = np.tile(np.array([4] * 12 + [0, 0], np.int8), (10, 1))
    weights = fit(Sample(boards, np.ones(10), np.arange(10)), 1.0)
    assert np.count_nonzero(np.abs(weights) > 1e-9) == 1  # being to move


def test_weights_are_written_as_the_module_reads_them(tmp_path):
    place = tmp_path / "weights.py"
    place.write_text(_PLACE.read_text())
    columns = 6 * (MOST_JUDGED + 1) + 6
    weights = np.arange(PHASES * columns) / 1000.0
    write_weights(weights, "by a test", place)
    module: dict = {}
    exec(place.read_text(), module)
    assert "# Fit: by a test\n" in place.read_text()
    scale = SEED / weights.reshape(PHASES, columns)[:, -6].mean()
    expected = np.rint(weights.reshape(PHASES, columns) * scale)
    assert np.array_equal(module["WORTHS"].reshape(PHASES, -1), expected[:, :-6])
    assert np.array_equal(module["PHASE_WEIGHTS"], expected[:, -6:])
    assert [name for name in module if name.isupper() and not name.startswith("_")] == [
        "STORES_OF_PHASE",
        "PHASE_WEIGHTS",
        "WORTHS",
    ]
