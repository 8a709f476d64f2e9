"""Long exchanges: what four plies after a move leave of seeds, by material alone.

A search of fixed depth over boards as in :mod:`oware_env.rules`: the value of a line is what one
side takes in it less what the other takes, both play it best, and quiet moves are moves as well.
Alpha-beta, captures first; the last two plies are those of :mod:`oware_env.tactics`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import BOARD, aims, capture, legal_moves, sow_into, turn
from oware_env.tactics import EVEN, take_best

LONG_EXCHANGES = 6  # entries that write_long_exchanges writes
MOST_LEFT = 5  # of a long exchange: more either way is as good as this much
_NOTHING = -64  # less than any line is worth


@kernel(inner=True)
def _two(board, least, enough, boards):
    """The best of two plies for the mover: what it takes less what the reply takes.

    ``least`` and ``enough`` are alpha and beta: a value outside is a bound. A move is worth at most
    what it takes, so those that take too little are passed over. ``boards`` are to work on.
    """
    moves, best = legal_moves(board), _NOTHING
    quiet, after = moves, boards[0]
    if moves == 0:
        return 0
    for move in range(6):
        if moves >> move & 1 and aims(board, move):
            quiet ^= 1 << move
            captured = capture(after, sow_into(board, move, after))
            if captured > max(least, best):
                turn(after)
                best = max(best, captured - take_best(after, 63, boards[1]))
                if best >= enough:
                    return best
    for move in range(6):
        if quiet >> move & 1 and max(least, best) < 0:
            sow_into(board, move, after)
            turn(after)
            best = max(best, -take_best(after, 63, boards[1]))
            if best >= enough:
                return best
    return max(least, best)


def _one_more(shorter: Callable[..., Any]) -> Any:
    """The search that is a ply longer than ``shorter``, with the same arguments."""

    @kernel(inner=True)
    def longer(board, least, enough, boards):
        moves, best = legal_moves(board), _NOTHING
        after = boards[0]
        if moves == 0:
            return 0
        for quiet in (False, True):
            for move in range(6):
                if moves >> move & 1 and aims(board, move) != quiet:
                    captured = capture(after, sow_into(board, move, after))
                    turn(after)
                    asked = captured - enough, captured - max(least, best)
                    best = max(best, captured - shorter(after, asked[0], asked[1], boards[1:]))
                    if best >= enough:
                        return best
        return best

    return longer


_three = _one_more(_two)
_four = _one_more(_three)


@kernel
def write_long_exchanges(board, out):
    """Write what four plies after each move leave into ``out[:6]``; 0 for an empty house.

    EVEN + what the mover takes in them less what the opponent takes, between -MOST_LEFT and
    MOST_LEFT; what the move itself takes is not in it.
    """
    after, boards = np.empty(BOARD, np.int8), np.empty((5, BOARD), np.int8)
    for move in range(6):
        out[move] = 0
        if board[move] != 0:
            capture(after, sow_into(board, move, after))
            turn(after)
            left = -_four(after, -MOST_LEFT, MOST_LEFT, boards)
            out[move] = EVEN + max(-MOST_LEFT, min(MOST_LEFT, left))
