"""The nodes of alpha-beta: what settles one, what it is worth at the horizon, which moves go first.

The board at hand is ``board``; its sixteen bytes are the first two words of ``state`` as well, so
that a board is put away and brought back as two ints.
"""

import numpy as np

from agents.search.alphabeta_state import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    COUNT,
    COVERED,
    EVALUATION,
    FIRST,
    FIRST_WORD,
    FLOOR,
    FULL,
    GOAL,
    HIGH,
    HISTORY,
    INFINITY,
    IS_EXACT,
    KEY,
    LOW,
    MAX_PLIES,
    NEXT,
    NODES,
    ORDER,
    PLY,
    PROVED_WIN,
    REST,
    SECOND,
    SECOND_WORD,
    SOONER,
    STAGE,
    WIN,
)
from agents.search.alphabeta_table import key_of, look_up
from agents.search.evaluation import SEED, TARGETS, evaluate
from agents.search.proofs import DRAWN, LOST, OPEN, WON
from agents.tablebase.probe import probe
from oware_env.kernel import kernel
from oware_env.rules import play, settle, status

MOST_CAPTURED = 15  # seeds of five houses

_TABLE_MOVE = 1 << 40  # hope in the move that the transposition table names,
CAPTURE = 1 << 30  # and in a capture, for each seed; below it: how often a move was enough


@kernel(inner=True)
def result_value(board, reason, level):
    """The value of a finished game for its side to move, ``level`` plies below the root."""
    mover, opponent = settle(board, reason)
    if mover > opponent:
        return WIN - SOONER * level + mover - opponent
    if mover < opponent:
        return -WIN + SOONER * level + mover - opponent
    return np.int64(0)


@kernel(inner=True)
def _goal_bounds(least, greatest, goal, level):
    """Bounds when the root is proved: none while its result is kept, else that it is lost."""
    own = least if level % 2 == 0 else -greatest
    if own > 0 or (own == 0 and goal == DRAWN):
        return -INFINITY, INFINITY
    failed = -PROVED_WIN + SOONER * level
    value = failed if level % 2 == 0 else -failed
    return value, value


@kernel(inner=True)
def is_covered(state, board):
    """Whether the board at hand has so few seeds left that the table of endgames may know it."""
    return board[12] + board[13] >= state[COVERED]


@kernel(inner=True)
def bounds_of(state, board, level, endgames):
    """Bounds (low, high) of a running board's value by the table of endgames; equal: its value.

    A result that the table proves is the value. Else what is proved of the final margin bounds the
    judgements of the search. ``endgames`` is a TableArrays or None; None compiles to nothing.
    """
    if endgames is None:
        return -INFINITY, INFINITY
    else:  # Numba leaves this branch out where there is no table
        if state[GOAL] == LOST:  # all moves lose: the table sees no difference between them
            return -INFINITY, INFINITY
        least, greatest = probe(board, state[MAX_PLIES] - state[PLY] - level, endgames)
        ahead = np.int64(board[12]) - np.int64(board[13])
        least, greatest = least + ahead, greatest + ahead
        if state[GOAL] != OPEN:
            return _goal_bounds(least, greatest, state[GOAL], level)
        if least > 0:
            value = PROVED_WIN - SOONER * level + least
            return value, value
        if greatest < 0:
            value = -PROVED_WIN + SOONER * level + greatest
            return value, value
        return SEED * least, SEED * greatest


@kernel(inner=True)
def _leaf_value(state, board, level):
    """The value of the board at hand at the horizon."""
    outcome = status(board, state[PLY] + level, state[MAX_PLIES])
    if outcome >= 64:
        return result_value(board, outcome >> 6, level)
    return np.int64(evaluate(board, state[EVALUATION]))


@kernel(inner=True)
def _capture_size(board, move):
    """Seeds that a sow of less than a lap captures, slams not thought of; 0 for longer ones."""
    target = TARGETS[move, board[move]]
    size = np.int64(0)
    if target < 12:
        while target >= 6 and (board[target] == 1 or board[target] == 2):
            size += board[target] + 1
            target -= 1
    return size


@kernel(inner=True)
def _horizon_value(state, board, moves, level, beta):
    """The value of the board at hand one ply above the horizon: its best move, captures first.

    It is enough to reach ``beta``.
    """
    first, second = state[FIRST_WORD], state[SECOND_WORD]
    captures = 0
    for move in range(6):
        captures |= np.int64(_capture_size(board, move) > 0) << move
    captures &= moves
    best = np.int64(-INFINITY)
    for group in (captures, moves & ~captures):
        for move in range(6):
            if group >> move & 1:
                state[NODES] += 1
                state[FIRST_WORD], state[SECOND_WORD] = first, second
                play(board, move)
                best = max(best, -_leaf_value(state, board, level + 1))
                if best >= beta:
                    return best
    return best


