"""State: one immutable position with seats, the friendly face of the rules.

The only layer below the environments that knows South and North. The board inside is still
mover-relative; seats are added when something is read out.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oware_env import notation, render
from oware_env.errors import OwareError, integer, shown
from oware_env.explain import MoveReport, explain_move, house_of, why_not_offered
from oware_env.notation import Placement, move_letter, read_side
from oware_env.rules import (
    REASONS,
    Rules,
    advance,
    initial_board,
    pack,
    require_abapa,
    settle,
    status,
    unpack,
)

__all__ = ["IllegalMove", "MoveReport", "Outcome", "State"]

# Every move mask as the tuple of its moves, so that reading it costs one look-up.
_MOVES = tuple(tuple(move for move in range(6) if mask >> move & 1) for mask in range(64))
_LETTERS = {
    south: tuple(tuple(move_letter(move, south) for move in moves) for moves in _MOVES)
    for south in (True, False)
}


class Outcome(NamedTuple):
    """How a game ended."""

    winner: str | None  # "south", "north" or None for a draw
    reason: str  # "majority", "no_feeding_move" or "move_limit"
    scores: tuple[int, int]  # settled totals (South, North)


class IllegalMove(OwareError):
    """A move that is not offered: carries the position, the move, the legal moves and why."""

    def __init__(self, position: str, move: Any, legal_moves: Sequence[str], why: str) -> None:
        self.position, self.move, self.legal_moves, self.why = position, move, legal_moves, why
        offered = " ".join(legal_moves) or "none"
        super().__init__(f"illegal move {shown(move)} in {position}: {why}; legal moves: {offered}")

    def __reduce__(self) -> tuple[Any, ...]:
        return IllegalMove, (self.position, self.move, self.legal_moves, self.why)


def outcome_of(board: np.ndarray, reason: int, south_to_move: bool) -> Outcome:
    """The outcome in seats of a board (mover's view) that is over for ``reason`` (a rules code)."""
    mover, opponent = settle(board, reason)
    scores = (int(mover), int(opponent)) if south_to_move else (int(opponent), int(mover))
    winner = None if scores[0] == scores[1] else "south" if scores[0] > scores[1] else "north"
    return Outcome(winner, REASONS[reason], scores)


def _counts(board: np.ndarray) -> list[int]:
    """The 14 numbers of a mover-relative board, which may be anything."""
    if not isinstance(board, np.ndarray):
        try:
            return _counts(np.array([integer(count, "a number of seeds") for count in board]))
        except TypeError:
            raise OwareError(f"a board must be 14 integers, not {shown(board)}") from None
    if board.shape != (14,) or board.dtype.kind not in "iu":
        raise OwareError(f"a board must be 14 integers, not {board.dtype} of shape {board.shape}")
    counts: list[int] = board.tolist()
    return counts


class State:
    """One position of a game: immutable, hashable, copied and pickled freely.

    Make one with :meth:`initial` or :meth:`parse`; :meth:`play` returns the next.
    """

    __slots__ = (
        "_before",
        "_last_move",
        "_mover",
        "_opponent",
        "_ply",
        "_rules",
        "_south",
        "_status",
    )
    _before: tuple[int, int] | None  # packed board the last move was played on, for pictures
    _last_move: int
    _mover: int  # the mover's packed side (rules.pack)
    _opponent: int
    _ply: int
    _rules: Rules
    _south: bool
    _status: int  # rules.status of the board

    @classmethod
    def initial(cls, rules: Rules = Rules()) -> "State":
        """The start of a game: four seeds in each house, South to move."""
        return cls._of(initial_board(), True, 0, require_abapa(rules))

    @classmethod
    def parse(cls, text: str, rules: Rules = Rules(), ply: int = 0) -> "State":
        """The state of a position string; raises :class:`OwareError` in one sentence."""
        return cls.from_placement(notation.parse_position(text), rules, ply)

    @classmethod
    def from_placement(cls, placement: Placement, rules: Rules = Rules(), ply: int = 0) -> "State":
        """The state of counts in seats; raises :class:`OwareError` when it cannot stand."""
        houses, stores, south = notation.check_placement(placement)
        rules, ply = require_abapa(rules), integer(ply, "ply")
        if not 0 <= ply <= rules.max_plies:
            raise OwareError(
                f"ply must be between 0 and max_plies {rules.max_plies}, not {shown(ply)}"
            )
        rows = houses if south else houses[6:] + houses[:6]
        board = np.array(rows + (stores if south else stores[::-1]), np.int8)
        return cls._of(board, south, ply, rules)

    @classmethod
    def from_board(
        cls, board: np.ndarray, south_to_move: bool, rules: Rules = Rules(), ply: int = 0
    ) -> "State":
        """The state of a mover-relative board, int8[14] or 14 other integers."""
        counts, south_to_move = _counts(board), read_side(south_to_move)
        rows = (counts[:6], counts[6:12])
        south, north = rows if south_to_move else rows[::-1]
        stores = (counts[12], counts[13]) if south_to_move else (counts[13], counts[12])
        placement = Placement((*south, *north), stores, south_to_move)
        return cls.from_placement(placement, rules, ply)

    @classmethod
    def _of(cls, board: np.ndarray, south: bool, ply: int, rules: Rules) -> "State":
        state = object.__new__(cls)
        state._mover, state._opponent = pack(board)
        state._south, state._ply, state._rules = south, ply, rules
        state._status = status(board, ply, rules.max_plies)
        state._before, state._last_move = None, -1
        return state

    @property
    def houses(self) -> tuple[int, ...]:
        """The twelve counts A-F, a-f."""
        rows = self.board.tolist()
        return tuple(rows[:12] if self._south else rows[6:12] + rows[:6])

    @property
    def stores(self) -> tuple[int, int]:
        """What each side has harvested: (South, North)."""
        mover, opponent = self._mover >> 48, self._opponent >> 48
        return (mover, opponent) if self._south else (opponent, mover)

    @property
    def south_to_move(self) -> bool:
        """Whether South is the side to move (also when the game is over)."""
        return self._south

    @property
    def ply(self) -> int:
        """Plies played since the start of the game."""
        return self._ply

    @property
    def rules(self) -> Rules:
        """The rule set the game is played under."""
        return self._rules

    @property
    def board(self) -> np.ndarray:
        """A fresh int8[14] of the position as the side to move sees it (see rules.py)."""
        return unpack(self._mover, self._opponent)

    @property
    def legal_moves(self) -> tuple[int, ...]:
        """The legal moves 0-5 of the side to move; empty when the game is over."""
        return _MOVES[self._status & 63]

    @property
    def legal_letters(self) -> tuple[str, ...]:
        """The legal moves as letters: A-F for South, a-f for North."""
        return _LETTERS[self._south][self._status & 63]

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self._status >= 64

    @property
    def outcome(self) -> Outcome | None:
        """Winner, reason and settled scores, or None while the game runs."""
        if self._status < 64:
            return None
        return outcome_of(self.board, self._status >> 6, self._south)

    def play(self, move: int | str) -> "State":
        """The state after ``move``: 0-5 of the side to move, or its letter.

        Raises :class:`IllegalMove`, also for text or numbers that name no move.
        """
        if type(move) is not int:
            move = self._read(move)
        if not (0 <= move < 6 and self._status >> move & 1):
            raise self._illegal(move)
        mover, opponent, ply, rules = self._mover, self._opponent, self._ply, self._rules
        state = object.__new__(State)
        state._mover, state._opponent, state._status = advance(
            mover, opponent, move, ply, rules.max_plies
        )
        state._south = not self._south
        state._ply = ply + 1
        state._rules = rules
        state._before = mover, opponent
        state._last_move = move
        return state

    def explain(self, move: int | str) -> MoveReport:
        """What ``move`` would do and why it is or is not offered; ``str()`` of it is in words.

        The move need not be legal, only readable: raises :class:`IllegalMove` otherwise.
        """
        move = self._read(move)
        if not 0 <= move < 6:
            raise self._illegal(move)
        return explain_move(self.board, move, self._south, self._status)

    def _read(self, move: Any) -> int:
        """A move as 0-5 from any integer or a letter."""
        if isinstance(move, int | np.integer) and not isinstance(move, bool):
            return int(move)
        try:
            if isinstance(move, str):
                return notation.parse_move(move, self._south)
            raise OwareError("a move is an integer 0-5 or a house letter")
        except OwareError as error:
            raise IllegalMove(self.to_text(), move, self.legal_letters, str(error)) from None

    def _illegal(self, move: int) -> IllegalMove:
        why = "a move is 0-5"
        if 0 <= move < 6:
            why = why_not_offered(self.board, move, self._south, self._status) or ""
        return IllegalMove(self.to_text(), move, self.legal_letters, why)

    def to_text(self) -> str:
        """The position string, read back by :meth:`parse` (the ply is not part of it)."""
        return notation.format_position(self.houses, self.stores, self._south)

    def scene(self, show_legal: bool = True) -> render.Scene:
        """Everything a picture of this state shows, as plain counts and paths."""
        legal = [house_of(move, self._south) for move in self.legal_moves] if show_legal else []
        path: tuple[int, ...] = ()
        captured, spared, origin = path, path, None
        if self._before is not None:
            report = explain_move(unpack(*self._before), self._last_move, not self._south, 0)
            path, captured, spared = report.path, report.captured, report.void_slam
            origin = house_of(self._last_move, not self._south)
        outcome = self.outcome
        return render.Scene(
            houses=self.houses,
            stores=self.stores,
            south_to_move=self._south,
            ply=self._ply,
            legal=tuple(legal),
            origin=origin,
            path=path,
            captured=captured,
            spared=spared,
            result=render.result_text(*outcome) if outcome else None,
        )

    def svg(
        self,
        policy: Sequence[float] | None = None,
        value: float | None = None,
        verdicts: render.Bounds | None = None,
        theme: render.Theme = "light",
    ) -> str:
        """A picture: last sowing path, captures, legal houses; for the rest :func:`render.svg`."""
        return render.svg(self.scene(), policy, value, verdicts, theme)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return render.ansi(self.scene())

    def __repr__(self) -> str:
        return f"State.parse({self.to_text()!r}, ply={self._ply})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[int, int, bool, int, Rules]:
        return self._mover, self._opponent, self._south, self._ply, self._rules
