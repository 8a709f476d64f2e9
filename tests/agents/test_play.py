"""oware-play: whole games through injected streams, every command, every way out."""

import errno
import io
import os
import pty
import re
import select
import subprocess
import sys

import pytest

import agents
from agents.console import run_command
from agents.play import command
from agents.play.analysis import BAR, bar
from agents.play.game import load_game
from agents.tablebase.report import describe_position
from oware_env import render
from oware_env.records import GameRecord
from oware_env.state import State

FEED = "1-0-0-0-0-1-0-0-0-0-0-0-23-23-S"  # only F reaches the empty North
WINNING = "0-0-0-0-0-2-0-1-4-4-4-4-23-6-S"  # F captures two from b, which wins


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class Interrupted(io.StringIO):
    """An input that ends with Ctrl-C instead of an end."""

    def readline(self, *_):
        line = super().readline()
        if not line:
            raise KeyboardInterrupt
        return line


def _play(arguments, *lines, output=None):
    """Everything oware-play writes when these lines are typed and the input ends."""
    output = output or io.StringIO()
    source = io.StringIO("".join(line + "\n" for line in lines))
    command.run([*arguments, "--seed", "7"], source, output)
    return output.getvalue()


def _expected_game(south, north, start=None):
    """The game of two choosers (state -> move), as a list of states."""
    states = [start or State.initial()]
    while not states[-1].is_over:
        player = south if states[-1].south_to_move else north
        states.append(states[-1].play(player(states[-1])))
    return states


def _chooser(spec):
    agent = agents.make(spec)
    return lambda state: agents.choose(agent, state, 7)


def _first_legal(state):
    return state.legal_moves[0]


@pytest.mark.parametrize("seat", ["south", "north"])
def test_a_whole_game_is_played_against_the_agents_own_moves(seat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine, agent = _first_legal, _chooser("careful")
    players = (mine, agent) if seat == "south" else (agent, mine)
    states = _expected_game(*players)
    typed = [
        state.legal_letters[0] for state in states[:-1] if state.south_to_move == (seat == "south")
    ]
    said = _play(["careful", "--seat", seat], *typed, "save game.ogn")
    record = load_game(tmp_path / "game.ogn")
    assert list(record.states()) == states
    assert record.tags[seat.capitalize()] == "human"
    assert "careful" in record.tags.values()
    south, north = states[-1].outcome.scores
    assert f"South {south} - North {north}" in said
    assert max(map(len, said.splitlines())) <= 80


def test_two_agents_are_watched_to_the_end(tmp_path):
    states = _expected_game(_chooser("greedy"), _chooser("random"))
    path = tmp_path / "game.ogn"
    said = _play(["greedy", "random"], "undo", f"save {path}")
    assert list(load_game(path).states()) == states
    assert said.count(" sows ") == len(states) - 1
    assert "there is no earlier turn of yours" in said
    assert load_game(path).tags["North"] == "random"


def test_one_agent_plays_itself_when_nobody_takes_a_seat():
    said = _play(["greedy", "--seat", "none"])
    assert "South: greedy - North: greedy" in said
    assert "The game is over" in said


def test_two_people_at_one_board_move_in_turn():
    said = _play(["--seat", "both"], "C", "c", "undo")
    assert "South: C sows 4" in said
    assert "North: c sows 4" in said
    assert "Took back 1 move." in said
    assert said.rstrip().endswith(f"--position {State.initial().play('C').to_text()}")


def test_another_seed_gives_another_game():
    def watched(seed):
        output = io.StringIO()
        command.run(["random", "random", "--seed", seed], io.StringIO(), output)
        return output.getvalue()

    assert watched("1") == watched("1")
    assert watched("1") != watched("2")


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("A", "the opponent has no seeds and must be fed: house A holds 1 and needs 6"),
        ("B", "house B is empty; legal: F"),
        ("z", "'z' is no house: houses are A to F"),
        ("3", "'3' is no house"),
        ("explain z", "'z' is no house"),
        ("explain AB", "'AB' is no house"),
        ("hnt", "no command 'hnt'; the nearest is 'hint'"),
        ("A B", "no command 'A B'"),
        ("hint A", "hint stands alone, without 'A'"),
        ("undo 3", "undo stands alone"),
        ("undo", "there is no earlier turn of yours to take back to"),
        ("save", "no file is named: give a name such as game.ogn"),
        ("save a\x00b", "no file is named: give a name such as game.ogn"),
        ("save ~nobody-here/game.ogn", "~nobody-here/game.ogn cannot be written: No such file"),
        ("save " + "a" * 300, "a cannot be written: File name too long"),
        ("load " + "a" * 300, "a cannot be read: File name too long"),
        ("save .", ". is a folder: give the name of a file in it"),
        ("save! /", "/ is a folder"),
        ("load .", ". cannot be read: Is a directory"),
        ("x" * 100_000, "no command 'xxx"),
        ("\x00\ufffd", "no command"),
    ],
)
def test_a_mistake_at_the_prompt_is_said_and_asked_again(typed, reason):
    said = " ".join(_play(["--position", FEED], typed, "position").split())
    assert reason in said
    assert said.count("Your move:") == 3
    assert f"Your move: position {FEED}" in said


