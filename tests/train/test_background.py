"""Training in the background is oware-train, and its mistakes are told."""

import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import pytest

from agents.neural.checkpoint import newest_checkpoint, read_state
from oware_env.errors import OwareError
from train.background import BackgroundRun, train_in_background


@pytest.fixture
def started(tmp_path):
    """A function (Python text) -> a background run whose command is that text."""
    runs = []

    def start(text):
        output = tmp_path / "output.txt"
        with output.open("wb") as file:
            process = subprocess.Popen([sys.executable, "-c", text], stdout=file, stderr=file)
        runs.append(BackgroundRun(process, output, tmp_path / "runs" / "a"))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.wait()


def test_a_run_that_ends_well_gives_its_folder(started, tmp_path):
    run = started("print('learned')")
    assert run.wait() == tmp_path / "runs" / "a"
    assert not run.is_running() and run.output == "learned\n"


def test_a_run_that_fails_says_why(started):
    run = started("import sys; print('training'); sys.exit('error: the disk is full')")
    with pytest.raises(OwareError, match=r"^the training ended early: the disk is full$"):
        run.wait()


def test_stopping_is_a_ctrl_c_and_waits_for_the_end(started):
    text = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    run = started(text)
    while "ready" not in run.output:
        assert run.is_running()
        time.sleep(0.01)
    run.stop()
    assert not run.is_running() and run.output.splitlines() == ["ready", "stopped"]
    run.stop()  # nothing to stop: nothing happens


@pytest.mark.slow
def test_it_trains_the_run_in_the_folder_it_names(tmp_path, tiny):
    config = tiny({"name": "aside"})
    with chdir(tmp_path):
        run = train_in_background(config)
        assert run.path == Path("runs/aside")
        assert (run.path / "config.toml").is_file()
        assert run.wait() == run.path
        assert "learned from 48 games" in run.output
        assert read_state(newest_checkpoint(run.path))["games"] == 48


@pytest.mark.slow
def test_what_the_command_refuses_is_told_in_one_line(tmp_path, tiny):
    with chdir(tmp_path), pytest.raises(OwareError, match="early: unknown agent 'gredy'"):
        train_in_background(tiny({"evaluation.during": ("gredy",)}))
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_run_that_is_stopped_can_go_on(tmp_path, tiny):
    with chdir(tmp_path):
        run = train_in_background(tiny({"name": "long", "budget.games": 1_000_000}))
        while '"unit": 1' not in (run.path / "metrics.jsonl").read_text():
            assert run.is_running(), run.output
            time.sleep(0.05)
        run.stop()
        assert "go on with: oware-train --resume runs/long" in run.output
        assert read_state(newest_checkpoint(run.path))["units"] >= 2
