import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents import tablebase_command
from agents.tablebase.probe import open_table
from oware_env.errors import OwareError

ROOT = Path(__file__).resolve().parents[2]
POSITION = "0-0-0-0-1-1-2-0-0-0-0-3-22-19-S"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    open_table.cache_clear()
    monkeypatch.setenv("OWARE_TABLES", str(tmp_path))
    return tmp_path


def test_build_makes_the_table_and_says_where(folder, capsys):
    tablebase_command.run(["build", "--seeds", "5"])
    output = capsys.readouterr().out
    assert "6,188 boards" in output
    assert str(folder / "abapa-5.safetensors") in output
    assert (folder / "abapa-5.safetensors").exists()


def test_probe_gives_bounds_and_verdict_of_the_position_and_of_each_move(capsys):
    tablebase_command.run(["probe", POSITION])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{POSITION}, 400 plies left: won by +10"
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["E", "F"]
    assert all("by" in line or "drawn" in line for line in lines[1:])


def test_probe_knows_the_last_plies_exactly(capsys):
    tablebase_command.run(["probe", POSITION, "--ply", "399"])
    lines = capsys.readouterr().out.splitlines()
    assert "1 plies left" in lines[0] and " to " not in lines[0]


def test_grade_prints_a_table_and_writes_all_of_it(folder, capsys):
    output = folder / "grades.json"
    words = ["grade", "greedy", "random", "--seeds", "6", "--positions", "200", "--games", "10"]
    tablebase_command.run([*words, "--output", str(output)])
    printed = capsys.readouterr().out
    document = json.loads(output.read_text())
    assert {row["agent"] for row in document["grades"]} == {"greedy", "random"}
    assert {row["source"] for row in document["grades"]} == {"uniform", "own games"}
    uniform = [row for row in document["grades"] if row["source"] == "uniform"]
    assert [row["seeds"] for row in uniform] == ["all", "3", "4", "5", "6"] * 2
    for row in uniform:
        if row["seeds"] == "all":
            assert row["positions"] == sum(
                other["positions"]
                for other in uniform
                if other["agent"] == row["agent"] and other["seeds"] != "all"
            )
            assert f"{100 * row['accuracy']:.1f}%" in printed
    worst = document["worst"][0]
    assert worst["regret"] > 0
    assert worst["move"] not in worst["better"].split()


@pytest.mark.parametrize("limit", ["30", "500"])
def test_grade_knows_another_move_limit(capsys, limit):
    words = ["grade", "random", "--seeds", "6", "--positions", "50", "--games", "10"]
    tablebase_command.run([*words, "--max-plies", limit])
    assert "uniform" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bild"], "there is no 'bild'; the nearest is 'build'"),
        (["build", "--seeds", "25"], "seeds must be"),
        (["build", "--seeds", "x"], "seeds must be"),
        (["build", "--sedes", "4"], "unknown option --sedes"),
        (["build", "--seeds", "4", "--first", "500"], "plies must be a range"),
        (["grade"], "give the agents to grade"),
        (["grade", "gredy"], "unknown agent 'gredy'; the nearest is 'greedy'"),
        (["grade", "greedy", "--seeds", "11"], "oware-tablebase build --seeds 11"),
        (["grade", "greedy", "--games", "3"], "games must be"),
        (["grade", "greedy", "--max-plies", "3"], "opening plies must be from 0 to 2"),
        (["probe"], "give one position, not 0"),
        (["probe", "4-4"], "position"),
        (["probe", "4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"], "oware-tablebase build --seeds 48"),
        (["probe", "0-0-0-5-1-1-2-0-0-0-0-3-18-18-S"], "oware-tablebase build --seeds 12"),
        (
            ["probe", POSITION, "--seeds", "3"],
            "7 seeds are on the board and the table holds up to 3",
        ),
        (["probe", POSITION, "--ply", "401"], "ply must be between 0 and"),
        (["probe", POSITION, "--max-plies", "500"], "500 plies are left and the table is proved"),
        (["probe", "0-0-0-0-1-1-2-0-0-0-0-0-25-19-S"], "the game is over"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    with pytest.raises(OwareError) as caught:
        tablebase_command.run(arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_ends_with_code_two_and_the_line_alone(folder):
    done = subprocess.run(
        [sys.executable, "-m", "agents.tablebase_command", "probe", "nonsense"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OWARE_TABLES": str(folder)},
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
