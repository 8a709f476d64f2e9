"""The kernels of alpha-beta: a negamax on an explicit stack that can stop and go on.

All state of a search lies in the arrays of a :class:`Search`, so a search may be cut into slices
of nodes; a fixed depth runs the same code in one slice. Values are hundredths of a seed as in
``evaluation``; a finished game counts its result first, then how soon it came, then its seeds.
"""

from typing import NamedTuple

import numpy as np

from agents.search.evaluation import SEED, evaluate
from oware_env.kernel import kernel
from oware_env.positions import DRAW_TIE, mix, random_bits
from oware_env.rules import BOARD, pack, play, settle, status

MAX_DEPTH = 60

_WIN = 30_000  # a win at the root; less _SOONER for each ply until it
_SOONER = 64  # above the largest margin of seeds, so that a quicker win is always preferred
_PROVEN = _WIN - _SOONER * (MAX_DEPTH + 2)  # values beyond it are results, not judgements
_INFINITY = 32_000
_SQUASH = 8.0 * SEED  # a lead of so much is a value of tanh(1)

_UNLIMITED = 1 << 62

_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2

# Entries of Search.state; _MOVE and _VALUE are the answer so far.
_DEPTH, _MAX_DEPTH, _PLY, _MAX_PLIES, _EVALUATION, _LEVEL, _NODES, _MOVE, _VALUE = range(9)
# Columns of Search.frames; _FLOOR is alpha on entry, the last two are the packed board.
_COUNT, _NEXT, _ALPHA, _BETA, _FLOOR, _BEST, _BEST_MOVE, _MOVER, _OPPONENT = range(9)


class Search(NamedTuple):
    """A search between two slices: its stack by level (0 = root), its table, its counters."""

    boards: np.ndarray  # int8[levels, 6, 14]: after each move of the open node a level above
    order: np.ndarray  # int64[levels, 6], the moves of each open node, best hopes first
    frames: np.ndarray  # int64[levels, 9], see _COUNT .. _OPPONENT
    table: np.ndarray  # int64[size, 3]: the packed board and what is known of it
    state: np.ndarray  # int64[9], see _DEPTH .. _VALUE


def new_search(evaluation: int, max_plies: int, table_bits: int) -> Search:
    """Fresh arrays for one evaluation and move limit; the table has ``2**table_bits`` entries."""
    levels = MAX_DEPTH + 1
    search = Search(
        np.zeros((levels, 6, 14), np.int8),
        np.zeros((levels, 6), np.int64),
        np.zeros((levels, 9), np.int64),
        np.zeros((1 << table_bits, 3), np.int64),
        np.zeros(9, np.int64),
    )
    search.state[_MAX_PLIES] = max_plies
    search.state[_EVALUATION] = evaluation
    return search


@kernel
def result_value(board, reason, level):
    """The value of a finished game for its side to move, ``level`` plies below the root."""
    mover, opponent = settle(board, reason)
    if mover > opponent:
        return _WIN - _SOONER * level + mover - opponent
    if mover < opponent:
        return -_WIN + _SOONER * level + mover - opponent
    return 0


@kernel
def _shift(value, plies):
    """A value as seen ``plies`` plies further down: a result is so much nearer from there."""
    if value > _PROVEN:
        return value + _SOONER * plies
    if value < -_PROVEN:
        return value - _SOONER * plies
    return value


@kernel
def _slot(table, mover, opponent):
    """The row of the table that belongs to a packed board."""
    bits = mix(np.uint64(mover) ^ mix(np.uint64(opponent)))
    return np.int64(bits & np.uint64(len(table) - 1))


@kernel
def _store(search, level):
    """Write what the node at ``level`` has proved into the table, over whatever was there."""
    state, frame = search.state, search.frames[level]
    bound = _EXACT
    if frame[_BEST] >= frame[_BETA]:
        bound = _AT_LEAST
    elif frame[_BEST] <= frame[_FLOOR]:
        bound = _AT_MOST
    near_limit = state[_PLY] + state[_DEPTH] >= state[_MAX_PLIES]
    entry = search.table[_slot(search.table, frame[_MOVER], frame[_OPPONENT])]
    entry[0] = frame[_MOVER]
    entry[1] = frame[_OPPONENT]
    entry[2] = (
        _shift(frame[_BEST], level) << 16
        | (state[_DEPTH] - level) << 8
        | np.int64(near_limit) << 5
        | bound << 3
        | frame[_BEST_MOVE]
    )


@kernel
def _probe(search, level):
    """What the table says of the node at ``level``: (whether it decides it, value, best move).

    Only an entry of exactly this depth decides, and one of this distance to the move limit when
    the limit is within reach; so the value is the one a search without a table finds. From any
    other entry only the move (-1 if none) is of use.
    """
    state, frame = search.state, search.frames[level]
    entry = search.table[_slot(search.table, frame[_MOVER], frame[_OPPONENT])]
    if entry[0] != frame[_MOVER] or entry[1] != frame[_OPPONENT]:
        return False, 0, -1
    known = entry[2]
    move = known & 7
    near_limit = state[_PLY] + state[_DEPTH] >= state[_MAX_PLIES]
    if known >> 8 & 255 != state[_DEPTH] - level or (known >> 5 & 1) != near_limit:
        return False, 0, move
    value = _shift(known >> 16, -level)
    bound = known >> 3 & 3
    decides = (
        bound == _EXACT
        or (bound == _AT_LEAST and value >= frame[_BETA])
        or (bound == _AT_MOST and value <= frame[_ALPHA])
    )
    return decides, value, move


