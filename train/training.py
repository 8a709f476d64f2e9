"""The training loop that all algorithms share: units, budget, evaluation, checkpoints, resume.

Workers play units of games; the learner takes the units in order. Unit k is played with the
weights learned from units up to k - lag, whoever plays it and when (law 4 of the design), so a
run with a budget in games or steps gives the same weights with any number of workers. What a unit
is and what is learned from it, an :class:`~train.protocol.Algorithm` says: train.alphazero or
train.ppo.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, final

import torch
from pydantic import ConfigDict, Field

from agents.neural.checkpoint import (
    check_rules,
    newest_checkpoint,
    read_state,
    read_tensors,
    write_checkpoint,
)
from agents.settings import Settings, checked
from agents.workers import open_executor
from oware_env.errors import OwareError
from train.alarms import Alarms
from train.compilation import compile_kernels
from train.config import Config
from train.diagnosis import Diagnosis
from train.evaluate import Evaluated, GradedEndgames
from train.games import GameStore
from train.interrupt import Interrupt
from train.memory import peak_memory
from train.progress import Progress
from train.protocol import Algorithm
from train.run import RUNS, RunFolder, commit, create_run, open_run
from train.selfplay import SelfPlayUnit
from train.stream import (
    Pending,
    UnitStream,
    pack_evaluations,
    pack_units,
    unpack_evaluations,
    unpack_units,
)


class RunState(Settings):
    """What only a run that goes on needs of a checkpoint, beside what is checked of every one."""

    model_config = ConfigDict(extra="ignore")

    units: int = Field(ge=1)
    """Units learned."""
    games: int = Field(ge=1)
    """Games learned from."""
    pending: Pending = ()
    """Evaluations asked for and not done."""


@final
class Training:
    """A training run: counts and clocks, and how to save them."""

    def __init__(self, algorithm: Algorithm, run: RunFolder, started: float) -> None:
        self.algorithm, self.config, self.run = algorithm, algorithm.config, run
        self.started = started  # clock reading at which the budget began
        self.units = 0  # units learned
        self.games = 0
        self.evaluations = 0  # rounds of evaluation begun
        self.checkpoints = 0  # written
        self.alarms = Alarms()
        self.diagnosis = Diagnosis(self.config)
        self.in_flight: list[SelfPlayUnit] = []  # asked for before a resume
        self.pending: list[Any] = []  # evaluations asked for before a resume
        self.kept = GameStore(run.path)  # all games learned from
        self.stream: UnitStream | None = None
        self.stop: KeyboardInterrupt | None = None  # what stopped it before its end
        self.is_kept = False  # whether a checkpoint was written
        self.is_torn = False  # a unit is half learned: nothing may be saved
        self._saved_at = time.monotonic()
        self._waited = 0.0  # seconds, for the unit to be learned from next

    def train(self) -> bool:
        """Train until the budget is used up; False when a signal stopped it.

        Whatever ends it, what was learned is in a checkpoint; but for a unit that is half learned,
        which is learned again when the run goes on.
        """
        torch.set_num_threads(1)
        with (
            open_executor(self.config.workers) as executor,
            Interrupt() as interrupt,
            Progress() as progress,
        ):
            on_evaluated = partial(self._evaluated, progress)
            self.stream = UnitStream(executor, self.config, self.algorithm.play, on_evaluated)
            for unit in self.in_flight:
                self.stream.ask(unit)
            for evaluation in self.pending:
                self.stream.ask_evaluation(evaluation)
            try:
                self._work(self.stream, interrupt, progress)
            except KeyboardInterrupt as stop:
                self.stop = stop
                self._save_if_whole()
            except BaseException:
                self.is_kept = self.is_kept and self.run.is_there
                self.run.check()  # a folder that is gone is what is said
                with suppress(OwareError):  # else what ended it
                    self._save_if_whole()
                raise
            else:
                self.save()
        return self.stop is None

    def _work(self, stream: UnitStream, interrupt: Interrupt, progress: Progress) -> None:
        """Learn unit after unit until the budget is used up, and wait for all evaluations."""
        while self.progress < 1.0:
            self._ask(stream)
            begun = time.perf_counter()
            with interrupt.waiting():
                played = stream.wait()
            self._waited = time.perf_counter() - begun
            if self.progress < 1.0:  # minutes pass while waiting
                unit = stream.hand_out()
                with interrupt.learning():
                    figures = self._learn(unit, played)
                self._log(progress, figures)
                summary = f"{self.games:,} games  {self.algorithm.summary(figures)}"
                progress.show(self.progress, summary)
            minutes = (time.monotonic() - self._saved_at) / 60
            if minutes > self.config.checkpoint_minutes or (self.units and not self.is_kept):
                self.save()  # the first unit at once: from then on there is something to go on with
        self._evaluate_when_due(stream)
        with interrupt.waiting():
            stream.wait_for_evaluations()

    def _ask(self, stream: UnitStream) -> None:
        """Ask for the units to come, with the weights of this moment, and for evaluations due."""
        stream.fill(self.units, self._unit)
        self._evaluate_when_due(stream)

    def _evaluate_when_due(self, stream: UnitStream) -> None:
        """Ask for the evaluation of this moment; several that fall due at once are one."""
        times = self.config.evaluation.times
        due = min(times, int(self.progress * (times + 1)))
        if due > self.evaluations and self.units:
            self.evaluations = due
            weights = self.algorithm.learner.playing_weights()
            stream.evaluate(weights)
            self.diagnosis.write(self.run, self.algorithm.learner.steps, weights)

    def _unit(self, number: int) -> SelfPlayUnit:
        """Unit ``number`` as it is to be played when it is asked for now."""
        return SelfPlayUnit(self.algorithm.unit_weights(number), self.config, number)

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
            return self.algorithm.learner.steps / budget.steps
        return self.minutes / (budget.minutes or 5.0)

    def _learn(self, unit: SelfPlayUnit, played: Any) -> dict[str, Any]:
        """Learn from one unit as it was played; its figures."""
        self.is_torn = True
        self.units += 1
        self.games += int(played.figures["games"])
        learner, budget = self.algorithm.learner, self.config.budget
        most_steps = 2**63 if budget.steps is None else budget.steps - learner.steps
        start = time.perf_counter()
        self.kept.add(played.moves, played.ends)
        figures = self.algorithm.learn(played, self.progress, most_steps)
        self.is_torn = False
        self.diagnosis.note(played)
        return figures | {
            "time/learner": time.perf_counter() - start,
            "time/waiting": self._waited,
            "memory/driver": peak_memory(),
            "total/games": self.games,
            "total/positions": self.algorithm.positions,
            "total/minutes": self.minutes,
            "unit": self.units - 1,
        }

    def _evaluated(self, progress: Progress, found: Evaluated | GradedEndgames) -> None:
        """Log and show a match that was played during the run, or the endgames."""
        if found.figures:
            self._log(progress, found.figures | {"total/minutes": self.minutes})
            progress.show_line(f"after {self.minutes:.1f} min: {found}")

    def _log(self, progress: Progress, figures: dict[str, Any]) -> None:
        """Log figures, and say what is alarming about them."""
        steps = self.algorithm.learner.steps
        self.run.log(steps, figures)
        for alarm in self.alarms.note(figures):
            self.run.log(steps, {"alarm": alarm})
            progress.show_line(f"ALARM after {self.minutes:.1f} min: {alarm}")

    def _save_if_whole(self) -> None:
        """Write a checkpoint, unless a unit is half learned: the one before stands then."""
        if not self.is_torn:
            self.save()

    def save(self) -> None:
        """Write a checkpoint from which :func:`resume` goes on as if never stopped."""
        if self.units == 0 or self.stream is None:
            return
        self.run.check()
        learner = self.algorithm.learner
        evaluations, pending = pack_evaluations(self.stream.evaluations.values())
        self.checkpoints += 1
        state = {
            "rules": self.config.rules._asdict(),
            "network": self.config.network,
            "config": self.config.model_dump(),
            "seed": self.config.seed,
            "commit": commit(),
            "torch": torch.__version__,
            "steps": learner.steps,
            "units": self.units,
            "games": self.games,
            "positions": self.algorithm.positions,
            "minutes": self.minutes,
            "evaluations": self.evaluations,
            "checkpoints": self.checkpoints,
            "games_kept": self.kept.state(),
            "pending": pending,
            "log": self.run.logged(),
            **self.algorithm.state(),
        }
        tensors = learner.tensors() | self.algorithm.tensors()
        tensors |= {
            "in_flight": pack_units(self.stream.in_flight),
            "evaluations": evaluations,
        }
        write_checkpoint(self.run.checkpoint_folder(learner.steps), tensors, state)
        self.run.drop_old_checkpoints(
            self.config.checkpoints_kept, self.config.checkpoints_kept_every
        )
        self.is_kept = True
        self._saved_at = time.monotonic()


def resume(algorithm: Algorithm, run: RunFolder, started: float) -> Training:
    """The training run of a folder's newest checkpoint, ready to go on."""
    config, folder = algorithm.config, newest_checkpoint(run.path)
    document = read_state(folder)
    check_rules(document, config.rules, folder)
    if "games_kept" not in document:
        raise OwareError(
            f"{folder} was written by an earlier version: it can play, but not be trained on"
        )
    state = checked(RunState, document, f"checkpoint {folder}")
    if document["network"] != config.network:
        raise OwareError(
            f"checkpoint {folder} holds a {document['network']!r} network, "
            f"the run is configured for {config.network!r}"
        )
    stems = ("model", "ema", "optimiser")
    tensors = {stem: read_tensors(folder, stem) for stem in stems}
    with _named(folder):
        algorithm.learner.restore(tensors, document["steps"])
    algorithm.positions = document["positions"]
    algorithm.restore(folder, document)
    training = Training(algorithm, run, started - 60 * document["minutes"])
    training.units, training.games = state.units, state.games
    training.evaluations = document["evaluations"]
    training.checkpoints = document["checkpoints"]
    training.kept.restore(document["games_kept"])
    in_flight = read_tensors(folder, "in_flight")
    evaluations = read_tensors(folder, "evaluations") if state.pending else {}
    with _named(folder):
        training.in_flight = unpack_units(in_flight, config, state.units)
        training.pending = unpack_evaluations(evaluations, state.pending, config)
    training.is_kept = True
    return training


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Name the checkpoint in what is wrong with it."""
    try:
        yield
    except OwareError as error:
        raise OwareError(f"checkpoint {folder}: {error}") from None


@contextmanager
def open_training(
    kind: Callable[[Config], Algorithm],
    config: Config,
    folder: Path | None,
    started: float,
    parent: Path = RUNS,
) -> Iterator[Training]:
    """A new run below ``parent``, or the one in ``folder`` from its newest checkpoint.

    Closes its files at the end. The budget begins at the clock reading ``started``.
    """
    algorithm = kind(config)
    run = create_run(config, parent) if folder is None else open_run(folder)
    begin = Training if folder is None else resume
    try:
        algorithm.open(run.path)
        training = begin(algorithm, run, started)
        try:
            yield training
        finally:
            training.kept.close()
    finally:
        run.close()
        algorithm.close()


def train_new_run(kind: Callable[[Config], Algorithm], config: Config) -> Path:
    """Train a new run from Python, until its budget is used up, and return its folder.

    The folder is runs/NAME below the current one. Interrupting it (in a notebook: the stop button)
    keeps what was learned so far.
    """
    compile_kernels(kind, config)
    with open_training(kind, config, None, time.monotonic()) as training:
        training.train()
    return training.run.path
