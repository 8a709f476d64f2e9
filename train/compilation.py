"""Kernels compiled before a run's time begins: by a run of two games, once for each version."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from oware_env.kernel import is_marked, mark
from train.config import Config
from train.evaluate import EndgameUnit, EvaluationUnit, endgame_table, evaluate_unit, grade_unit
from train.protocol import Algorithm
from train.selfplay import SelfPlayUnit


def compile_kernels(kind: Callable[[Config], Algorithm], config: Config) -> float:
    """Compile every kernel that training uses, once for each version of the code.

    Builds the table that endgames are graded by, when it is not there: not in the run's time.
    Returns the seconds it took, 0 when a process has done it before.
    """
    start, grades = time.perf_counter(), config.evaluation.times > 0
    if grades:
        endgame_table()
    simulations = min(2, config.evaluation.simulations)
    parts = (
        config.algorithm,
        config.selfplay.endgames,
        "search" if simulations else "policy",
        "graded" if grades else "only",
    )
    done = f"{'-'.join(parts)}-is-compiled"
    if is_marked(done):
        return 0.0
    sections = {
        "selfplay": {"games": 2, "simulations": 2, "search_plies": 10},
        "evaluation": {"games_during": 2, "simulations": simulations},
    }
    small = config.model_copy(update={"max_plies": 12}).model_copy(
        update={n: getattr(config, n).model_copy(update=v) for n, v in sections.items()}
    )
    algorithm = kind(small)
    with TemporaryDirectory() as folder:
        algorithm.open(Path(folder))
        played = algorithm.play(SelfPlayUnit(algorithm.unit_weights(0), small, 0))
        algorithm.learn(played, 0.0, 1)
        algorithm.close()
    weights = algorithm.learner.playing_weights()
    evaluate_unit(EvaluationUnit(weights, small, "alphabeta:depth=2"))
    if grades:
        grade_unit(EndgameUnit(weights, small))
    mark(done)
    return time.perf_counter() - start
