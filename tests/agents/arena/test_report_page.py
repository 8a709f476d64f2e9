"""The page of a tournament holds what its tables hold."""

import re

import pytest

from agents.arena.command import main
from agents.arena.report import standings
from agents.arena.report_page import game_record, tournament_page
from agents.arena.tournament import TournamentSettings, run_tournament


@pytest.fixture(scope="module")
def result():
    agents = ("random", "greedy", "careful")
    return run_tournament(TournamentSettings(agents=agents, games=8, workers=0))


def test_every_agent_and_score_is_there(result):
    text = tournament_page(result)
    for row in standings(result):
        assert f"<td>{row.agent}</td>" in text and f"{row.score:.1%}" in text
    assert "24 paired games, 8 a pairing" in text
    assert text.count("<svg") >= 5 and text.count("<iframe") == 3


def test_a_gauntlet_has_its_matches_in_place_of_a_cross_table(result):
    settings = result.settings.model_copy(update={"format": "gauntlet"})
    gauntlet = run_tournament(settings)
    text = tournament_page(gauntlet)
    assert "<h2>Matches</h2>" in text and "<h2>Cross table</h2>" not in text
    for match in gauntlet.matches:
        assert f">{match.score:.1%}</td>" in text
    assert "<h2>Cross table</h2>" in tournament_page(result)


def test_games_are_those_that_were_played(result):
    match = result.matches[0]
    for number in (0, 1):
        record = game_record(match, number, result)
        assert record.outcome.scores == tuple(match.games.scores[number])
        names = record.tags["South"], record.tags["North"]
        assert names == (
            (match.a, match.b) if match.games.a_is_south[number] else (match.b, match.a)
        )


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["oware-tournament", "random", "greedy", "--games", "4", "--workers", "0"]
    monkeypatch.setattr("sys.argv", [*words, "--report", "out.html"])
    assert main() == 0
    assert "The page is out.html" in capsys.readouterr().out
    assert re.search("<h1>Tournament</h1>", (tmp_path / "out.html").read_text())


def test_a_folder_that_is_not_there_is_said_before_anything_is_played(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["oware-tournament", "random", "greedy", "--report", "no/o.html"]
    )
    assert main() == 2
    assert capsys.readouterr().err == "error: --report no/o.html: there is no folder no\n"
    assert not (tmp_path / "runs").exists()
