"""The root of an alpha-beta search: where it begins, goes a ply deeper, and answers."""

import numpy as np

from agents.search.alphabeta_nodes import keep_result, open_node
from agents.search.alphabeta_state import (
    CERTAIN,
    COMPLETED,
    COUNT,
    DEPTH,
    FIRST,
    FIRST_WORD,
    GENERATION,
    GOAL,
    HIGH,
    INFINITY,
    LEVEL,
    LOW,
    MAX_PLIES,
    MAX_REST,
    MOVE,
    NODES,
    ORDER,
    PLY,
    SECOND,
    SECOND_WORD,
    VALUE,
)
from agents.search.evaluation import SEED
from agents.search.proofs import DRAWN, OPEN
from oware_env.kernel import kernel
from oware_env.positions import DRAW_TIE, random_bits
from oware_env.rules import play, status

_SQUASH = 8.0 * SEED  # a lead of so much is a value of tanh(1)
_WINDOW = 60  # half the width of the window around the last iteration's value
_WINDOW_DEPTH = 4  # from which on there is one


@kernel(inner=True)
def _order_by_captures(frames, state, board, moves):
    """Order the root's moves by what they capture; the board at hand is not kept."""
    count = 0
    for move in range(6):
        if moves >> move & 1:
            state[FIRST_WORD], state[SECOND_WORD] = frames[0, FIRST], frames[0, SECOND]
            hope = np.int64(play(board, move)) << 3 | move
            place = ORDER + count
            while place > ORDER and frames[0, place - 1] >> 3 < hope >> 3:
                frames[0, place] = frames[0, place - 1]
                place -= 1
            frames[0, place] = hope
            count += 1
    frames[0, COUNT] = count


@kernel(inner=True)
def _set_root(frames, state, board, endgames, key):
    """Order the root's moves by the game's key; those that lose a proved result are left out."""
    moves = status(board, state[PLY], state[MAX_PLIES])
    state[GOAL], moves = keep_result(state, board, moves, endgames)
    frames[0, FIRST], frames[0, SECOND] = state[FIRST_WORD], state[SECOND_WORD]
    frames[0, LOW], frames[0, HIGH] = -INFINITY, INFINITY
    _order_by_captures(frames, state, board, moves)
    for place in range(frames[0, COUNT] - 1, 0, -1):
        bits = random_bits(key, state[PLY], DRAW_TIE, place) >> np.uint64(32)
        other = ORDER + np.int64(bits * np.uint64(place + 1) >> np.uint64(32))
        here = ORDER + place
        frames[0, here], frames[0, other] = frames[0, other], frames[0, here]


@kernel
def begin(search, root, ply, key, max_depth):
    """Set the root of a new search; its moves are shuffled by the game's key to break ties."""
    frames, state, board, history, _, endgames = search
    for entry in range(len(board)):
        board[entry] = root[entry]
    history[:] = 0
    state[PLY] = ply
    state[MAX_REST] = min(max_depth, state[MAX_PLIES] - ply)
    state[DEPTH] = 1
    state[COMPLETED] = state[LEVEL] = state[NODES] = 0
    state[GENERATION] = state[GENERATION] + 1 & 65535
    state[GOAL] = OPEN
    _set_root(frames, state, board, endgames, key)
    state[MOVE] = frames[0, ORDER] & 7
    state[VALUE] = 0
    open_node(frames, 0, 1, -INFINITY, INFINITY)


@kernel(inner=True)
def deepen(frames, state):
    """Start the next iteration: one ply deeper, the best move first, in a narrow window."""
    place = ORDER
    while frames[0, place] & 7 != state[MOVE]:
        place += 1
    best = frames[0, place]
    while place > ORDER:
        frames[0, place] = frames[0, place - 1]
        place -= 1
    frames[0, ORDER] = best
    state[DEPTH] += 1
    alpha, beta = -INFINITY, INFINITY
    if state[DEPTH] >= _WINDOW_DEPTH:
        alpha, beta = state[VALUE] - _WINDOW, state[VALUE] + _WINDOW
    open_node(frames, 0, state[DEPTH], alpha, beta)


@kernel
def answer(search):
    """The move of the search so far, and its value squashed into [-1, 1]; +-1 when certain."""
    state = search.state
    value = state[VALUE]
    if state[GOAL] != OPEN:
        return state[MOVE], float(state[GOAL] - DRAWN)
    if abs(value) > CERTAIN:
        return state[MOVE], float(np.sign(value))
    return state[MOVE], np.tanh(value / _SQUASH)
