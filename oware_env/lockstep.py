"""Lockstep: a fixed set of games played side by side to their ends; finished ones drop out.

What matches and self-play are made of. Unlike Batch nothing restarts, so the same games are
played whatever their number; the games still running are kept packed in front.
"""

from typing import Any

import numpy as np

from oware_env.batch import (
    fill_statuses,
    first_illegal,
    one_integer_each,
    play_rows,
    seat_scores,
)
from oware_env.errors import OwareError, shown, whole_number
from oware_env.kernel import kernel
from oware_env.positions import (
    DRAW_OPENING,
    Positions,
    as_array,
    as_positions,
    checked_positions,
    mix,
    pick_move,
    random_bits,
)
from oware_env.rules import SEEDS, Rules, play, require_abapa, status
from oware_env.state import IllegalMove, State


@kernel
def _advance(active, moves, max_plies, results):
    """Play a move in every active game and pack those still running in front: returns how many.

    The settled scores, length and reason of a game that ended are written to ``results``.
    """
    boards, plies, keys, south, statuses, games = active
    scores, lengths, reasons = results
    play_rows(boards, plies, moves, max_plies, statuses)
    running = 0
    for row in range(len(moves)):
        game, side = games[row], not south[row]
        if statuses[row] >= 64:
            reason = statuses[row] >> 6
            scores[game, 0], scores[game, 1] = seat_scores(boards[row], reason, side)
            lengths[game], reasons[game] = plies[row], reason
        else:
            boards[running] = boards[row]
            plies[running], keys[running], south[running] = plies[row], keys[row], side
            statuses[running], games[running] = statuses[row], game
            running += 1
    return running


@kernel
def play_randomly(board, ply, moves, key, max_plies):
    """Play uniformly random moves in place until ``moves`` int8[K] is full; returns the new ply.

    Stops early at the end of the game, if it comes. Drawn for DRAW_OPENING from (key, ply).
    """
    for number in range(len(moves)):
        legal = status(board, ply, max_plies)
        if legal >= 64:
            break
        moves[number] = pick_move(legal, random_bits(key, ply, DRAW_OPENING, 0))
        play(board, moves[number])
        ply += 1
    return ply


@kernel
def open_randomly(boards, plies, south, keys, most, max_plies):
    """Play 0 to ``most`` random plies in every row, in place, how many drawn from its key.

    A game that would end on the way stays where it is, so that every row still runs.
    """
    for row in range(len(boards)):
        count = np.int64(mix(keys[row] ^ np.uint64(DRAW_OPENING)) % np.uint64(most + 1))
        board = boards[row].copy()
        ply = play_randomly(board, plies[row], np.empty(count, np.int8), keys[row], max_plies)
        if status(board, ply, max_plies) < 64:
            boards[row] = board
            south[row] ^= (ply - plies[row]) % 2 == 1
            plies[row] = ply


