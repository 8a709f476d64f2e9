"""Grading against perfect play: does a move keep the result, and how many seeds does it lose?

A table proves bounds of each move's full margin (:mod:`agents.tablebase`). What the bounds leave
open is counted and left out, never guessed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from agents.arena.ratings import wilson_interval
from agents.tablebase.checks import is_whole
from agents.tablebase.index import fill_board, level_starts
from agents.tablebase.probe import NO_MARGIN, Tablebase
from oware_env.batch import fill_statuses
from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.positions import Decisions, Positions, game_keys
from oware_env.rules import SEEDS, Rules, initial_board, play

OPEN = 2  # a result that the bounds do not decide; else 1 win, 0 draw, -1 loss for the mover
BLUNDERS = {"win to draw": (1, 0), "win to loss": (1, -1), "draw to loss": (0, -1)}
BINS = 10  # of predicted values, from -1 to 1


class Truth(NamedTuple):
    """What a table proves of P positions."""

    results: np.ndarray  # int8[P], 1, 0, -1 or OPEN, of best play
    after: np.ndarray  # int8[P, 6], the same after each move; OPEN also where it is not legal
    keeps: np.ndarray  # bool[P, 6], moves proved to keep the result
    worsens: np.ndarray  # bool[P, 6], moves proved to worsen it
    regret: np.ndarray  # float32[P, 6], seeds a move gives away; NaN where that is open
    legal: np.ndarray  # bool[P, 6]

    @property
    def decisions(self) -> np.ndarray:
        """Positions where some move is proved to keep the result and some to worsen it, bool[P]."""
        return np.logical_and(self.keeps.any(axis=1), self.worsens.any(axis=1))

    @property
    def without_choice(self) -> np.ndarray:
        """Positions where every legal move is proved to keep the result, bool[P].

        A single move, a lost position, or a result that nothing can spoil.
        """
        return np.logical_and(self.results != OPEN, (self.keeps | ~self.legal).all(axis=1))


def truth(table: Tablebase, positions: Positions, max_plies: int) -> Truth:
    """What the table proves of P running positions and of all their moves."""
    lows, highs = (b.astype(np.int64) for b in table.move_bounds(positions, max_plies))
    low, high = (b.astype(np.int64) for b in table.bounds(positions, max_plies))
    legal = lows != NO_MARGIN
    low = np.maximum(low, lows.max(axis=1))
    high = np.minimum(high, np.where(legal, highs, NO_MARGIN).max(axis=1))
    ahead = positions.boards[:, 12].astype(np.int64) - positions.boards[:, 13]
    results = _decided(ahead + low, ahead + high)
    after = np.where(legal, _decided(ahead[:, None] + lows, ahead[:, None] + highs), OPEN)
    is_sure = (results != OPEN)[:, None] & legal
    keeps = is_sure & (np.sign(ahead[:, None] + lows) >= results[:, None])
    worsens = is_sure & (np.sign(ahead[:, None] + highs) < results[:, None])
    is_exact = (low == high)[:, None] & (lows == highs) & legal
    regret = np.where(is_exact, high[:, None] - highs, np.nan).astype(np.float32)
    return Truth(results.astype(np.int8), after.astype(np.int8), keeps, worsens, regret, legal)


def _decided(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The result between two final margins, OPEN where they differ in it."""
    return np.where(np.sign(low) == np.sign(high), np.sign(low), OPEN)


class CalibrationBin(NamedTuple):
    """The positions whose predicted value lies in one part of -1 to 1; the results are proved."""

    low: float
    high: float
    positions: int
    predicted: float  # mean value
    proved: float  # mean result


