"""What moves would take: the captures at hand, and those of the best replies.

Kernels over boards as in :mod:`oware_env.rules`, for players that look a ply or two ahead and for
what a network is shown.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import BOARD, aims, capture, play, sow

TACTICS = 12  # entries that write_tactics writes
MOST_TAKEN = 15  # seeds of one capture: five houses of three, for six would be a void slam


@kernel
def _copy(board, to):
    for entry in range(BOARD):  # cheaper than a slice
        to[entry] = board[entry]


@kernel
def _best_capture(board, moves, after):
    best = 0
    for move in range(6):
        if moves >> move & 1 and aims(board, move):
            _copy(board, after)
            best = max(best, capture(after, sow(after, move)))
    return best


@kernel
def best_capture(board, moves):
    """The most seeds that one of the legal ``moves`` (six bits) captures."""
    return _best_capture(board, moves, np.empty(BOARD, np.int8))


@kernel
def write_tactics(board, out):
    """Write what the moves of a board would take into ``out[:12]``, seeds; 0 for an empty house.

    0-5 each move, 6-11 the opponent's best reply to it. The duty to feed changes nothing here:
    what captures feeds.
    """
    after, reply = np.empty(BOARD, np.int8), np.empty(BOARD, np.int8)
    for move in range(6):
        out[move] = out[6 + move] = 0
        if board[move] != 0:
            _copy(board, after)
            out[move] = play(after, move)
            out[6 + move] = _best_capture(after, 63, reply)
