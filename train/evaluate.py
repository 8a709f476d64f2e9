"""Evaluation: matches and endgames of the network in training, and the final table."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from agents.arena.journal import ABOUT, is_for
from agents.arena.match import pair_count, play_openings
from agents.arena.openings import random_openings
from agents.arena.oracle import grade, join_positions, truth, uniform_positions
from agents.arena.tournament import (
    TournamentResult,
    TournamentSettings,
    read_tournament,
    run_tournament,
)
from agents.neural.checkpoint import network_from, newest_checkpoint
from agents.neural.evaluator import NetworkEvaluator
from agents.tablebase.probe import Tablebase, open_table
from agents.trained import neural_agent
from oware_env.files import is_file, is_there
from oware_env.positions import Positions
from oware_env.rules import Rules
from train.config import Config

# Openings of the final table are drawn from another seed than those seen during the run.
FINAL_SEED = 1_000_003


# The endgames that a run is graded on: a table of this size is built in two seconds.
ENDGAME_SEEDS = range(4, 9)
ENDGAMES = 300  # of each number of seeds


class EvaluationUnit(NamedTuple):
    """One match during a run."""

    weights: bytes  # safetensors, the averaged weights
    config: Config
    opponent: str  # spec


class EndgameUnit(NamedTuple):
    """The endgames that a run is graded on."""

    weights: bytes  # safetensors, the averaged weights
    config: Config


class Evaluated(NamedTuple):
    """What a match during a run showed, for the trained side."""

    opponent: str
    score: float
    low: float  # 95 % interval
    high: float
    games: int

    @property
    def figures(self) -> dict[str, float]:
        """What is logged."""
        return {
            f"evaluation/{self.opponent}": self.score,
            f"evaluation_low/{self.opponent}": self.low,
            f"evaluation_high/{self.opponent}": self.high,
            f"evaluation_games/{self.opponent}": self.games,
        }

    def __str__(self) -> str:
        return (
            f"{self.score:.0%} [{self.low:.0%}, {self.high:.0%}] "
            f"against {self.opponent} ({self.games} games)"
        )


class GradedEndgames(NamedTuple):
    """How a network does on the endgames of a run; NaN where there was nothing to count."""

    accuracy: float  # share of decision positions whose move keeps the result, policy alone
    regret: float  # seeds given away a move
    search_accuracy: float  # the same with the search of the run's evaluation; NaN without one
    search_regret: float

    @property
    def figures(self) -> dict[str, float]:
        """What is logged: what could be counted."""
        return {
            f"endgames/{name}": value
            for name, value in self._asdict().items()
            if not math.isnan(value)
        }

    def __str__(self) -> str:
        text = f"endgames: the policy keeps {self.accuracy:.0%}, gives {self.regret:.2f} seeds away"
        if math.isnan(self.search_accuracy):
            return text
        return f"{text}; with search {self.search_accuracy:.0%}, {self.search_regret:.2f}"


def evaluate_unit(unit: EvaluationUnit) -> Evaluated:
    """Play one match; a pure function, for the executors of :mod:`agents.workers`."""
    config, settings = unit.config, unit.config.evaluation
    evaluator = _evaluator(unit.weights, config)
    openings = random_openings(
        pair_count(settings.games_during), settings.opening_plies, config.seed, config.rules
    )
    trained = neural_agent(evaluator, settings.simulations or None, "trained")
    match = play_openings((trained, unit.opponent), openings, seed=config.seed, rules=config.rules)
    return Evaluated(unit.opponent, match.score, *match.interval, settings.games_during)


def grade_unit(unit: EndgameUnit) -> GradedEndgames:
    """Grade the policy, and the search of the evaluation, on endgames that are the same all along.

    A pure function like :func:`evaluate_unit`. See :mod:`agents.arena.oracle` for what is counted.
    """
    config, simulations = unit.config, unit.config.evaluation.simulations
    evaluator, table = _evaluator(unit.weights, config), endgame_table()
    positions = endgame_positions(table, config)
    found = truth(table, positions, config.max_plies)
    figures = [math.nan] * 4
    for place, sims in enumerate((None, simulations)[: 1 + bool(simulations)]):
        decisions = neural_agent(evaluator, sims, "trained").decide(positions)
        graded = grade(found, decisions)
        figures[2 * place : 2 * place + 2] = graded.accuracy, graded.regret
    return GradedEndgames(*figures)


def endgame_table() -> Tablebase:
    """The table that runs are graded by; built when it is not there."""
    return open_table(ENDGAME_SEEDS[-1])


def endgame_positions(table: Tablebase, config: Config) -> Positions:
    """The endgames of a run: uniform boards, in a game's first quarter.

    Under a move limit beyond the table's range they stand that much later in the game.
    """
    rules = Rules(max_plies=min(config.max_plies, table.last))
    parts = [uniform_positions(seeds, ENDGAMES, config.seed, rules) for seeds in ENDGAME_SEEDS]
    boards, plies, keys = join_positions(parts, rules)
    return Positions(boards, plies + np.int32(config.max_plies - rules.max_plies), keys)


def _evaluator(weights: bytes, config: Config) -> NetworkEvaluator:
    from safetensors.torch import load

    torch.set_num_threads(1)
    network = network_from(load(weights), config.network, "the evaluation")
    return NetworkEvaluator(network, config.rules, config.device)


def agent_spec(run: Path, config: Config) -> str:
    """The spec of a run's agent as it is evaluated: with search, or the policy alone."""
    simulations = config.evaluation.simulations
    return f"{run}:sims={simulations}" if simulations else str(run)


def final_tournament(run: Path, config: Config) -> TournamentResult:
    """Play what is missing of the final table: the newest checkpoint against its opponents.

    Games and tables are kept in results/STEP, or in results/STEP-2 and so on where another table
    of the same checkpoint is: a run that goes on, or other settings, get a new table.
    """
    settings = config.evaluation
    wanted = TournamentSettings(
        agents=(agent_spec(run, config), *settings.at_end),
        format="gauntlet",
        games=settings.games_at_end,
        opening_plies=settings.opening_plies,
        seed=config.seed + FINAL_SEED,
        max_plies=config.max_plies,
        device=config.device,
        workers=config.workers,
    )
    taken = _tables(run)
    for folder in taken:
        if not is_file(folder / ABOUT) or is_for(folder, wanted):
            break
    else:
        folder = _table_folder(run, len(taken))
    return run_tournament(wanted.model_copy(update={"output": str(folder)}))


def results_folder(run: Path) -> Path:
    """Where the newest final tournament of a run's newest checkpoint lies, or will lie."""
    found = _tables(run)
    return found[-1] if found else _table_folder(run, 0)


def finished_tournament(run: Path) -> TournamentResult | None:
    """The newest final table of a run's newest checkpoint, read; None when none was finished."""
    finished = [folder for folder in _tables(run) if is_file(folder / "table.json")]
    return read_tournament(finished[-1]) if finished else None


def _tables(run: Path) -> list[Path]:
    """The folders of final tournaments of a run's newest checkpoint, oldest first."""
    found: list[Path] = []
    while is_there(folder := _table_folder(run, len(found))):
        found.append(folder)
    return found


def _table_folder(run: Path, number: int) -> Path:
    """Where the final tournament ``number`` (from 0) of a run's newest checkpoint lies."""
    name = newest_checkpoint(run).name
    return run / "results" / (f"{name}-{number + 1}" if number else name)
