"""Proofs in a search tree: results that are certain, and how they climb.

A node is proved when its game is over or a table decides it; a node above when one move is proved
to win, or all its moves are proved (Winands, Björnsson and Saito 2008, "Monte-Carlo tree search
solver", with draws). Proofs are kept for the side to move, in one byte of a node (tree.py).
"""

import numpy as np

from agents.tablebase.probe import probe
from oware_env.kernel import kernel
from oware_env.rules import settle

OPEN, LOST, DRAWN, WON = range(4)  # for the side to move; the value of a proof is proof - DRAWN


@kernel(inner=True)
def proof_of(board, code, left, table):
    """What is proved of a position of status ``code`` with ``left`` plies left, by itself.

    ``table`` is a TableArrays or None; the latter compiles to nothing.
    """
    if code >= 64:
        mover, opponent = settle(board, code >> 6)
        return DRAWN + np.sign(mover - opponent)
    if table is None:
        return OPEN
    else:  # Numba leaves this branch out where there is no table
        low, high = probe(board, left, table)
        ahead = np.int64(board[12]) - np.int64(board[13])
        if np.sign(ahead + low) != np.sign(ahead + high):
            return OPEN
        return DRAWN + np.sign(ahead + low)


@kernel(inner=True)
def proof_of_moves(proofs, moves):
    """What the proofs of a mover's ``moves`` (six bits) say of the position before them.

    ``proofs`` are the mover's, two bits a move. One move that wins is enough; else every move must
    be proved.
    """
    best = LOST
    is_settled = True
    for move in range(6):
        if moves >> move & 1:
            proof = proofs >> 2 * move & 3
            if proof == WON:
                return WON
            is_settled &= proof != OPEN
            best = max(best, proof)
    return best if is_settled else OPEN
