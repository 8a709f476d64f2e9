"""Matches during a run and the final table: what is played, by whom, and that it repeats."""

import csv
import math
import shutil

import numpy as np
import pytest

from agents.arena.oracle import grade, truth
from agents.neural.checkpoint import read_tensors
from agents.neural.evaluator import NetworkEvaluator
from agents.neural.network import build_network
from agents.trained import neural_agent
from oware_env.errors import OwareError
from train.evaluate import (
    EndgameUnit,
    EvaluationUnit,
    GradedEndgames,
    endgame_positions,
    endgame_table,
    evaluate_unit,
    final_tournament,
    grade_unit,
)
from train.learner import Learner


@pytest.fixture(scope="module")
def unit(tiny):
    config = tiny({"evaluation.games_during": 16})
    return EvaluationUnit(Learner(config).playing_weights(), config, "random")


def test_the_same_match_gives_the_same_score(unit):
    found = evaluate_unit(unit)
    assert evaluate_unit(unit) == found
    assert (found.opponent, found.games) == ("random", 16)
    assert 0.0 <= found.low <= found.score <= found.high <= 1.0
    assert found.score * 32 == pytest.approx(round(found.score * 32)), "half points of 16 games"


def test_the_score_is_the_trained_side_s(tiny, unit):
    """Alpha-beta beats a network that knows nothing, so a swapped table would show."""
    config = tiny({"evaluation.games_during": 16, "max_plies": 400})
    found = evaluate_unit(unit._replace(config=config, opponent="alphabeta:depth=3"))
    assert found.score < 0.2


def test_an_unknown_opponent_is_refused(unit):
    with pytest.raises(OwareError, match="gredy"):
        evaluate_unit(unit._replace(opponent="gredy"))


def test_weights_of_another_network_are_refused_with_both_sides_named(tiny, unit):
    with pytest.raises(OwareError, match=r"does not hold a 'small' network: .* there, .* here"):
        evaluate_unit(unit._replace(config=tiny({"network": "small"})))


def test_the_final_table_is_played_by_the_newest_checkpoint_against_every_opponent(finished):
    newest = max((finished / "checkpoints").iterdir())
    with (finished / "results" / newest.name / "pairings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["a"], row["b"], row["games"]) for row in rows] == [
        ("runs/tiny:sims=2", "random", "4"),
        ("runs/tiny:sims=2", "greedy", "4"),
    ]


def test_a_run_that_went_on_gets_a_new_table_beside_the_old(finished, tiny, tmp_path):
    run = tmp_path / "again"
    shutil.copytree(finished, run)
    newest = max((run / "checkpoints").iterdir())
    later = newest.with_name("step-00009999")
    shutil.copytree(newest, later)
    assert read_tensors(later, "ema").keys() == read_tensors(newest, "ema").keys()
    config = tiny({"evaluation.at_end": ("random",), "evaluation.games_at_end": 2})
    table = str(final_tournament(run, config))
    assert "again:sims=2" in table and "random" in table
    names = sorted(path.name for path in (run / "results").iterdir())
    assert names == [newest.name, later.name]


@pytest.mark.parametrize("simulations", [0, 8])
def test_endgames_are_graded_as_the_oracle_does_it(tiny, simulations):
    config = tiny({"max_plies": 400, "evaluation.simulations": simulations, "seed": 5})
    unit = EndgameUnit(Learner(config).playing_weights(), config)
    found = grade_unit(unit)
    # Equal as text: a NaN is no other NaN's equal.
    assert str(grade_unit(unit)._asdict()) == str(found._asdict())
    evaluator = NetworkEvaluator(build_network("tiny", config.seed), config.rules)
    table = endgame_table()
    positions = endgame_positions(table, config)
    proved = truth(table, positions, 400)
    assert proved.decisions.sum() > 300
    policy = grade(proved, neural_agent(evaluator, None, "x").decide(positions))
    assert found[:2] == (policy.accuracy, policy.regret)
    if not simulations:
        assert found.figures.keys() == {"endgames/accuracy", "endgames/regret"}
        return
    search = grade(proved, neural_agent(evaluator, simulations, "x").decide(positions))
    assert found[2:] == (search.accuracy, search.regret)
    assert found[2:] != found[:2]
    assert set(found.figures.values()) == set(found)


@pytest.mark.parametrize("max_plies", [400, 401, 5000])
def test_a_longer_move_limit_leaves_as_much_to_grade(tiny, max_plies):
    table = endgame_table()
    usual = endgame_positions(table, tiny({"max_plies": 400}))
    positions = endgame_positions(table, tiny({"max_plies": max_plies}))
    assert np.array_equal(positions.boards, usual.boards)
    found = truth(table, positions, max_plies)
    assert found.decisions.sum() == truth(table, usual, 400).decisions.sum()


@pytest.mark.parametrize("max_plies", [1, 7, 13, 40, 120])
def test_any_short_move_limit_can_be_graded(tiny, max_plies):
    config = tiny({"max_plies": max_plies, "evaluation.simulations": 0})
    found = grade_unit(EndgameUnit(Learner(config).playing_weights(), config))
    assert not any(math.isnan(value) for value in found.figures.values())
    assert 0.0 <= found.figures.get("endgames/accuracy", 0.0) <= 1.0


def test_what_could_not_be_counted_is_not_logged():
    assert GradedEndgames(*[math.nan] * 4).figures == {}
    assert GradedEndgames(0.5, 1.0, math.nan, math.nan).figures == {
        "endgames/accuracy": 0.5,
        "endgames/regret": 1.0,
    }
