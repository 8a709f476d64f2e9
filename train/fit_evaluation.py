"""Fit the weights of alpha-beta's evaluation: ``python -m train.fit_evaluation``.

Alpha-beta plays itself from random openings, with a table of endgames, so that endings are played
without a mistake. Every position is labelled with the result of its game, or with the proved one
where the table knows it. Logistic regression with a ridge (Newton's method) then fits who wins;
dividing by the weight of the stores turns its weights into hundredths of a seed.

The games are played by the evaluation as it stands, so running it again is a further step.
"""

from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np
import tyro

from agents.arena.openings import random_openings
from agents.search import evaluation_weights
from agents.search.alphabeta import AlphaBeta
from agents.search.evaluation import MOST_JUDGED, PHASES, SEED, full, look_up_houses, phase_of
from agents.tablebase.probe import Tablebase, open_table
from oware_env.kernel import kernel
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions, game_keys
from oware_env.rules import Rules
from train.endgames import final_bounds

_HOUSES = 6 * (MOST_JUDGED + 1)  # columns of a phase for the worth of houses ...
_COLUMNS = _HOUSES + 6  # ... and for the columns of PHASE_WEIGHTS
_BLOCK = 8192  # rows handled at a time
_PLACE = Path(evaluation_weights.__file__)


class FitSettings(NamedTuple):
    """What is played and how it is fitted."""

    games: int = 6000
    """Games to play."""
    depth: int = 5
    """Plies both sides look ahead."""
    table: int = 8
    """Seeds of the table of endgames."""
    ridge: float = 3.0
    """Weight of the squares of the weights: in positions, for one unit of log odds."""
    seed: int = 0
    """Names the games."""


class Sample(NamedTuple):
    """P labelled positions."""

    boards: np.ndarray  # int8[P, 14]
    results: np.ndarray  # float64[P]: 1 when the mover wins, 0.5 for a draw
    games: np.ndarray  # int64[P], the game of each


def play_sample(settings: FitSettings) -> Sample:
    """Self-played games as labelled positions; equal settings give equal samples."""
    table = open_table(settings.table)
    agent = AlphaBeta(Rules(), depth=settings.depth, table=table.arrays)
    parts = [_play_part(settings, agent, table, plies) for plies in (4, 6, 8, 10, 14, 18)]
    offsets = np.cumsum([0, *(part.games[-1] + 1 for part in parts[:-1])])
    games = np.concatenate([part.games + by for part, by in zip(parts, offsets, strict=True)])
    boards = np.concatenate([part.boards for part in parts])
    return Sample(boards, np.concatenate([part.results for part in parts]), games)


def _play_part(settings: FitSettings, agent: AlphaBeta, table: Tablebase, plies: int) -> Sample:
    """A sixth of the games, from openings of so many random plies."""
    count = settings.games // 6
    openings = random_openings(count, plies, settings.seed * 100 + plies)
    keys = game_keys(np.uint64(settings.seed * 100 + plies), np.arange(count))
    start = Positions(openings.boards, np.full(count, plies, np.int32), keys)
    games = Lockstep(start, np.full(count, plies % 2 == 0))
    boards, numbers, souths, known = [], [], [], []
    while games.running:
        positions = Positions(*(array.copy() for array in games.positions()))
        bounds = final_bounds(table, positions, Rules().max_plies)
        boards.append(positions.boards)
        numbers.append(games.games.copy())
        souths.append(games.south_to_move.copy())
        known.append(np.where(bounds.decided, (np.sign(bounds.least) + 1) / 2, np.nan))
        games.play(agent.decide(positions).moves)
    number = np.concatenate(numbers)
    south_result = (np.sign(games.scores[:, 0] - games.scores[:, 1]) + 1) / 2
    played = np.where(np.concatenate(souths), south_result[number], 1 - south_result[number])
    proved = np.concatenate(known)
    results = np.where(np.isnan(proved), played, proved)
    order = np.argsort(number, kind="stable")
    return Sample(np.concatenate(boards)[order], results[order], number[order])


@kernel
def _fill_rows(boards, rows):
    """Write the features of boards as rows float64[B, PHASES * _COLUMNS], of zeros before."""
    for row in range(len(boards)):
        board = boards[row]
        first = phase_of(board) * _COLUMNS
        for house in range(6):
            column = first + house * (MOST_JUDGED + 1)
            rows[row, column + min(MOST_JUDGED, board[house])] += 1.0
            rows[row, column + min(MOST_JUDGED, board[house + 6])] -= 1.0
        column = first + _HOUSES
        rows[row, column] = np.int64(board[12]) - np.int64(board[13])
        rows[row, column + 1] = 1.0
        _, aims, threats = look_up_houses(board, 0)
        for number, count in enumerate((aims, threats)):
            rows[row, column + 2 + 2 * number] = count & 65535
            rows[row, column + 3 + 2 * number] = count >> 16


