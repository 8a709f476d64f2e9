"""The evaluations: what they see, from both sides, and that a table look-up misses nothing."""

import numpy as np
import pytest

from agents.search.evaluation import (
    MOST_JUDGED,
    PHASE_WEIGHTS,
    SEED,
    WORTHS,
    full,
    look_up_houses,
    material,
    phase_of,
)
from oware_env.rules import legal_moves, sow, turn


def counts_of_aims(board):
    """(aims, double aims) of the mover by sowing every house of less than a lap."""
    single = double = 0
    for house in range(6):
        if 0 < board[house] < 12:
            after = board.copy()
            last = sow(after, house)
            if last >= 6 and board[last] in (1, 2):
                single += 1
                double += last > 6 and board[last - 1] in (1, 2)
    return single, double


def turned(board):
    other = board.copy()
    turn(other)
    return other


def test_full_is_the_sum_it_says(positions):
    for board in positions(400, seed=6).boards:
        phase = phase_of(board)
        own, other = board[:6], board[6:12]
        expected = sum(
            int(WORTHS[phase, house, min(MOST_JUDGED, own[house])])
            - int(WORTHS[phase, house, min(MOST_JUDGED, other[house])])
            for house in range(6)
        )
        aims, threats = counts_of_aims(board), counts_of_aims(turned(board))
        seen = [int(board[12]) - int(board[13]), 1, *aims, *threats]
        expected += int(np.dot(PHASE_WEIGHTS[phase], seen))
        assert full(board) == expected, board


def test_aims_and_threats_are_counted_apart():
    board = np.array([0, 0, 0, 0, 5, 1, 1, 2, 0, 2, 0, 3, 20, 14], np.int8)
    _, aims, threats = look_up_houses(board, 0)
    # E ends in d, whose neighbour c is empty; F in a. The other side's 3 seeds end in c, empty.
    assert (aims & 65535, aims >> 16, threats) == (2, 0, 0)
    board[8] = 1  # now c is thin as well: E aims at a double
    _, aims, _ = look_up_houses(board, 0)
    assert (aims & 65535, aims >> 16) == (2, 1)


def test_what_is_not_about_the_side_to_move_is_fair_to_both(positions):
    for board in positions(200, seed=8).boards:
        assert material(turned(board)) == -material(board)
        if legal_moves(board) and legal_moves(turned(board)):
            aims, threats = counts_of_aims(board), counts_of_aims(turned(board))
            weights = PHASE_WEIGHTS[phase_of(board)]
            both = 2 * weights[1]
            both += np.dot(weights[2:4] + weights[4:6], np.add(aims, threats))
            assert full(board) + full(turned(board)) == both


def test_a_phase_begins_with_its_harvested_seeds():
    board = np.zeros(14, np.int8)
    phases = []
    for stores in range(49):
        board[12] = stores
        phases.append(phase_of(board))
    assert phases == sorted(phases) and phases[0] == 0 and phases[-1] == len(PHASE_WEIGHTS) - 1


@pytest.mark.parametrize("phase", range(len(PHASE_WEIGHTS)))
def test_the_fit_is_sane(phase):
    store, _, aim, _, threat, _ = PHASE_WEIGHTS[phase]
    assert store > 0 and aim > 0 > threat
    assert SEED / 3 < store < 3 * SEED
