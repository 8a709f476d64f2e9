"""Leaf counts of the game tree ("performance test"): the quickest proof that rules agree."""

import numpy as np

from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.rules import play, status


@kernel
def _count(board, ply, depth, max_plies):
    """Leaves ``depth`` plies below ``board``; a finished game has no children."""
    moves = status(board, ply, max_plies)
    if moves >= 64:
        return 0
    if depth == 1:
        leaves = 0
        for move in range(6):
            leaves += moves >> move & 1
        return leaves
    leaves = 0
    for move in range(6):
        if moves >> move & 1:
            after = board.copy()
            play(after, move)
            leaves += _count(after, ply + 1, depth - 1, max_plies)
    return leaves


def perft(board: np.ndarray, depth: int, ply: int = 0, max_plies: int = 400) -> int:
    """Number of move sequences of length ``depth`` from a board (int8[14], mover's view)."""
    if depth < 0:
        raise OwareError(f"depth must be at least 0, not {depth}")
    return 1 if depth == 0 else int(_count(board, ply, depth, max_plies))


def perft_split(
    board: np.ndarray, depth: int, ply: int = 0, max_plies: int = 400
) -> dict[int, int]:
    """Leaf counts below each legal move, so that a wrong total shows the move at fault."""
    if depth < 1:
        raise OwareError(f"depth must be at least 1, not {depth}")
    moves = status(board, ply, max_plies)
    split = {}
    for move in range(6):
        if moves < 64 and moves >> move & 1:
            after = board.copy()
            play(after, move)
            split[move] = perft(after, depth - 1, ply + 1, max_plies)
    return split