@kernel(inner=True)
def order_moves(frames, state, board, history, level, moves, first):
    """Order the ``moves`` of the board at hand: ``first``, the largest captures, proven ones."""
    count = 0
    side = (level & 1) * 6 * HISTORY
    for move in range(6):
        if moves >> move & 1:
            hope = _capture_size(board, move) * CAPTURE
            hope += history[side + move * HISTORY + board[move]]
            if move == first:
                hope = _TABLE_MOVE
            hope = hope << 3 | move
            place = ORDER + count
            while place > ORDER and frames[level, place - 1] < hope:
                frames[level, place] = frames[level, place - 1]
                place -= 1
            frames[level, place] = hope
            count += 1
    frames[level, COUNT] = count


@kernel(inner=True)
def open_node(frames, level, rest, alpha, beta):
    """Start on the moves of the node at ``level`` within a window."""
    frames[level, REST] = rest
    frames[level, NEXT] = 0
    frames[level, STAGE] = FULL
    frames[level, ALPHA] = frames[level, FLOOR] = alpha
    frames[level, BETA] = beta
    frames[level, BEST] = -INFINITY
    frames[level, BEST_MOVE] = 0


@kernel(inner=True)
def enter(frames, state, board, history, table, level, rest, alpha, beta, low, high):
    """Look at the board at hand as a node at ``level``: (whether it is settled, its value).

    An unsettled node is opened. ``low`` and ``high`` are what :func:`bounds_of` says of it.
    """
    state[NODES] += 1
    left = state[MAX_PLIES] - state[PLY] - level
    moves = status(board, 0, left)
    if moves >= 64:
        return True, result_value(board, moves >> 6, level)
    if low >= beta or low == high:
        return True, np.int64(low)
    if high <= alpha:
        return True, np.int64(high)
    if rest == 0:
        value = np.int64(evaluate(board, state[EVALUATION]))
        return True, min(max(value, low), high)
    alpha, beta = max(alpha, low), min(beta, high)
    # A node from which a capture leads to where the table is asked needs its leaves looked up.
    if rest == 1 and board[12] + board[13] + MOST_CAPTURED < state[COVERED]:
        return True, _horizon_value(state, board, moves, level, beta)
    first, second = state[FIRST_WORD], state[SECOND_WORD]
    key = key_of(first, second, left, state[GOAL])
    decides, value, move = look_up(table, key, level, rest, state[IS_EXACT], alpha, beta)
    if decides:
        return True, value
    frames[level, KEY], frames[level, FIRST], frames[level, SECOND] = key, first, second
    frames[level, LOW], frames[level, HIGH] = low, high
    order_moves(frames, state, board, history, level, moves, move)
    open_node(frames, level, rest, alpha, beta)
    return False, np.int64(0)


@kernel(inner=True)
def keep_result(state, board, moves, endgames):
    """What of the root's ``moves`` keeps the result that a table proves: (goal, moves).

    Where nothing is proved, or of no move that it keeps the result: (OPEN, all).
    """
    if endgames is None:
        return OPEN, moves
    else:
        low, high = -INFINITY, INFINITY
        if is_covered(state, board):
            low, high = bounds_of(state, board, 0, endgames)
        if low != high:
            return OPEN, moves
        goal = DRAWN + np.sign(low)
        first, second = state[FIRST_WORD], state[SECOND_WORD]
        kept = 0
        for move in range(6):
            if moves >> move & 1:
                state[FIRST_WORD], state[SECOND_WORD] = first, second
                play(board, move)
                kept |= np.int64(_keeps(state, board, goal, endgames)) << move
        state[FIRST_WORD], state[SECOND_WORD] = first, second
        return (goal, kept) if kept else (OPEN, moves)


@kernel(inner=True)
def _keeps(state, board, goal, endgames):
    """Whether the board after a move of the root is proved to be worth ``goal`` to the root."""
    outcome = status(board, state[PLY] + 1, state[MAX_PLIES])
    if outcome >= 64:
        return DRAWN - np.sign(result_value(board, outcome >> 6, 1)) >= goal
    _, high = bounds_of(state, board, 1, endgames)
    return high < 0 if goal == WON else high <= 0 or goal != DRAWN
