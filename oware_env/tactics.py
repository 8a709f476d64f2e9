"""What moves would take: the captures at hand, those of the replies, and of the answers to these.

Kernels over boards as in :mod:`oware_env.rules`, for players that look a few plies ahead and for
what a network is shown.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import BOARD, aims, capture, legal_moves, sow_into, turn

TACTICS = 18  # entries that write_tactics writes
MOST_TAKEN = 15  # seeds of one capture: five houses of three, for six would be a void slam
EVEN = MOST_TAKEN + 1  # of an exchange: what the reply takes, the answer takes back


@kernel(inner=True)
def _best_capture(board, moves, after):
    best = 0
    for move in range(6):
        if moves >> move & 1 and aims(board, move):
            best = max(best, capture(after, sow_into(board, move, after)))
    return best


@kernel
def best_capture(board, moves):
    """The most seeds that one of the legal ``moves`` (six bits) captures."""
    return _best_capture(board, moves, np.empty(BOARD, np.int8))


@kernel(inner=True)
def _replies(board, reply, answer):
    """(most seeds that a reply takes, least that is left of an exchange), seen from before it.

    What is left of an exchange is the most that an answer takes less what the reply took: at least
    0 after a quiet reply, so those are tried last and only while more than that is left.
    ``reply`` and ``answer`` are boards to work on.
    """
    moves = legal_moves(board)
    taken, left = 0, 0 if moves == 0 else MOST_TAKEN
    quiet = moves
    for move in range(6):
        if moves >> move & 1 and aims(board, move):
            quiet ^= 1 << move
            captured = capture(reply, sow_into(board, move, reply))
            turn(reply)
            taken = max(taken, captured)
            left = min(left, _best_capture(reply, 63, answer) - captured)
    for move in range(6):
        if left > 0 and quiet >> move & 1:
            sow_into(board, move, reply)
            turn(reply)
            left = min(left, _best_capture(reply, 63, answer))
    return taken, left


@kernel
def write_tactics(board, out):
    """Write what the moves of a board would take into ``out[:18]``; 0 for an empty house.

    0-5 the seeds each move takes, 6-11 the most that a reply to it takes, 12-17 the worst
    exchange after it: EVEN + the most that an answer takes - what the reply takes. The duty to
    feed needs a look at replies only: what captures feeds.
    """
    after, reply, answer = (
        np.empty(BOARD, np.int8),
        np.empty(BOARD, np.int8),
        np.empty(BOARD, np.int8),
    )
    for move in range(6):
        out[move] = out[6 + move] = out[12 + move] = 0
        if board[move] != 0:
            out[move] = capture(after, sow_into(board, move, after))
            turn(after)
            taken, left = _replies(after, reply, answer)
            out[6 + move], out[12 + move] = taken, EVEN + left
