"""Evaluation: matches of the network in training against fixed opponents, and the final table."""

from pathlib import Path
from typing import NamedTuple

import torch

from agents.arena.match import pair_count, play_openings
from agents.arena.openings import random_openings
from agents.arena.tournament import TournamentResult, TournamentSettings, run_tournament
from agents.neural.checkpoint import network_from, newest_checkpoint
from agents.neural.evaluator import NetworkEvaluator
from agents.trained import neural_agent
from train.config import Config

# Openings of the final table are drawn from another seed than those seen during the run.
FINAL_SEED = 1_000_003


class EvaluationUnit(NamedTuple):
    """One match during a run."""

    weights: bytes  # safetensors, the averaged weights
    config: Config
    opponent: str  # spec


class Evaluated(NamedTuple):
    """What a match during a run showed, for the trained side."""

    opponent: str
    score: float
    low: float  # 95 % interval
    high: float
    games: int


def evaluate_unit(unit: EvaluationUnit) -> Evaluated:
    """Play one match; a pure function, for the executors of :mod:`agents.workers`."""
    from safetensors.torch import load

    torch.set_num_threads(1)
    config = unit.config
    network = network_from(load(unit.weights), config.network, "the evaluation")
    evaluator = NetworkEvaluator(network, config.rules, config.device)
    settings = config.evaluation
    openings = random_openings(
        pair_count(settings.games_during), settings.opening_plies, config.seed, config.rules
    )
    trained = neural_agent(evaluator, settings.simulations or None, "trained")
    match = play_openings((trained, unit.opponent), openings, seed=config.seed, rules=config.rules)
    return Evaluated(unit.opponent, match.score, *match.interval, settings.games_during)


def agent_spec(run: Path, config: Config) -> str:
    """The spec of a run's agent as it is evaluated: with search, or the policy alone."""
    simulations = config.evaluation.simulations
    return f"{run}:sims={simulations}" if simulations else str(run)


def final_tournament(run: Path, config: Config) -> TournamentResult:
    """The run's newest checkpoint against the opponents of the final table.

    Games and tables are kept in results/STEP: a run that goes on gets a new table.
    """
    settings = config.evaluation
    step = newest_checkpoint(run).name
    return run_tournament(
        TournamentSettings(
            agents=(agent_spec(run, config), *settings.at_end),
            format="gauntlet",
            games=settings.games_at_end,
            opening_plies=settings.opening_plies,
            seed=config.seed + FINAL_SEED,
            max_plies=config.max_plies,
            device=config.device,
            workers=config.workers,
            output=str(run / "results" / step),
        )
    )
