"""What a run logged comes back as it was logged, and what is no log is one line."""

import json

import numpy as np
import pytest

from oware_env.errors import OwareError
from train.metrics import (
    Series,
    align,
    read_events,
    read_log,
    read_metrics,
    read_pictures,
    series,
)
from train.profile import read_profile
from train.run import run_config

ROWS = [
    {"unit": 0, "step": 2, "total/minutes": 0.1, "total/games": 8, "loss/policy": 1.5},
    {"step": 2, "total/minutes": 0.2, "evaluation/random": 0.75},
    {"unit": 1, "step": 5, "total/minutes": 0.3, "total/games": 16, "loss/policy": 1.25},
]


@pytest.fixture
def logged(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def test_the_lines_come_back_in_order(logged):
    assert read_log(logged) == read_metrics(logged) == ROWS


def test_a_line_that_is_still_being_written_waits(logged):
    with (logged / "metrics.jsonl").open("a") as file:
        file.write('{"unit": 2, "lo')
    assert read_log(logged, is_growing=True) == ROWS
    with pytest.raises(OwareError, match=r"metrics\.jsonl, line 4: not what a run logs"):
        read_log(logged)


def test_a_run_that_has_just_begun_has_logged_nothing(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    assert read_log(tmp_path) == []
    with pytest.raises(OwareError, match="tells of no games: nothing was learned yet"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"holds no metrics\.jsonl: nothing was logged there$"),
        (b"3\n", "line 1: not what a run logs"),
        (b'{"unit": 0}\nhello\n', "line 2: not what a run logs"),
        (b"\xff\xfe\x00", "is not what a run logs: it is no text"),
    ],
)
def test_what_is_no_log_is_one_line(tmp_path, tiny, content, message):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_bytes(content)
    for read in (read_log, read_metrics, lambda run: read_profile(run, tiny())):
        with pytest.raises(OwareError, match=message) as raised:
            read(tmp_path)
        assert "\n" not in str(raised.value)


def test_a_series_holds_the_lines_that_have_it():
    places, values = series(ROWS, "loss/policy")
    assert (places.tolist(), values.tolist()) == ([0.1, 0.3], [1.5, 1.25])
    assert series(ROWS, "evaluation/random", along="step").places.tolist() == [2.0]


def test_a_figure_that_was_never_logged_is_named_with_the_nearest():
    with pytest.raises(OwareError, match=r"no 'loss/polcy'; the nearest is 'loss/policy'"):
        series(ROWS, "loss/polcy")
    with pytest.raises(OwareError, match=r"no 'steps'; the nearest is 'step'"):
        series(ROWS, "loss/policy", along="steps")
    with pytest.raises(OwareError, match="never logged 'evaluation/random' and 'total/games' tog"):
        series(ROWS, "evaluation/random", along="total/games")


def test_series_of_several_runs_are_laid_over_each_other():
    short = Series(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 40.0]))
    long = Series(np.array([0.0, 2.0, 3.0, 6.0]), np.array([0.0, 2.0, 3.0, 6.0]))
    places, values = align([short, long])
    assert places.tolist() == [1.0, 2.5, 4.0]
    assert values.tolist() == [[10.0, 25.0, 40.0], [1.0, 2.5, 4.0]]
    assert np.array_equal(align([short])[1], [[10.0, 25.0, 40.0]])


def test_series_without_a_common_part_are_refused():
    early, late = (Series(np.array([a, a + 1.0]), np.zeros(2)) for a in (0.0, 5.0))
    with pytest.raises(OwareError, match="no part in common: one ends at 1, before 5"):
        align([early, late])
    with pytest.raises(OwareError, match="there is no series to align"):
        align([])


def test_the_events_hold_the_figures_of_the_log(finished):
    rows = read_metrics(finished)
    events = read_events(finished)
    for name in ("loss/policy", "evaluation/random", "total/games"):
        ours = [(row["step"], row[name]) for row in rows if name in row]
        theirs = [(event["step"], event["value"]) for event in events if event["tag"] == name]
        assert ours
        assert np.allclose(ours, theirs, rtol=1e-6)  # events are float32


def test_the_events_hold_a_picture_of_each_position_at_each_evaluation(finished):
    pictures = read_pictures(finished)
    assert {"positions/opening", "positions/midgame", "positions/endgame"} == set(pictures)
    times = run_config(finished).evaluation.times
    for by_step in pictures.values():
        assert len(by_step) == times
        assert all(png.startswith(b"\x89PNG") for png in by_step.values())


def test_without_events_it_is_one_line(logged):
    for empty in (False, True):
        if empty:
            (logged / "events").mkdir()
            (logged / "events" / "events.out.tfevents.1.host").touch()
        for read in (read_events, read_pictures):
            with pytest.raises(OwareError, match="holds no events of TensorBoard: nothing was"):
                read(logged)


def test_events_that_were_cut_off_hold_what_came_before(finished, tmp_path):
    (file,) = (finished / "events").iterdir()
    (tmp_path / "events").mkdir()
    whole = file.read_bytes()
    (tmp_path / "events" / file.name).write_bytes(whole[: len(whole) // 2])
    assert 0 < len(read_events(tmp_path)) < len(read_events(finished))
