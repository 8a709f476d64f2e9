"""Judgements of one board, as compiled kernels, in hundredths of a seed.

Both see the board with the eyes of the side to move and are small sums, so that a search can
afford them at every leaf. Sits below the searches; knows no agent.
"""

import numpy as np

from agents.search.evaluation_weights import PHASE_WEIGHTS, STORES_OF_PHASE, WORTHS
from oware_env.kernel import kernel
from oware_env.rules import MOVER_STORE, OPPONENT_STORE, SEEDS, sow

SEED = 100  # the value of one harvested seed

MATERIAL, FULL = 0, 1
EVALUATIONS = {"material": MATERIAL, "full": FULL}

PHASES = len(STORES_OF_PHASE)
MOST_JUDGED = WORTHS.shape[2] - 1  # houses with more seeds are worth what one with so many is

_PHASE_OF = np.searchsorted(STORES_OF_PHASE, np.arange(SEEDS + 1), side="right") - 1
_NOWHERE = 12  # the target of a sow that ends on its own side, or laps


def _targets() -> np.ndarray:
    """int64[6, 64]: the opponent's house 6-11 that a house with so many seeds ends in, or 12.

    Sows of a lap or more end in no target: they change every house on the way.
    """
    targets = np.full((6, 64), _NOWHERE, np.int64)
    for house in range(6):
        for seeds in range(6 - house, 12):
            board = np.zeros(14, np.int8)
            board[house] = seeds
            targets[house, seeds] = getattr(sow, "py_func", sow)(board, house)
    return targets


TARGETS = _targets()
_OTHER_TARGETS = np.where(TARGETS == _NOWHERE, _NOWHERE, TARGETS - 6)  # of the opponent's houses

# WORTHS by every number of seeds: 64 columns, so that a row is found by a shift.
_WORTHS = np.ascontiguousarray(WORTHS[:, :, np.minimum(np.arange(64), MOST_JUDGED)], np.int64)


@kernel
def material(board):
    """The difference of the stores, mover minus opponent."""
    return SEED * (np.int64(board[MOVER_STORE]) - np.int64(board[OPPONENT_STORE]))


@kernel
def phase_of(board):
    """The phase of a board, by the seeds harvested so far."""
    return _PHASE_OF[np.int64(board[MOVER_STORE]) + np.int64(board[OPPONENT_STORE])]


@kernel
def count_aims(board):
    """Who aims at whose thin houses (1 or 2 seeds): (aims, double aims, threats, double threats).

    An aim is a house of the mover whose sow ends in a thin house of the opponent, a threat the
    same the other way round. It is a double one when the house before is thin too.
    """
    thin = 0
    for house in range(12):
        thin |= np.int64(1 <= board[house] <= 2) << house
    pairs = thin & thin << 1 & 0b111110_111110
    aims = threats = double_aims = double_threats = 0
    for house in range(6):
        target = TARGETS[np.uint64(house), np.uint64(board[house])]
        aims += thin >> target & 1
        double_aims += pairs >> target & 1
        target = _OTHER_TARGETS[np.uint64(house), np.uint64(board[house + 6])]
        threats += thin >> target & 1
        double_threats += pairs >> target & 1
    return aims, double_aims, threats, double_threats


@kernel
def full(board):
    """The stores, the worth of every house, and who aims at whose thin houses, by phase.

    Turning the board negates the stores and the houses; aims are for the side to move.
    """
    phase = phase_of(board)
    lead = np.int64(board[MOVER_STORE]) - np.int64(board[OPPONENT_STORE])
    aims, double_aims, threats, double_threats = count_aims(board)
    value = PHASE_WEIGHTS[phase, 0] * lead + PHASE_WEIGHTS[phase, 1]
    value += PHASE_WEIGHTS[phase, 2] * aims + PHASE_WEIGHTS[phase, 3] * double_aims
    value += PHASE_WEIGHTS[phase, 4] * threats + PHASE_WEIGHTS[phase, 5] * double_threats
    for house in range(6):
        value += _WORTHS[phase, house, np.uint64(board[house])]
        value -= _WORTHS[phase, house, np.uint64(board[house + 6])]
    return value


@kernel
def evaluate(board, evaluation):
    """The value of a running board for the side to move under one of EVALUATIONS."""
    if evaluation == FULL:
        return full(board)
    return material(board)
