"""The training loop: the same weights whoever plays, whatever is killed and wherever it stops."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir, suppress
from pathlib import Path

import pytest

from agents.neural.checkpoint import read_state
from oware_env.errors import OwareError
from train.alphazero import AlphaZero
from train.learner import Learner
from train.run import config_text
from train.selfplay import play_unit
from train.training import open_training

DEATHS = "OWARE_TEST_DEATHS"  # a folder of marks, seen by this process and its workers
GO_ON = "go on with: oware-train --resume runs/tiny"
STOPPED = f"stopped; {GO_ON}"


def test_two_workers_learn_the_same_weights_as_none(
    finished, tiny_toml, tmp_path, run_in, same_result
):
    assert run_in(tmp_path, tiny_toml, "--workers", "2") == 0
    assert same_result(finished, tmp_path / "runs" / "tiny")


@pytest.mark.parametrize("algorithm", ["alphazero", "ppo"])
def test_each_evaluation_grades_endgames_for_metrics_and_tensorboard(
    finished, ppo_toml, tmp_path, run_in, algorithm
):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = finished
    if algorithm == "ppo":
        assert run_in(tmp_path, ppo_toml) == 0
        run = tmp_path / "runs" / "tiny"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    graded = [line for line in lines if "endgames/accuracy" in line]
    assert len(graded) == len([line for line in lines if "evaluation/random" in line]) > 0
    names = ["accuracy", "regret"]
    names += ["search_accuracy", "search_regret"] * (algorithm == "alphazero")
    curves = EventAccumulator(str(run / "events"))
    curves.Reload()
    for name in names:
        logged = [line[f"endgames/{name}"] for line in graded]
        shown = [event.value for event in curves.Scalars(f"endgames/{name}")]
        assert shown == pytest.approx(logged)
    assert ("endgames/search_regret" in graded[0]) == (algorithm == "alphazero")


def test_another_seed_learns_other_weights(finished, tiny_toml, tmp_path, run_in, same_result):
    assert run_in(tmp_path, tiny_toml, "--seed", "1") == 0
    assert not same_result(finished, tmp_path / "runs" / "tiny")


def _play_and_die_once(unit):
    """Plays a unit, but in its middle kills its own process the first time unit 2 is played."""
    marks = Path(os.environ[DEATHS])
    if unit.number == 2 and not (marks / "died").exists():
        import train.selfplay

        decide, plies = train.selfplay._decide, [0]

        def decide_or_die(*arguments):
            plies[0] += 1
            if plies[0] == 10:
                (marks / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return decide(*arguments)

        train.selfplay._decide = decide_or_die
    return play_unit(unit)


def test_a_worker_killed_in_the_middle_of_a_unit_changes_nothing(
    finished, tiny_toml, tmp_path, run_in, monkeypatch, same_result
):
    monkeypatch.setenv(DEATHS, str(tmp_path))
    monkeypatch.setattr(AlphaZero, "play", staticmethod(_play_and_die_once))
    assert run_in(tmp_path, tiny_toml, "--workers", "2") == 0
    assert (tmp_path / "died").exists(), "no worker was killed"
    assert same_result(finished, tmp_path / "runs" / "tiny")


def _interrupt_while_waiting(monkeypatch, number):
    """Ctrl-C in the middle of playing a unit."""

    def play(unit):
        if unit.number == number:
            os.kill(os.getpid(), signal.SIGINT)
        return play_unit(unit)

    monkeypatch.setattr(AlphaZero, "play", staticmethod(play))


def _interrupt_while_learning(monkeypatch, number):
    """Ctrl-C in the middle of learning from a unit, which is then finished first."""
    learn, calls = Learner.learn, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == number + 1:
            os.kill(os.getpid(), signal.SIGINT)
        return learn(self, *arguments)

    monkeypatch.setattr(Learner, "learn", interrupted)


MOMENTS = {"waiting": _interrupt_while_waiting, "learning": _interrupt_while_learning}


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_stopped_and_resumed_ends_like_one_that_ran_through(
    finished, tiny_toml, tmp_path, run_in, monkeypatch, capsys, moment, number, newest, same_result
):
    with monkeypatch.context() as patches:
        MOMENTS[moment](patches, number)
        assert run_in(tmp_path, tiny_toml) == 130
    run = tmp_path / "runs" / "tiny"
    captured = capsys.readouterr()
    assert STOPPED in captured.out and captured.err == "stopped\n"
    assert read_state(newest(run))["units"] == number + (moment == "learning")
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(finished, run)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["unit"] for line in lines if "unit" in line] == [0, 1, 2, 3, 4, 5]


def test_a_budget_in_steps_is_met_exactly_also_after_a_resume(
    tiny_toml, tmp_path, run_in, monkeypatch, newest, same_result
):
    options = [tiny_toml, "--budget.games", "None", "--budget.steps", "50"]
    assert run_in(tmp_path, *options, "--name", "through") == 0
    with monkeypatch.context() as patches:
        _interrupt_while_learning(patches, 1)
        assert run_in(tmp_path, *options) == 130
    assert run_in(tmp_path, "--resume", "tiny") == 0
    through, resumed = (tmp_path / "runs" / name for name in ("through", "tiny"))
    assert read_state(newest(through))["steps"] == 50
    assert same_result(through, resumed)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (MemoryError("out of it"), f"error: out of memory: out of it; {GO_ON}\n"),
        (OwareError("a worker is ill"), f"error: a worker is ill; {GO_ON}\n"),
        (RuntimeError("a bug"), None),
    ],
)
def test_a_crash_loses_nothing_that_was_learned(
    finished, tiny_toml, tmp_path, run_in, monkeypatch, newest, same_result, capsys, fault, line
):
    def crash(unit):
        if unit.number == 4:
            raise fault
        return play_unit(unit)

    with monkeypatch.context() as patches:
        patches.setattr(AlphaZero, "play", staticmethod(crash))
        if line is None:  # a fault of the program shows where it is
            with pytest.raises(RuntimeError):
                run_in(tmp_path, tiny_toml)
        else:
            assert run_in(tmp_path, tiny_toml) == 2
            assert capsys.readouterr().err.endswith(line)
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["units"] == 4
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(finished, run)


def test_a_finished_run_goes_on_with_a_larger_budget(tiny_toml, tmp_path, run_in, newest):
    assert run_in(tmp_path, tiny_toml, "--budget.games", "16") == 0
    run = tmp_path / "runs" / "tiny"
    before = read_state(newest(run))
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "32", "--workers", "0") == 0
    after = read_state(newest(run))
    assert (before["games"], after["games"]) == (16, 32)
    assert after["steps"] > before["steps"] and after["minutes"] > before["minutes"]


def test_a_budget_in_minutes_ends_when_they_are_over(tiny, tmp_path):
    with chdir(tmp_path):
        # Half a minute that began 29 seconds ago, resumed runs included.
        begun = time.monotonic() - 29.0
        with open_training(AlphaZero, tiny({"budget.minutes": 0.5}), None, begun) as training:
            assert training.train()
    assert training.progress >= 1.0
    metrics = tmp_path / training.run.path / "metrics.jsonl"
    assert training.units == metrics.read_text().count('"unit"')


def test_ctrl_c_before_anything_was_learned_promises_nothing(
    tiny_toml, tmp_path, run_in, monkeypatch, capsys
):
    _interrupt_while_waiting(monkeypatch, 0)
    assert run_in(tmp_path, tiny_toml) == 130
    out = capsys.readouterr().out
    assert "--resume" not in out
    assert "stopped before the first games were learned from: there is nothing to go on with" in out


# Ctrl-C of a terminal reaches the command and its workers; sent when a unit has been logged.
INTERRUPTED = """
import time
from pathlib import Path
from train.run import RunFolder