class Lockstep:
    """G games from given positions. Rows are the games still running, mover-relative."""

    def __init__(
        self,
        positions: Positions,
        south_to_move: np.ndarray,
        rules: Rules = Rules(),
        *,
        keeps_moves: bool = False,
    ) -> None:
        """Start from G running positions (copied); raises OwareError when one is over.

        ``south_to_move`` is bool[G].
        """
        self.rules = require_abapa(rules)
        boards, plies, keys = (
            array.copy() for array in as_positions(*checked_positions(positions))
        )
        count = len(plies)
        statuses = np.empty(count, np.int16)
        fill_statuses(boards, plies, rules.max_plies, statuses)
        if (statuses >= 64).any():
            raise OwareError(f"game {int((statuses >= 64).argmax())} is over before its first move")
        south = _one_bool_each("south_to_move", south_to_move, count).copy()
        self._active = (boards, plies, keys, south, statuses, np.arange(count))
        self.running = count
        self.scores = np.zeros((count, 2), np.int16)  # settled totals (South, North) of each game
        self.lengths = np.zeros(count, np.int32)  # plies, 0 while it runs
        self.reasons = np.zeros(count, np.int8)  # codes of rules.REASONS, RUNNING when stopped
        self._keeps_moves = keeps_moves
        self._played: list[tuple[np.ndarray, np.ndarray]] = []  # games and their moves, by ply

    def positions(self) -> Positions:
        """The running games, views that the next :meth:`play` overwrites."""
        boards, plies, keys = (array[: self.running] for array in self._active[:3])
        return Positions(boards, plies, keys)

    @property
    def south_to_move(self) -> np.ndarray:
        """Whether South is to move in each row, bool[B], a view."""
        return self._active[3][: self.running]

    @property
    def statuses(self) -> np.ndarray:
        """rules.status of each row, int16[B], a view."""
        return self._active[4][: self.running]

    @property
    def games(self) -> np.ndarray:
        """Number of the game in each row, int64[B], a view."""
        return self._active[5][: self.running]

    def play(self, moves: np.ndarray) -> None:
        """Play one move in every row, integers [running]; raises with nothing changed.

        A move that is not legal raises :class:`IllegalMove` naming its game, what is no integer
        for each game OwareError.
        """
        moves = one_integer_each(f"{self.running} games run: moves", moves, self.running)
        row = first_illegal(self.statuses, moves)
        if row >= 0:
            self._refuse(row, int(moves[row]))
        if self._keeps_moves:
            self._played.append((self.games.astype(np.int32), moves.astype(np.int8)))
        active = tuple(array[: self.running] for array in self._active)
        results = self.scores, self.lengths, self.reasons
        self.running = _advance(active, moves, self.rules.max_plies, results)

    def stop(self, rows: np.ndarray, scores: np.ndarray) -> None:
        """End the games in ``rows``, bool[running], before their time: their reason is RUNNING.

        ``scores`` integers [stopped, 2] are what they are settled with (South, North).
        """
        games = self.games[_one_bool_each("rows", rows, self.running)]
        scores = as_array("scores", scores)
        if scores.shape != (len(games), 2) or scores.dtype.kind not in "iu":
            raise OwareError(
                f"scores must be integers [{len(games)}, 2], "
                f"not {scores.dtype} of shape {scores.shape}"
            )
        if ((scores < 0) | (scores > SEEDS)).any():
            raise OwareError(f"scores must be from 0 to {SEEDS}, not {shown(scores.tolist())}")
        self.scores[games], self.lengths[games] = scores, self.positions().plies[rows]
        left = int(np.count_nonzero(~rows))
        for array in self._active:
            array[:left] = array[: self.running][~rows]
        self.running = left

    def moves(self) -> tuple[np.ndarray, np.ndarray]:
        """All moves so far, when they are kept: int8[M], and where those of each game begin.

        Game g has the moves from offsets[g] to before offsets[g + 1], int64[G + 1].
        """
        nothing = np.empty(0, np.int32), np.empty(0, np.int8)
        games, moves = (np.concatenate(p) for p in zip(nothing, *self._played, strict=True))
        counts = np.bincount(games, minlength=len(self.lengths))
        order = np.argsort(games, kind="stable")  # the plies of a game stay in their order
        return moves[order], np.concatenate([[0], np.cumsum(counts)])

    def state(self, row: int) -> State:
        """A row as a :class:`State`."""
        row = whole_number("row", row, most=self.running - 1)
        boards, plies, _ = self.positions()
        south = bool(self.south_to_move[row])
        return State.from_board(boards[row], south, self.rules, int(plies[row]))

    def _refuse(self, row: int, move: int) -> None:
        """Raise IllegalMove for a move that is not legal in a row, naming its game."""
        try:
            self.state(row).play(move)
        except IllegalMove as error:
            why = f"game {self.games[row]}: {error.why}"
            raise IllegalMove(error.position, error.move, error.legal_moves, why) from None


def _one_bool_each(name: str, values: Any, count: int) -> np.ndarray:
    """``values`` when they are bool[count], else raises OwareError naming them."""
    array = as_array(name, values)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise OwareError(
            f"{name} must be {count} booleans, one a game, not {array.dtype} of shape {array.shape}"
        )
    return array
