"""Hand-written judgements of one board, as compiled kernels, in hundredths of a seed.

Both see the board with the eyes of the side to move and are small sums, so that a search can
afford them at every leaf. Sits below the searches; knows no agent.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import MOVER_STORE, OPPONENT_STORE, SEEDS, sow

SEED = 100  # the value of one harvested seed

MATERIAL, FULL = 0, 1
EVALUATIONS = {"material": MATERIAL, "full": FULL}

# What a house is worth to its owner by its seeds. The weights of this file were fitted to the
# results of 4,000 self-played games, then rounded: a store of one seed more is SEED, and a house of
# 3 to 5 seeds, immune to single seeds and free to wait, is the measure: 0.
HOUSE_WORTH = np.zeros(SEEDS + 1, np.int64)
HOUSE_WORTH[0] = -160  # one move fewer
HOUSE_WORTH[1:3] = -25, -5  # thin: a target
HOUSE_WORTH[6:10] = -60  # too big to keep out of the other side, too small to lap
HOUSE_WORTH[12:20] = 90, 200, 200, 250, 250, 100, 100, 100  # a kroo
HOUSE_WORTH[20:] = -250  # stuck: it laps too far to capture

REACH = -50  # a house that spills over to the other side
AIM = 175  # a house of the side to move that hits a thin house
THREAT = 90  # the same for the other side, who moves later
ENDGAME = 32  # harvested seeds from which on ...
HOME_SEED = -20  # ... a seed on the own side is rather a target than a harvest


def _targets() -> np.ndarray:
    """int64[6, 49]: the other side's house 0-5 that a house with so many seeds ends in, else -1.

    Sows of a lap or more end in no target: they change every house on the way.
    """
    targets = np.full((6, SEEDS + 1), -1, np.int64)
    for house in range(6):
        for seeds in range(6 - house, 12):
            board = np.zeros(14, np.int8)
            board[house] = seeds
            targets[house, seeds] = getattr(sow, "py_func", sow)(board, house) - 6
    return np.maximum(targets, -1)


TARGETS = _targets()


@kernel
def material(board):
    """The difference of the stores, mover minus opponent."""
    return SEED * (np.int64(board[MOVER_STORE]) - np.int64(board[OPPONENT_STORE]))


@kernel
def _is_thin(seeds):
    """Whether a house of so many seeds is captured by one seed more."""
    return seeds == 1 or seeds == 2


@kernel
def full(board):
    """The stores, the worth of every house, and who aims at whose thin houses.

    Turning the board negates all terms but the aims, which favour the side to move.
    """
    value = material(board)
    is_endgame = board[MOVER_STORE] + board[OPPONENT_STORE] >= ENDGAME
    home_seed = HOME_SEED if is_endgame else 0
    for house in range(6):
        own, other = np.int64(board[house]), np.int64(board[house + 6])
        value += HOUSE_WORTH[own] - HOUSE_WORTH[other] + home_seed * (own - other)
        value += REACH * (np.int64(own >= 6 - house) - np.int64(other >= 6 - house))
        target = TARGETS[house, own]
        if target >= 0 and _is_thin(board[target + 6]):
            value += AIM
        target = TARGETS[house, other]
        if target >= 0 and _is_thin(board[target]):
            value -= THREAT
    return value


@kernel
def evaluate(board, evaluation):
    """The value of a running board for the side to move under one of EVALUATIONS."""
    if evaluation == FULL:
        return full(board)
    return material(board)
