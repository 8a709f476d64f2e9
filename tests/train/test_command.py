"""``oware-train``: light help, and one clear line with exit code 2 for every mistake."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from train.command import budget_text, train, with_one_budget
from train.config import Config, differences
from train.replay import SAMPLE

ROOT = Path(__file__).parents[2]
LIGHT = """
import sys
from agents.console import run_command
from train.command import train
try:
    run_command(train, ["--help"])
finally:
    heavy = {"torch", "tensorboard", "safetensors", "evalica", "rich.progress"} & sys.modules.keys()
    print("loaded:", sorted(heavy), file=sys.stderr)
"""


@pytest.fixture
def fails(tmp_path, run_in, capsys):
    """A function (*words) -> the one error line of the command; checks all else about it."""

    def run(*words):
        before = sorted(tmp_path.rglob("*"))
        capsys.readouterr()
        assert run_in(tmp_path, *words) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = captured.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("error: ")
        assert sorted(tmp_path.rglob("*")) == before, "a mistake leaves nothing behind"
        return lines[0].removeprefix("error: ")

    return run


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run as runs/tiny of the folder the command runs in."""
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    return tmp_path / "runs" / "tiny"


def test_help_names_every_option_and_loads_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert done.stderr == "loaded: []\n"
    for word in ("--selfplay.games", "--budget.minutes", "--evaluation.at-end", "--resume"):
        assert word in done.stdout
    for words in ("oware-train configs/alphazero-quick.toml", "Games of one unit"):
        assert words in done.stdout


def test_a_budget_on_the_command_line_takes_the_place_of_the_files():
    assert with_one_budget(["quick.toml", "--seed", "3"]) == ["quick.toml", "--seed", "3"]
    arguments = ["quick.toml", "--budget.games", "64"]
    unset = ["--budget.minutes", "None", "--budget.steps", "None"]
    assert with_one_budget(arguments) == [*arguments, *unset]
    assert with_one_budget(["--budget.steps=5"])[1:] == ["--budget.games", "None", *unset[:2]]