def features(boards: np.ndarray) -> np.ndarray:
    """The features of B boards, float64[B, columns]."""
    rows = np.zeros((len(boards), PHASES * _COLUMNS))
    _fill_rows(boards, rows)
    return rows


def fit(sample: Sample, ridge: float, rounds: int = 7) -> np.ndarray:
    """Weights float64[columns] of the log odds of a win: ridge regression by Newton's method."""
    columns = PHASES * _COLUMNS
    weights = np.zeros(columns)
    penalty = np.full(columns, ridge)
    penalty[_HOUSES::_COLUMNS] = 0.0  # the stores are the measure
    for _ in range(rounds):
        slope, curvature = -penalty * weights, np.diag(penalty + 1e-6)
        for first in range(0, len(sample.boards), _BLOCK):
            rows = features(sample.boards[first : first + _BLOCK])
            chance = 1 / (1 + np.exp(-rows @ weights))
            slope += rows.T @ (sample.results[first : first + _BLOCK] - chance)
            curvature += rows.T @ (rows * (chance * (1 - chance))[:, None])
        weights += np.linalg.solve(curvature, slope)
    return weights


@kernel
def _judge(boards, values):
    """Write the evaluation of every board."""
    for row in range(len(boards)):
        values[row] = full(boards[row])


def loss(log_odds: np.ndarray, results: np.ndarray) -> float:
    """Mean cross-entropy of predicted log odds of a win and what came, in bits."""
    terms = np.logaddexp(0, -log_odds) * results + np.logaddexp(0, log_odds) * (1 - results)
    return float(terms.mean() / np.log(2))


def _scaled_loss(values: np.ndarray, results: np.ndarray) -> float:
    """The loss of an evaluation's values under the scale that suits it best."""
    return min(loss(values * scale, results) for scale in np.geomspace(1e-4, 1e-1, 61))


def write_weights(weights: np.ndarray, fact: str, place: Path = _PLACE) -> None:
    """Write the weights, in hundredths of a seed, into the module that the evaluation reads.

    ``fact`` says how they came about.
    """
    table = weights.reshape(PHASES, _COLUMNS)
    rounded = np.rint(table * SEED / table[:, _HOUSES].mean()).astype(int)
    houses = rounded[:, :_HOUSES].reshape(PHASES * 6, MOST_JUDGED + 1)
    text = place.read_text()
    text = _replaced(text, "# Fit: ", "\n", fact)
    text = _replaced(text, '_PHASE_WEIGHTS = """\n', '"""', _lines(rounded[:, _HOUSES:]))
    place.write_text(_replaced(text, '_WORTHS = """\n', '"""', _lines(houses)))


def _lines(rows: np.ndarray) -> str:
    """A table as text, its rows wrapped."""
    return "".join(fill(" ".join(map(str, row)), 99) + "\n" for row in rows)


def _replaced(text: str, begin: str, end: str, middle: str) -> str:
    """The text with what stands between ``begin`` and ``end`` replaced."""
    head, _, rest = text.partition(begin)
    return head + begin + middle + end + rest.partition(end)[2]


def main() -> None:
    """Play, fit, print, and write the weights."""
    settings = tyro.cli(FitSettings, description=__doc__)
    sample = play_sample(settings)
    is_held_out = sample.games % 10 == 0
    held_out = Sample(*(array[is_held_out] for array in sample))
    fitted = fit(Sample(*(array[~is_held_out] for array in sample)), settings.ridge)
    before = np.empty(len(held_out.boards))
    _judge(held_out.boards, before)
    lead = held_out.boards[:, 12].astype(np.float64) - held_out.boards[:, 13]
    print(f"{len(sample.boards):,} positions of {settings.games:,} games, a tenth held out")
    print(f"bits: stores alone {_scaled_loss(100 * lead, held_out.results):.4f}")
    print(f"bits: weights so far {_scaled_loss(before, held_out.results):.4f}")
    print(f"bits: fitted {loss(features(held_out.boards) @ fitted, held_out.results):.4f}")
    fact = f"{settings.games} games at depth {settings.depth}, seed {settings.seed}"
    write_weights(fitted, f"{fact}; {len(sample.boards):,} positions")


if __name__ == "__main__":
    main()
