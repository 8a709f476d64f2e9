"""Grading whole agents: enough positions, groups of seeds, held-out ones, tables and JSON."""

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

import agents
from agents.arena import grading_table
from agents.arena.grading import (
    OWN,
    UNIFORM,
    Sample,
    examine_games,
    examine_uniform,
    grade_agent,
    seed_groups,
    training_table,
)
from agents.neural.checkpoint import write_checkpoint
from agents.neural.network import build_network
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase
from oware_env.errors import OwareError
from oware_env.rules import Rules
from oware_env.state import State

SMALL = Sample(uniform=120, games=20, decisions=100)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Tablebase(build_table(7, folder=tmp_path_factory.mktemp("table")))


@pytest.fixture(scope="module")
def report(table):
    """A search with values, as if it had learned from the table of five seeds."""
    return grade_agent(agents.make("alphabeta:depth=2"), table, SMALL, trained_with=5)


def rows_of(report, source):
    return {row.seeds: row for row in report.rows if row.source == source}


@pytest.mark.parametrize(
    ("most", "trained_with", "expected"),
    [
        (8, None, [(1, 8)]),
        (8, 0, [(1, 8)]),
        (8, 8, [(1, 8)]),
        (10, 8, [(1, 10), (1, 8), (9, 10)]),
        (12, None, [(1, 12), (1, 10), (11, 12)]),
        (14, 10, [(1, 14), (1, 10), (11, 14)]),
        (14, 8, [(1, 14), (1, 8), (9, 14), (1, 10), (9, 10), (11, 14)]),
        (16, 12, [(1, 16), (1, 12), (13, 16), (1, 10), (11, 14), (11, 12), (13, 14), (15, 16)]),
    ],
)
def test_seeds_are_grouped_by_range_and_by_what_training_knew(most, trained_with, expected):
    groups = seed_groups(most, trained_with, [3, 4])
    assert groups == [*expected, (3, 3), (4, 4)]


def test_rows_add_up_and_say_what_was_held_out(report):
    for source in (UNIFORM, OWN):
        rows = rows_of(report, source)
        assert list(rows)[:3] == ["all", "up to 5", "6-7"]
        single = [row for seeds, row in rows.items() if seeds.isdecimal()]
        for name in ("positions", "decisions", "without_choice", "judged"):
            total = getattr(rows["all"].grade, name)
            parts = (rows["up to 5"], rows["6-7"])
            assert total == sum(getattr(row.grade, name) for row in parts) > 0
            assert total == sum(getattr(row.grade, name) for row in single)
        held_out = {seeds for seeds, row in rows.items() if row.held_out}
        assert held_out == {"6-7", "6", "7"}


def test_without_a_table_in_training_everything_is_held_out_and_scripts_were_not_trained(table):
    agent = agents.make("greedy")
    for trained_with, expected in ((0, True), (None, None), (24, False)):
        found = grade_agent(agent, table, SMALL, trained_with=trained_with)
        assert {row.held_out for row in found.rows} == {expected}


def test_games_are_played_until_there_are_enough_decisions(table):
    agent = agents.make("greedy")
    once = examine_games(agent, table, Sample(120, 4, decisions=1))
    more = examine_games(agent, table, Sample(120, 4, decisions=60))
    assert once.games == 4 < more.games <= 80
    assert once.found.decisions.sum() < 60 <= more.found.decisions.sum()
    assert len(np.unique(more.positions.boards, axis=0)) == len(more.positions.boards)
    again = examine_games(agent, table, Sample(120, 4, decisions=60))
    assert all(np.array_equal(a, b) for a, b in zip(more.positions, again.positions, strict=True))


def test_the_search_for_decisions_ends_and_says_so(table):
    agent = agents.make("careful")
    report = grade_agent(agent, table, Sample(uniform=2, games=2, decisions=100_000))
    assert report.games == 40
    notes = grading_table.notes([report], 100_000)
    assert sum(note.startswith("warning: ") for note in notes) == 2
    shown = {source: rows_of(report, source)["all"].grade for source in (UNIFORM, OWN)}
    for grade in shown.values():
        assert any(
            f"only {grade.decisions:,} decision positions, not the 100,000" in note
            for note in notes
        )
    assert 2 * 5 < shown[UNIFORM].positions <= 2 * 5 * 16


def test_enough_decisions_are_found_without_a_warning(report):
    assert all(rows_of(report, source)["all"].grade.decisions >= 100 for source in (UNIFORM, OWN))
    assert not any("warning" in note for note in grading_table.notes([report], 100))


def test_uniform_positions_are_drawn_until_there_are_enough_decisions(table):
    few = examine_uniform(table, Sample(50, 2, decisions=10))
    many = examine_uniform(table, Sample(50, 2, decisions=200))
    assert few.found.decisions.sum() < 200 <= many.found.decisions.sum()


def test_games_that_never_come_to_an_endgame_are_not_played_on(table):
    found = examine_games(agents.make("random"), table, SMALL, Rules(max_plies=10))
    assert (found.games, len(found.positions.plies)) == (100, 0)


def test_the_worst_moves_lose_what_they_say_and_their_houses_differ(report, table):
    assert report.worst
    for source in (UNIFORM, OWN):
        moves = [move for move in report.worst if move.source == source]
        assert [move.regret for move in moves] == sorted(
            (move.regret for move in moves), reverse=True
        )
        assert len({move.position.split("-")[:12].__repr__() for move in moves}) == len(moves) <= 10
    for move in report.worst:
        state = State.parse(move.position, ply=move.ply)
        better = move.better.split()
        assert move.move not in better and better
        margins = {letter: _margin(table, state, letter) for letter in (move.move, *better)}
        assert {margins[letter] - margins[move.move] for letter in better} == {move.regret}


