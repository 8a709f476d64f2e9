"""What each scripted player likes: kernels that score one move, in hundredths of a seed.

All but random count the capture; each adds one idea of docs/rules.md, "How strong players think".
A kernel gets the board after the move as the opponent sees it (the player's houses are 6-11), the
seeds captured, the opponent's status there, and where the game stands.
"""

import numpy as np

from oware_env.kernel import kernel
from oware_env.rules import is_opponent_empty, legal_moves, play, settle, status, turn
from oware_env.tactics import best_capture

SEED = 100  # one captured seed
RESULT = 100_000  # a finished game, above every other consideration

THIN_HOUSE = 150  # fortress: a house left with 1 or 2 seeds
BIG_HOUSE = 25  # hoarder: each seed in the biggest house ...
KROO = 16  # ... up to a good lap

# The strategist's weights, fitted to the results of self-played games and rounded.
EMPTY = -160  # a house without a seed: one move fewer
CLUMSY = -55  # 6-9 seeds: cannot be held back, cannot lap
KROO_WORTH = 110  # 12-16 seeds: reaches far with precision
STUCK = -200  # 17 and more: laps too far to capture
REACH = -50  # a house that spills over to the other side
PROSPECT = 85  # each seed of the best capture at hand, on one's own turn
DANGER = 48  # the same for the opponent, who moves later

RANDOM, GREEDY, CAREFUL, FORTRESS, HOARDER, FEEDER, STRATEGIST = range(7)


@kernel
def final_margin(board, reason):
    """A finished game for its side to move: RESULT won, -RESULT lost, and the settled margin."""
    mover, opponent = settle(board, reason)
    return RESULT * np.sign(mover - opponent) + SEED * (mover - opponent)


@kernel
def careful(after, captured, outcome):
    """Capture minus the opponent's best reply."""
    return SEED * (captured - best_capture(after, outcome & 63))


@kernel
def fortress(after, captured):
    """Capture, and leave few houses that one seed more would lose."""
    thin = 0
    for house in range(6, 12):
        thin += after[house] == 1 or after[house] == 2
    return SEED * captured - THIN_HOUSE * thin


@kernel
def hoarder(after, captured):
    """Capture, but raise a big house and spend it only for a chain."""
    biggest = 0
    for house in range(6, 12):
        biggest = max(biggest, after[house])
    return SEED * captured + BIG_HOUSE * min(biggest, KROO)


@kernel
def duty(board, ply, max_plies):
    """What the cheapest feeding move costs: the seeds given, and the reply, less its capture."""
    moves = status(board, ply, max_plies) & 63
    best = -RESULT
    for move in range(6):
        if moves >> move & 1:
            after = board.copy()
            captured = play(after, move)
            given = after[:6].sum()
            reply = best_capture(after, status(after, ply + 1, max_plies) & 63)
            best = max(best, SEED * (captured - given - reply))
    return best


@kernel
def feeder(after, captured, outcome, ply, max_plies):
    """Capture, and avoid the turn on which the duty to feed gives seeds or the game away."""
    if outcome >> 6:
        return -final_margin(after, outcome >> 6)
    worst = RESULT
    for reply in range(6):
        if outcome >> reply & 1:
            board = after.copy()
            play(board, reply)
            following = status(board, ply + 2, max_plies)
            if following >> 6:
                worst = min(worst, final_margin(board, following >> 6))
            elif is_opponent_empty(board):
                worst = min(worst, duty(board, ply + 2, max_plies))
            else:
                worst = min(worst, 0)
    return SEED * captured + worst


@kernel
def houses_worth(board):
    """The strategist's view of the mover's six houses: room to move, big and clumsy houses."""
    worth = 0
    for house in range(6):
        seeds = board[house]
        if seeds == 0:
            worth += EMPTY
        elif 6 <= seeds < 10:
            worth += CLUMSY
        elif 12 <= seeds < 17:
            worth += KROO_WORTH
        elif seeds >= 17:
            worth += STUCK
        if seeds >= 6 - house:
            worth += REACH
    return worth


@kernel
def prospects(board, moves):
    """The strategist's view of a board for the side to move, who has ``moves``."""
    turned = board.copy()
    turn(turned)
    worth = houses_worth(board) - houses_worth(turned)
    worth += PROSPECT * best_capture(board, moves)
    return worth - DANGER * best_capture(turned, legal_moves(turned))


@kernel
def strategist(after, captured, outcome, ply, max_plies):
    """All ideas, weighed after the opponent's best answer to them; results before all else."""
    if outcome >> 6:
        return -final_margin(after, outcome >> 6)
    worst = 2 * RESULT
    for reply in range(6):
        if outcome >> reply & 1:
            board = after.copy()
            lost = play(board, reply)
            following = status(board, ply + 2, max_plies)
            if following >> 6:
                worth = final_margin(board, following >> 6)
            else:
                worth = SEED * (captured - lost) + prospects(board, following)
            worst = min(worst, worth)
    return worst


@kernel
def score(script, board, move, ply, max_plies):
    """How much a script likes a legal move: only the order among one board's moves matters."""
    if script == RANDOM:
        return 0
    after = board.copy()
    captured = play(after, move)
    outcome = status(after, ply + 1, max_plies)
    if script == CAREFUL:
        return careful(after, captured, outcome)
    if script == FORTRESS:
        return fortress(after, captured)
    if script == HOARDER:
        return hoarder(after, captured)
    if script == FEEDER:
        return feeder(after, captured, outcome, ply, max_plies)
    if script == STRATEGIST:
        return strategist(after, captured, outcome, ply, max_plies)
    return SEED * captured
