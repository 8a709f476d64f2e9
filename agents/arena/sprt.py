"""SPRT: is A stronger than B? A test on pairs of games that stops as soon as it knows.

Wald's sequential probability ratio test between two strengths of A: ``elo0`` and ``elo1`` better
than B. The two games of an opening make one observation with five outcomes (0, 1/2, 1, 3/2 or 2
points, hence *pentanomial*), so that an opening that favours one seat is no noise. The likelihood
of each hypothesis is that of the likeliest distribution of outcomes with its mean (generalized
SPRT: Van den Bergh, "A practical introduction to the GSPRT"; the chess engines' testers use the
same).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

OUTCOMES = np.arange(5) / 4  # of a pair, as a score
_VIRTUAL = 1e-3  # pairs of every outcome, so that none is taken to be impossible


class Verdict(NamedTuple):
    """What a test says so far."""

    decision: Literal["stronger", "not stronger", "undecided"]
    ratio: float  # log-likelihood ratio of elo1 to elo0
    lower: float  # at or below it elo0 is accepted
    upper: float  # at or above it elo1 is accepted
    pairs: tuple[int, int, int, int, int]  # by points of A: 0, 1/2, 1, 3/2, 2


def score_of_elo(elo: float) -> float:
    """The expected score of a player who is ``elo`` better."""
    return 1 / (1 + 10 ** (-elo / 400))


def judge(pair_scores: np.ndarray, elo0: float, elo1: float, error: float) -> Verdict:
    """What pair scores float[K] (0 to 1) of A decide; ``error`` is the chance of each mistake."""
    counts = np.bincount(np.rint(4 * pair_scores).astype(np.int64), minlength=5)
    upper = math.log((1 - error) / error)
    ratio = log_likelihood_ratio(counts, score_of_elo(elo0), score_of_elo(elo1))
    decision: Literal["stronger", "not stronger", "undecided"] = "undecided"
    if ratio >= upper:
        decision = "stronger"
    elif ratio <= -upper:
        decision = "not stronger"
    a, b, c, d, e = counts.tolist()
    return Verdict(decision, ratio, -upper, upper, (a, b, c, d, e))


def log_likelihood_ratio(counts: np.ndarray, score0: float, score1: float) -> float:
    """Log of how much likelier the counts of OUTCOMES are with mean ``score1`` than ``score0``."""
    total = counts.sum()
    if not total:
        return 0.0
    observed = (counts + _VIRTUAL) / (total + len(OUTCOMES) * _VIRTUAL)
    likeliest = [_likeliest(observed, score) for score in (score0, score1)]
    return float(total * (observed * np.log(likeliest[1] / likeliest[0])).sum())


def _likeliest(observed: np.ndarray, mean: float) -> np.ndarray:
    """The distribution of OUTCOMES with this mean that makes ``observed`` likeliest.

    It is observed / (1 + t * (outcome - mean)) for the one t that gives the mean; the sum below
    falls with t, so halving finds it.
    """
    away = OUTCOMES - mean
    low, high = -1 / away.max(), -1 / away.min()  # all weights are positive between
    for _ in range(60):  # halves the interval to the last bit
        middle = (low + high) / 2
        if (observed * away / (1 + middle * away)).sum() > 0:
            low = middle
        else:
            high = middle
    return observed / (1 + (low + high) / 2 * away)


def verdict_text(verdict: Verdict, names: tuple[str, str], elos: tuple[float, float]) -> str:
    """The verdict as a sentence and its numbers."""
    a, b = names
    sentences = {
        "stronger": f"{a} is stronger than {b}: rather {elos[1]:+g} Elo than {elos[0]:+g}.",
        "not stronger": f"{a} is not stronger than {b}: rather {elos[0]:+g} Elo than {elos[1]:+g}.",
        "undecided": f"Whether {a} is stronger than {b} is undecided: allow more games.",
    }
    return (
        f"{sentences[verdict.decision]}\n"
        f"Log-likelihood ratio {verdict.ratio:.2f} (stops at {verdict.lower:.2f} and "
        f"{verdict.upper:.2f}); pairs by points 0, 1/2, 1, 3/2, 2: "
        f"{', '.join(f'{count:,}' for count in verdict.pairs)}."
    )