class Grade(NamedTuple):
    """How an agent did on a group of positions; shares are NaN when there is nothing to count.

    ``positions - decisions - without_choice`` is what the bounds leave open.
    """

    positions: int
    decided: int  # the result of best play is proved
    without_choice: int  # and every move is proved to keep it
    decisions: int  # or some move is proved to keep it and some to worsen it
    judged: int  # decisions where the chosen move is proved to do either
    accuracy: float  # share of those that keep the result
    accuracy_low: float  # its 95 % interval, as if positions were independent (Wilson 1927)
    accuracy_high: float
    exact: int  # positions where the regret of the chosen move is exactly known
    margin_kept: float  # share of those with regret 0
    regret: float  # mean, in seeds
    regret_95: float  # 95th percentile
    regret_worst: float
    blunders: dict[str, int]  # by class, among the judged
    value_error: float  # mean |value - result| over decided positions, where the agent has values
    calibration_error: float  # mean |predicted - proved| of the bins, weighted by their positions
    calibration: tuple[CalibrationBin, ...]  # the bins that hold any


def grade(found: Truth, decisions: Decisions) -> Grade:
    """How good the moves are, by what is proved. Raises OwareError for what is no move."""
    _check_decisions(found, decisions)
    rows = np.arange(len(found.results))
    moves = decisions.moves.astype(np.int64)
    keeps, worsens = found.keeps[rows, moves], found.worsens[rows, moves]
    judged = found.decisions & (keeps | worsens)
    accuracy, count = _mean(keeps[judged]), int(judged.sum())
    low, high = wilson_interval(accuracy, count) if count else (float("nan"),) * 2
    regrets = found.regret[rows, moves]
    regrets = regrets[~np.isnan(regrets)]
    after = found.after[rows, moves]
    blunders = {
        name: int((judged & (found.results == before) & (after == then)).sum())
        for name, (before, then) in BLUNDERS.items()
    }
    decided = found.results != OPEN
    valued = decided & ~np.isnan(decisions.value)
    results, values = found.results[valued], decisions.value[valued]
    bins = calibrate(results, values)
    apart = sum(one.positions * abs(one.predicted - one.proved) for one in bins)
    return Grade(
        positions=len(rows),
        decided=int(decided.sum()),
        without_choice=int(found.without_choice.sum()),
        decisions=int(found.decisions.sum()),
        judged=count,
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        exact=len(regrets),
        margin_kept=_mean(regrets == 0),
        regret=_mean(regrets),
        regret_95=float(np.percentile(regrets, 95)) if len(regrets) else float("nan"),
        regret_worst=float(regrets.max()) if len(regrets) else float("nan"),
        blunders=blunders,
        value_error=_mean(np.abs(values - results)),
        calibration_error=apart / len(values) if len(values) else float("nan"),
        calibration=bins,
    )


def _check_decisions(found: Truth, decisions: Decisions) -> None:
    """Raise OwareError unless there is a legal move and a value for each position."""
    count, moves, values = len(found.results), *map(np.asarray, (decisions.moves, decisions.value))
    if moves.shape != (count,) or not np.issubdtype(moves.dtype, np.integer):
        raise OwareError(
            f"{count} positions need as many whole numbers as moves, not {moves.dtype} of shape "
            f"{moves.shape}"
        )
    if values.shape != (count,) or not np.issubdtype(values.dtype, np.floating):
        raise OwareError(
            f"{count} positions need as many values, NaN for none, not {values.dtype} of shape "
            f"{values.shape}"
        )
    is_move = (moves >= 0) & (moves < 6)
    is_move[is_move] = found.legal[is_move.nonzero()[0], moves[is_move]]
    if not is_move.all():
        row = int(is_move.argmin())
        raise OwareError(f"move {moves[row]} is not legal in position {row}")


