"""Batch: many games in lock-step arrays, stepped by one kernel call.

For loops that must be fast: a vector environment, PPO, random games by the million. Rows are
mover-relative; finished games are handed back and their rows restart at once, so no row is ever
over (and no search ever sees a finished root).
"""

from typing import Any, NamedTuple

import numpy as np

from oware_env.encoding import encode_observations, observation_size
from oware_env.errors import OwareError, shown, whole_number
from oware_env.explain import why_not_offered
from oware_env.kernel import kernel
from oware_env.notation import move_letter
from oware_env.positions import Positions, as_array, game_key, game_keys
from oware_env.rules import Rules, initial_board, play, require_abapa, settle, status
from oware_env.state import IllegalMove, State

MOST_GAMES = 2**24  # of a batch: what the arrays of a step hold in 1 GB


class Finished(NamedTuple):
    """The K games that ended in one step."""

    rows: np.ndarray  # int64[K], row of the batch each was played in
    games: np.ndarray  # int64[K], number of the game in this batch, from 0
    scores: np.ndarray  # int16[K, 2], settled totals (South, North)
    plies: np.ndarray  # int32[K], length of the game
    reasons: np.ndarray  # int8[K], codes of rules.REASONS


@kernel
def first_illegal(statuses, moves):
    """The first row whose move is not legal, or -1. ``statuses`` as from rules.status."""
    for row in range(len(moves)):
        move = moves[row]
        if move < 0 or move > 5 or not statuses[row] >> move & 1:
            return row
    return -1


@kernel
def play_rows(boards, plies, moves, max_plies, statuses):
    """Play a legal move in every row, in place: boards, plies and statuses advance one ply."""
    for row in range(len(moves)):
        play(boards[row], moves[row])
        plies[row] += 1
        statuses[row] = status(boards[row], plies[row], max_plies)


@kernel
def fill_statuses(boards, plies, max_plies, statuses):
    """Write rules.status of every row."""
    for row in range(len(boards)):
        statuses[row] = status(boards[row], plies[row], max_plies)


@kernel
def fill_masks(statuses, masks):
    """Write the legal moves of every row into ``masks`` int8[B, 6]."""
    for row in range(len(statuses)):
        for move in range(6):
            masks[row, move] = statuses[row] >> move & 1


@kernel
def seat_scores(board, reason, south_to_move):
    """Settled totals (South, North) of a finished board seen by its side to move."""
    mover, opponent = settle(board, reason)
    if south_to_move:
        return mover, opponent
    return opponent, mover


@kernel
def _restart(batch, start, row, seed, game):
    """Put the start position into a row, as game number ``game``."""
    boards, plies, keys, south, games, statuses = batch
    boards[row] = start
    plies[row] = 0
    south[row] = True
    games[row] = game
    keys[row] = game_key(seed, game)
    statuses[row] = 63


@kernel
def _step(batch, moves, start, max_plies, seed, next_game, finished):
    """One ply in every row; finished games are written out and restarted. Returns how many."""
    boards, plies, _, south, games, statuses = batch
    rows, ended_games, scores, lengths, reasons = finished
    play_rows(boards, plies, moves, max_plies, statuses)
    count = 0
    for row in range(len(moves)):
        south[row] = not south[row]
        if statuses[row] >= 64:
            reason = statuses[row] >> 6
            rows[count], ended_games[count] = row, games[row]
            scores[count, 0], scores[count, 1] = seat_scores(boards[row], reason, south[row])
            lengths[count], reasons[count] = plies[row], reason
            _restart(batch, start, row, seed, next_game + count)
            count += 1
    return count


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise OwareError(f"a seed must be a whole number from 0 to 2**64 - 1, not {shown(seed)}")
    return int(seed)


def one_integer_each(name: str, values: Any, count: int) -> np.ndarray:
    """``values`` as an array of ``count`` integers of any type, else OwareError naming them.

    Nothing is rounded: floats and booleans are refused.
    """
    array = values if type(values) is np.ndarray else as_array(name, values)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise OwareError(
            f"{name} must be {count} integers, one a row, not {array.dtype} of shape {array.shape}"
        )
    return array if array.dtype.isnative else as_array(name, array)