def _margin(table, state, letter):
    """The mover's final margin after a move, from the table's value of the position after it."""
    after = state.play(letter)
    lead = after.stores[0] - after.stores[1]
    if after.is_over:
        south, north = after.outcome.scores
        return south - north
    positions = agents.base.as_positions(after.board[None], np.array([after.ply]), np.zeros(1))
    low, high = table.bounds(positions, 400)
    assert low == high
    return lead - int(low[0])


def test_the_table_fits_120_columns_and_marks_what_was_held_out(report):
    text = _text(grading_table.grades_table([report]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= grading_table.WIDTH
    assert lines[0].split()[:4] == ["agent", "from", "seeds", "decisions"]
    assert len(lines) == 1 + len(report.rows), "a line each"
    marked = [line for line in lines if re.search(r"\b7\*|6\*|6-7\*", line)]
    assert len(marked) == 6 and text.count("*") == 6
    row = rows_of(report, UNIFORM)["all"].grade
    low, high = 100 * row.accuracy_low, 100 * row.accuracy_high
    assert f"{100 * row.accuracy:.1f}% [{low:.1f}, {high:.1f}]" in lines[1]
    assert "* held out: alphabeta:depth=2 was trained with the table of up to 5 seeds" in (
        grading_table.notes([report])
    )


def _text(table):
    stream = io.StringIO()
    Console(file=stream, width=grading_table.WIDTH).print(table)
    return stream.getvalue()


def test_a_script_has_no_marks_and_no_values(table):
    report = grade_agent(agents.make("careful"), table, SMALL)
    text = _text(grading_table.grades_table([report]))
    assert "*" not in text
    assert all(line.split()[-2:] == ["-", "-"] for line in text.splitlines()[1:])
    assert len(_text(grading_table.calibration_table([report])).splitlines()) == 1
    notes = grading_table.notes([report], 1)
    assert len(notes) == 2 and not any("held out" in note for note in notes)


def test_the_calibration_table_shows_each_bin(report):
    lines = _text(grading_table.calibration_table([report])).splitlines()
    bins = [
        bin for source in (UNIFORM, OWN) for bin in rows_of(report, source)["all"].grade.calibration
    ]
    assert len(lines) == 1 + len(bins)
    for line, one in zip(lines[1:], bins, strict=True):
        assert f"{one.low:+.1f} to {one.high:+.1f}" in line and f"{one.proved:+.2f}" in line


def test_the_file_holds_all_of_it_as_plain_json(report, table, tmp_path):
    path = tmp_path / "grades.json"
    script = grade_agent(agents.make("greedy"), table, SMALL)
    grading_table.write_grades(path, [report, script], {"seed": 0})
    document = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert [agent["trained_with"] for agent in document["agents"]] == [5, None]
    assert document["settings"] == {"seed": 0} and "numpy" in document["versions"]
    assert len(document["grades"]) == len(report.rows) + len(script.rows)
    for row, graded in zip(document["grades"], [*report.rows, *script.rows], strict=True):
        assert (row["held_out"], row["seeds"]) == (graded.held_out, graded.seeds)
        assert sum(one["positions"] for one in row["calibration"]) == (
            row["decided"] if row["agent"].startswith("alphabeta") else 0
        )
    assert len(document["worst"]) == len(report.worst) + len(script.worst)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, 0),
        ({"selfplay": {"games": 128}}, 0),
        ({"selfplay": {"endgames": "none", "table": 8}}, 0),
        ({"selfplay": {"endgames": "both", "table": 9}}, 9),
    ],
)
def test_a_checkpoint_tells_what_table_it_was_trained_with(tmp_path, config, expected):
    run = tmp_path / "run"
    state = {"rules": Rules()._asdict(), "network": "tiny"} | ({"config": config} if config else {})
    weights = build_network("tiny").state_dict()
    run.mkdir(parents=True, exist_ok=True)
    write_checkpoint(run / "checkpoints" / "step-00000001", {"ema": weights}, state)
    assert training_table(f"{run}:sims=4") == training_table(str(run)) == expected


def test_only_networks_were_trained():
    assert training_table("alphabeta:depth=4") is None


@pytest.mark.parametrize(
    "config",
    [
        {"selfplay": None},
        {"selfplay": [1]},
        {"selfplay": {"endgames": "both"}},
        {"selfplay": {"endgames": "both", "table": "10"}},
        {"selfplay": {"endgames": "both", "table": 25}},
        {"selfplay": {"endgames": "both", "table": True}},
        {"selfplay": {"endgames": ["both"], "table": 10.0}},
    ],
)
def test_a_run_that_names_no_table_is_refused_in_one_line(tmp_path, config):
    write_checkpoint(tmp_path / "run", {"ema": {}}, {"config": config})
    with pytest.raises(OwareError, match=r"state.json: config.selfplay.table names no table"):
        training_table(str(tmp_path / "run"))


@pytest.mark.parametrize("name", Sample._fields)
@pytest.mark.parametrize("value", [-1, 2.5, "7", None, True, 2**63])
def test_a_sample_of_no_whole_number_is_refused(name, value):
    sample = SMALL._replace(**{name: value})
    with pytest.raises(OwareError, match=rf"{name} must be (a whole number|at most)"):
        grade_agent(agents.make("random"), None, sample)
