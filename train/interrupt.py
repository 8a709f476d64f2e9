"""Ctrl-C during training: at once while waiting, after the unit while learning."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


class Interrupt:
    """Raises KeyboardInterrupt only inside :meth:`allowed`, and otherwise notes it in ``asked``.

    So a first Ctrl-C never tears a unit that is being learned; a second one always stops.
    """

    def __init__(self) -> None:
        self.asked = False
        self._is_allowed = False
        self._before: Any = None

    def __enter__(self) -> "Interrupt":
        with suppress(ValueError):  # only the main thread has signals; a notebook may use others
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self._is_allowed:
            raise KeyboardInterrupt
        self.asked = True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A block in which Ctrl-C raises at once, also one that came shortly before."""
        self._is_allowed = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._is_allowed = False
