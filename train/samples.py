"""Training samples: what a finished game says about each of its positions.

All targets are for the side to move. The *result* is win, draw or loss as the game was settled;
the *full margin* is the seeds still to come, which a game stopped at 25 does not tell.
"""

from typing import NamedTuple

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import MAJORITY

WIN, DRAW, LOSS = 0, 1, 2
UNKNOWN_MARGIN = 127


class Samples(NamedTuple):
    """N positions and their targets."""

    inputs: np.ndarray  # uint8[N, 15], encoding.network_input
    policies: np.ndarray  # float32[N, 6], share of visits; all zero where there was no search
    results: np.ndarray  # int8[N], WIN, DRAW or LOSS
    margins: np.ndarray  # int8[N], full margin from here on, or UNKNOWN_MARGIN

    def __len__(self) -> int:
        return len(self.results)


class GameEnds(NamedTuple):
    """How G games ended."""

    scores: np.ndarray  # int16[G, 2], settled totals (South, North)
    plies: np.ndarray  # int32[G]
    reasons: np.ndarray  # int8[G], codes of rules.REASONS


@kernel
def label(inputs, games, south, scores, reasons, results, margins):
    """Write result and full margin of N positions, each of game ``games[row]``.

    ``south[row]``: whether South was to move. Entries 12 and 13 of an input are the stores of
    the mover and the opponent.
    """
    for row in range(len(games)):
        game = games[row]
        total = np.int64(scores[game, 0]) - scores[game, 1]
        if not south[row]:
            total = -total
        results[row] = DRAW if total == 0 else WIN if total > 0 else LOSS
        margins[row] = UNKNOWN_MARGIN
        if reasons[game] != MAJORITY:
            margins[row] = total - (np.int64(inputs[row, 12]) - inputs[row, 13])


def make_samples(
    inputs: np.ndarray, policies: np.ndarray, games: np.ndarray, south: np.ndarray, ends: GameEnds
) -> Samples:
    """Samples of N positions of the games in ``ends``; ``games`` indexes them, int32[N]."""
    results = np.empty(len(games), np.int8)
    margins = np.empty(len(games), np.int8)
    label(inputs, games, south, ends.scores, ends.reasons, results, margins)
    return Samples(inputs, policies, results, margins)


def join(parts: list[Samples]) -> Samples:
    """Several groups of samples as one, in order."""
    return Samples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
