"""The kernels of alpha-beta: principal variation search on a stack, which can stop and go on.

All state of a search lies in the arrays of a ``Search``, so a search may be cut into slices of
nodes; a fixed depth runs the same code in one slice. The first move of a node is searched with the
whole window, the others are only asked whether they are better (Marsland and Campbell 1982,
"Parallel search of strongly ordered game trees"); iterations start from a narrow window around the
last value.
"""

import numpy as np

from agents.search.alphabeta_nodes import CAPTURE, bounds_of, enter, is_covered, open_node
from agents.search.alphabeta_root import answer, begin, deepen
from agents.search.alphabeta_state import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    CERTAIN,
    COMPLETED,
    COUNT,
    DEPTH,
    FIRST,
    FIRST_WORD,
    FLOOR,
    FULL,
    GENERATION,
    HIGH,
    HISTORY,
    INFINITY,
    IS_EXACT,
    KEY,
    LEVEL,
    LOW,
    MAX_PLIES,
    MAX_REST,
    MOVE,
    NEXT,
    NODES,
    ORDER,
    PLY,
    REDUCED,
    REST,
    SCOUT,
    SECOND,
    SECOND_WORD,
    STAGE,
    VALUE,
)
from agents.search.alphabeta_table import AT_LEAST, AT_MOST, EXACT, store
from oware_env.kernel import kernel
from oware_env.rules import play

_UNLIMITED = 1 << 62


@kernel(inner=True)
def _close(frames, state, history, table, level):
    """Finish the node at ``level``: its value, remembered."""
    best = min(max(frames[level, BEST], frames[level, LOW]), frames[level, HIGH])
    if level > 0:
        bound, rest = EXACT, frames[level, REST]
        if best >= frames[level, BETA]:
            bound = AT_LEAST
            move = frames[level, BEST_MOVE]
            seeds = frames[level, FIRST] >> 8 * move & 63
            history[(level & 1) * 6 * HISTORY + move * HISTORY + seeds] += rest * rest
        elif best <= frames[level, FLOOR]:
            bound = AT_MOST
        key, move = frames[level, KEY], frames[level, BEST_MOVE]
        store(table, key, level, rest, state[GENERATION], best, bound, move)
    return best


@kernel(inner=True)
def _reduction(frames, state, level):
    """By how many plies less the move under way is tried first: the later, the more.

    Late move reductions: moves are ordered well enough that a late one is seldom the best. One
    that turns out better than the best so far is searched again in full. There are none in an
    exact search, and none in the one that reaches the move limit, where nothing is left to guess.
    """
    rest, number = frames[level, REST], frames[level, NEXT]
    if (
        rest < 3
        or number == 0
        or state[IS_EXACT]
        or frames[level, ORDER + number] >= CAPTURE << 3
        or state[PLY] + level + rest >= state[MAX_PLIES]
    ):
        return 0
    return 1 + np.int64(rest >= 6) + np.int64(rest >= 5 and number >= 3)


@kernel(inner=True)
def _first_stage(frames, state, level):
    """How the move under way of the node at ``level`` is tried first."""
    if frames[level, NEXT] == 0 or frames[level, REST] == 1:
        return FULL
    return REDUCED if _reduction(frames, state, level) else SCOUT


@kernel(inner=True)
def _play_move(frames, state, board, level):
    """Play the move under way of the node at ``level``: (rest, alpha, beta) of what comes of it."""
    state[FIRST_WORD], state[SECOND_WORD] = frames[level, FIRST], frames[level, SECOND]
    play(board, frames[level, ORDER + frames[level, NEXT]] & 7)
    stage = frames[level, STAGE]
    rest = frames[level, REST] - 1
    alpha, beta = frames[level, ALPHA], frames[level, BETA]
    if stage != FULL:
        beta = alpha + 1
    if stage == REDUCED:
        rest -= _reduction(frames, state, level)
    return rest, -beta, -alpha


@kernel(inner=True)
def _take(frames, state, level, value):
    """Let the node at ``level`` know what its move under way is worth, or have it tried again."""
    alpha, stage = frames[level, ALPHA], frames[level, STAGE]
    if stage == REDUCED and value > alpha:
        frames[level, STAGE] = SCOUT
        return
    if stage != FULL and alpha < value < frames[level, BETA]:
        frames[level, STAGE] = FULL
        return
    if value > frames[level, BEST]:
        move = frames[level, ORDER + frames[level, NEXT]] & 7
        frames[level, BEST] = value
        frames[level, BEST_MOVE] = move
        if value > alpha:
            frames[level, ALPHA] = value
            if level == 0:
                state[MOVE], state[VALUE] = move, value
    frames[level, NEXT] += 1
    frames[level, STAGE] = _first_stage(frames, state, level)


@kernel(inner=True)
def _search_iteration(frames, state, board, history, table, endgames, node_limit):
    """Go on with the iteration under way; whether it was finished within the nodes."""
    level = state[LEVEL]
    while True:
        is_done = (
            frames[level, NEXT] == frames[level, COUNT]
            or frames[level, BEST] >= frames[level, BETA]
        )
        if is_done:
            value = -_close(frames, state, history, table, level)
            if level == 0:
                return True
            level -= 1
        else:
            if state[NODES] >= node_limit:
                state[LEVEL] = level
                return False
            rest, alpha, beta = _play_move(frames, state, board, level)
            low, high = -INFINITY, INFINITY
            if is_covered(state, board):
                low, high = bounds_of(state, board, level + 1, endgames)
            settled, found = enter(
                frames, state, board, history, table, level + 1, rest, alpha, beta, low, high
            )
            if not settled:
                level += 1
                continue
            value = -found
        _take(frames, state, level, value)


@kernel(inner=True)
def search_slice(search, nodes):
    """Search about ``nodes`` nodes more; whether nothing is left to find.

    That is so at the greatest depth, and as soon as the result is certain: iterations deepen one
    ply at a time, so a certain result is about the quickest there is.
    """
    frames, state, board, history = search.frames, search.state, search.board, search.history
    table, endgames = search.table, search.endgames
    node_limit = state[NODES] + nodes
    while _search_iteration(frames, state, board, history, table, endgames, node_limit):
        state[LEVEL] = 0
        value, alpha, beta = frames[0, BEST], frames[0, FLOOR], frames[0, BETA]
        if value <= alpha:
            open_node(frames, 0, state[DEPTH], -INFINITY, beta)
        elif value >= beta:
            open_node(frames, 0, state[DEPTH], alpha, INFINITY)
        else:
            state[COMPLETED] = state[DEPTH]
            if state[DEPTH] >= state[MAX_REST] or abs(value) > CERTAIN:
                return True
            deepen(frames, state)
    return False


@kernel
def decide_rows(search, boards, plies, keys, depth, moves, values):
    """Search every row to ``depth`` and write its move and value."""
    for row in range(len(plies)):
        begin(search, boards[row], plies[row], keys[row], depth)
        search_slice(search, _UNLIMITED)
        moves[row], values[row] = answer(search)
