"""What an algorithm is to the training loop: how units of games are played and learned from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from train.config import Config
from train.learner import Learner
from train.selfplay import SelfPlayUnit


class Algorithm(Protocol):
    """How to train: one unit of games, and what is learned from it."""

    config: Config
    learner: Learner
    positions: int  # learned from, or put into a window, since the start of the run

    @property
    def play(self) -> Callable[[SelfPlayUnit], Any]:
        """What gives the games of a unit, with ``ends``, ``moves`` and ``figures["games"]``.

        Pure, and it pickles.
        """
        ...

    def open(self, folder: Path) -> None:
        """Begin a run in its folder, where files may be kept; called once, before all below."""
        ...

    def close(self) -> None:
        """Close what :meth:`open` opened."""
        ...

    def unit_weights(self, number: int) -> bytes:
        """What unit ``number`` is played with, as things stand now."""
        ...

    def learn(self, played: Any, progress: float, most_steps: int) -> dict[str, float]:
        """Learn from the next unit, in at most so many steps; figures for the log."""
        ...

    def summary(self, figures: dict[str, float]) -> str:
        """The figures of a unit in a few words, for the progress line."""
        ...

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All that :meth:`restore` needs beside the learner, by file stem."""
        ...

    def state(self) -> dict[str, Any]:
        """The numbers that :meth:`restore` needs."""
        ...

    def restore(self, folder: Path, state: dict[str, Any]) -> None:
        """Put back what :meth:`tensors` and :meth:`state` gave for a checkpoint folder."""
        ...
