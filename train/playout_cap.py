"""Playout cap randomisation: a few moves are searched in full, the others quickly.

Results of games are rare and policies are dear. So a game is played mostly by quick searches, which
give value targets, and policies are learned from the full ones alone. Method: Wu 2019,
"Accelerating self-play learning in Go", section 3.1.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.positions import DRAW_EFFORT, random_bits, to_unit


@kernel
def draw_full(keys, plies, share):
    """Which of B moves are searched in full, bool[B]: a ``share``, drawn from (key, ply)."""
    full = np.empty(len(keys), np.bool_)
    for row in range(len(keys)):
        full[row] = to_unit(random_bits(keys[row], plies[row], DRAW_EFFORT, 0)) < share
    return full
