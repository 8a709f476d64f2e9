"""What every command does at its edges: exit codes, signals, and outputs that go away.

A user's mistake is one line on standard error and exit code 2. Ctrl-C, SIGTERM and SIGHUP stop a
command alike, by KeyboardInterrupt, so that whatever is under way is kept. Nothing that a user
typed or a file holds reaches the terminal as a control sequence.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

from oware_env.errors import OwareError
from oware_env.files import has_controls, printable

MISTAKE = 2  # exit code
STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stopped(KeyboardInterrupt):
    """A signal asked this process to stop; its number is the argument."""


def run_command(
    action: Callable[[Sequence[str]], None], arguments: Sequence[str] | None = None
) -> int:
    """Run a command on ``arguments`` (default: this process's) and return its exit code.

    A user's mistake, or what the system refuses, prints ``error: ...`` on one line and gives 2;
    Ctrl-C gives 130, SIGTERM 143. A reader of the output that goes away, as ``head`` does, is no
    fault.
    """
    _open_streams()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        for word in words:
            if has_controls(word):
                raise OwareError(f"the word {word!r} holds a control character")
        with stopped_by_signals():
            action(words)
        return _flush()
    except OwareError as error:
        return _say(str(error))
    except BrokenPipeError:
        _discard(sys.stdout)
        return 0
    except OSError as error:
        _discard(sys.stdout)
        place = error.filename or "the output, or a file,"
        return _say(f"{place} cannot be used: {error.strerror or error}")
    except MemoryError as error:
        return _say(f"out of memory: {error}" if str(error) else "out of memory")
    except KeyboardInterrupt as stop:
        number = stop.args[0] if isinstance(stop, Stopped) else signal.SIGINT
        with suppress(OSError):
            print("stopped", file=sys.stderr)
        return 128 + int(number)
    except SystemExit:  # how --help ends
        if code := _flush():
            return code
        raise


def _say(message: str) -> int:
    """Print a mistake on one line; the exit code of one."""
    with suppress(OSError):
        print("error:", printable(" ".join(message.split())), file=sys.stderr, flush=True)
    return MISTAKE


def _flush() -> int:
    """Get out what is left to print; the exit code when that cannot be done, else 0."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        return _say(f"the output cannot be written: {error.strerror}")
    return 0


def _open_streams() -> None:
    """Give closed streams a place to go, and letters that the terminal lacks a way to be shown.

    A closed one would leave its number to the next file that is opened, and prints would end there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            while (descriptor := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            setattr(sys, name, os.fdopen(descriptor, "r" if number == 0 else "w"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _discard(stream: TextIO) -> None:
    """Let what is left to print go nowhere, so that the end of the process is quiet."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """A block in which SIGTERM and SIGHUP raise :class:`Stopped`, as Ctrl-C interrupts.

    Signals that are ignored stay so (``nohup``), and outside of the main thread nothing changes.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        raise Stopped(number)

    with handled_signals(stop, STOPPING[1:]):
        yield


@contextmanager
def handled_signals(
    handler: Callable[[int, FrameType | None], None], numbers: Sequence[int] = STOPPING
) -> Iterator[None]:
    """A block in which ``handler`` gets signals, but for those that are ignored."""
    before = {}
    with suppress(ValueError):  # only the main thread has signals; a notebook may use others
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
