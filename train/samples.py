"""Training samples: what a finished game says about each of its positions.

All targets are for the side to move. The *result* is win, draw or loss as the game was settled;
the *full margin* is the seeds still to come, which a game stopped at 25 does not tell. A table of
endgames knows better than the rest of the game what a position is worth: see :func:`rescore`.
Beside its targets a position keeps what its search said of it, and where in which game it stood.
"""

from typing import NamedTuple

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import SEEDS

WIN, DRAW, LOSS = 0, 1, 2
UNKNOWN_MARGIN = 127


class Samples(NamedTuple):
    """N positions and their targets."""

    inputs: np.ndarray  # uint8[N, 33], encoding.network_input
    policies: np.ndarray  # float32[N, 6], share of visits; all zero where there was no search
    results: np.ndarray  # int8[N], WIN, DRAW or LOSS
    margins: np.ndarray  # int8[N], full margin from here on, or UNKNOWN_MARGIN
    values: np.ndarray  # float32[N], -1 to 1, the search's value; see Noted
    plies: np.ndarray  # int32[N]
    games: np.ndarray  # int32[N], numbers in the run

    def __len__(self) -> int:
        return len(self.results)


class Noted(NamedTuple):
    """What is known of N positions before their games end, the later plies of a game later."""

    inputs: np.ndarray  # uint8[N, 33], encoding.network_input
    policies: np.ndarray  # float32[N, 6], as in Samples
    values: np.ndarray  # float32[N], mean value of the root; NaN where there was no search
    plies: np.ndarray  # int32[N]
    games: np.ndarray  # int32[N], rows of the games' ends
    south: np.ndarray  # bool[N], whether South was to move


class GameEnds(NamedTuple):
    """How G games ended.

    The scores sum to 48 unless the game stopped with seeds left that nobody was given: at 25, or
    where a table proved who wins but not by how much.
    """

    scores: np.ndarray  # int16[G, 2], settled totals (South, North)
    plies: np.ndarray  # int32[G]
    reasons: np.ndarray  # int8[G], codes of rules.REASONS, RUNNING for a game that was adjudicated


class Bounds(NamedTuple):
    """What is proved of B positions: bounds of the mover's final lead in seeds, stores included."""

    least: np.ndarray  # int8[B]
    greatest: np.ndarray  # int8[B]

    @property
    def decided(self) -> np.ndarray:
        """Whether they leave one result only, bool[B]."""
        return np.sign(self.least) == np.sign(self.greatest)


@kernel
def label(noted, scores, bounds, results, margins):
    """Write result and full margin of N positions, the later plies of a game in later rows.

    ``noted``: the inputs, the game of each row, and whether South was to move. Entries 12 and 13
    of an input are the stores of the mover and the opponent. ``bounds``: None, or those of every
    row, which correct what the rest of the game says, for that row and those before it.
    """
    inputs, games, south = noted
    winners = np.empty(len(scores), np.int64)  # South's result as 1, 0, -1
    leads = np.empty(len(scores), np.int64)  # South's final lead, where it is known
    for game in range(len(scores)):
        mine, others = np.int64(scores[game, 0]), np.int64(scores[game, 1])
        winners[game] = np.sign(mine - others)
        leads[game] = mine - others if mine + others == SEEDS else UNKNOWN_MARGIN
    for row in range(len(games) - 1, -1, -1):
        game, side = games[row], 1 if south[row] else -1
        if bounds is None:
            pass
        else:  # Numba leaves this branch out where there are no bounds
            least, greatest = np.int64(bounds.least[row]), np.int64(bounds.greatest[row])
            if not least <= side * leads[game] <= greatest:
                leads[game] = side * least if least == greatest else UNKNOWN_MARGIN
            if np.sign(least) == np.sign(greatest):
                winners[game] = side * np.sign(least)
        results[row] = DRAW - side * winners[game]
        margins[row] = UNKNOWN_MARGIN
        if leads[game] != UNKNOWN_MARGIN:
            ahead = np.int64(inputs[row, 12]) - np.int64(inputs[row, 13])
            margins[row] = side * leads[game] - ahead


def value_targets(
    inputs: np.ndarray,
    games: np.ndarray,
    south: np.ndarray,
    ends: GameEnds,
    bounds: Bounds | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Results and full margins, int8[N] each, of N positions as :class:`Noted` holds them.

    ``bounds`` are what is proved of every position; see :func:`rescore`.
    """
    results, margins = np.empty(len(games), np.int8), np.empty(len(games), np.int8)
    label((inputs, games, south), ends.scores, bounds, results, margins)
    return results, margins


def make_samples(noted: Noted, ends: GameEnds, first_game: int = 0) -> Samples:
    """Samples of N positions of the games in ``ends``, of which the first has this number."""
    results, margins = value_targets(noted.inputs, noted.games, noted.south, ends)
    games = (noted.games + first_game).astype(np.int32)
    return Samples(noted.inputs, noted.policies, results, margins, noted.values, noted.plies, games)


def rescore(samples: Samples, noted: Noted, ends: GameEnds, bounds: Bounds) -> Samples:
    """The samples of ``noted`` with their value targets corrected by what is proved of each.

    A position whose result is proved has that result, and so have those before it up to the one
    proved before: what went wrong later in the game does not count. An exact lead at the end
    gives the full margin of that position and those before it; a lead of the game that the
    bounds of a position contradict is unknown from there backwards. As lc0 rescores its games.
    The value of a position whose result is proved is that result.
    """
    results, margins = value_targets(noted.inputs, noted.games, noted.south, ends, bounds)
    values = np.where(bounds.decided, np.sign(bounds.least), samples.values).astype(np.float32)
    return Samples(
        samples.inputs, samples.policies, results, margins, values, samples.plies, samples.games
    )


def join(parts: list[Samples]) -> Samples:
    """Several groups of samples as one, in order."""
    return Samples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
