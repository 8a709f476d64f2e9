"""Plots show the numbers they are given."""

import numpy as np
import pytest

from agents import plots


@pytest.fixture
def axes():
    with plots.style():
        yield plots.figure()[1][0, 0]


def test_a_figure_has_its_axes_in_rows_and_columns():
    drawn, axes = plots.figure(2, 3, size=(6, 4))
    assert axes.shape == (2, 3) and drawn.get_size_inches().tolist() == [6, 4]


def test_ratings_stand_in_order_with_their_intervals(axes):
    rows = [plots.Rating("weak", -100, -150, -50), plots.Rating("strong", 200, 100, 350)]
    plots.ratings(axes, rows)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["weak", "strong"]
    (bars,) = axes.collections
    ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
    assert ends == [[-150, -50], [100, 350]]


def test_a_cross_table_prints_each_score_where_it_belongs(axes):
    scores = np.array([[np.nan, 0.75], [0.25, np.nan]])
    plots.cross_table(axes, ("a", "b"), scores)
    assert {(text.get_position(), text.get_text()) for text in axes.texts} == {
        ((1, 0), "75"),
        ((0, 1), "25"),
    }


def test_a_curve_is_the_median_and_its_band_the_extremes(axes):
    plots.curve(axes, [1, 2], [[0.0, 0.2], [0.4, 0.3], [0.1, 0.9]], "score")
    assert axes.lines[0].get_ydata().tolist() == [0.1, 0.3]
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 0.9)


def test_a_smoothed_curve_keeps_its_length_and_its_level():
    assert plots.smooth([3.0] * 7, 0.5).tolist() == [3.0] * 7
    assert plots.smooth([0.0, 0.0, 3.0, 0.0, 0.0], 0.6).tolist() == pytest.approx([0, 1, 1, 1, 0])
    assert plots.smooth([1.0, 5.0]).tolist() == [1.0, 5.0]


def test_one_run_has_no_band(axes):
    plots.curve(axes, [1, 2], [[0.0, 0.2]], "score")
    assert len(axes.lines) == 1 and not axes.collections


def test_curves_differ_in_form_as_well_as_in_colour(axes):
    for number in range(6):
        plots.curve(axes, [1, 2], [[0.0, 0.2]], str(number), number)
    looks = {(line.get_color(), line.get_marker()) for line in axes.lines}
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 6


def test_intervals_reach_from_bound_to_bound(axes):
    plots.intervals(axes, [1, 2], np.array([[0.4, 0.5, 0.7], [0.6, 0.6, 0.8]]), "score")
    ends = [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()]
    assert np.allclose(ends, [[0.4, 0.7], [0.6, 0.8]])


def test_a_forest_has_a_row_an_effect_filled_where_it_is_clear(axes):
    plots.forest(axes, ["clear", "open"], np.array([[0.6, 0.7, 0.8], [0.4, 0.55, 0.7]]))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["clear", "open"]
    ends = [bars.get_segments()[0].tolist() for bars in axes.collections]
    assert np.allclose(ends, [[[0.6, 1], [0.8, 1]], [[0.4, 0], [0.7, 0]]])
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() for dot in dots] == [plots.VERMILLION, "#FFFFFF"]


def test_lengths_count_every_game_and_mark_the_median(axes):
    plots.lengths(axes, np.array([10, 20, 30]), bins=4)
    assert sum(bar.get_height() for bar in axes.patches) == 3
    assert "median 20" in axes.get_xlabel()


def test_shares_are_bars_with_their_percent(axes):
    plots.shares(axes, {"majority": 0.75, "move limit": 0.25})
    assert [bar.get_width() for bar in axes.patches] == [25.0, 75.0]
    assert [text.get_text().strip() for text in axes.texts] == ["25.0 %", "75.0 %"]


def test_the_edge_is_drawn_around_one_half(axes):
    plots.edge(axes, [0.5, 0.8])
    assert axes.collections[0].get_offsets()[:, 0].tolist() == [50.0, 80.0]
    low, high = axes.get_xlim()
    assert low + high == pytest.approx(100) and high > 80


def test_calibration_gives_larger_dots_to_more_positions(axes):
    plots.calibration(axes, np.array([-1, 1]), np.array([-0.9, 0.8]), np.array([10, 1000]))
    few, many = axes.collections[0].get_sizes()
    assert few < many


def test_equal_plots_are_equal_files(tmp_path):
    texts = []
    for name in "ab":
        with plots.style():
            drawn, axes = plots.figure()
            plots.shares(axes[0, 0], {"a": 0.4})
            drawn.savefig(tmp_path / f"{name}.svg", metadata={"Date": None})
        texts.append((tmp_path / f"{name}.svg").read_text())
    assert texts[0] == texts[1]


def test_an_opening_tree_has_a_block_a_line_where_it_is_told(axes):
    lines = [
        plots.Block(0.0, 0.7, 1, 0.2, "F"),
        plots.Block(0.7, 0.25, 1, -0.1, "E"),
        plots.Block(0.0, 0.4, 2, float("nan"), "f"),
        plots.Block(0.4, 0.01, 2, 0.2, "e"),
    ]
    plots.openings(axes, lines)
    corners = [patch.get_xy() for patch in axes.patches]
    assert corners == [(0.0, 0.5), (0.7, 0.5), (0.0, 1.5), (0.4, 1.5)]
    assert [patch.get_width() for patch in axes.patches] == [0.7, 0.25, 0.4, 0.01]
    assert [text.get_text() for text in axes.texts] == ["F\n70%", "E\n25%", "f\n40%", ""]
    good, bad, unknown, _ = (patch.get_facecolor() for patch in axes.patches)
    assert good[2] > good[1] and bad[0] > bad[2] and unknown[0] == unknown[1] == unknown[2]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1  South", "2  North"]
    first, last = axes.get_ylim()
    assert first > last  # the first move on top


def test_an_interval_whose_bound_is_rounded_to_the_wrong_side_is_drawn(axes):
    plots.intervals(axes, [1], np.array([[0.9, 1.0, np.nextafter(1.0, 0.0)]]), "score")
    (segment,) = axes.collections[0].get_segments()
    assert segment[:, 1].tolist() == [0.9, 1.0]