def test_only_legal_houses_are_offered():
    assert "South to move, ply 0; legal F\n" in _play(["--position", FEED])


def test_a_house_is_named_in_either_case():
    assert "You: C sows 4" in _play([], "c")
    assert "You: c sows" in _play(["--seat", "north"], "C")


def test_a_move_tells_its_path_and_what_it_captured():
    said = _play(["--position", WINNING], "F")
    assert "You: F sows 2 seeds over a, b. The last seed makes 2 in b. Captures 2 seeds" in said


def test_a_hint_is_the_agents_own_move_with_its_value_and_reason():
    state = State.parse(WINNING)
    agent = agents.make("alphabeta:depth=2")
    report = state.explain(agents.choose(agent, state, 7))
    said = _play(["alphabeta:depth=2", "--position", state.to_text()], "hint")
    words = " ".join(said.split())
    assert "Hint: alphabeta:depth=2 would play F (value +1.00; +1 wins, -1 loses). " in words
    assert str(report) in words


def test_analyse_shows_policy_value_and_what_is_proved():
    position = "0-1-1-1-1-1-0-2-0-0-0-1-20-20-S"
    said = _play(["alphabeta:depth=4", "--position", position], "analyse").splitlines()
    at = next(n for n, line in enumerate(said) if line.startswith("alphabeta"))
    assert re.search(r"value [+-]\d\.\d\d ", said[at])
    assert said[at + 1] == "the endgame table: won by +4 for the side to move"
    rows = {line.split()[0]: line for line in said[at + 2 : at + 7]}
    proved = describe_position(State.parse(position)).splitlines()[1:]
    assert len(rows) == len(proved) == 5
    for line in proved:
        letter, _, words = line.strip().partition(": ")
        assert rows[letter].endswith(words)
    shares = [int(re.search(r"(\d+)%", line)[1]) for line in rows.values()]
    assert 98 <= sum(shares) <= 102


def test_analyse_of_a_full_board_asks_no_table():
    said = _play(["careful"], "analyse")
    assert "endgame table" not in said and "A  " in said and "value" not in said


def test_the_analysis_needs_a_running_game_and_no_argument():
    assert "analyse stands alone, without 'A'" in _play(["careful"], "analyse A")
    assert "the game is over" in _play(["greedy", "--position", WINNING], "F", "analyse")


