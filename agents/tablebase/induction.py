"""Backward induction over plies left: the value of every board, one ply further at a time.

The full margin V(board, left) is what the mover gains from here on minus what the opponent gains,
in seeds, when both play for seeds and the game stops after ``left`` more plies::

    V(s, 0)    = how the move limit settles the board
    V(s, left) = max over legal moves of  captured - V(s', left - 1)

and a mover without a legal move gets what the rules give. Endless play is no trouble: the limit
ends it. Boards are numbered by :mod:`agents.tablebase.index`; a value is kept as the mover's share
``u = seeds + V``, 0 .. 2 * seeds, so that one ply is one line::

    u(s, left) = 2 * seeds(s) - min over moves of u(s', left - 1)

(a capture lowers the seeds of s', and that is its gain). Behind the values of a layer stand the
constants 0 .. 127: a move that does not exist leads to 127, which is never the least, and the moves
of a board without any lead to the constant that gives its settled value.
"""

import numpy as np

from agents.tablebase.index import board_index, fill_board
from oware_env.kernel import kernel
from oware_env.rules import (
    MOVE_LIMIT,
    NO_FEEDING_MOVE,
    SEEDS,
    legal_moves,
    play,
    settle,
)

CONSTANTS = 128
NO_MOVE = 127


@kernel
def _settled_share(board, seeds, reason, rules):
    """The mover's share of a finished board; ``rules`` are the four ints after max_plies.

    A mover without a seed, which cannot arise under abapa, loses the rest: the convention of the
    published tables.
    """
    _, _, rest, limit = rules
    held = 0
    for house in range(6):
        held += board[house]
    if held == 0:
        return np.int64(0)
    mover, opponent = settle(board, reason, rest, limit)
    return seeds + mover - (opponent - board[13])


@kernel
def fill_successors(part, starts, rules, successors):
    """Write where each move leads, int32[N, 6], for the boards ``part`` = (start, stop).

    ``starts`` are index.level_starts of the table.
    """
    slam, feeding, _, _ = rules
    start, stop = part
    constants = starts[-1]
    board = np.zeros(14, np.int8)
    for seeds in range(len(starts) - 1):
        board[12], board[13] = 0, SEEDS - seeds
        for index in range(max(start, starts[seeds]), min(stop, starts[seeds + 1])):
            fill_board(index, seeds, board)
            moves = legal_moves(board, feeding)
            settled = 2 * seeds - _settled_share(board, seeds, NO_FEEDING_MOVE, rules)
            for move in range(6):
                successors[index, move] = constants + (NO_MOVE if moves else settled)
                if moves >> move & 1:
                    after = board.copy()
                    play(after, move, slam)
                    successors[index, move] = board_index(after)


@kernel
def fill_settled(part, starts, rules, shares):
    """Write the shares with no ply left, int8[N]: finished by the limit, or by want of a move."""
    _, feeding, _, _ = rules
    start, stop = part
    board = np.zeros(14, np.int8)
    for seeds in range(len(starts) - 1):
        board[12], board[13] = 0, SEEDS - seeds
        for index in range(max(start, starts[seeds]), min(stop, starts[seeds + 1])):
            fill_board(index, seeds, board)
            reason = MOVE_LIMIT if legal_moves(board, feeding) else NO_FEEDING_MOVE
            shares[index] = _settled_share(board, seeds, reason, rules)


@kernel
def induce(part, starts, successors, layers, bounds):
    """Write the shares with one ply more and let the bounds take them in.

    ``layers`` are the shares before and after, int8[N + 128] each; ``bounds`` are low and high,
    int8[N] each, or None when this ply is not in their range.
    """
    start, stop = part
    before, after = layers
    for seeds in range(len(starts) - 1):
        for index in range(max(start, starts[seeds]), min(stop, starts[seeds + 1])):
            least = before[np.uint64(successors[index, 0])]
            for move in range(1, 6):
                least = min(least, before[np.uint64(successors[index, move])])
            share = 2 * seeds - least
            after[index] = share
            if bounds is not None:
                low, high = bounds
                low[index] = min(low[index], share)
                high[index] = max(high[index], share)


@kernel
def gather_open(layers, boards, found):
    """Turn layers int8[plies, N] into a row of all plies for each of M boards, int8[M, plies].

    By groups of boards that the inner cache holds: a column of the layers alone would touch a new
    cache line with every value.
    """
    group = 64
    for start in range(0, len(boards), group):
        stop = min(start + group, len(boards))
        for ply in range(len(layers)):
            for row in range(start, stop):
                found[row, ply] = layers[ply, boards[row]]
