"""The stream of self-play units: always ``lag`` of them in flight, handed out in order."""

from collections import deque
from collections.abc import Callable
from typing import Any

from agents.workers import Executor
from train.config import Config
from train.evaluate import Evaluated, EvaluationUnit, evaluate_unit
from train.selfplay import Played, SelfPlayUnit, play_unit


class UnitStream:
    """Asks workers for units and evaluations; evaluations are passed on as they arrive."""

    def __init__(
        self,
        executor: Executor,
        config: Config,
        in_flight: list[tuple[int, bytes]],
        on_evaluated: Callable[[Evaluated], None],
    ) -> None:
        """``in_flight``: number and weights of units that were asked for before a resume."""
        self.executor, self.config, self.on_evaluated = executor, config, on_evaluated
        self.in_flight: deque[tuple[int, bytes]] = deque()  # not handed out yet, oldest first
        self._tickets: deque[int] = deque()
        self._arrived: dict[int, Any] = {}
        for number, weights in in_flight:
            self._ask(number, weights)

    def _ask(self, number: int, weights: bytes) -> None:
        unit = SelfPlayUnit(weights, self.config, number)
        self._tickets.append(self.executor.submit(play_unit, unit))
        self.in_flight.append((number, weights))

    def fill(self, handed_out: int, weights: Callable[[], bytes]) -> None:
        """Ask for units up to the lag, with these weights; ``handed_out`` have gone before."""
        missing = self.config.selfplay.lag - len(self.in_flight)
        if missing > 0:
            content = weights()
            for _ in range(missing):
                self._ask(handed_out + len(self.in_flight), content)

    def evaluate(self, weights: bytes) -> None:
        """Ask for a match against each opponent of the run."""
        for opponent in self.config.evaluation.during:
            self.executor.submit(evaluate_unit, EvaluationUnit(weights, self.config, opponent))

    def wait(self) -> Played:
        """The games of the oldest unit in flight, which stays there until :meth:`hand_out`."""
        while self._tickets[0] not in self._arrived:
            ticket, result = self.executor.wait_any()
            if isinstance(result, Evaluated):
                self.on_evaluated(result)
            else:
                self._arrived[ticket] = result
        played: Played = self._arrived[self._tickets[0]]
        return played

    def hand_out(self) -> None:
        """The unit that :meth:`wait` returned is being learned: it is no longer in flight."""
        self.in_flight.popleft()
        del self._arrived[self._tickets.popleft()]
