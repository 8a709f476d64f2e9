"""An evaluator that remembers: equal positions of a batch of games are judged once.

Most leaves of a search were leaves of the search one move earlier, or stand in another game. The
memory is direct-mapped: a new position takes the place of whatever has its slot. Law 4 of the
design wants it to live and die with one unit of work.
"""

from typing import NamedTuple

import numpy as np

from agents.base import Evaluator
from agents.search.cache_lines import cache_lines
from oware_env.encoding import PLIES_LEFT_CLIP
from oware_env.kernel import kernel
from oware_env.positions import Positions, mix
from oware_env.rules import Rules, pack, require_abapa

SLOTS = 1 << 17


MOVER, OPPONENT, LEFT = range(3)  # entries of a slot's ints: rules.pack of the board, plies left
LOGITS, VALUE = 6, 12  # first of six, and one, of its floats; the ints take the place of 0-5


class Memory(NamedTuple):
    """S slots of judged positions, a cache line each; a slot is empty while its mover is 0.

    ``LEFT`` is clipped as in the network's input.
    """

    ints: np.ndarray  # int64[S, 8]
    floats: np.ndarray  # float32[S, 16], the same memory


def new_memory(slots: int) -> Memory:
    """A memory of ``slots`` positions that knows none."""
    lines = cache_lines(slots)
    return Memory(lines.view(np.int64), lines.view(np.float32))


@kernel(inner=True)
def _identity(board, ply, max_plies):
    """(mover's side, opponent's side, plies left) of a position: all that a network sees."""
    mover, opponent = pack(board)
    return mover, opponent, max(0, min(PLIES_LEFT_CLIP, max_plies - ply))


@kernel(inner=True)
def _slot(memory, mover, opponent, left):
    digest = mix(np.uint64(mover) ^ mix(np.uint64(opponent) + (np.uint64(left) << np.uint64(57))))
    return np.int64(digest % np.uint64(len(memory.ints)))


@kernel
def recall(memory, boards, plies, max_plies, found):
    """Copy what is known to ``found`` (logits, values); the rows that are not known, int64."""
    logits, values = found
    unknown = np.empty(len(plies), np.int64)
    count = 0
    for row in range(len(plies)):
        mover, opponent, left = _identity(boards[row], plies[row], max_plies)
        slot = _slot(memory, mover, opponent, left)
        if (
            memory.ints[slot, MOVER] == mover
            and memory.ints[slot, OPPONENT] == opponent
            and memory.ints[slot, LEFT] == left
        ):
            for move in range(6):
                logits[row, move] = memory.floats[slot, LOGITS + move]
            values[row] = memory.floats[slot, VALUE]
        else:
            unknown[count] = row
            count += 1
    return unknown[:count]


@kernel
def remember(memory, positions, max_plies, found, unknown, judged):
    """Put what was judged of the ``unknown`` rows into ``found`` and the memory."""
    boards, plies, _ = positions
    logits, values = found
    judged_logits, judged_values = judged
    for number in range(len(unknown)):
        row = unknown[number]
        mover, opponent, left = _identity(boards[row], plies[row], max_plies)
        slot = _slot(memory, mover, opponent, left)
        memory.ints[slot, MOVER], memory.ints[slot, OPPONENT] = mover, opponent
        memory.ints[slot, LEFT] = left
        for move in range(6):
            logits[row, move] = judged_logits[number, move]
            memory.floats[slot, LOGITS + move] = judged_logits[number, move]
        values[row] = judged_values[number]
        memory.floats[slot, VALUE] = judged_values[number]


class CachedEvaluator:
    """Asks ``evaluator`` only for positions that are not in its memory of ``slots`` positions.

    With 0 slots there is no memory.

    ``asked`` and ``judged`` count the positions that came in and those passed on, in ``calls``.
    """

    def __init__(self, evaluator: Evaluator, rules: Rules = Rules(), slots: int = SLOTS) -> None:
        self.evaluator = evaluator
        self.rules = require_abapa(rules)
        self.asked = self.judged = self.calls = 0
        self.memory = new_memory(slots) if slots else None

    def __call__(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """(logits float32[B, 6], values float32[B]) as the evaluator gave them, now or before."""
        boards, plies, keys = positions
        self.asked += len(plies)
        if self.memory is None:
            self.judged += len(plies)
            self.calls += 1
            return self.evaluator(positions)
        found = np.empty((len(plies), 6), np.float32), np.empty(len(plies), np.float32)
        unknown = recall(self.memory, boards, plies, self.rules.max_plies, found)
        self.judged += len(unknown)
        if len(unknown):
            self.calls += 1
            asked = Positions(boards[unknown], plies[unknown], keys[unknown])
            logits, values = self.evaluator(asked)
            judged = np.ascontiguousarray(logits), np.ascontiguousarray(values)
            remember(self.memory, positions, self.rules.max_plies, found, unknown, judged)
        return found