def test_a_bar_is_as_long_as_its_share():
    assert (
        bar(0.0).strip() == "" and bar(1.0) == "█" * BAR and bar(0.5).rstrip() == "█" * (BAR // 2)
    )
    assert len(bar(0.01)) == BAR and bar(0.01).strip() == "▎"


def test_a_game_is_saved_as_a_page_too(tmp_path):
    page = tmp_path / "game.html"
    said = _play(["greedy"], "F", f"save {page}", f"save {page}")
    assert f"Saved to {page}." in said and "exists already" in " ".join(said.split())
    assert "<title>human – greedy</title>" in page.read_text(encoding="utf-8")


def test_an_agent_without_a_value_gives_a_hint_without_one():
    said = _play(["careful"], "h")
    assert "Hint: careful would play" in said
    assert "value" not in said


def test_explain_says_what_a_house_would_do_also_an_illegal_one():
    state = State.parse(FEED)
    words = " ".join(_play(["--position", FEED], "explain a").split())
    assert str(state.explain("A")) in words
    assert str(state.explain("F")) not in words


def test_explain_alone_says_it_of_every_legal_house():
    words = " ".join(_play([], "explain").split())
    assert all(str(State.initial().explain(letter)) in words for letter in "ABCDEF")


def test_undo_takes_back_to_your_last_turn():
    start = State.initial()
    said = _play(["careful"], "A", "B", "undo", "position", "undo", "position")
    after = start.play("A")
    after = after.play(_chooser("careful")(after))
    assert said.count("Took back 2 moves.") == 2
    assert f"Your move: position\n{after.to_text()}" in said
    assert f"Your move: position\n{start.to_text()}" in said


def test_the_agents_opening_move_is_not_taken_back():
    said = _play(["careful", "--seat", "north"], "undo", "position")
    opened = State.initial().play(_chooser("careful")(State.initial()))
    assert "there is no earlier turn of yours" in said
    assert opened.to_text() in said


def test_a_finished_game_is_taken_back_and_goes_on():
    said = _play(["--position", WINNING], "F", "A", "hint", "undo", "position")
    assert "You win, South 25 - North 6: 25 seeds or more win at once." in said
    assert said.count("the game is over\n") == 2
    assert "Took back 1 move." in said
    assert f"Your move: position\n{WINNING}" in said


@pytest.mark.parametrize(
    ("arguments", "typed", "ending"),
    [
        (
            ["greedy", "--position", "1-0-0-0-0-5-0-0-0-0-0-1-17-24-N"],  # f captures A
            [],
            "greedy wins, South 17 - North 26: 25 seeds or more win at once.",
        ),
        (
            ["--position", "1-0-0-0-0-0-0-0-0-0-0-0-23-24-S"],
            [],
            "A draw, South 24 - North 24: South cannot feed the empty side and gets every seed "
            "left.",
        ),
        (
            ["--max-plies", "1"],
            ["C"],
            "strategist wins, South 23 - North 25: the limit of 1 plies is reached, each side "
            "gets the seeds of its own houses.",
        ),
    ],
)
def test_an_ending_is_told_with_its_reason(arguments, typed, ending):
    assert ending in " ".join(_play(arguments, *typed).split())


def test_a_saved_game_is_loaded_and_goes_on(tmp_path):
    path, longer = tmp_path / "game.ogn", tmp_path / "longer.ogn"
    record = GameRecord.from_moves("CcDd", tags={"Event": "Cup", "Date": "1999.01.01"})
    path.write_text(record.to_ogn().replace("\n", "\r\n"), newline="")
    _play(["careful", "--load", str(path)], "A", f"save {longer}")
    after = load_game(longer)
    assert after.moves[:5] == (*record.moves, 0)
    assert len(after.moves) == 6
    assert after.tags == {**record.tags, "South": "human", "North": "careful"}


def test_a_loaded_game_can_be_taken_back_to_its_start(tmp_path):
    path = tmp_path / "game.ogn"
    path.write_text(GameRecord.from_moves("CcDd").to_ogn())
    said = _play(["--load", str(path)], "undo", "undo", "position")
    assert f"position\n{State.initial().to_text()}" in said


def test_saving_replaces_a_file_only_when_told_to(tmp_path):
    path = tmp_path / "game.ogn"
    path.write_text("precious")
    said = _play(["--seat", "both"], "C", f"save {path}")
    assert f"{path} exists already: save! {path} replaces it" in " ".join(said.split())
    assert path.read_text() == "precious"
    _play(["--seat", "both"], "C", f"save! {path}")
    assert load_game(path).moves == (2,)


def test_a_save_that_fails_leaves_the_old_file_and_the_game(tmp_path, monkeypatch):
    path = tmp_path / "game.ogn"
    path.write_text("precious")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    said = _play([], f"save! {path}", "position")
    assert "No space left on device" in " ".join(said.split())
    assert said.count("Your move:") == 3
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".", ". is a folder"),
        ("missing/game.ogn", "No such file or directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(name, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reason in " ".join(_play([], f"save {name}", f"save! {name}").split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way_out", [[], ["quit"], ["q"], ["exit"]])
def test_leaving_a_running_game_tells_how_to_take_it_up(way_out):
    said = _play(["careful", "--seat", "both"], "C", *way_out)
    assert said.endswith(
        f"Left at ply 1. To take it up again:\n  --position {State.initial().play('C').to_text()}\n"
    )


