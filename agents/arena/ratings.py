"""Ratings: Bradley-Terry fits on the Elo scale, with intervals from resampled opening pairs.

The two games of an opening are not independent, so a pair of games is the unit that is resampled.
One virtual draw a played pairing keeps ratings finite; what only that draw holds up is reported
as a bound. The fit is evalica's; its own bootstrap resamples single games and is not used.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95
_QUANTILES = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_NORMAL_QUANTILE = 1.959964  # of LEVEL, for Wilson's interval
_FEW = 5.0  # points on the rarer side below which resampling understates the doubt


class Pairing(NamedTuple):
    """What agent ``a`` scored against agent ``b`` (numbers), in each opening, between 0 and 1."""

    a: int
    b: int
    pair_scores: np.ndarray  # float64[K]


class Ratings(NamedTuple):
    """Elo of A agents relative to the anchor, with 95 % intervals."""

    elo: np.ndarray  # float64[A]
    low: np.ndarray  # float64[A]
    high: np.ndarray  # float64[A]
    bounds: tuple[str, ...]  # "", or the true rating is "above" / "below" elo, or "unknown"
    anchor: int


def score_interval(
    pair_scores: np.ndarray, seed: int = 0, resamples: int = 10 * RESAMPLES
) -> tuple[float, float]:
    """The 95 % interval of a mean of independent pair scores float[K] in [0, 1].

    Percentiles of the mean over resampled pairs. Where one side has fewer than five points,
    Wilson's interval over pairs (Wilson 1927) instead: resampling sees too little doubt there,
    and none at 0 or 100 %.
    """
    count, total = len(pair_scores), float(np.sum(pair_scores))
    if min(total, count - total) < _FEW:
        return wilson_interval(total / count, count)
    sums = _resampled_sums(pair_scores, np.random.default_rng(seed), resamples)
    low, high = np.quantile(sums / count, _QUANTILES)
    return float(low), float(high)


def rate(
    agents: int,
    pairings: Sequence[Pairing],
    anchor: int | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Ratings:
    """Fit all ratings and their intervals; the anchor is the middle rung unless it is given."""
    points = np.array([pairing.pair_scores.sum() for pairing in pairings])
    fitted = _fit(agents, pairings, points)
    if anchor is None:
        anchor = int(np.argsort(fitted, kind="stable")[(agents - 1) // 2])
    generator = np.random.default_rng(seed)
    sums = np.array(
        [_resampled_sums(pairing.pair_scores, generator, resamples) for pairing in pairings]
    )
    resampled = np.array([_fit(agents, pairings, row) for row in sums.T])
    low, high = np.quantile(resampled - resampled[:, anchor : anchor + 1], _QUANTILES, axis=0)
    return Ratings(fitted - fitted[anchor], low, high, _bounds(agents, pairings, anchor), anchor)


def wilson_interval(score: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``count`` independent observations (Wilson 1927)."""
    square = _NORMAL_QUANTILE**2 / count
    centre = (score + square / 2) / (1 + square)
    half = np.sqrt(square * (score * (1 - score) + square / 4)) / (1 + square)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _resampled_sums(
    pair_scores: np.ndarray, generator: np.random.Generator, resamples: int
) -> np.ndarray:
    """Sums of K pairs drawn with replacement, float64[resamples]."""
    values, counts = np.unique(pair_scores, return_counts=True)
    drawn = generator.multinomial(len(pair_scores), counts / len(pair_scores), size=resamples)
    return drawn @ values


def _fit(agents: int, pairings: Sequence[Pairing], points: np.ndarray) -> np.ndarray:
    """Elo float64[A], mean 0, when A of each pairing scored ``points`` pairs of two games."""
    from evalica import Winner, bradley_terry

    numbers = [str(number) for number in range(agents)]
    first = [numbers[pairing.a] for pairing in pairings]
    second = [numbers[pairing.b] for pairing in pairings]
    pairs = np.array([len(pairing.pair_scores) for pairing in pairings])
    # Two games a pair, and half a win to each side: the virtual draw.
    weights = np.concatenate([2 * points + 0.5, 2 * (pairs - points) + 0.5])
    result = bradley_terry(
        first + first,
        second + second,
        [Winner.X] * len(pairings) + [Winner.Y] * len(pairings),
        weights=weights.tolist(),
        tolerance=1e-10,
        limit=100_000,
    )
    if result.iterations >= result.limit:
        raise RuntimeError(f"the ratings of {agents} agents did not settle")
    elo = 400 * np.log10(result.scores[numbers].to_numpy())
    return elo - elo.mean()


def _bounds(agents: int, pairings: Sequence[Pairing], anchor: int) -> tuple[str, ...]:
    """Which agents no chain of scored points ties to the anchor in both directions."""
    reaches = np.eye(agents, dtype=bool)  # [i, j]: i scored against one who ... against j
    for a, b, pair_scores in pairings:
        reaches[a, b] |= pair_scores.sum() > 0
        reaches[b, a] |= pair_scores.sum() < len(pair_scores)
    for _ in range(agents.bit_length()):
        reaches = reaches @ reaches
    ties = zip(reaches[:, anchor].tolist(), reaches[anchor].tolist(), strict=True)
    names = {(True, True): "", (True, False): "above", (False, True): "below"}
    return tuple(names.get(tie, "unknown") for tie in ties)
