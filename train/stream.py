"""The stream of self-play units: always ``lag`` of them in flight, handed out in order."""

from collections import deque
from collections.abc import Callable
from typing import Any

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

    def fill(self, handed_out: int, progress: float, weights: Callable[[int], bytes]) -> None:
        """Ask for units up to the lag, with the weights of their numbers, as they are now.

        ``handed_out`` units have gone before; ``progress`` is the share of the budget used up.
        """
        for _ in range(self.config.selfplay.lag - len(self.in_flight)):
            number = handed_out + len(self.in_flight)
            self.ask(SelfPlayUnit(weights(number), self.config, number, progress))

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

    def hand_out(self) -> None:
        """The unit that :meth:`wait` returned is being learned: it is no longer in flight."""
        self.in_flight.popleft()
        del self._arrived[self._tickets.popleft()]
