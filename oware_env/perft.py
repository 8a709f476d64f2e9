"""Leaf counts of the game tree ("performance test"): the quickest proof that rules agree."""

import numpy as np

from oware_env.errors import OwareError, integer, shown
from oware_env.kernel import kernel
from oware_env.positions import as_array
from oware_env.rules import BOARD, MOST_PLIES, SEEDS, play, status

MOST_DEPTH = 1000  # the kernel calls itself once a ply, and a stack has an end


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
    """Number of move sequences of length ``depth`` from a board (int8[14], mover's view).

    Raises :class:`OwareError` for what is no board, and for numbers that cannot be.
    """
    board, depth, ply, max_plies = _checked(board, depth, ply, max_plies)
    if not 0 <= depth <= MOST_DEPTH:
        raise OwareError(_beyond(depth, 0))
    return 1 if depth == 0 else int(_count(board, ply, depth, max_plies))


def perft_split(
    board: np.ndarray, depth: int, ply: int = 0, max_plies: int = 400
) -> dict[int, int]:
    """Leaf counts below each legal move, so that a wrong total shows the move at fault."""
    board, depth, ply, max_plies = _checked(board, depth, ply, max_plies)
    if not 1 <= depth <= MOST_DEPTH:
        raise OwareError(_beyond(depth, 1))
    moves = status(board, ply, max_plies)
    split = {}
    for move in range(6):
        if moves < 64 and moves >> move & 1:
            after = board.copy()
            play(after, move)
            leaves = _count(after, ply + 1, depth - 1, max_plies) if depth > 1 else 1
            split[move] = int(leaves)
    return split


def _beyond(depth: int, least: int) -> str:
    if depth < least:
        return f"depth must be at least {least}, not {shown(depth)}"
    return f"depth must be at most {MOST_DEPTH}, not {shown(depth)}"


def _checked(
    board: np.ndarray, depth: int, ply: int, max_plies: int
) -> tuple[np.ndarray, int, int, int]:
    """The arguments as the kernel takes them; it reads whatever it is given."""
    depth, ply = integer(depth, "depth"), integer(ply, "ply")
    max_plies = integer(max_plies, "max_plies")
    if not 1 <= max_plies <= MOST_PLIES:
        raise OwareError(f"max_plies must be between 1 and {MOST_PLIES}, not {shown(max_plies)}")
    if not 0 <= ply <= max_plies:
        raise OwareError(f"ply must be between 0 and max_plies {max_plies}, not {shown(ply)}")
    board = as_array("a board", board)
    if board.shape != (BOARD,) or board.dtype.kind not in "iu":
        raise OwareError(f"a board must be 14 integers, not {board.dtype} of shape {board.shape}")
    if board.min() < 0 or sum(board.tolist()) != SEEDS:
        raise OwareError(f"a board holds {SEEDS} seeds, not {shown(board.tolist())}")
    return board.astype(np.int8), depth, ply, max_plies
