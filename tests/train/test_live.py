"""Live curves follow a run to its end, whoever trains it."""

import json
import os
import time

import pytest

from oware_env.errors import OwareError
from train.live import draw_run, watch

UNIT = {"total/games": 64, "total/positions": 2000, "loss/policy": 1.5, "loss/result": 1.0}


def _unit(number):
    return {"unit": number, "step": 10 * number, "total/minutes": number / 60} | UNIT


@pytest.fixture
def pictures(monkeypatch):
    """What a notebook would show: (whether it is a new picture, PNG)."""
    from IPython.display import DisplayHandle

    found = []
    monkeypatch.setattr("IPython.get_ipython", lambda: "a notebook")
    for name in ("display", "update"):
        monkeypatch.setattr(
            DisplayHandle, name, lambda self, image, how=name: found.append((how, image.data))
        )
    return found


def _write(run, rows, age=0.0):
    path = run / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (time.time() - age,) * 2)


def test_a_run_that_ended_long_ago_is_drawn_once(tmp_path, pictures):
    _write(tmp_path, [_unit(1), _unit(2)], age=3600)
    watch(tmp_path)
    ((how, png),) = pictures
    assert how == "display" and png.startswith(b"\x89PNG")


def test_the_picture_is_drawn_again_when_there_is_more_and_only_then(
    tmp_path, pictures, monkeypatch
):
    logs = [[], [_unit(1)], [_unit(1)], [_unit(1), _unit(2)]]
    _write(tmp_path, logs.pop(0))

    def next_second(_):
        _write(tmp_path, logs.pop(0), age=0.0 if logs else 3600)

    monkeypatch.setattr("train.live.time.sleep", next_second)
    watch(tmp_path)
    assert [how for how, _ in pictures] == ["display", "update", "update"]
    assert len({png for _, png in pictures}) == 3


def test_the_stop_button_ends_the_watching(tmp_path, pictures, monkeypatch):
    _write(tmp_path, [_unit(1)])

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("train.live.time.sleep", stop)
    watch(tmp_path)
    assert len(pictures) == 1


def test_it_says_how_far_the_run_is_and_what_is_alarming():
    rows = [_unit(1), {"step": 10, "alarm": "the player got worse"}, _unit(2)]
    drawn = draw_run("runs/a", rows)
    first, second = drawn.get_suptitle().splitlines()
    assert first == "runs/a: 64 games, 2,000 positions, 20 steps in 0.0 minutes"
    assert second == "ALARM: the player got worse"
    texts = [[text.get_text() for text in axes.texts] for axes in drawn.axes]
    assert texts == [["nothing yet"], ["nothing yet"], [], ["nothing yet"]]


def test_a_run_without_games_yet_is_waited_for():
    assert draw_run("runs/a", []).get_suptitle() == "runs/a: waiting for the first games"


def test_mistakes_are_one_line(tmp_path, pictures, monkeypatch):
    with pytest.raises(OwareError, match=r"holds no metrics\.jsonl: nothing was logged there"):
        watch(tmp_path / "none")
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    with pytest.raises(OwareError, match="live curves need a notebook; a terminal has tensorboard"):
        watch(tmp_path)