def calibrate(results: np.ndarray, values: np.ndarray) -> tuple[CalibrationBin, ...]:
    """Predicted values float[P] in [-1, 1] against proved results int[P], in equal bins.

    A reliability diagram (Murphy and Winkler 1977) in figures; empty bins are left out.
    """
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    places = np.clip(np.digitize(values, edges) - 1, 0, BINS - 1)
    return tuple(
        CalibrationBin(
            round(float(edges[place]), 6),
            round(float(edges[place + 1]), 6),
            int((places == place).sum()),
            float(values[places == place].mean(dtype=np.float64)),
            float(results[places == place].mean()),
        )
        for place in np.unique(places)
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def uniform_positions(seeds: int, count: int, seed: int = 0, rules: Rules = Rules()) -> Positions:
    """At most ``count`` distinct running positions of so many seeds, each board equally likely.

    The stores hold the rest, the mover's lead drawn from all at which the game still runs; they
    stand at a ply drawn from the first quarter of the game, so that the limit is far. Raises
    OwareError when there are no such boards.
    """
    if not (is_whole(seeds, 1, SEEDS) and is_whole(count, 0)):
        raise OwareError(f"{count!r} boards of {seeds!r} seeds: boards hold 1 to {SEEDS}")
    random = np.random.default_rng((seed, seeds))
    starts = level_starts(seeds)
    boards = np.zeros((count * 2, 14), np.int8)
    for row, index in enumerate(random.integers(starts[seeds], starts[seeds + 1], count * 2)):
        fill_board(index, seeds, boards[row])
    ahead = 2 * random.integers(0, seeds + 1, count * 2) - seeds
    boards[:, 12] = (SEEDS - seeds + ahead) // 2
    boards[:, 13] = SEEDS - seeds - boards[:, 12]
    plies = random.integers(0, max(1, rules.max_plies // 4), count * 2).astype(np.int32)
    positions = _running_and_distinct(boards, plies, rules)
    return Positions(*(array[:count] for array in positions))


def game_positions(moves: np.ndarray, lengths: np.ndarray, most: int, rules: Rules) -> Positions:
    """The distinct positions with at most ``most`` seeds on the board that games went through.

    ``moves`` int8[G, L] from the start position, ``lengths`` int32[G], as in match.Games. Raises
    OwareError for what are no moves.
    """
    if moves.ndim != 2 or lengths.shape != moves.shape[:1] or not _are_moves(moves, lengths):
        raise OwareError("moves must be 0 to 5, int8[G, L], in the first lengths[G] places of each")
    room = int(lengths.sum())
    boards, plies = np.empty((room, 14), np.int8), np.empty(room, np.int32)
    count = _collect(initial_board(), moves, lengths, most, (boards, plies))
    return _running_and_distinct(boards[:count], plies[:count], rules)


def _are_moves(moves: np.ndarray, lengths: np.ndarray) -> bool:
    is_played = np.arange(moves.shape[1]) < lengths[:, None]
    fits = not len(lengths) or (lengths.min() >= 0 and lengths.max() <= moves.shape[1])
    return bool(fits and (((moves >= 0) & (moves < 6)) | ~is_played).all())


def join_positions(parts: Sequence[Positions], rules: Rules) -> Positions:
    """The distinct positions of several groups, with keys of their own."""
    boards, plies, _ = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return _running_and_distinct(boards, plies, rules)


@kernel
def _collect(start, moves, lengths, most, found):
    """Play games again and write down the boards with few seeds that a move was made on."""
    boards, plies = found
    count = 0
    for game in range(len(lengths)):
        board = start.copy()
        for ply in range(lengths[game]):
            if SEEDS - board[12] - board[13] <= most:
                boards[count] = board
                plies[count] = ply
                count += 1
            play(board, moves[game, ply])
    return count


def _running_and_distinct(boards: np.ndarray, plies: np.ndarray, rules: Rules) -> Positions:
    """The rows that are running games, the first of those with equal boards; each gets a key."""
    statuses = np.empty(len(plies), np.int16)
    fill_statuses(boards, plies, rules.max_plies, statuses)
    rows = (statuses < 64).nonzero()[0]
    if len(rows):
        rows = rows[np.sort(np.unique(boards[rows], axis=0, return_index=True)[1])]
    keys = game_keys(np.uint64(0), np.arange(len(rows)))
    return Positions(boards[rows], plies[rows], keys)
