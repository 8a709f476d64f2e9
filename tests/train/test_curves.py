"""Curves are drawn where a run logged figures for them, and nowhere else."""

import numpy as np
import pytest

from agents import plots
from train.curves import CURVES, LOSSES, draw_curves, draw_strength, opponents


@pytest.fixture
def axes():
    with plots.style():
        yield plots.figure()[1][0, 0]


def _test(minutes, opponent, low, score, high):
    figures = {"evaluation_low": low, "evaluation": score, "evaluation_high": high}
    return {"total/minutes": minutes} | {f"{name}/{opponent}": x for name, x in figures.items()}


def test_strength_has_a_line_an_opponent_with_its_intervals(axes):
    rows = [
        _test(0.1, "random", 0.5, 0.6, 0.8),
        _test(0.1, "careful", 0.0, 0.1, 0.3),
        _test(0.2, "random", 0.7, 0.9, 1.0),
    ]
    assert opponents(rows) == ["careful", "random"]
    assert draw_strength(axes, rows)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["careful", "random"]
    ends = [bars.get_segments() for bars in axes.collections]
    assert np.allclose(ends[1], [[[0.1, 0.5], [0.1, 0.8]], [[0.2, 0.7], [0.2, 1.0]]])


def test_curves_are_those_that_were_logged(axes):
    rows = [{"total/minutes": 0.1, "loss/policy": 1.5}, {"total/minutes": 0.2, "loss/policy": 1.0}]
    assert draw_curves(axes, rows, *CURVES[LOSSES])
    (line,) = axes.lines
    assert line.get_label() == "policy" and line.get_xdata().tolist() == [0.1, 0.2]
    assert line.get_ydata().tolist() == [1.5, 1.0]


def test_without_figures_nothing_is_drawn(axes):
    rows = [{"total/minutes": 0.1, "unit": 0}]
    assert not draw_curves(axes, rows, *CURVES[LOSSES])
    assert not axes.lines and axes.get_legend() is None
    assert not draw_strength(axes, rows)
    assert axes.get_legend() is None


def test_every_figure_of_the_plots_is_one_that_runs_log(finished):
    text = (finished / "metrics.jsonl").read_text()
    names = [name for names, _ in CURVES.values() for name in names]
    assert [name for name in names if f'"{name}"' not in text] == []
