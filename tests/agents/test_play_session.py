"""oware-play at the prompt: loading and starting again, and what a screen with colours shows."""

import io
import re

import pytest

from agents.play import command
from agents.play.game import load_game
from oware_env.records import GameRecord
from oware_env.rules import Rules
from oware_env.state import State

WINNING = "0-0-0-0-0-2-0-1-4-4-4-4-23-6-S"  # F captures two from b, which wins
ENDGAME = "0-1-1-1-1-1-0-2-0-0-0-1-20-20-S"


class Screen(io.StringIO):
    """A stream that says it is a terminal of some encoding."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self._named = encoding

    @property
    def encoding(self):
        return self._named

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Screen()


def played(*lines, arguments=("--seat", "both"), output=None):
    """Everything oware-play writes when these lines are typed and the input ends."""
    output = io.StringIO() if output is None else output
    source = io.StringIO("".join(line + "\n" for line in lines))
    command.run([*arguments, "--seed", "7"], source, output)
    return output.getvalue()


def one_line(text):
    return " ".join(text.split())


@pytest.fixture
def saved(tmp_path):
    """The file of a game of four moves."""
    path = tmp_path / "game.ogn"
    path.write_text(GameRecord.from_moves("CcDd", tags={"Event": "Cup"}).to_ogn())
    return path


def test_a_saved_game_is_loaded_at_the_prompt_and_goes_on(saved, tmp_path):
    longer = tmp_path / "longer.ogn"
    said = played(f"load {saved}", "A", f"save {longer}")
    assert f"Loaded {saved}, 4 moves." in said
    record = load_game(longer)
    assert record.moves == (*load_game(saved).moves, 0) and record.tags["Event"] == "Cup"


def test_a_loaded_game_is_the_agents_turn_when_it_says_so(tmp_path):
    path = tmp_path / "game.ogn"
    path.write_text(GameRecord.from_moves("CcD").to_ogn())
    said = played(f"load {path}", "undo", "undo", "position", arguments=["careful"])
    assert "careful: " in said and f"position\n{State.initial().to_text()}" in said


def test_a_running_game_is_given_up_only_on_request(saved, tmp_path):
    for command_line in (f"load {saved}", "new"):
        word = command_line.split()[0]
        said = one_line(played("F", command_line, "position"))
        assert f"this game is not saved: save it first, or {word}! gives it up" in said
        assert f"position {State.initial().play('F').to_text()}" in said
        given_up = played("F", command_line.replace(word, f"{word}!"))
        assert "not saved" not in given_up
    kept = played("F", f"save {tmp_path / 'kept.ogn'}", "new", "position")
    assert "not saved" not in kept and f"position\n{State.initial().to_text()}" in kept


def test_a_finished_game_is_followed_by_a_new_one_from_the_same_start():
    said = played("F", "new", "position", arguments=["--position", WINNING])
    assert "You win" in said and f"Your move: position\n{WINNING}" in said


def test_a_new_game_is_against_another_seed():
    lines = [line for _ in range(8) for line in ("new!", "position")]
    said = played(*lines, arguments=["random", "--seat", "north"])
    assert len(set(re.findall(r"position\n(\S+)", said))) > 1


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("load", "no file is named: give a name such as game.ogn"),
        ("load none.ogn", "none.ogn cannot be read: No such file or directory"),
        ("load short.ogn", "short.ogn is a game of abapa (at most 50 plies), this one is abapa "),
        ("load short.ogn", "start with oware-play --load short.ogn"),
        ("load bad.ogn", "bad.ogn: line 1, move 2 of South (A)"),
        ("new game", "new stands alone, without 'game'"),
    ],
)
def test_a_game_that_cannot_be_loaded_is_said_and_nothing_changes(
    typed, reason, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.ogn").write_text("1. A a 2. A *")
    short = GameRecord.from_moves("C", rules=Rules(max_plies=50))
    (tmp_path / "short.ogn").write_text(short.to_ogn())
    said = one_line(played(typed, "position"))
    assert reason in said and f"position {State.initial().to_text()}" in said


def test_a_screen_with_colours_shows_the_way_of_the_last_move(screen):
    said = played("C", arguments=["careful"], output=screen)
    assert "○" in said and ("▲" in said or "▼" in said) and "\x1b[48;5;94" in said


def test_a_screen_that_cannot_draw_it_gets_plain_lines(screen):
    said = played("C", arguments=["careful"], output=Screen("ascii"))
    assert said.replace("\x1b", "").isascii() and "North  0 |   4   4" in said


def test_the_analysis_is_coloured_on_a_screen_and_the_same_in_plain(screen):
    arguments = ["alphabeta:depth=4", "--position", ENDGAME]
    coloured = played("analyse", arguments=arguments, output=screen)
    assert "\x1b[32;1mwon by +4\x1b[0m for the side to move" in coloured
    assert re.search(r"\x1b\[38;5;33m█", coloured)
    shown = re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()
    told = played("analyse", arguments=arguments).splitlines()
    start = next(n for n, line in enumerate(told) if line.startswith("the endgame table"))
    assert set(told[start : start + 6]) <= set(shown)


@pytest.mark.parametrize(
    "typed", ["\x1b[2J", "A\x1b]0;owned\x07", "explain \x1b[31m", "save \x9b2J"]
)
def test_nothing_typed_reaches_the_terminal_as_a_control_sequence(typed):
    said = played(typed, "load \x1b[2J.ogn", "new! \x07")
    assert not set(said) & {"\x1b", "\x07", "\x9b"} and said.replace("\n", "").isprintable()


def test_a_result_that_only_the_file_knows_is_said_and_kept_until_the_game_goes_on(tmp_path):
    path, again, longer = (tmp_path / name for name in ("game.ogn", "again.ogn", "longer.ogn"))
    path.write_text('[Variant "Oware Abapa"]\n[Result "26-22"]\n\n1. F f 26-22\n')
    told = "The file says 26-22; by the rules the game is not over."
    said = played(f"load {path}", f"save {again}", "C", f"save {longer}")
    assert said.count(told) == 1
    assert load_game(again).stated_result == "26-22" and load_game(longer).stated_result is None
    assert told in played(arguments=("--load", str(path)))
