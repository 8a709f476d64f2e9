"""AlphaZero self-play training, readable from top to bottom.

Workers play units of games with the averaged weights; the learner takes the units in order, puts
their positions into the replay window and takes a number of steps fixed by how many there are.
Unit k is played with the weights learned from units up to k - lag, whoever plays it and when
(law 4 of the design), so a run with a budget in games or steps gives the same weights with any
number of workers. Method: Silver et al. 2018; no gating, as in KataGo.
"""

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch

from agents.neural.checkpoint import (
    check_rules,
    newest_checkpoint,
    read_state,
    read_tensors,
    write_checkpoint,
)
from agents.workers import open_executor
from oware_env.errors import OwareError
from oware_env.kernel import CACHE
from train.config import Config
from train.evaluate import Evaluated, EvaluationUnit, evaluate_unit
from train.interrupt import Interrupt
from train.learner import LOSSES, Learner
from train.progress import Progress
from train.replay import ReplayWindow
from train.run import RunFolder, commit, create_run
from train.samples import Samples
from train.selfplay import Played, SelfPlayUnit, play_unit
from train.stream import UnitStream


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
        self.in_flight: list[tuple[int, bytes]] = []  # units asked for before a resume
        self.stream: UnitStream | None = None
        self._saved_at = time.monotonic()

    def train(self) -> bool:
        """Train until the budget is used up; False when stopped by Ctrl-C (with a checkpoint)."""
        torch.set_num_threads(1)
        with (
            open_executor(self.config.workers) as executor,
            Interrupt() as interrupt,
            Progress() as progress,
        ):
            self.stream = UnitStream(
                executor, self.config, self.in_flight, partial(self._evaluated, progress)
            )
            with suppress(KeyboardInterrupt):
                while self.progress < 1.0:
                    self._ask()
                    with interrupt.allowed():
                        played = self.stream.wait()
                    if self.progress < 1.0:  # minutes pass while waiting
                        progress.show(self.progress, self._learn(played))
                    if time.monotonic() - self._saved_at > 60 * self.config.checkpoint_minutes:
                        self.save()
            self.save()
        return self.progress >= 1.0

    def _ask(self) -> None:
        """Ask for the units to come, with the weights of this moment, and for evaluations due."""
        assert self.stream is not None
        self.stream.fill(self.units, self.learner.playing_weights)
        times = self.config.evaluation.times
        if self.progress * (times + 1) >= self.evaluations + 1 and self.evaluations < times:
            self.evaluations += 1
            self.stream.evaluate(self.learner.playing_weights())

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

    def _learn(self, played: Played) -> dict[str, float]:
        """Take one unit: its positions into the window, then the steps they are worth."""
        assert self.stream is not None
        self.stream.hand_out()
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
        return figures

    def _evaluated(self, progress: Progress, found: Evaluated) -> None:
        """Log and show a match that was played during the run."""
        figures = {
            f"evaluation/{found.opponent}": found.score,
            f"evaluation_low/{found.opponent}": found.low,
            f"evaluation_high/{found.opponent}": found.high,
            f"evaluation_games/{found.opponent}": found.games,
            "total/minutes": self.minutes,
        }
        self.run.log(self.learner.steps, figures)
        progress.show_evaluation(self.minutes, found)

    def save(self) -> None:
        """Write a checkpoint from which :func:`resume` goes on as if never stopped."""
        if self.units == 0 or self.stream is None:
            return
        window = {name: torch.from_numpy(a) for name, a in self.window.contents()._asdict().items()}
        weights = {
            str(number): torch.frombuffer(bytearray(content), dtype=torch.uint8)
            for number, content in self.stream.in_flight
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


def run_training(config: Config) -> Path:
    """Train a new run from Python, until its budget is used up, and return its folder.

    The folder is runs/NAME below the current one. Interrupting it (in a notebook: the stop button)
    keeps what was learned so far.
    """
    compile_kernels(config)
    run = create_run(config)
    try:
        AlphaZero(config, run, time.monotonic()).train()
    finally:
        run.close()
    return run.path


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


def compile_kernels(config: Config) -> float:
    """Compile every kernel that training uses, once for each version of the code.

    Returns the seconds it took, 0 when a process has done it before.
    """
    marker = CACHE / "training-is-compiled"
    if marker.exists():
        return 0.0
    start = time.perf_counter()
    small = config.model_copy(
        update={
            "selfplay": config.selfplay.model_copy(
                update={"games": 2, "simulations": 2, "search_plies": 10}
            ),
            "evaluation": config.evaluation.model_copy(
                update={"games_during": 2, "simulations": 2}
            ),
            "max_plies": 12,
        }
    )
    weights = Learner(small).playing_weights()
    play_unit(SelfPlayUnit(weights, small, 0))
    evaluate_unit(EvaluationUnit(weights, small, "alphabeta:depth=2"))
    marker.touch()
    return time.perf_counter() - start


def run_path(text: str) -> Path:
    """A run folder given as text; a bare name is looked for in runs/ too."""
    path = Path(text)
    return path if path.exists() or path.is_absolute() else Path("runs") / path
