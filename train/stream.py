"""The stream of self-play units: always ``lag`` of them in flight, handed out in order."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from agents.workers import Executor
from train.config import Config
from train.evaluate import (
    EndgameUnit,
    Evaluated,
    EvaluationUnit,
    GradedEndgames,
    evaluate_unit,
    grade_unit,
)
from train.selfplay import SelfPlayUnit


class UnitStream:
    """Asks workers for units and evaluations; evaluations are passed on as they arrive."""

    def __init__(
        self,
        executor: Executor,
        config: Config,
        play: Callable[[SelfPlayUnit], Any],
        on_evaluated: Callable[[Evaluated | GradedEndgames], None],
    ) -> None:
        """``play``: the pure function that plays a unit; it must pickle."""
        self.executor, self.config = executor, config
        self.play, self.on_evaluated = play, on_evaluated
        self.in_flight: deque[SelfPlayUnit] = deque()  # not handed out yet, oldest first
        self._tickets: deque[int] = deque()
        self._arrived: dict[int, Any] = {}

    def ask(self, unit: SelfPlayUnit) -> None:
        """Ask for one unit."""
        self._tickets.append(self.executor.submit(self.play, unit))
        self.in_flight.append(unit)

    def fill(self, handed_out: int, make_unit: Callable[[int], SelfPlayUnit]) -> None:
        """Ask for units up to the lag, as ``make_unit`` makes them of their numbers now.

        ``handed_out`` units have gone before.
        """
        for _ in range(self.config.selfplay.lag - len(self.in_flight)):
            self.ask(make_unit(handed_out + len(self.in_flight)))

    def evaluate(self, weights: bytes) -> None:
        """Ask for a match against each opponent of the run, and for its endgames."""
        for opponent in self.config.evaluation.during:
            self.executor.submit(evaluate_unit, EvaluationUnit(weights, self.config, opponent))
        self.executor.submit(grade_unit, EndgameUnit(weights, self.config))

    def wait(self) -> Any:
        """The games of the oldest unit in flight, which stays there until :meth:`hand_out`."""
        while self._tickets[0] not in self._arrived:
            ticket, result = self.executor.wait_any()
            if isinstance(result, Evaluated | GradedEndgames):
                self.on_evaluated(result)
            else:
                self._arrived[ticket] = result
        return self._arrived[self._tickets[0]]

    def hand_out(self) -> SelfPlayUnit:
        """The unit that :meth:`wait` waited for is being learned: it is no longer in flight."""
        del self._arrived[self._tickets.popleft()]
        return self.in_flight.popleft()


def pack_units(units: Iterable[SelfPlayUnit]) -> dict[str, Tensor]:
    """Units in flight for a checkpoint: their weights, by number."""
    return {
        str(unit.number): torch.frombuffer(bytearray(unit.weights), dtype=torch.uint8)
        for unit in units
    }


def unpack_units(tensors: dict[str, Tensor], config: Config) -> list[SelfPlayUnit]:
    """The units that :func:`pack_units` packed, in order."""
    return [
        SelfPlayUnit(tensors[name].numpy().tobytes(), config, int(name))
        for name in sorted(tensors, key=int)
    ]