log = RunFolder.log
def log_and_wait(self, step, figures):
    log(self, step, figures)
    if figures.get("unit") == 2:
        Path("ready").touch()
        while not Path("go").exists():
            time.sleep(0.01)
RunFolder.log = log_and_wait

if __name__ == "__main__":
    from train.command import main
    main()
"""


def _running(group):
    """Processes of a group that are not over yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(path)
    return found


def test_ctrl_c_in_a_terminal_stops_after_a_checkpoint_with_code_130(
    finished, tiny_toml, tmp_path, run_in, newest, same_result
):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, str(script), tiny_toml, "--workers", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not (tmp_path / "ready").exists() and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "stopped\n")
    assert STOPPED in out
    deadline = time.monotonic() + 60
    while _running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _running(process.pid), "a worker outlived the command"
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["units"] == 3
    assert run_in(tmp_path, "--resume", "runs/tiny", "--workers", "0") == 0
    assert same_result(finished, run)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, tiny_toml, run_in):
    """A run stopped by Ctrl-C after its third unit. Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as patches:
        _interrupt_while_learning(patches, 2)
        assert run_in(folder, tiny_toml) == 130
    return folder / "runs" / "tiny"


FULL_DISK = """
import resource
import sys
import train.compilation

limit, compile_kernels = int(sys.argv.pop(1)), train.compilation.compile_kernels
def compile_then_fill(kind, config):
    seconds = compile_kernels(kind, config)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return seconds
