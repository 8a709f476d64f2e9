"""Whatever stops driver and workers, whatever they are doing: the same weights in the end."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from train.metrics import read_metrics

ROOT = Path(__file__).parents[2]
EACH = 5  # kills in each of the phases
PHASES = ("self-play", "learning", "evaluation", "checkpoint")
# Signals sent shortly after each other, and the exit codes that they may lead to. A second one may
# come when all is saved and Python itself is ending: then it ends the process as it always does.
STOPS = {
    "INT": ((signal.SIGINT,), {130}),
    "INT INT": ((signal.SIGINT, signal.SIGINT), {130, -signal.SIGINT}),
    "TERM": ((signal.SIGTERM,), {143}),
    "INT TERM": ((signal.SIGINT, signal.SIGTERM), {130, 143, -signal.SIGTERM}),
    "KILL": ((signal.SIGKILL,), {-signal.SIGKILL}),
}

# Trains like the command, and says on standard output what it is doing whenever that changes. With
# workers the driver waits while they play; an evaluation lasts from its request to an answer.
TELLING = """
import sys
from contextlib import contextmanager
import train.stream, train.training
from train.alphazero import AlphaZero
from train.learner import Learner

stack = ["starting"]
def tell():
    print("doing:", *stack, flush=True)

@contextmanager
def phase(name):
    stack.append(name)
    tell()
    yield
    stack.pop()
    tell()

def within(name, owner, attribute):
    inner = getattr(owner, attribute)
    def told(*arguments):
        with phase(name):
            return inner(*arguments)
    setattr(owner, attribute, told)

within("learning", Learner, "learn")
within("checkpoint", train.training, "write_checkpoint")
if "--workers=0" in sys.argv:
    play = AlphaZero.play
    within("self-play", AlphaZero, "play")
    AlphaZero.play = staticmethod(AlphaZero.play)
    within("evaluation", train.stream, "evaluate_unit")
else:
    within("self-play", train.stream.UnitStream, "wait")
    ask, answer = train.stream.UnitStream.evaluate, train.training.Training._evaluated
    def evaluate(*arguments):
        ask(*arguments)
        stack.insert(1, "evaluation")
    def evaluated(*arguments):
        answer(*arguments)
        if "evaluation" in stack:  # several answers come to one request
            stack.remove("evaluation")
    train.stream.UnitStream.evaluate = evaluate
    train.training.Training._evaluated = evaluated

if __name__ == "__main__":
    from train.command import main
    main()
"""


def _start(folder, *words):
    return subprocess.Popen(
        [sys.executable, "-c", TELLING, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _workers(driver):
    """Process ids of the driver's workers."""
    found = []
    for child in Path(f"/proc/{driver}/task/{driver}/children").read_text().split():
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            found.append(int(child))
    return found


def _is_doing(driver, phase):
    """Wait until the driver says that it is in a phase; False when it ends before."""
    for line in driver.stdout:
        if line.startswith("doing:"):
            doing = line.split()[1:]
            if doing[-1] == phase or (phase == "evaluation" and phase in doing):
                return True
    return False


class _Killed:
    """A run that is killed and taken up again, over and over."""

    def __init__(self, folder, toml, workers, options):
        self.folder, self.run = folder, folder / "runs" / "tiny"
        self.workers, self.options = workers, (*options, f"--workers={workers}")
        self.toml, self.random = toml, random.Random(workers)
        self.driver = None

    def begin(self):
        """Go on from the newest checkpoint, or start when there is none yet."""
        if any((self.run / "checkpoints").glob("step-*/state.json")):
            self.driver = _start(self.folder, "--resume", "runs/tiny", *self.options)
        else:
            shutil.rmtree(self.run, ignore_errors=True)
            self.driver = _start(self.folder, self.toml, *self.options)

    def kill_while(self, phase):
        """Kill the driver, or one of its workers if they are at work, in a phase."""
        if self.driver is None:
            self.begin()
        assert _is_doing(self.driver, phase), f"the run ended before a kill while {phase}"
        time.sleep(self.random.random() * 0.03)
        workers = _workers(self.driver.pid) if phase in ("self-play", "evaluation") else []
        if workers and self.random.random() < 0.5:
            os.kill(self.random.choice(workers), signal.SIGKILL)
            return
        os.kill(self.driver.pid, signal.SIGKILL)
        self.driver.communicate()
        self.driver = None

    def stop_while(self, phase, stop):
        """Stop the driver in a phase by the signals of a stop, and wait for its end."""
        self.begin()
        assert _is_doing(self.driver, phase), f"the run ended before it was stopped while {phase}"
        signals, codes = STOPS[stop]
        for number in signals:
            time.sleep(self.random.random() * 0.03)
            self.driver.send_signal(number)
        _, errors = self.driver.communicate(timeout=300)
        assert self.driver.returncode in codes, (stop, phase, errors)
        assert errors in ("", "stopped\n"), errors
        self.driver = None

    def finish(self):
        """Let it run to its end."""
        if self.driver is None:
            self.begin()
        _, errors = self.driver.communicate(timeout=300)
        assert (self.driver.returncode, errors) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_twenty_kills_leave_the_same_weights(
    tmp_path, tiny_toml, run_in, same_result, newest, workers
):
    options = ("--budget.games=480", "--evaluation.times=30", "--checkpoint-minutes=1e-9")
    assert run_in(tmp_path, tiny_toml, "--name=whole", "--workers=0", *options) == 0
    killed = _Killed(tmp_path, tiny_toml, workers, options)
    phases = [*PHASES] * EACH
    killed.random.shuffle(phases)
    for phase in phases:
        killed.kill_while(phase)
    killed.finish()
    _assert_same(tmp_path, same_result, newest)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_twelve_stops_of_every_kind_leave_the_same_weights(
    tmp_path, tiny_toml, run_in, same_result, newest, workers
):
    options = ("--budget.games=480", "--evaluation.times=30", "--checkpoint-minutes=0.01")
    assert run_in(tmp_path, tiny_toml, "--name=whole", "--workers=0", *options) == 0
    stopped = _Killed(tmp_path, tiny_toml, workers, options)
    stops = ["INT"] * 2 + ["INT INT"] * 4 + ["TERM"] * 2 + ["INT TERM"] * 2 + ["KILL"] * 2
    stopped.random.shuffle(stops)
    for number, stop in enumerate(stops):
        stopped.stop_while(PHASES[number % len(PHASES)], stop)
    stopped.finish()
    _assert_same(tmp_path, same_result, newest)


def _assert_same(tmp_path, same_result, newest):
    """The run that was stopped ended like the whole one, in every bit and every evaluation."""
    whole, stopped = (tmp_path / "runs" / name for name in ("whole", "tiny"))
    assert same_result(whole, stopped)
    evaluations = [
        sum("evaluation_games/random" in line for line in read_metrics(run))
        for run in (whole, stopped)
    ]
    assert evaluations == [30, 30], "all that were asked for are played, and none is lost"
    weights = [(newest(run) / "ema.safetensors").read_bytes() for run in (whole, stopped)]
    assert weights[0] == weights[1]