def test_ctrl_c_tells_the_position_and_exits_with_130(capsys):
    output = io.StringIO()

    def action(arguments):
        command.run(arguments, Interrupted("C\n"), output)

    assert run_command(action, ["--seat", "both"]) == 130
    assert "To take it up again" in output.getvalue()
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strategst"], "unknown agent 'strategst'; the nearest is 'strategist'"),
        (["alphabeta:depth=0"], "depth must be a whole number from 1"),
        (["runs/none"], "there is no run or checkpoint folder runs/none"),
        (["greedy", "random", "careful"], "a game has one agent or two, not 3"),
        (["greedy", "random", "--seat", "north"], "seat must be none, not 'north'"),
        (["--seat", "east"], "seat must be 'south', 'north', 'both' or 'none', not 'east'"),
        (["--position", "4-4-4-4-4-4-4-4-4-4-4-3-0-0-S"], "holds 47 seeds, it must hold 48"),
        (["--position", "0-0-0-0-0-0-4-4-4-4-4-4-12-12-S"], "South is to move and owns no seed"),
        (["--position", "4-4-x-4-4-4-4-4-4-4-4-4-0-0-S"], "holds 'x' where a number"),
        (["--max-plies", "0"], "max_plies must be greater than or equal to 1, not 0"),
        (["--load", "none.ogn"], "none.ogn cannot be read: No such file or directory"),
        (["--load", "a" * 300], "a cannot be read: File name too long"),
        (["--load", "a\x00b"], "the word 'a\\x00b' holds a control character"),
        (["--load", "."], "error: . cannot be read: Is a directory"),
        (["--load", "\x1b[2J.ogn"], "error: the word '\\x1b[2J.ogn' holds a control character"),
        (["--load", "escape.ogn"], "escape.ogn: line 1: tag 'South' holds a control character"),
        (["--position", "4" * 300], "it must have 15 joined by '-'"),
        (["--position", "\x1b[2J"], "error: the word '\\x1b[2J' holds a control character"),
        (["--load", "game.ogn", "--position", FEED], "give load or position"),
        (["--load", "illegal.ogn"], "illegal.ogn: line 1, move 2 of South (A)"),
        (["--load", "empty.ogn"], "empty.ogn: the text holds no game"),
        (["--load", "two.ogn"], "two.ogn holds 2 games"),
        (["--load", "bytes.ogn"], "bytes.ogn is no OGN file"),
        (["--web"], "unknown option --web"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_and_code_2(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "illegal.ogn").write_text("1. A a 2. A *")
    (tmp_path / "escape.ogn").write_text('[South "\x1b[2JAma"]\n1. A a *')
    (tmp_path / "empty.ogn").write_text("")
    (tmp_path / "two.ogn").write_text("1. C * 1. D *")
    (tmp_path / "bytes.ogn").write_bytes(b"\xff\xfe\x00")
    assert run_command(command.run, arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_colour_is_for_screens_and_obeys_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in _play([], "C")
    coloured = _play([], "C", output=Screen())
    assert render.painted(State.initial().scene()) in coloured
    assert "\x1b[1mYou: \x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in _play([], "C", output=Screen())


def test_a_screen_shows_that_the_agent_thinks_and_wipes_it_out():
    said = _play(["careful"], "C", output=Screen())
    notice = "careful is thinking ..."
    assert f"{notice}\r{' ' * len(notice)}\r" in said
    assert notice not in _play(["careful"], "C")


def test_a_pipe_that_is_closed_early_is_no_fault():
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.play.command", "greedy", "random"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_it_runs_in_a_real_terminal_until_ctrl_c():
    here, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.play.command", "random", "--seed", "7"],
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb"},
        preexec_fn=_take_terminal,
    )
    os.close(there)
    try:
        _read_until(here, b"Your move: ")
        os.write(here, b"C\r")
        assert b"You: C sows 4" in _read_until(here, b"Your move: ")
        assert b"To take it up again" in _read_until(here, b"stopped", pressing=b"\x03")
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
        os.close(here)


def _take_terminal():
    """Make the pseudo-terminal the one whose Ctrl-C reaches the process."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(terminal, end, pressing=b""):
    """What the terminal shows up to and with ``end``; fails when nothing comes for a minute.

    ``pressing`` is typed, and again each second until something shows: Python's line editing
    sleeps on when Ctrl-C comes between its prompt and its wait for a key, and a person presses
    again.
    """
    seen, waited = b"", 0
    os.write(terminal, pressing)
    while end not in seen:
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
        else:
            waited += 1
            assert waited < 60, f"still waiting for {end!r} after {seen!r}"
            os.write(terminal, b"" if seen else pressing)
    return seen
