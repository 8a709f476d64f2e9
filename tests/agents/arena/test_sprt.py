"""The sequential test: right as often as it promises, and the same whoever plays the games."""

import math

import numpy as np
import pytest

from agents.arena import TournamentSettings, run_tournament
from agents.arena.sprt import OUTCOMES, judge, log_likelihood_ratio, score_of_elo
from oware_env.errors import OwareError


def test_scores_of_elo_differences():
    assert score_of_elo(0) == 0.5
    assert score_of_elo(400) == pytest.approx(10 / 11)
    assert score_of_elo(-20) == pytest.approx(1 - score_of_elo(20))


def test_wins_and_losses_alone_are_walds_test_of_a_coin():
    # With two outcomes only, a mean leaves no freedom: the ratio is that of two known coins.
    counts = np.array([400, 0, 0, 0, 600])
    expected = 600 * math.log(0.55 / 0.5) + 400 * math.log(0.45 / 0.5)
    assert log_likelihood_ratio(counts, 0.5, 0.55) == pytest.approx(expected, rel=1e-3)


def test_the_ratio_is_that_of_the_likeliest_distributions_with_each_mean():
    counts = np.array([20, 60, 100, 90, 30])
    found = log_likelihood_ratio(counts, 0.5, 0.52)
    normal = counts.sum() * (0.52 - 0.5) * (2 * np.average(OUTCOMES, weights=counts) - 1.02)
    variance = np.average(OUTCOMES**2, weights=counts) - np.average(OUTCOMES, weights=counts) ** 2
    assert found == pytest.approx(normal / (2 * variance), rel=0.05)  # the normal approximation
    assert log_likelihood_ratio(counts[::-1], 0.5, 0.48) == pytest.approx(found)


def test_nothing_played_says_nothing():
    assert judge(np.zeros(0), 0, 20, 0.05).decision == "undecided"


@pytest.mark.parametrize(("elo", "wrong"), [(0, "stronger"), (40, "not stronger")])
def test_mistakes_are_as_rare_as_promised(elo, wrong):
    random, error, step = np.random.default_rng(5), 0.1, 100
    spread = np.array([0.15, 0.2, 0.3, 0.2, 0.15])
    tilt = np.exp(_tilt(spread, score_of_elo(elo)) * OUTCOMES) * spread
    mistakes, decided, tests = 0, 0, 100
    for _ in range(tests):
        scores = random.choice(OUTCOMES, 5000, p=tilt / tilt.sum())
        verdicts = (judge(scores[:stop], 0, 40, error) for stop in range(step, 5001, step))
        decision = next((v.decision for v in verdicts if v.decision != "undecided"), None)
        decided += decision is not None
        mistakes += decision == wrong
    assert decided >= 0.98 * tests
    assert mistakes <= error * tests + 3 * math.sqrt(error * (1 - error) * tests)


def _tilt(spread, mean):
    """How strongly to tilt a distribution of OUTCOMES for it to have a mean."""
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        weights = np.exp(middle * OUTCOMES) * spread
        low, high = (
            (middle, high) if np.average(OUTCOMES, weights=weights) < mean else (low, middle)
        )
    return low


def _settings(folder=None, **changes):
    values = {"agents": ("greedy", "random"), "sprt": True, "unit_openings": 4, "workers": 0}
    return TournamentSettings(output=folder and str(folder), **values | changes)


def test_a_clear_case_stops_early_and_says_so():
    result = run_tournament(_settings())
    assert result.settings.games == 20_000
    assert result.verdict.decision == "stronger"
    assert len(result.matches[0].points) < 200
    assert "greedy is stronger than random" in str(result)


def test_the_weaker_one_is_not_stronger():
    result = run_tournament(_settings(agents=("random", "greedy")))
    assert result.verdict.decision == "not stronger"


def test_a_limit_of_games_leaves_it_undecided():
    result = run_tournament(_settings(games=8))
    assert (result.verdict.decision, len(result.matches[0].points)) == ("undecided", 8)
    assert "is undecided: allow more games" in str(result)


def test_workers_and_interruptions_change_nothing(tmp_path):
    whole = run_tournament(_settings(tmp_path / "whole"))
    run_tournament(_settings(tmp_path / "two", workers=2))

    class Stop(Exception):
        pass

    def stop(done, _):
        if done == 16:
            raise Stop

    with pytest.raises(Stop):
        run_tournament(_settings(tmp_path / "parts"), stop)
    again = run_tournament(_settings(tmp_path / "parts"))
    assert again.verdict == whole.verdict
    for folder in ("two", "parts"):
        for name in ("table.json", "pairings.csv"):
            found = (tmp_path / folder / name).read_text()
            assert found == (tmp_path / "whole" / name).read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": ("greedy", "random", "careful")}, "sprt compares two agents, not 3"),
        ({"elo0": 5.0, "elo1": 5.0}, "elo0 must be below elo1, not 5 and 5"),
        ({"error": 0.5}, "error must be less than 0.5"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(OwareError, match=message):
        _settings(**changes)
