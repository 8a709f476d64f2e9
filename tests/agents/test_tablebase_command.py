import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents import tablebase_command
from agents.neural.checkpoint import write_checkpoint
from agents.neural.network import build_network
from agents.tablebase.probe import open_table
from oware_env.errors import OwareError
from oware_env.rules import Rules

ROOT = Path(__file__).resolve().parents[2]
FEW_GAMES = ["--games", "10", "--decisions", "50"]
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
    words = ["grade", "greedy", "random", "--seeds", "6", "--positions", "200", *FEW_GAMES]
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
    assert "kept: decision positions" in printed and "uniform: " in printed
    assert document["settings"]["positions"] == 200
    # The last line names a file, however deep it lies.
    assert max(map(len, printed.splitlines()[:-1])) <= 120
    worst = document["worst"][0]
    assert worst["position"] in printed
    assert worst["regret"] > 0
    assert worst["move"] not in worst["better"].split()


@pytest.fixture
def a_run(folder):
    """The folder of a run that trained with the table of five seeds."""
    path = folder / "runs" / "first"
    state = {
        "rules": Rules()._asdict(),
        "network": "tiny",
        "config": {"selfplay": {"endgames": "search", "table": 5}},
    }
    weights = build_network("tiny").state_dict()
    path.mkdir(parents=True)
    write_checkpoint(path / "checkpoints" / "step-00000001", {"ema": weights}, state)
    return path


def graded_agents(folder, *words):
    """The agents that a command grades, in order, and all that it wrote."""
    output = folder / "grades.json"
    few = ["--seeds", "6", "--positions", "20", "--games", "2", "--decisions", "1"]
    tablebase_command.run(["grade", *words, *few, "--output", str(output)])
    document = json.loads(output.read_text())
    return [agent["agent"] for agent in document["agents"]], document


def test_a_run_is_graded_with_the_policy_alone_and_at_four_numbers_of_simulations(
    a_run, folder, capsys
):
    agents, document = graded_agents(folder, str(a_run), "greedy", "--max-plies", "12")
    numbers = [":sims=1", ":sims=16", ":sims=64", ":sims=256"]
    assert agents == [str(a_run), *(f"{a_run}{number}" for number in numbers), "greedy"]
    for row in document["grades"]:
        expected = None if row["agent"] == "greedy" else row["seeds"] == "6"
        assert row["held_out"] == expected
        if row["source"] == "uniform":
            assert bool(row["calibration"]) == (row["agent"] != "greedy")
    printed = capsys.readouterr().out
    assert " 6* " in printed and " 5* " not in printed
    assert f"* held out: {a_run} was trained with the table of up to 5 seeds\n" in printed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["RUN", "--simulations", "0", "2"], ["RUN", "RUN:sims=2"]),
        (["RUN:sims=3", "--simulations", "0", "2"], ["RUN:sims=3"]),
        (["RUN:sims=3,table=4"], ["RUN:sims=3,table=4"]),
        (["RUN", "RUN:sims=2", "--simulations", "2"], ["RUN:sims=2"]),
        (["mcts", "--simulations", "0", "2"], ["mcts:sims=2"]),
        (["mcts:table=4", "--simulations", "2"], ["mcts:sims=2,table=4"]),
        (["mcts"], ["mcts:sims=200"]),
        (["greedy", "alphabeta:depth=1", "greedy"], ["greedy", "alphabeta:depth=1"]),
    ],
)
def test_simulations_are_for_specs_that_leave_them_open(a_run, folder, words, expected):
    agents, _ = graded_agents(folder, *(word.replace("RUN", str(a_run)) for word in words))
    assert agents == [name.replace("RUN", str(a_run)) for name in expected]


def test_calibration_and_worst_moves_are_shown_on_demand(folder, capsys):
    words = ["alphabeta:depth=1", "--calibration", "--worst", "0"]
    _, document = graded_agents(folder, *words)
    printed = capsys.readouterr().out
    assert "predicted" in printed and "worst moves:" not in printed
    one = document["grades"][0]["calibration"][-1]
    assert f"{one['low']:+.1f} to {one['high']:+.1f}" in printed


def test_too_few_decisions_are_said_in_plain_words(folder, capsys):
    words = ["grade", "greedy", "--seeds", "3", "--positions", "5", "--games", "2"]
    tablebase_command.run(words)
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning: uniform: only " in printed
    assert "decision positions, not the 2,000 that were wanted" in printed


@pytest.mark.parametrize("limit", ["30", "500"])
def test_grade_knows_another_move_limit(capsys, limit):
    words = ["grade", "random", "--seeds", "6", "--positions", "50", *FEW_GAMES]
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
        (["grade", "greedy", "--simulations", "-1"], "simulations must be"),
        (["grade", "greedy", "--simulations", "x"], "simulations must be"),
        (["grade", "mcts", "--simulations", "2000000"], "sims must be a whole number from 1"),
        (["grade", "greedy", "--output", f"{ROOT}/pyproject.toml/x"], "could not be written: "),
        (["grade", "runs/nothing"], "there is no run or checkpoint folder runs/nothing"),
        (["grade", "greedy", "--max-plies", "3"], "opening plies must be from 0 to 2"),
        (["probe"], "give one position, not 0"),
        (["probe", "4-4"], "position"),
        (["probe", "4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"], "48 seeds are on the board: tables hold"),
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
