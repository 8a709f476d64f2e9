"""Matches during a run and the final table: what is played, by whom, and that it repeats."""

import csv
import shutil

import pytest

from agents.neural.checkpoint import read_tensors
from oware_env.errors import OwareError
from train.evaluate import EvaluationUnit, evaluate_unit, final_tournament
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