train.compilation.compile_kernels = compile_then_fill

if __name__ == "__main__":
    from train.command import main
    main()
"""


def _on_a_full_disk(folder, limit, *words):
    return subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(limit), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_full_disk_while_saving_leaves_the_previous_checkpoint(
    finished, stopped, tmp_path, run_in, newest, same_result
):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(stopped, run)
    before = {path: path.read_bytes() for path in newest(run).iterdir()}
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    done = _on_a_full_disk(tmp_path, 200_000, "--resume", "runs/tiny")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: the checkpoint runs/tiny/checkpoints/")
    assert "could not be written: File too large; earlier checkpoints are as they were" in lines[0]
    assert {path: path.read_bytes() for path in newest(run).iterdir()} == before
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == names
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(finished, run)


def test_a_full_disk_while_playing_is_one_clear_line(
    finished, stopped, tmp_path, run_in, same_result
):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(stopped, run)
    size = (run / "replay" / "000000.rows").stat().st_size
    done = _on_a_full_disk(tmp_path, size + 100, "--resume", "runs/tiny")
    assert done.returncode == 2
    refusal = "runs/tiny/replay/000000.rows cannot be written: File too large"
    assert done.stderr == f"error: {refusal}; {GO_ON}\n"
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(finished, run)


COMPILING = """
import sys
from pathlib import Path
import numba.core.dispatcher as dispatcher
import oware_env.kernel as kernel
import train.compilation as compilation
from agents.settings import read_settings
from train.alphazero import AlphaZero
from train.config import Config
from train.evaluate import EndgameUnit, EvaluationUnit, evaluate_unit, grade_unit
from train.ppo import PPO
from train.selfplay import SelfPlayUnit

config = read_settings(Config, sys.argv[1])
kernel.CACHE = Path(sys.argv[2])  # where nothing is marked yet
kind = {"alphazero": AlphaZero, "ppo": PPO}[config.algorithm]
assert compilation.compile_kernels(kind, config) > 0
assert compilation.compile_kernels(kind, config) == 0

compiled, original = [], dispatcher.Dispatcher.compile
def note(self, signature):
    compiled.append(f"{self.py_func.__name__} {signature}")
    return original(self, signature)
dispatcher.Dispatcher.compile = note
algorithm = kind(config)
algorithm.open(Path(sys.argv[2]))
algorithm.learn(algorithm.play(SelfPlayUnit(algorithm.unit_weights(0), config, 0)), 0.0, 10)
weights = algorithm.learner.playing_weights()
evaluate_unit(EvaluationUnit(weights, config, "alphabeta:depth=4,evaluation=material"))
grade_unit(EndgameUnit(weights, config))
algorithm.close()
print(compiled)
"""


@pytest.mark.parametrize("kind", ["alphazero", "with tables", "ppo"])
def test_compiling_beforehand_leaves_nothing_to_compile(tiny, tiny_ppo, tmp_path, kind):
    path = tmp_path / "config.toml"
    tables = {"selfplay.endgames": "both", "selfplay.table": 4}
    configs = {"alphazero": tiny(), "with tables": tiny(tables), "ppo": tiny_ppo()}
    path.write_text(config_text(configs[kind]))
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, str(path), str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