BAD_FILES = {
    "an unknown key": (
        "[selfplay]\nsimulation = 3\n",
        "bad.toml: unknown key 'selfplay.simulation'; the nearest is 'selfplay.simulations'",
    ),
    "an unknown section": ("[learner]\nbatch = 3\n", "the nearest is 'learning'"),
    "a negative count": (
        "[selfplay]\ngames = -4\n",
        "bad.toml: selfplay.games must be greater than or equal to 1, not -4",
    ),
    "a wrong type": (
        'seed = "seven"\n',
        "bad.toml: seed must be a valid integer, not 'seven'",
    ),
    "a number for a section": ("replay = 5\n", "replay must be a section with keys, not 5"),
    "two budgets": (
        "[budget]\nminutes = 5.0\nsteps = 10\n",
        "bad.toml: budget: give one of minutes, games and steps, not minutes and steps",
    ),
    "broken TOML": ("[selfplay\ngames = 4\n", "bad.toml is not valid TOML"),
    "an unknown algorithm": ('algorithm = "dqn"\n', "must be 'alphazero' or 'ppo', not 'dqn'"),
    "what the algorithm does not read": (
        'algorithm = "ppo"\n[selfplay]\nnoise = 0.5\n',
        "bad.toml: selfplay.noise is read by alphazero only, and algorithm is 'ppo'",
    ),
    "an unknown key of PPO": ("[ppo]\nepoch = 2\n", "the nearest is 'ppo.epochs'"),
    "an unknown network": ('network = "huge"\n', "not 'huge'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused(name, fails, tmp_path):
    text, message = BAD_FILES[name]
    (tmp_path / "bad.toml").write_text(text)
    assert message in fails("bad.toml")


BAD_WORDS = {
    "a missing file": (["none.toml"], "none.toml cannot be read: No such file"),
    "an unknown option": (
        ["--selfplay.simulatons", "3"],
        "unknown option --selfplay.simulatons; the nearest is '--selfplay.simulations'",
    ),
    "a negative count": (
        ["--selfplay.games", "-4"],
        "selfplay.games must be greater than or equal to 1, not -4",
    ),
    "a wrong type": (["--seed", "1.5"], "seed must be a valid integer"),
    "two budgets": (
        ["--budget.games", "10", "--budget.steps", "10"],
        "give one of minutes, games and steps, not games and steps",
    ),
    "no budget": (["--budget.minutes", "None"], "the budget is empty"),
    "a switch of the command's own": (
        ["--profil"],
        "unknown option --profil; the nearest is '--profile'",
    ),
    "a stray word": (["tiny"], "unexpected argument 'tiny'; there are replay, report, export"),
    "a mistyped action": (["relese", "tiny"], "argument 'relese'; the nearest is 'release'"),
    "an unknown device": (["--device", "gpu9"], "device 'gpu9' cannot be used: "),
    "a device that is not there": (["--device", "cuda:99"], "device 'cuda:99' cannot be used: "),
    "an unknown opponent": (
        ["--evaluation.during", "alphabeta:deep=4"],
        "deep",
    ),
    "an unknown opponent of the final table": (["--evaluation.at-end", "gredy"], "greedy"),
    "a bad value of PPO": (
        ["--algorithm", "ppo", "--ppo.epochs", "0"],
        "ppo.epochs must be greater than or equal to 1, not 0",
    ),
    "no name": (["--name", ""], "name"),
    "a name with a path in it": (["--name", "../other"], "name"),
}


@pytest.mark.parametrize("name", BAD_WORDS)
def test_a_bad_command_line_is_refused(name, fails):
    words, message = BAD_WORDS[name]
    assert message in fails(*words)


def test_a_run_is_looked_for_where_it_was_said_to_be_and_a_bare_name_in_runs(fails):
    assert fails("--resume", "runs/none").startswith("runs/none is not the folder of a run")
    assert fails("--resume", "none").startswith("runs/none is not the folder of a run")
    assert fails("report", "other/none").startswith("other/none is not the folder of a run")


def test_a_folder_that_is_no_run_cannot_be_resumed(fails, tmp_path):
    (tmp_path / "runs" / "empty").mkdir(parents=True)
    message = "runs/empty is not the folder of a run: it holds no config.toml"
    assert fails("--resume", "runs/empty") == message
    assert fails("--resume", "empty") == message


def test_a_run_without_a_checkpoint_cannot_be_resumed(fails, run):
    shutil.rmtree(run / "checkpoints")
    assert fails("--resume", "runs/tiny") == (
        "runs/tiny holds no checkpoint: the run was stopped before its first one"
    )


def test_a_resumed_run_takes_no_other_file(fails, run, tmp_path):
    (tmp_path / "other.toml").write_text("")
    assert "--resume takes the run's own config.toml" in fails(
        "other.toml", "--resume", "runs/tiny"
    )


@pytest.mark.parametrize(
    ("option", "value", "was"),
    [
        ("selfplay.games", 9, 8),
        ("max_plies", 100, 40),
        ("network", "small", "tiny"),
        ("learning.learning_rate", 0.5, Config().learning.learning_rate),
        ("seed", 5, 0),
    ],
)
def test_what_decides_the_games_cannot_change_in_the_middle(fails, run, option, value, was):
    words = ["--resume", "runs/tiny", f"--{option.replace('_', '-')}", str(value)]
    assert fails(*words) == (
        f"{option} was {was!r} when the run began and cannot become {value!r}: "
        "start a new run for that"
    )


@pytest.mark.parametrize("name", ["ema", "optimiser", "in_flight"])
def test_a_truncated_checkpoint_is_named_and_left_alone(run, tmp_path, run_in, capsys, name):
    path = max((run / "checkpoints").iterdir()) / f"{name}.safetensors"
    content = path.read_bytes()[:-100]
    path.write_bytes(content)
    capsys.readouterr()
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "64") == 2
    relative = path.relative_to(tmp_path)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: {relative} is damaged: it is not what the checkpoint wrote; ")
    assert err.endswith("step-00000009 is whole: name it instead\n")
    assert path.read_bytes() == content


def test_truncated_replay_files_are_named_and_not_used(run, tmp_path, run_in, capsys):
    path = run / "replay" / "000000.rows"
    content = path.read_bytes()[:-100]
    path.write_bytes(content)
    capsys.readouterr()
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "64") == 2
    out, err = capsys.readouterr()
    held, rows = len(content) // SAMPLE.itemsize, len(content + bytes(100)) // SAMPLE.itemsize
    expected = f"runs/tiny/replay/000000.rows was cut off: it holds {held:,} of {rows:,} rows"
    assert (out, err) == ("", f"error: {expected}\n")
    assert path.read_bytes() == content


def test_a_truncated_state_is_named(fails, run, tmp_path):
    path = max((run / "checkpoints").iterdir()) / "state.json"
    path.write_text(path.read_text()[:-100])
    folder = path.parent.relative_to(tmp_path)
    expected = f"{folder} is not a checkpoint: it holds no readable state.json"
    older = f"{folder.parent}/step-00000009 is whole: name it instead"
    assert fails("--resume", "runs/tiny") == f"{expected}; {older}"


def test_the_end_of_a_run_says_what_was_learned_and_what_comes_next(run, tmp_path, run_in, capsys):
    capsys.readouterr()
    assert run_in(tmp_path, "--resume", "tiny") == 0
    out = capsys.readouterr().out
    assert "training runs/tiny for 48 games; seed 0" in out
    assert "learned from 48 games (" in out
    for command in (
        "oware-play runs/tiny:sims=2",
        "tensorboard --logdir runs",
        "--resume runs/tiny",
    ):
        assert command in out


def test_differences_name_the_keys_with_both_values(tiny):
    before, after = tiny(), tiny({"seed": 3, "replay.least": 7, "budget.steps": 5})
    assert differences(before, after) == {
        "seed": (0, 3),
        "replay.least": (500, 7),
        "budget.games": (48, None),
        "budget.steps": (None, 5),
    }
    assert differences(before, before) == {}


def test_budgets_in_words(tiny):
    assert budget_text(tiny({"budget.minutes": 2.5})) == "2.5 minutes"
    assert budget_text(tiny({"budget.games": 48})) == "48 games"


def test_the_command_is_the_documented_entry_point():
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="console_scripts", name="oware-train")
    assert entry.load().__globals__["train"] is train
