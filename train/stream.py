"""The stream of self-play units: always ``lag`` of them in flight, handed out in order.

Matches of the network in training run beside them. Whatever was asked for and is not done yet can
be packed into a checkpoint and asked for again.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from agents.workers import Executor
from oware_env.errors import OwareError
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
        self.evaluations: dict[int, EvaluationUnit | EndgameUnit] = {}  # not done yet, by ticket
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
            self.ask_evaluation(EvaluationUnit(weights, self.config, opponent))
        self.ask_evaluation(EndgameUnit(weights, self.config))

    def ask_evaluation(self, unit: EvaluationUnit | EndgameUnit) -> None:
        """Ask for one match, or for the endgames."""
        function: Callable[[Any], Any] = (
            evaluate_unit if isinstance(unit, EvaluationUnit) else grade_unit
        )
        self.evaluations[self.executor.submit(function, unit)] = unit

    def wait(self) -> Any:
        """The games of the oldest unit in flight, which stays there until :meth:`hand_out`."""
        while self._tickets[0] not in self._arrived:
            self._take_in()
        return self._arrived[self._tickets[0]]

    def wait_for_evaluations(self) -> None:
        """Wait until all evaluations that were asked for are passed on."""
        while self.evaluations:
            self._take_in()

    def _take_in(self) -> None:
        """Wait for whatever is done next: keep the games of a unit, pass an evaluation on."""
        ticket, result = self.executor.wait_any()
        if ticket in self.evaluations:
            del self.evaluations[ticket]
            self.on_evaluated(result)
        else:
            self._arrived[ticket] = result

    def hand_out(self) -> SelfPlayUnit:
        """The unit that :meth:`wait` waited for is being learned: it is no longer in flight."""
        del self._arrived[self._tickets.popleft()]
        return self.in_flight.popleft()


def pack_units(units: Iterable[SelfPlayUnit]) -> dict[str, Tensor]:
    """Units in flight for a checkpoint: their weights, by number."""
    return {str(unit.number): _tensor(unit.weights) for unit in units}


def unpack_units(tensors: dict[str, Tensor], config: Config, first: int) -> list[SelfPlayUnit]:
    """The units that :func:`pack_units` packed, in order; the first is number ``first``.

    Raises OwareError when they are not units in a row.
    """
    if set(tensors) != {str(first + place) for place in range(len(tensors))}:
        raise OwareError(f"the units in flight are not those from unit {first} on")
    numbers = range(first, first + len(tensors))
    return [SelfPlayUnit(_bytes(tensors[str(n)]), config, n) for n in numbers]


Pending = tuple[tuple[str | None, ...], ...]  # opponents of each set of weights; None: endgames


def pack_evaluations(
    units: Iterable[EvaluationUnit | EndgameUnit],
) -> tuple[dict[str, Tensor], list[list[str | None]]]:
    """Evaluations not done yet for a checkpoint: their weights by number, and who they meet."""
    met: dict[bytes, list[str | None]] = {}
    for unit in units:
        opponent = unit.opponent if isinstance(unit, EvaluationUnit) else None
        met.setdefault(unit.weights, []).append(opponent)
    tensors = {str(number): _tensor(weights) for number, weights in enumerate(met)}
    return tensors, list(met.values())


def unpack_evaluations(
    tensors: dict[str, Tensor], pending: Pending, config: Config
) -> list[EvaluationUnit | EndgameUnit]:
    """What :func:`pack_evaluations` packed. Raises OwareError when the two do not fit together."""
    if set(tensors) != {str(number) for number in range(len(pending))}:
        raise OwareError(f"{len(tensors)} evaluations are kept, {len(pending)} are told of")
    units: list[EvaluationUnit | EndgameUnit] = []
    for number, opponents in enumerate(pending):
        weights = _bytes(tensors[str(number)])
        units += [
            EndgameUnit(weights, config) if one is None else EvaluationUnit(weights, config, one)
            for one in opponents
        ]
    return units


def _tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _bytes(tensor: Tensor) -> bytes:
    if tensor.dtype != torch.uint8 or tensor.dim() != 1:
        raise OwareError(f"weights are bytes in a row, not {tensor.dtype}{list(tensor.shape)}")
    return tensor.numpy().tobytes()
