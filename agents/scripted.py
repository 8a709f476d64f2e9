"""The ladder of scripted players: each plays one idea of docs/rules.md, "How strong players think".

The ideas are kernels in ``scripted_scores`` that score one move; one kernel here runs them over a
whole batch. None looks much further than the opponent's reply.
"""

from typing import final

import numpy as np

from agents.scripted_scores import (
    CAREFUL,
    FEEDER,
    FORTRESS,
    GREEDY,
    HOARDER,
    RANDOM,
    STRATEGIST,
    score,
)
from oware_env.errors import OwareError, shown
from oware_env.kernel import kernel
from oware_env.positions import (
    DRAW_TIE,
    Decisions,
    Positions,
    checked_positions,
    count_moves,
    pick_move,
    random_bits,
)
from oware_env.rules import Rules, require_abapa, status

SCRIPTS = {
    "random": RANDOM,
    "greedy": GREEDY,
    "careful": CAREFUL,
    "fortress": FORTRESS,
    "hoarder": HOARDER,
    "feeder": FEEDER,
    "strategist": STRATEGIST,
}


@kernel
def decide_rows(script, positions, max_plies, moves, policy):
    """Let a script choose in every row: write the move, and the policy over its equal bests."""
    for row in range(len(positions.plies)):
        board, ply = positions.boards[row], positions.plies[row]
        legal = status(board, ply, max_plies)
        best, bests = -(1 << 62), 0
        for move in range(6):
            if legal >> move & 1:
                liking = score(script, board, move, ply, max_plies)
                if liking > best:
                    best, bests = liking, 0
                if liking == best:
                    bests |= 1 << move
        moves[row] = pick_move(bests, random_bits(positions.keys[row], ply, DRAW_TIE, 0))
        for move in range(6):
            policy[row, move] = (bests >> move & 1) / count_moves(bests)


@final
class Scripted:
    """A player of one of SCRIPTS. Its policy is uniform over the moves it likes best."""

    def __init__(self, name: str, rules: Rules) -> None:
        """Raises OwareError for a name that is not in SCRIPTS."""
        if not isinstance(name, str) or name not in SCRIPTS:
            raise OwareError(f"a scripted player is one of {', '.join(SCRIPTS)}, not {shown(name)}")
        self.name = name
        self.rules = require_abapa(rules)
        self._script = SCRIPTS[name]

    def decide(self, positions: Positions) -> Decisions:
        """The script's move in each of B running positions; it has no value to offer (NaN)."""
        positions = checked_positions(positions)
        count = len(positions.plies)
        moves = np.empty(count, np.int8)
        policy = np.empty((count, 6), np.float32)
        decide_rows(self._script, positions, self.rules.max_plies, moves, policy)
        return Decisions(moves, policy, np.full(count, np.nan, np.float32))
