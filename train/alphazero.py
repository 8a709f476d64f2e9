"""AlphaZero self-play training, readable from top to bottom.

Workers play units of games with the averaged weights; the learner takes the units in order, puts
their positions into the replay window and takes a number of steps fixed by how many there are.
Unit k is played with the weights learned from units up to k - lag, whoever plays it and when
(law 4 of the design), so a run with a budget in games or steps gives the same weights with any
number of workers. Method: Silver et al. 2018; no gating, as in KataGo.
"""

import signal
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from agents.neural.agent import newest_checkpoint
from agents.neural.checkpoint import check_rules, read_state, read_tensors, write_checkpoint
from agents.workers import Executor, open_executor
from oware_env.errors import OwareError
from train.config import Config
from train.evaluate import Evaluated, EvaluationUnit, evaluate_unit
from train.learner import LOSSES, Learner
from train.progress import Progress
from train.replay import ReplayWindow
from train.run import RunFolder, commit
from train.samples import Samples
from train.selfplay import Played, SelfPlayUnit, play_unit


class AlphaZero:
    """A training run: everything that changes while it trains, and how to save it."""

    def __init__(self, config: Config, run: RunFolder, started: float) -> None:
        self.config, self.run = config, run
        self.learner = Learner(config)
        self.window = ReplayWindow(config.replay)
        self.started = started  # clock reading at which the budget began
        self.units = 0  # units learned
        self.games = 0
        self.evaluations = 0  # rounds of evaluation begun
        self.in_flight: deque[tuple[int, bytes]] = deque()  # number and weights of units asked for
        self._saved_at = time.monotonic()

    def train(self) -> bool:
        """Train until the budget is used up; False when stopped by Ctrl-C (with a checkpoint)."""
        torch.set_num_threads(1)
        config = self.config
        with (
            open_executor(config.workers) as executor,
            Interrupt() as interrupt,
            Progress(self.run.path, config) as progress,
        ):
            stream = UnitStream(executor, self, progress)
            while self.progress < 1.0:
                stream.keep_full()
                try:
                    with interrupt.allowed():
                        played = stream.next()
                except KeyboardInterrupt:
                    break
                if self.progress >= 1.0:
                    break
                self._learn(played, progress)
                if time.monotonic() - self._saved_at > 60 * config.checkpoint_minutes:
                    self.save()
                if interrupt.asked:
                    break
            progress.stop_at(self.progress)
        self.save()
        return self.progress >= 1.0

    @property
    def minutes(self) -> float:
        """Minutes of the budget used so far, those before a resume included."""
        return (time.monotonic() - self.started) / 60

    @property
    def progress(self) -> float:
        """Share of the budget used up, 0 to 1."""
        budget = self.config.budget
        if budget.games is not None:
            return self.games / budget.games
        if budget.steps is not None:
            return self.learner.steps / budget.steps
        return self.minutes / (budget.minutes or 5.0)

    def _learn(self, played: Played, progress: Progress) -> None:
        """Take one unit: its positions into the window, then the steps they are worth."""
        self.in_flight.popleft()
        self.window.add(played.samples)
        self.units += 1
        self.games += int(played.figures["games"])
        settings = self.config.learning
        steps = max(1, round(len(played.samples) * settings.samples_per_position / settings.batch))
        if self.config.budget.steps is not None:
            steps = min(steps, self.config.budget.steps - self.learner.steps)
        start = time.perf_counter()
        learned = self.learner.learn(self.window, steps, self.progress)
        seconds = time.perf_counter() - start
        figures = unit_figures(self, played, learned, seconds)
        self.run.log(self.learner.steps, figures)
        progress.show(self.progress, figures)

    def save(self) -> None:
        """Write a checkpoint from which :func:`resume` goes on as if never stopped."""
        if self.units == 0:
            return
        window = {name: torch.from_numpy(a) for name, a in self.window.contents()._asdict().items()}
        weights = {
            str(number): torch.frombuffer(bytearray(content), dtype=torch.uint8)
            for number, content in self.in_flight
        }
        state = {
            "rules": self.config.rules._asdict(),
            "network": self.config.network,
            "config": self.config.model_dump(),
            "seed": self.config.seed,
            "commit": commit(),
            "torch": torch.__version__,
            "steps": self.learner.steps,
            "units": self.units,
            "games": self.games,
            "positions": self.window.total,
            "window_lengths": self.window.lengths(),
            "minutes": self.minutes,
            "evaluations": self.evaluations,
        }
        tensors = self.learner.tensors() | {"replay": window, "in_flight": weights}
        write_checkpoint(self.run.checkpoint_folder(self.learner.steps), tensors, state)
        self.run.drop_old_checkpoints()
        self._saved_at = time.monotonic()


