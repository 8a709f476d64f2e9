"""Grades as tables for a terminal of 120 columns, in words, and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.arena.grading import DECISIONS, OWN, UNIFORM, Graded, Report
from agents.arena.journal import versions
from oware_env.files import write_whole

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 120
NOTE = """\
kept: decision positions (some move keeps the proved result, some move worsens it) whose move kept
  it, with the 95 % interval; W>D, W>L, D>L: the others, win to draw, win to loss, draw to loss
regret: seeds given away, mean, 95th percentile and worst; margin: moves that gave none away
value: mean distance of the predicted value (-1 to 1) from the proved result; calib.: the same for
  the means of ten bins of predicted values"""


def grades_table(reports: Sequence[Report]) -> "Table":
    """The grades of several agents, a section each."""
    titles = ("seeds", "decisions", "kept", "W>D", "W>L", "D>L", "regret", "95th", "worst")
    table = _empty_table(("agent", "from"), (*titles, "margin", "value", "calib."))
    for report in reports:
        before: tuple[str, str] | None = None
        for row in report.rows:
            is_new = before is None or before[1] != row.source
            table.add_row(
                report.agent if before is None else "",
                row.source if is_new else "",
                row.seeds + ("*" if row.held_out and report.trained_with else " "),
                *_figures(row),
            )
            before = report.agent, row.source
        table.add_section()
    return table


def _figures(row: Graded) -> list[str]:
    one = row.grade
    interval = f" [{100 * one.accuracy_low:.1f}, {100 * one.accuracy_high:.1f}]" * (one.judged > 0)
    return [
        f"{one.judged:,}",
        _shown(100 * one.accuracy, ".1f", "%") + interval,
        *(str(number) for number in one.blunders.values()),
        _shown(one.regret, ".2f"),
        _shown(one.regret_95, ".0f"),
        _shown(one.regret_worst, ".0f"),
        _shown(100 * one.margin_kept, ".1f", "%"),
        _shown(one.value_error, ".2f"),
        _shown(one.calibration_error, ".2f"),
    ]


def calibration_table(reports: Sequence[Report]) -> "Table":
    """Predicted values against proved results, for the agents that predict any."""
    table = _empty_table(("agent", "from", "values"), ("positions", "predicted", "proved"))
    for report in reports:
        for row in report.rows:
            if row.seeds == "all":
                for number, one in enumerate(row.grade.calibration):
                    table.add_row(
                        *((report.agent, row.source) if number == 0 else ("", "")),
                        f"{one.low:+.1f} to {one.high:+.1f}",
                        f"{one.positions:,}",
                        f"{one.predicted:+.2f}",
                        f"{one.proved:+.2f}",
                    )
        table.add_section()
    return table


def worst_table(reports: Sequence[Report], most: int) -> "Table":
    """The ``most`` worst moves of each agent on each source, as positions to look at."""
    table = _empty_table(("agent", "from", "worst moves: position"), ("ply", "move", "better"))
    table.add_column("seeds lost", justify="right", no_wrap=True)
    for report in reports:
        name = report.agent
        for source in (UNIFORM, OWN):
            for move in [one for one in report.worst if one.source == source][:most]:
                where = move.position, str(move.ply), move.move, move.better
                table.add_row(name, source, *where, str(move.regret))
                name = source = ""
        table.add_section()
    return table


def _empty_table(words: Sequence[str], numbers: Sequence[str]) -> "Table":
    """A table with its columns; names of agents give way when the terminal is narrow."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for title in words:
        table.add_column(title, overflow="fold", no_wrap=title != "agent")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _shown(number: float, form: str, unit: str = "") -> str:
    return "-" if np.isnan(number) else f"{number:{form}}{unit}"


def notes(reports: Sequence[Report], wanted: int = DECISIONS) -> list[str]:
    """What a reader must know beside the figures: what was counted, left out and held out."""
    lines = [line for report in reports for line in _notes_of(report, wanted)]
    return list(dict.fromkeys(lines))


def _notes_of(report: Report, wanted: int) -> Iterator[str]:
    for row in report.rows:
        if row.seeds == "all":
            one = row.grade
            source = UNIFORM
            if row.source == OWN:
                source = f"{report.games:,} games of {report.agent}"
            left_open = one.positions - one.decisions - one.without_choice
            yield (
                f"{source}: {one.positions:,} distinct positions, {one.decisions:,} decisions; in "
                f"{one.without_choice:,} every move keeps the result, {left_open:,} are open"
            )
            if one.decisions < wanted:
                yield (
                    f"warning: {source}: only {one.decisions:,} decision positions, not the "
                    f"{wanted:,} that were wanted"
                )
    name = report.agent.partition(":sims=")[0]
    if report.trained_with == 0:
        yield f"{name} was trained without endgame tables: all of this is held out"
    elif report.trained_with is not None:
        yield f"* held out: {name} was trained with the table of up to {report.trained_with} seeds"


def write_grades(path: Path, reports: Sequence[Report], about: Mapping[str, Any]) -> None:
    """Write everything as JSON, with what it is ``about``: the settings it was made with.

    Raises OwareError when the disk does not take it.
    """
    document = {
        "settings": dict(about),
        "versions": versions(),
        "agents": [
            {"agent": report.agent, "trained_with": report.trained_with, "games": report.games}
            for report in reports
        ],
        "grades": [_as_object(row) for report in reports for row in report.rows],
        "worst": [move._asdict() for report in reports for move in report.worst],
    }
    write_whole(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def _as_object(row: Graded) -> dict[str, Any]:
    """A row as JSON knows it: NaN is null."""
    numbers: dict[str, Any] = {k: None if v != v else v for k, v in row.grade._asdict().items()}
    numbers["calibration"] = [one._asdict() for one in row.grade.calibration]
    about = {"agent": row.agent, "source": row.source, "seeds": row.seeds}
    return about | {"held_out": row.held_out} | numbers
