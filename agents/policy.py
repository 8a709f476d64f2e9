"""From logits and visit counts to moves: the kernels that searches and raw policies share."""

import numpy as np

from oware_env.kernel import kernel
from oware_env.positions import DRAW_TEMPERATURE, DRAW_TIE, pick_move, random_bits, to_unit
from oware_env.rules import legal_moves


@kernel(inner=True)
def masked_softmax(logits, legal, out):
    """Softmax over the legal moves of six logits into ``out``, illegal ones 0; False on a NaN.

    Infinite logits count as very large ones; when all legal ones are minus infinity the moves
    are equal.
    """
    largest = np.float32(-np.inf)
    for move in range(6):
        if np.isnan(logits[move]):
            return False
        if legal >> move & 1:
            largest = max(largest, min(logits[move], np.float32(1e30)))
    total = np.float32(0.0)
    for move in range(6):
        out[move] = 0.0
        if legal >> move & 1:
            logit = min(logits[move], np.float32(1e30))
            out[move] = np.exp(logit - largest) if largest > -np.inf else np.float32(1.0)
            total += out[move]
    for move in range(6):
        out[move] /= total
    return True


@kernel
def masked_policies(boards, logits, policies):
    """Masked softmax of every row; the first row with a NaN, or -1."""
    for row in range(len(boards)):
        if not masked_softmax(logits[row], legal_moves(boards[row]), policies[row]):
            return row
    return -1


@kernel
def likeliest_moves(policies, plies, keys, moves):
    """The likeliest move of every row, ties at random from the key."""
    for row in range(len(moves)):
        best = policies[row].max()
        mask = 0
        for move in range(6):
            if policies[row, move] == best:
                mask |= 1 << move
        moves[row] = pick_move(mask, random_bits(keys[row], plies[row], DRAW_TIE, 0))


@kernel
def draw_moves(visits, keys, plies, exponents):
    """A move a row, int8[B], drawn with chances proportional to visits ** exponents[row].

    ``visits`` are counts int32[B, 6], or any weights of at least 0.
    """
    moves = np.empty(len(visits), np.int8)
    weights = np.empty(6, np.float64)
    for row in range(len(visits)):
        most = visits[row].max()
        total = 0.0
        for move in range(6):
            weights[move] = (
                (visits[row, move] / most) ** exponents[row] if visits[row, move] else 0.0
            )
            total += weights[move]
        rest = total * to_unit(random_bits(keys[row], plies[row], DRAW_TEMPERATURE, 0))
        for move in range(6):
            if weights[move] > 0.0:
                moves[row] = move
                rest -= weights[move]
                if rest < 0.0:
                    break
    return moves
