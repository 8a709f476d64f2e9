"""Broken run folders again, by processes of their own that really train, write and end.

Each is a copy of a process that has read and compiled everything, so it costs a part of a second.
What it leaves is its exit code and what it wrote to its standard streams.
"""

import os
import random
import select
import signal
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch

from oware_env.errors import OwareError
from tests.fuzz.commands import WrongEnd, check_refusal
from tests.fuzz.run_folders import ACTIONS, Broken, RunFolders
from tests.fuzz.samples import Workplace
from tests.fuzz.target import Hang
from train import command

_MORE = ("--resume", "tiny", "--budget.games", "6", "--evaluation.at-end", "random")


class Ended(NamedTuple):
    """A process that ended with exit code 0."""

    out: str
    err: str


def in_a_process(place: Path, words: tuple[str, ...]) -> Ended:
    """Run ``oware-train`` in a copy of this process and in a folder.

    Raises OwareError with its line when it says that it was given a mistake, and WrongEnd when it
    ends as none may.
    """
    outputs = place / "out.txt", place / "err.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads: there are none that hold
        child = os.fork()
    if child == 0:
        _be_the_command(place, words, outputs)
    code = _wait(child)
    out, err = (path.read_text(errors="replace") for path in outputs)
    if code not in (0, 2):
        raise WrongEnd(f"exit code {code}: {err[-300:]!r}")
    if "Traceback" in out + err:
        raise WrongEnd(f"a traceback: {(out + err)[-300:]!r}")
    if code == 2:
        raise OwareError(check_refusal(err))
    return Ended(out, err)


def _be_the_command(place: Path, words: tuple[str, ...], outputs: tuple[Path, Path]) -> None:
    """What the copy does; it never returns."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    code = 70
    try:
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        os.chdir(place)
        sys.argv = ["oware-train", *words]
        command.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int:
    """The exit code of a process; it is killed when the alarm of the input rings."""
    try:
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            select.select([], [], [], 0.005)
    except Hang:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise


class Processes:
    """The commands on broken run folders, each in a process; resumed runs train two more games."""

    name, count = "processes", 300

    def __init__(self, workplace: Workplace) -> None:
        torch.set_num_threads(1)  # first: the other threads of torch are not in a copy, it waits
        self._folders = RunFolders(workplace, self.name)
        self._place = workplace.folder / "scratch" / self.name
        for action in ("release", "resume"):
            self.read(Broken(action, {}))

    def make(self, draw: random.Random) -> Broken:
        return self._folders.make(draw)

    def read(self, given: Broken) -> Any:
        self._folders.build(given)
        words = _MORE if given.action == "resume" else ACTIONS[given.action]
        return in_a_process(self._place, words)

    def changed(self, given: Broken, value: Ended) -> str | None:
        """Nothing more than :class:`RunFolders` finds, but that a process says what it did."""
        return None if value.out.strip() else f"nothing is said: {given.action}"