@kernel
def _expand(search, level, board, moves, first):
    """Play every legal move of a node and order them: ``first``, then the largest captures."""
    frame, order = search.frames[level], search.order[level]
    hopes = np.empty(6, np.int64)
    count = 0
    for move in range(6):
        if moves >> move & 1:
            after = search.boards[level + 1, move]
            for entry in range(BOARD):  # twice as fast as copying the slice
                after[entry] = board[entry]
            hope = play(after, move)
            if move == first:
                hope = 48
            place = count
            while place > 0 and hopes[place - 1] < hope:
                hopes[place] = hopes[place - 1]
                order[place] = order[place - 1]
                place -= 1
            hopes[place] = hope
            order[place] = move
            count += 1
    frame[_COUNT] = count


@kernel
def _open(search, level, alpha, beta):
    """Start on the moves of the node at ``level`` within a window."""
    frame = search.frames[level]
    frame[_NEXT] = 0
    frame[_ALPHA] = alpha
    frame[_BETA] = beta
    frame[_FLOOR] = alpha
    frame[_BEST] = -_INFINITY
    frame[_BEST_MOVE] = 0


@kernel
def _enter(search, level, move):
    """Look at the node that ``move`` leads to at ``level``: (whether it is settled, its value).

    An unsettled node is opened: its moves are played and ordered.
    """
    state, frame = search.state, search.frames[level]
    board = search.boards[level, move]
    state[_NODES] += 1
    outcome = status(board, state[_PLY] + level, state[_MAX_PLIES])
    if outcome >> 6:
        return True, result_value(board, outcome >> 6, level)
    if level == state[_DEPTH]:
        return True, np.int64(evaluate(board, state[_EVALUATION]))
    above = search.frames[level - 1]
    _open(search, level, -above[_BETA], -above[_ALPHA])
    frame[_MOVER], frame[_OPPONENT] = pack(board)
    first = -1
    if level + 1 < state[_DEPTH]:  # above leaves a search is as cheap as a look into the table
        decides, value, first = _probe(search, level)
        if decides:
            return True, value
    _expand(search, level, board, outcome, first)
    return False, 0


@kernel
def _fold(search, level, move, value):
    """Let the node at ``level`` know that ``move`` is worth ``value`` to it."""
    frame = search.frames[level]
    if value > frame[_BEST]:
        frame[_BEST] = value
        frame[_BEST_MOVE] = move
        frame[_ALPHA] = max(frame[_ALPHA], value)
        if level == 0:
            search.state[_MOVE] = move
            search.state[_VALUE] = value


@kernel
def _search_iteration(search, node_limit):
    """Go on with the iteration under way; whether it was finished within the nodes."""
    state, frames, order = search.state, search.frames, search.order
    level = state[_LEVEL]
    while True:
        frame = frames[level]
        if frame[_NEXT] == frame[_COUNT] or frame[_BEST] >= frame[_BETA]:
            if level == 0:
                return True
            if level + 1 < state[_DEPTH]:
                _store(search, level)
            level -= 1
            _fold(search, level, order[level, frames[level, _NEXT] - 1], -frame[_BEST])
            continue
        if state[_NODES] >= node_limit:
            state[_LEVEL] = level
            return False
        move = order[level, frame[_NEXT]]
        frame[_NEXT] += 1
        settled, value = _enter(search, level + 1, move)
        if settled:
            _fold(search, level, move, -value)
        else:
            level += 1


@kernel
def begin(search, board, ply, key, max_depth):
    """Set the root of a new search; its moves are shuffled by the game's key to break ties."""
    state = search.state
    state[_PLY] = ply
    state[_MAX_DEPTH] = min(max_depth, state[_MAX_PLIES] - ply)
    state[_DEPTH] = 1
    state[_LEVEL] = state[_NODES] = 0
    order = search.order[0]
    _expand(search, 0, board, status(board, ply, state[_MAX_PLIES]), -1)
    for place in range(search.frames[0, _COUNT] - 1, 0, -1):
        bits = random_bits(key, ply, DRAW_TIE, place) >> np.uint64(32)
        other = np.int64(bits * np.uint64(place + 1) >> np.uint64(32))
        order[place], order[other] = order[other], order[place]
    state[_MOVE] = order[0]
    _open(search, 0, -_INFINITY, _INFINITY)


@kernel
def search_slice(search, nodes):
    """Search about ``nodes`` nodes more; whether nothing is left to find.

    That is so at the greatest depth, and as soon as the result is proved: iterations deepen one
    ply at a time, so a proved result is the quickest there is.
    """
    state, order = search.state, search.order[0]
    node_limit = state[_NODES] + nodes
    while _search_iteration(search, node_limit):
        if state[_DEPTH] >= state[_MAX_DEPTH] or abs(state[_VALUE]) > _PROVEN:
            return True
        place = 0
        while order[place] != state[_MOVE]:
            place += 1
        while place > 0:
            order[place] = order[place - 1]
            place -= 1
        order[0] = state[_MOVE]
        state[_DEPTH] += 1
        state[_LEVEL] = 0
        _open(search, 0, -_INFINITY, _INFINITY)
    return False


@kernel
def answer(search):
    """The move of the search so far, and its value squashed into [-1, 1]; +-1 when proved."""
    value = search.state[_VALUE]
    if abs(value) > _PROVEN:
        return search.state[_MOVE], float(np.sign(value))
    return search.state[_MOVE], np.tanh(value / _SQUASH)


@kernel
def decide_rows(search, boards, plies, keys, depth, moves, values):
    """Search every row to ``depth`` and write its move and value."""
    for row in range(len(plies)):
        begin(search, boards[row], plies[row], keys[row], depth)
        search_slice(search, _UNLIMITED)
        moves[row], values[row] = answer(search)
