"""Alpha-beta over the rules: iterative deepening, with tables of what was seen and of endgames.

The agent around the kernels of ``alphabeta_kernels``. A fixed depth decides a whole batch in one
kernel call; a timed search runs in slices of nodes and looks at the clock between them.
"""

import time as clock
from typing import final

import numpy as np

from agents.search.alphabeta_kernels import decide_rows, search_slice
from agents.search.alphabeta_root import answer, begin
from agents.search.alphabeta_state import COMPLETED, IS_EXACT, MAX_DEPTH, Search, new_search
from agents.search.evaluation import EVALUATIONS
from agents.tablebase.probe import TableArrays
from oware_env.errors import OwareError
from oware_env.positions import Decisions, Positions, checked_positions
from oware_env.rules import Rules, require_abapa

_SLICE_NODES = 1 << 13  # about a millisecond between two looks at the clock


@final
class AlphaBeta:
    """Plays the move that is best to a fixed depth in plies, or to the depth time allows.

    At a fixed depth a row's answer depends on its board, ply and key alone: it is what a search
    without transposition table or pruning finds, so neither the other rows nor earlier calls change
    it. A timed search gives each row its ``time`` in seconds, tries late moves at less depth, and
    repeats nothing exactly. ``value`` is +1 or -1 for a certain result (0 for a draw that a table
    proves), else a squashed evaluation; the policy is one-hot.

    With a ``table`` of endgames, results that it proves are values of the search, and what it
    proves of the margin bounds the judgements. In a position whose result is proved only moves
    that keep it are searched, for the quickest end.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        depth: int | None = None,
        time: float | None = None,
        evaluation: str = "full",
        table: TableArrays | None = None,
    ) -> None:
        """Raises OwareError unless exactly one of ``depth`` (1-60) and ``time`` (> 0) is given."""
        self.rules = require_abapa(rules)
        self.depth = _checked_depth(depth, time)
        self.time = time
        if evaluation not in EVALUATIONS:
            raise OwareError(
                f"evaluation must be one of {', '.join(EVALUATIONS)}, not {evaluation!r}"
            )
        digits = "" if time is None else np.format_float_positional(time, trim="-")
        limit = f"depth={depth}" if time is None else f"time={digits}"
        judge = "" if evaluation == "full" else f",evaluation={evaluation}"
        endgames = "" if table is None else f",table={table.limits[0]}"
        self.name = f"alphabeta:{limit}{judge}{endgames}"
        bits = _table_bits(self.depth, time)
        self._search: Search = new_search(EVALUATIONS[evaluation], rules.max_plies, bits, table)
        self._search.state[IS_EXACT] = time is None
        self._stopped = self._depths = 0

    @property
    def mean_depth(self) -> float:
        """Mean depth of the last iteration finished, over all searches that the clock stopped.

        A search that ends by itself, because the result is certain, is not counted. NaN for none.
        """
        return self._depths / self._stopped if self._stopped else float("nan")

    def decide(self, positions: Positions) -> Decisions:
        """The best move found in each of B running positions; see the class for the promises."""
        positions = checked_positions(positions)
        count = len(positions.plies)
        moves = np.empty(count, np.int8)
        values = np.empty(count, np.float32)
        if self.time is None:
            decide_rows(self._search, *positions, self.depth, moves, values)
        else:
            for row in range(count):
                moves[row], values[row] = self._decide_timed(positions, row)
        policy = np.zeros((count, 6), np.float32)
        policy[np.arange(count), moves] = 1
        return Decisions(moves, policy, values)

    def _decide_timed(self, positions: Positions, row: int) -> tuple[int, float]:
        """Search one row until its seconds are over or nothing is left to find."""
        assert self.time is not None
        deadline = clock.perf_counter() + self.time
        search = self._search
        begin(search, positions.boards[row], positions.plies[row], positions.keys[row], MAX_DEPTH)
        is_finished = search_slice(search, _SLICE_NODES)
        while not is_finished and clock.perf_counter() < deadline:
            is_finished = search_slice(search, _SLICE_NODES)
        if not is_finished:
            self._stopped += 1
            self._depths += int(search.state[COMPLETED])
        return answer(search)


def _checked_depth(depth: int | None, time: float | None) -> int:
    """The depth limit of a search given one of two limits; MAX_DEPTH when it is timed."""
    if (depth is None) == (time is None):
        raise OwareError(
            f"alphabeta needs exactly one of depth and time, such as depth=8 or time=0.1, "
            f"not depth={depth} and time={time}"
        )
    if time is not None:
        if isinstance(time, bool) or not isinstance(time, int | float) or not 0 < time < np.inf:
            raise OwareError(f"alphabeta's time must be a number of seconds above 0, not {time!r}")
        return MAX_DEPTH
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MAX_DEPTH:
        raise OwareError(
            f"alphabeta's depth must be a whole number from 1 to {MAX_DEPTH}, not {depth!r}"
        )
    return depth


def _table_bits(depth: int, time: float | None) -> int:
    """Size of the transposition table: 2 ** bits buckets of 32 bytes.

    Half a megabyte stays in the processor's own cache and is fastest up to some million nodes; a
    larger table finds more and waits for memory.
    """
    is_short = depth <= 14 if time is None else time < 1
    return 14 if is_short else 18
