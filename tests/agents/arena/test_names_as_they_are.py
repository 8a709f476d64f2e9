"""Names that users give are shown as they are: no mathematics, no markup, no code of a terminal."""

from html import escape

import numpy as np
import pytest

from agents import plots
from agents.arena import TournamentSettings
from agents.arena.grading import Graded, Report, Worst
from agents.arena.grading_table import calibration_table, grades_table, worst_table
from agents.arena.match import MatchResult
from agents.arena.oracle import grade, truth, uniform_positions
from agents.arena.report import text_report
from agents.arena.report_page import tournament_page
from agents.arena.tournament import run_tournament
from agents.page import plot
from agents.scripted import Scripted
from oware_env.rules import Rules

NAMES = ("runs/a$b_{$", "runs/[red]x[/b]", "runs/:smile:#2B2118 url(#a) \\$", "日本/<t>&")


@pytest.fixture(scope="module")
def result():
    """A tournament between agents whose folders have such names."""
    agents = ("random", "greedy", "careful", "feeder")
    played = run_tournament(TournamentSettings(agents=agents, games=2, workers=0))
    called = dict(zip(agents, NAMES, strict=True))
    matches = tuple(
        MatchResult(called[match.a], called[match.b], match.games) for match in played.matches
    )
    settings = played.settings.model_copy(update={"agents": NAMES})
    return played._replace(settings=settings, matches=matches)


def test_a_page_shows_names_as_they_are(result):
    text = tournament_page(result)
    for name in NAMES:
        assert f"<td>{escape(name)}</td>" in text
        assert f">{escape(name, quote=False)}</text>" in text  # in the drawing of the ratings


def test_tables_show_names_as_they_are(result):
    text = text_report(result)
    for name in NAMES:
        assert name[:18] in text
    gauntlet = result._replace(settings=result.settings.model_copy(update={"format": "gauntlet"}))
    assert all(name in text_report(gauntlet) for name in NAMES)


@pytest.mark.filterwarnings("ignore:Glyph")  # of a font on this machine
@pytest.mark.parametrize("is_styled", [True, False])
def test_every_drawing_with_names_shows_them_as_they_are(is_styled):
    def draw():
        drawn, axes = plots.figure(2, 2)
        plots.ratings(axes[0, 0], [plots.Rating(name, 1, 0, 2) for name in NAMES])
        plots.cross_table(axes[0, 1], NAMES, np.full((4, 4), 0.5))
        plots.forest(axes[1, 0], NAMES, np.full((4, 3), 0.5))
        plots.shares(axes[1, 1], dict.fromkeys(NAMES, 0.25))
        drawn.canvas.draw()
        return drawn

    if is_styled:
        with plots.style():
            drawn = draw()
            drawn.axes[0].set_title("$x_{$")
            drawn.axes[0].plot([0], [0], label="$x_{$")
            drawn.axes[0].legend()
            text = plot(drawn, "names", 1)
        assert text.count("$x_{$") == 2
        for name in NAMES:
            assert text.count(escape(name, quote=False)) == 4
    else:
        draw()


def test_grades_show_names_as_they_are(table_of_six):
    from rich.console import Console

    positions = uniform_positions(6, 200)
    found = truth(table_of_six, positions, 400)
    one = grade(found, Scripted("greedy", Rules()).decide(positions))
    reports = [
        Report(
            name,
            None,
            0,
            [Graded(name, "uniform", "all", None, one)],
            [Worst(name, "uniform", "position", 0, "A", "B", 2)],
        )
        for name in NAMES
    ]
    console = Console(width=160, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        for table in (
            grades_table(reports),
            calibration_table(reports),
            worst_table(reports, 1),
        ):
            console.print(table)
    text = capture.get()
    assert all(text.count(name) >= 2 for name in NAMES)


@pytest.fixture(scope="module")
def table_of_six(tmp_path_factory):
    from agents.tablebase.build import build_table
    from agents.tablebase.probe import Tablebase

    return Tablebase(build_table(6, folder=tmp_path_factory.mktemp("six")))
