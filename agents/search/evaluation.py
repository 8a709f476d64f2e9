"""Judgements of one board, as compiled kernels, in hundredths of a seed.

Both see the board with the eyes of the side to move and are small sums, so that a search can
afford them at every leaf. Sits below the searches; knows no agent.
"""

import numpy as np

from agents.search.evaluation_weights import PHASE_WEIGHTS, STORES_OF_PHASE, WORTHS
from oware_env.kernel import kernel
from oware_env.rules import MOVER_STORE, OPPONENT_STORE, SEEDS, sow

SEED = 100  # the value of one harvested seed
MOST = 15_000  # no judgement is beyond it: what is worth more is a result

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
            last = getattr(sow, "py_func", sow)(board, house)
            targets[house, seeds] = last if last >= 6 else _NOWHERE
    return targets


TARGETS = _targets()


def _looks() -> np.ndarray:
    """int64[phases, 12, 64]: all that is looked up of a house: worth * 16 + target of its sow.

    The opponent's houses have negative worths and targets 0-5. 64 columns: found by a shift.
    """
    worths = WORTHS[:, :, np.minimum(np.arange(64), MOST_JUDGED)]
    looks = np.empty((PHASES, 12, 64), np.int64)
    looks[:, :6] = worths * 16 + TARGETS
    looks[:, 6:] = -worths * 16 + np.where(TARGETS == _NOWHERE, _NOWHERE, TARGETS - 6)
    return looks


_LOOKS = _looks()


@kernel(inner=True)
def material(board):
    """The difference of the stores, mover minus opponent."""
    return SEED * (np.int64(board[MOVER_STORE]) - np.int64(board[OPPONENT_STORE]))


@kernel(inner=True)
def phase_of(board):
    """The phase of a board, by the seeds harvested so far."""
    return _PHASE_OF[np.int64(board[MOVER_STORE]) + np.int64(board[OPPONENT_STORE])]


@kernel(inner=True)
def look_up_houses(board, phase):
    """The worth of all houses, and who aims at whose thin houses (1 or 2 seeds).

    (worth, aims, threats): an aim is a house of the mover whose sow ends in a thin house of the
    opponent, a threat the same the other way round. Both count the double ones, where the house
    before is thin too, in the bits from 16 on.
    """
    thin = 0
    for house in range(12):
        thin |= np.int64(1 <= board[house] <= 2) << house
    thin |= (thin & thin << 1 & 0b111110_111110) << 16
    worth = aims = threats = 0
    for house in range(6):
        look = _LOOKS[np.uint64(phase), np.uint64(house), np.uint64(board[house])]
        worth += look >> 4
        aims += thin >> (look & 15) & 0x10001
        look = _LOOKS[np.uint64(phase), np.uint64(house + 6), np.uint64(board[house + 6])]
        worth += look >> 4
        threats += thin >> (look & 15) & 0x10001
    return worth, aims, threats


@kernel(inner=True)
def full(board):
    """The stores, the worth of every house, and who aims at whose thin houses, by phase.

    Turning the board negates the stores and the houses; aims are for the side to move.
    """
    phase = phase_of(board)
    worth, aims, threats = look_up_houses(board, phase)
    lead = np.int64(board[MOVER_STORE]) - np.int64(board[OPPONENT_STORE])
    value = worth + PHASE_WEIGHTS[phase, 0] * lead + PHASE_WEIGHTS[phase, 1]
    value += PHASE_WEIGHTS[phase, 2] * (aims & 65535) + PHASE_WEIGHTS[phase, 3] * (aims >> 16)
    value += PHASE_WEIGHTS[phase, 4] * (threats & 65535) + PHASE_WEIGHTS[phase, 5] * (threats >> 16)
    return min(max(value, -MOST), MOST)


@kernel(inner=True)
def evaluate(board, evaluation):
    """The value of a running board for the side to move under one of EVALUATIONS."""
    if evaluation == FULL:
        return full(board)
    return material(board)
