"""Hand-written judgements of one board, as compiled kernels, in hundredths of a seed.

Both see the board with the eyes of the side to move. Sits below the searches; knows no agent.
"""

from oware_env.kernel import kernel
from oware_env.rules import MOVER_STORE, OPPONENT_STORE

SEED = 100  # the value of one harvested seed

MATERIAL, FULL = 0, 1
EVALUATIONS = {"material": MATERIAL, "full": FULL}


@kernel
def material(board):
    """The difference of the stores, mover minus opponent."""
    return SEED * (board[MOVER_STORE] - board[OPPONENT_STORE])


@kernel
def evaluate(board, evaluation):
    """The value of a running board for the side to move under one of EVALUATIONS."""
    return material(board)