def _check_out(out: np.ndarray, shape: tuple[int, ...], dtype: type) -> None:
    """Refuse an array that a kernel would write beyond, or into with other types."""
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise OwareError("out must be an array that can be written")
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        found = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else shown(out)
        raise OwareError(f"out must be {np.dtype(dtype)}{list(shape)}, not {found}")


class Batch:
    """``size`` games played side by side; game k of a seed is the same whatever the size."""

    def __init__(self, size: int, rules: Rules = Rules(), seed: int = 0) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise OwareError(
                f"a batch needs a whole number of games of at least 1, not {shown(size)}"
            )
        size = whole_number("the number of games of a batch", size, most=MOST_GAMES)
        self.rules = require_abapa(rules)
        self.seed = _checked_seed(seed)
        self.boards = np.tile(initial_board(), (size, 1))  # int8[B, 14], mover's view
        self.plies = np.zeros(size, np.int32)
        self.games = np.arange(size, dtype=np.int64)  # number of the game in each row
        self.keys = game_keys(np.uint64(self.seed), self.games)  # uint64[B]
        self.south_to_move = np.ones(size, np.bool_)
        self.statuses = np.full(size, 63, np.int16)  # rules.status of each row
        self._start = initial_board()
        self._next_game = size

    def __len__(self) -> int:
        return len(self.plies)

    def positions(self) -> Positions:
        """All rows as Positions (copies: they stay as they are when the batch steps on)."""
        return Positions(self.boards.copy(), self.plies.copy(), self.keys.copy())

    def legal_mask(self, out: np.ndarray | None = None) -> np.ndarray:
        """Legal moves of every row as int8[B, 6], written into ``out`` when given."""
        if out is None:
            out = np.empty((len(self), 6), np.int8)
        _check_out(out, (len(self), 6), np.int8)
        fill_masks(self.statuses, out)
        return out

    def observe(self, kind: str = "counts", out: np.ndarray | None = None) -> np.ndarray:
        """Observations float32[B, size] of every row for its side to move (see encoding.py)."""
        shape = len(self), observation_size(kind)
        if out is None:
            out = np.empty(shape, np.float32)
        _check_out(out, shape, np.float32)
        encode_observations(self.boards, self.plies, self.rules.max_plies, out)
        return out

    def step(self, moves: np.ndarray) -> Finished:
        """Play one move in every row and return the games that ended; their rows restart.

        ``moves`` are integers [B]. All are checked first: a move that is not legal raises
        :class:`IllegalMove` naming its row, and nothing has changed.
        """
        moves = self._checked(moves)
        size = len(self)
        finished = Finished(
            np.empty(size, np.int64),
            np.empty(size, np.int64),
            np.empty((size, 2), np.int16),
            np.empty(size, np.int32),
            np.empty(size, np.int8),
        )
        count = _step(
            self._arrays(),
            moves,
            self._start,
            self.rules.max_plies,
            np.uint64(self.seed),
            self._next_game,
            tuple(finished),
        )
        self._next_game += count
        return Finished(*(array[:count].copy() for array in finished))

    def state(self, row: int) -> State:
        """One row as a :class:`State`."""
        row = whole_number("row", row, most=len(self) - 1)
        south = bool(self.south_to_move[row])
        return State.from_board(self.boards[row], south, self.rules, int(self.plies[row]))

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.boards, self.plies, self.keys, self.south_to_move, self.games, self.statuses

    def _checked(self, moves: np.ndarray) -> np.ndarray:
        moves = one_integer_each("moves", moves, len(self))
        row = first_illegal(self.statuses, moves)
        if row >= 0:
            raise self._illegal(row, int(moves[row]))
        return moves

    def _illegal(self, row: int, move: int) -> IllegalMove:
        state = self.state(row)
        why = f"row {row}: a move is 0-5"
        if 0 <= move < 6:
            board, status_code = self.boards[row], int(self.statuses[row])
            reason = why_not_offered(board, move, state.south_to_move, status_code)
            why = f"row {row}: {reason}"
        shown = move_letter(move, state.south_to_move) if 0 <= move < 6 else move
        return IllegalMove(state.to_text(), shown, state.legal_letters, why)
