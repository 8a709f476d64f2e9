"""What moves would take: the captures at hand, and those of the best replies.

Kernels over boards as in :mod:`oware_env.rules`, for players that look a ply or two ahead and for
what a network is shown.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import BOARD, capture, play, reaches, sow

TACTICS = 12  # entries that write_tactics writes
MOST_TAKEN = 15  # seeds of one capture: five houses of three, for six would be a void slam


@kernel
def best_capture(board, moves):
    """The most seeds that one of the legal ``moves`` (six bits) captures."""
    best, after = 0, np.empty(BOARD, np.int8)
    for move in range(6):
        if moves >> move & 1 and reaches(board, move):
            after[:] = board
            best = max(best, capture(after, sow(after, move)))
    return best


@kernel
def write_tactics(board, out):
    """Write what the moves of a board would take into ``out[:12]``, seeds; 0 for an empty house.

    0-5 each move, 6-11 the opponent's best reply to it. The duty to feed changes nothing here:
    what captures feeds.
    """
    after = np.empty(BOARD, np.int8)
    for move in range(6):
        out[move] = out[6 + move] = 0
        if board[move] != 0:
            after[:] = board
            out[move] = play(after, move)
            out[6 + move] = best_capture(after, 63)