def resume(config: Config, run: RunFolder, started: float) -> AlphaZero:
    """The training run of a folder's newest checkpoint, ready to go on."""
    folder = newest_checkpoint(run.path)
    state = read_state(folder)
    check_rules(state, config.rules, folder)
    if state["network"] != config.network:
        raise OwareError(
            f"checkpoint {folder} holds a {state['network']!r} network, "
            f"the run is configured for {config.network!r}"
        )
    training = AlphaZero(config, run, started - 60 * state["minutes"])
    stems = ("model", "ema", "optimiser")
    tensors = {stem: read_tensors(folder, stem) for stem in stems}
    training.learner.restore(tensors, state["steps"])
    window = {name: t.numpy() for name, t in read_tensors(folder, "replay").items()}
    training.window.restore(Samples(**window), state["window_lengths"], state["positions"])
    training.units, training.games = state["units"], state["games"]
    training.evaluations = state["evaluations"]
    weights = read_tensors(folder, "in_flight")
    for number in sorted(weights, key=int):
        training.in_flight.append((int(number), weights[number].numpy().tobytes()))
    return training


class UnitStream:
    """Keeps ``lag`` units in flight and hands their games out in order; evaluations run beside."""

    def __init__(self, executor: Executor, training: AlphaZero, progress: Progress) -> None:
        self.executor, self.training, self.progress = executor, training, progress
        self._tickets: deque[int] = deque()
        self._arrived: dict[int, Any] = {}
        for number, weights in training.in_flight:
            self._submit(number, weights)

    def _submit(self, number: int, weights: bytes) -> None:
        unit = SelfPlayUnit(weights, self.training.config, number)
        self._tickets.append(self.executor.submit(play_unit, unit))

    def keep_full(self) -> None:
        """Ask for the next units, with the weights of this moment, and for evaluations due."""
        training = self.training
        settings = training.config.evaluation
        weights = training.learner.playing_weights()
        if training.progress * (settings.times + 1) >= training.evaluations + 1:
            training.evaluations += 1
            for opponent in settings.during:
                unit = EvaluationUnit(weights, training.config, opponent)
                self.executor.submit(evaluate_unit, unit)
        while len(training.in_flight) < training.config.selfplay.lag:
            number = training.units + len(training.in_flight)
            training.in_flight.append((number, weights))
            self._submit(number, weights)

    def next(self) -> Played:
        """The games of the next unit in order; evaluations that arrive meanwhile are logged."""
        while self._tickets[0] not in self._arrived:
            ticket, result = self.executor.wait_any()
            if isinstance(result, Evaluated):
                self._log(result)
            else:
                self._arrived[ticket] = result
        played: Played = self._arrived.pop(self._tickets.popleft())
        return played

    def _log(self, found: Evaluated) -> None:
        figures = {
            f"evaluation/{found.opponent}": found.score,
            "low": found.low,
            "high": found.high,
            "games": found.games,
            "minutes": self.training.minutes,
        }
        self.training.run.log(self.training.learner.steps, figures)
        self.progress.show_evaluation(found)


class Interrupt:
    """Ctrl-C: raised only while :meth:`allowed`, otherwise noted in ``asked``.

    So it never tears a unit that is being learned.
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

    def allowed(self) -> "_Allowed":
        """A block in which Ctrl-C raises KeyboardInterrupt at once."""
        return _Allowed(self)


class _Allowed:
    def __init__(self, interrupt: Interrupt) -> None:
        self.interrupt = interrupt

    def __enter__(self) -> None:
        self.interrupt._is_allowed = True

    def __exit__(self, *_: object) -> None:
        self.interrupt._is_allowed = False


def unit_figures(
    training: AlphaZero, played: Played, learned: dict[str, float], seconds: float
) -> dict[str, float]:
    """What is logged of a unit: games, search, learning and where the time went."""
    figures = dict(played.figures)
    unit_seconds = figures.pop("seconds")
    network_seconds = figures.pop("network_seconds")
    return {
        **{f"loss/{name}": learned[name] for name in (*LOSSES, "total")},
        "learner/gradient_norm": learned["gradient_norm"],
        "learner/learning_rate": learned["learning_rate"],
        "learner/seconds": seconds,
        **{
            f"selfplay/{name}": figures[name]
            for name in (
                "game_length",
                "limit_share",
                "draw_rate",
                "first_player_score",
                "policy_entropy",
                "search_surprise",
            )
        },
        "speed/games_per_second": figures["games"] / unit_seconds,
        "speed/simulations_per_second": figures["simulations"] / unit_seconds,
        "speed/network_share": network_seconds / unit_seconds,
        "speed/tree_share": 1.0 - network_seconds / unit_seconds,
        "window/positions": len(training.window),
        "total/games": training.games,
        "total/positions": training.window.total,
        "total/minutes": training.minutes,
        "unit": training.units - 1,
    }


def warm_up(config: Config) -> float:
    """Compile every kernel that training uses, where the cache lacks them; seconds it took."""
    start = time.perf_counter()
    small = config.model_copy(
        update={
            "selfplay": config.selfplay.model_copy(update={"games": 2, "simulations": 2}),
            "evaluation": config.evaluation.model_copy(
                update={"games_during": 2, "simulations": 2}
            ),
            "max_plies": 12,
            "device": "cpu",
        }
    )
    weights = Learner(small).playing_weights()
    played = play_unit(SelfPlayUnit(weights, small, 0))
    assert np.isfinite(played.samples.policies).all()
    for opponent in config.evaluation.during:
        evaluate_unit(EvaluationUnit(weights, small, opponent))
    return time.perf_counter() - start


def run_path(text: str) -> Path:
    """A run folder given as text; a bare name is looked for in runs/ too."""
    path = Path(text)
    return path if path.exists() or path.is_absolute() else Path("runs") / path
