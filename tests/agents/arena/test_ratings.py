"""Ratings: known strengths are found again, and intervals cover what they promise."""

import numpy as np
import pytest

from agents.arena.ratings import Pairing, rate, score_interval


def _expected(difference):
    return 1 / (1 + 10 ** (-difference / 400))


def _simulated(generator, elo, pairs, pairings=None):
    """Pairings of independent games whose results follow ``elo``."""
    count = len(elo)
    chosen = pairings or [(a, b) for a in range(count) for b in range(a + 1, count)]
    return [
        Pairing(a, b, generator.binomial(2, _expected(elo[a] - elo[b]), pairs) / 2)
        for a, b in chosen
    ]


def _newton(agents, pairings):
    """An independent Bradley-Terry fit with one virtual draw a pairing, by Newton's method."""
    points = np.zeros((agents, agents))
    for a, b, scores in pairings:
        points[a, b] += 2 * scores.sum() + 0.5
        points[b, a] += 2 * (len(scores) - scores.sum()) + 0.5
    strength, games = np.zeros(agents), points + points.T
    for _ in range(100):
        chance = 1 / (1 + np.exp(strength[None] - strength[:, None]))
        curvature = games * chance * (1 - chance)
        slope = np.diag(curvature.sum(axis=1)) - curvature
        strength += np.linalg.pinv(slope) @ (points - games * chance).sum(axis=1)
    return strength * 400 / np.log(10)


def test_known_strengths_are_recovered():
    elo = np.array([-300.0, -120.0, 0.0, 90.0, 260.0])
    ratings = rate(5, _simulated(np.random.default_rng(0), elo, 4000), anchor=2)
    assert np.abs(ratings.elo - elo).max() < 15
    assert ratings.elo[2] == ratings.low[2] == ratings.high[2] == 0
    assert ratings.bounds == ("",) * 5


@pytest.mark.parametrize("pairings", [None, [(0, 1), (0, 2), (0, 3)]])
def test_the_fit_agrees_with_an_independent_one(pairings):
    generator = np.random.default_rng(1)
    simulated = _simulated(generator, np.array([0.0, 200.0, -400.0, 50.0]), 30, pairings)
    ratings = rate(4, simulated, anchor=1)
    reference = _newton(4, simulated)
    assert ratings.elo == pytest.approx(reference - reference[1], abs=0.01)


def test_the_anchor_is_the_middle_rung_unless_given():
    elo = np.array([300.0, -300.0, 0.0])
    assert rate(3, _simulated(np.random.default_rng(2), elo, 200)).anchor == 2
    even = np.array([400.0, 100.0, -100.0, -400.0])
    assert rate(4, _simulated(np.random.default_rng(2), even, 200)).anchor == 2


def test_an_agent_that_never_or_always_scores_is_a_bound():
    half, none, every = np.full(20, 0.5), np.zeros(20), np.ones(20)
    ratings = rate(
        4,
        [
            Pairing(0, 1, none),
            Pairing(0, 2, none),
            Pairing(0, 3, none),
            Pairing(1, 2, half),
            Pairing(3, 1, every),
            Pairing(3, 2, every),
        ],
        anchor=1,
    )
    assert ratings.bounds == ("below", "", "", "above")
    assert np.isfinite(ratings.elo).all()
    assert ratings.elo[2] == pytest.approx(ratings.elo[1])
    assert ratings.elo[0] < ratings.elo[1] < ratings.elo[3]


def test_groups_that_never_score_against_each_other_are_bounds():
    half, every = np.full(10, 0.5), np.ones(10)
    strong = [Pairing(0, 1, half), Pairing(2, 3, half)]
    across = [Pairing(a, b, every) for a in (0, 1) for b in (2, 3)]
    assert rate(4, strong + across, anchor=3).bounds == ("above", "above", "", "")
    gauntlet = [Pairing(0, 1, every), Pairing(0, 2, every)]
    assert rate(3, gauntlet, anchor=1).bounds == ("above", "", "unknown")


def test_elo_intervals_cover_the_truth_about_as_often_as_they_promise():
    elo = np.array([0.0, 150.0, -200.0])
    generator = np.random.default_rng(5)
    covered = []
    for seed in range(60):
        simulated = _simulated(generator, elo, 60)
        ratings = rate(3, simulated, anchor=0, seed=seed, resamples=200)
        covered += [ratings.low[k] <= elo[k] <= ratings.high[k] for k in (1, 2)]
    assert 0.88 <= np.mean(covered) <= 1.0


def test_pairs_and_not_games_are_resampled():
    # Two equal games an opening: half the information of independent ones, so wider by sqrt 2.
    generator = np.random.default_rng(6)
    twins = generator.integers(0, 2, 400).astype(float)
    loose = generator.integers(0, 2, (400, 2)).mean(axis=1)
    width = np.subtract(*reversed(score_interval(twins)))
    assert width == pytest.approx(np.subtract(*reversed(score_interval(loose))) * 2**0.5, rel=0.1)


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.5, 0.9, 0.99])
def test_score_intervals_cover_the_truth_about_as_often_as_they_promise(chance):
    generator = np.random.default_rng(7)
    intervals = [
        score_interval(generator.binomial(2, chance, 100) / 2, seed, resamples=1000)
        for seed in range(400)
    ]
    assert np.mean([low <= chance <= high for low, high in intervals]) >= 0.92


@pytest.mark.parametrize("pairs", [1, 10, 100])
def test_all_or_nothing_still_leaves_doubt(pairs):
    low, high = score_interval(np.zeros(pairs))
    assert low == 0.0 and 0.3 / pairs < high <= 4 / (pairs + 4)
    assert score_interval(np.ones(pairs)) == pytest.approx((1 - high, 1.0))


def test_intervals_are_reproducible():
    scores = np.random.default_rng(8).integers(0, 5, 50) / 4
    assert score_interval(scores) == score_interval(scores)
    pairings = [Pairing(0, 1, scores)]
    assert np.array_equal(rate(2, pairings, seed=1).low, rate(2, pairings, seed=1).low)
