"""The command: a table for good input, one line and exit code 2 for bad."""

import signal
import subprocess
import sys
import time

import pytest

from agents.arena.command import main
from agents.settings import read_settings


def _run(*arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["oware-tournament", *map(str, arguments)])
    return main()


def test_it_prints_the_table_and_where_the_files_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("random", "greedy", "--games", 4, "--workers", 0)
    assert _run(*arguments, monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert "greedy" in shown.out and "95 %" in shown.out and shown.err == ""
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"Games and tables are in runs/{folder.name}" in shown.out
    assert {path.name for path in folder.iterdir()} == {
        "tournament.json",
        "games.jsonl",
        "table.json",
        "table.csv",
        "table.txt",
        "pairings.csv",
    }


def test_a_settings_file_and_options_work_together(tmp_path, capsys, monkeypatch):
    config = tmp_path / "small.toml"
    config.write_text('agents = ["random", "greedy"]\ngames = 100\nworkers = 0\n')
    arguments = (config, "--games", 2, "--output", tmp_path / "out")
    assert _run(*arguments, monkeypatch=monkeypatch) == 0
    assert "2 games are distinct" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "gredy"], "agents: unknown agent 'gredy'; the nearest is 'greedy'"),
        (["random", "greedy", "--games", "-2"], "games must be greater than or equal to 2, not -2"),
        (["random", "greedy", "--games", "many"], "games must be a valid integer, not 'many'"),
        (["random", "greedy", "--gmes", "2"], "unknown option --gmes; the nearest is '--games'"),
        (["random"], "a tournament needs at least two agents, not 1"),
        ([], "agents is missing"),
        (["absent.toml"], "absent.toml cannot be read: No such file"),
        (["bad.toml"], "bad.toml: unknown key 'gamez'; the nearest is 'games'"),
        (["random", "alphabeta:depth=none"], "depth must be a whole number from 1 to 60"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text('agents = ["random", "greedy"]\ngamez = 2\n')
    assert _run(*arguments, monkeypatch=monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ") and message in shown.err
    assert shown.err.count("\n") == 1 and shown.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_ctrl_c_keeps_the_games_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "stopped"
    command = [sys.executable, "-m", "agents.arena.command", "random", "greedy", "--games", "40000"]
    driver = subprocess.Popen(
        [*command, "--output", str(folder)], stderr=subprocess.PIPE, text=True
    )
    while not (folder / "games.jsonl").exists() or not (folder / "games.jsonl").stat().st_size:
        assert driver.poll() is None
        time.sleep(0.02)
    driver.send_signal(signal.SIGINT)
    _, shown = driver.communicate()
    assert driver.returncode == 130
    assert f"the same command with --output {folder} goes on" in shown
    assert "Traceback" not in shown
    assert (folder / "games.jsonl").read_bytes().endswith(b"\n")


def test_help_names_every_agent_and_option(capsys, monkeypatch):
    with pytest.raises(SystemExit) as caught:
        _run("--help", monkeypatch=monkeypatch)
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for text in ("SPEC SPEC", "CONFIG.toml", "strategist", "--opening-plies INT", "(default: 200)"):
        assert text in shown


def test_help_does_not_load_what_it_does_not_need():
    code = (
        "import sys; sys.argv = ['oware-tournament', '--help']\n"
        "from agents.arena.command import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'pandas', 'evalica') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_ladder_that_is_shipped_can_be_read():
    from agents.arena import TournamentSettings

    settings = read_settings(TournamentSettings, "configs/tournament-ladder.toml")
    assert len(settings.agents) == 11
    assert settings.agents[-1] == "alphabeta:time=0.005,table=8", "the top rung comes last"
