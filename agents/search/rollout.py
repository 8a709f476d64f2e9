"""An evaluator without a network: one random game from each position."""

import numpy as np

from oware_env.kernel import kernel
from oware_env.positions import DRAW_ROLLOUT, Positions, mix, pick_move, random_bits
from oware_env.rules import Rules, play, require_abapa, settle, status


@kernel
def _board_hash(board):
    """A hash of a board, so that equal plies of one game draw different rollouts."""
    digest = np.uint64(0)
    for entry in range(14):
        digest = mix(digest ^ np.uint64(board[entry]))
    return digest


@kernel
def _roll_out(boards, plies, keys, max_plies):
    """The result (1, 0, -1 for the mover) of one random game from each board: float32[B]."""
    values = np.empty(len(boards), np.float32)
    for row in range(len(boards)):
        board, ply, sign = boards[row].copy(), plies[row], 1
        key = keys[row] ^ _board_hash(board)
        code = status(board, ply, max_plies)
        while code < 64:
            play(board, pick_move(code, random_bits(key, ply, DRAW_ROLLOUT, 0)))
            ply += 1
            sign = -sign
            code = status(board, ply, max_plies)
        mover, opponent = settle(board, code >> 6)
        values[row] = sign * np.sign(mover - opponent)
    return values


class RolloutEvaluator:
    """Values by one uniformly random game to the end; equal logits for every move."""

    def __init__(self, rules: Rules = Rules()) -> None:
        self.rules = require_abapa(rules)

    def __call__(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """(zeros float32[B, 6], results float32[B] for the mover)."""
        boards, plies, keys = positions
        values = _roll_out(boards, plies, keys, self.rules.max_plies)
        return np.zeros((len(plies), 6), np.float32), values
