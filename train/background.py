"""Training in the background: ``oware-train`` in a process of its own, started from Python.

A notebook stays free meanwhile, to watch the run (:mod:`train.live`) or for other work.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import final

from oware_env.errors import OwareError
from train.config import Config
from train.run import config_text

LOOK_EVERY = 0.05  # seconds
_BEGUN = re.compile(r"^training (.+) for .+; seed \d+$", re.MULTILINE)  # what oware-train prints


@final
class BackgroundRun:
    """A run that another process trains. Made by :func:`train_in_background`."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path, path: Path) -> None:
        self.process = process
        self.path = path  # the run's folder
        self._output = output

    @property
    def output(self) -> str:
        """What the command has printed so far."""
        return _text(self._output)

    def is_running(self) -> bool:
        """Whether it is still being trained."""
        return self.process.poll() is None

    def wait(self) -> Path:
        """Wait for the end of the run and return its folder. Raises OwareError when it failed."""
        if self.process.wait() != 0:
            raise _failure(self.output)
        return self.path

    def stop(self) -> None:
        """End the training like Ctrl-C, with a checkpoint to go on from; waits for it."""
        if self.is_running():
            self.process.send_signal(signal.SIGINT)
        self.process.wait()


def train_in_background(config: Config) -> BackgroundRun:
    """Start ``oware-train`` with a configuration, in the current folder.

    Returns when the run's folder is there, runs/NAME; the first time kernels are compiled before
    that. The run goes on when the notebook is interrupted or closed. Raises OwareError when the
    command refuses the configuration.
    """
    folder = Path(tempfile.mkdtemp(prefix="oware-train-"))
    settings, output = folder / "config.toml", folder / "output.txt"
    settings.write_text(config_text(config), encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),  # the same packages
        "PYTHONUNBUFFERED": "1",
    }
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "train.command", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # a notebook's stop button interrupts all of its session
        )
    try:
        return BackgroundRun(process, output, _folder_of(process, output))
    except BaseException:
        process.kill()
        process.wait()
        raise


def _folder_of(process: "subprocess.Popen[bytes]", output: Path) -> Path:
    """Wait until the command says which folder it trains in, and return that."""
    while True:
        is_over = process.poll() is not None
        if found := _BEGUN.search(_text(output)):
            return Path(found.group(1))
        if is_over:
            raise _failure(_text(output))
        time.sleep(LOOK_EVERY)


def _text(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace")


def _failure(output: str) -> OwareError:
    """The last line of a command that failed, which says why."""
    lines = output.strip().splitlines() or ["it said nothing"]
    return OwareError(f"the training ended early: {lines[-1].removeprefix('error: ')}")
