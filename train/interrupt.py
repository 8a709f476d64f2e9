"""Ctrl-C, SIGTERM and SIGHUP during training: at once while waiting, after the unit while learning.

A unit that was handed out is learned whole or asked for again, so whatever comes in whatever order
leaves a run that goes on to the same weights.
"""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from agents.console import Stopped, handled_signals


class Interrupt:
    """Says when a signal may stop the training; elsewhere the first one is noted in ``asked``.

    Waiting stops at once, also for a signal that came shortly before. Learning is stopped by a
    second signal only: the unit is lost then, and learned again when the run goes on.
    """

    def __init__(self) -> None:
        self.asked: int | None = None  # the first signal
        self._most = 0  # signals that are noted before the next one stops; 0: the first stops
        self._is_stoppable = False
        self._handlers = ExitStack()

    def __enter__(self) -> "Interrupt":
        self._handlers.enter_context(handled_signals(self._handle))
        return self

    def __exit__(self, *_: object) -> None:
        self._handlers.close()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_first = self.asked is None
        if is_first:
            self.asked = number
        if self._is_stoppable and not (is_first and self._most):
            self._stop()

    def _stop(self) -> None:
        raise KeyboardInterrupt if self.asked == signal.SIGINT else Stopped(self.asked)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that any signal stops at once, also one that came shortly before."""
        with self._stoppable(0):
            if self.asked is not None:
                self._stop()
            yield

    @contextmanager
    def learning(self) -> Iterator[None]:
        """A block that the first signal leaves alone and a second one stops."""
        with self._stoppable(1):
            yield

    @contextmanager
    def _stoppable(self, most: int) -> Iterator[None]:
        self._most, self._is_stoppable = most, True
        try:
            yield
        finally:
            self._is_stoppable = False
