"""A tournament that was played before is shown again, and one that was not is a sentence."""

import json
import shutil

import pytest

from agents.arena.command import run
from agents.arena.tournament import TournamentSettings, read_tournament, run_tournament
from agents.console import run_command
from oware_env.errors import OwareError
from oware_env.files import seal


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "played"
    settings = TournamentSettings(
        agents=("random", "greedy"), games=4, unit_openings=1, workers=0, output=str(folder)
    )
    return run_tournament(settings), folder


@pytest.fixture
def folder(played, tmp_path, monkeypatch):
    """A copy of its folder, in the folder the command runs in."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(played[1], tmp_path / "played")


def cut(folder, lines):
    path = folder / "games.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


def test_it_is_read_as_it_was_played(played):
    result, folder = played
    again = read_tournament(folder)
    assert str(again) == str(result)
    assert again.settings.model_copy(update={"workers": 0}) == result.settings


def test_the_command_shows_it_and_writes_its_page_without_playing(folder, played, capsys):
    before = (folder / "games.jsonl").read_bytes()
    assert run_command(run, ["played", "--report", "out.html"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{played[0]}\nThe page is out.html\n" and said.err == ""
    assert (folder / "games.jsonl").read_bytes() == before
    assert "<h1>Tournament</h1>" in (folder.parent / "out.html").read_text(encoding="utf-8")


def test_a_test_that_stopped_early_is_finished(tmp_path):
    settings = TournamentSettings(
        agents=("greedy", "random"), sprt=True, elo1=100.0, workers=0, output=str(tmp_path / "sprt")
    )
    result = run_tournament(settings)
    assert result.verdict.decision != "undecided"
    assert str(read_tournament(tmp_path / "sprt")) == str(result)


MISSING = "played holds {} of 4 games: the same tournament with --output played plays the rest"
BROKEN = {
    "no file of games": (lambda folder: (folder / "games.jsonl").unlink(), MISSING.format(0)),
    "no game": (lambda folder: cut(folder, 0), MISSING.format(0)),
    "half the games": (lambda folder: cut(folder, 1), MISSING.format(2)),
    "a torn line": (
        lambda folder: (folder / "games.jsonl").write_text('{"unit": 0, "gam'),
        MISSING.format(0),
    ),
    "a damaged line": (
        lambda folder: (folder / "games.jsonl").write_text('{"unit": 0}\n'),
        "played/games.jsonl is damaged at line 1",
    ),
    "a description that is none": (
        lambda folder: (folder / "tournament.json").write_text("[]"),
        "played/tournament.json does not describe a tournament",
    ),
    "a description that is no text": (
        lambda folder: (folder / "tournament.json").write_bytes(b"\xff"),
        "played/tournament.json does not describe a tournament",
    ),
    "settings of another version": (
        lambda folder: (folder / "tournament.json").write_text(
            json.dumps(
                seal(
                    {
                        "settings": {"agents": ["random", "greedy"], "gams": 4},
                        "identities": ["random", "greedy"],
                    }
                )
            )
        ),
        "played: unknown key 'gams'; the nearest is 'games'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_finished_tournament_is_one_line_and_no_page(name, folder, capsys):
    damage, message = BROKEN[name]
    damage(folder)
    assert run_command(run, ["played", "--report", "out.html"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(f"error: {message}")
    assert not (folder.parent / "out.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["played", "random", "--report", "out.html"], "played is a tournament, not an agent"),
        (["played", "--games", "8"], "unknown option --games; "),
        (["played", "--report", "no/out.html"], "--report no/out.html: there is no folder no"),
        (
            ["empty", "--report", "out.html"],
            "agents: a tournament needs at least two agents, not 1",
        ),
        (
            ["random", "greedy", "--games", "0", "--report", "out.html"],
            "games must be greater than or equal to 2, not 0",
        ),
    ],
)
def test_a_mistake_beside_it_is_one_line(words, message, folder, capsys):
    (folder.parent / "empty").mkdir()
    before = sorted(folder.parent.rglob("*"))
    assert run_command(run, words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {message}") and said.err.count("\n") == 1
    assert sorted(folder.parent.rglob("*")) == before


def test_a_folder_that_does_not_say_what_it_is_cannot_be_read(tmp_path):
    with pytest.raises(OwareError, match="does not describe a tournament"):
        read_tournament(tmp_path)
