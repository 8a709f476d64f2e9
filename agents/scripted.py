"""The ladder of scripted players: each plays one idea of docs/rules.md, "How strong players think".

An idea is a kernel that scores one legal move by the boards before and after it; one kernel runs
it over a whole batch. None searches further than the opponent's reply.
"""

from typing import final

import numpy as np

from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.positions import DRAW_TIE, Decisions, Positions, count_moves, pick_move, random_bits
from oware_env.rules import Rules, play, require_abapa, status

RANDOM, GREEDY, CAREFUL, FORTRESS, HOARDER, FEEDER, STRATEGIST = range(7)
SCRIPTS = {
    "random": RANDOM,
    "greedy": GREEDY,
    "careful": CAREFUL,
}


@kernel
def best_capture(board, moves):
    """The most seeds that one of the legal ``moves`` captures."""
    best = 0
    for move in range(6):
        if moves >> move & 1:
            after = board.copy()
            best = max(best, play(after, move))
    return best


@kernel
def score(script, board, move, ply, max_plies):
    """How much a script likes a legal move: only the order among one board's moves matters."""
    if script == RANDOM:
        return 0
    after = board.copy()
    captured = play(after, move)
    if script == GREEDY:
        return captured
    replies = status(after, ply + 1, max_plies) & 63  # none when the game is over
    return captured - best_capture(after, replies)


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
        if name not in SCRIPTS:
            raise OwareError(f"a scripted player is one of {', '.join(SCRIPTS)}, not {name!r}")
        self.name = name
        self.rules = require_abapa(rules)
        self._script = SCRIPTS[name]

    def decide(self, positions: Positions) -> Decisions:
        """The script's move in each of B running positions; it has no value to offer (NaN)."""
        count = len(positions.plies)
        moves = np.empty(count, np.int8)
        policy = np.empty((count, 6), np.float32)
        decide_rows(self._script, positions, self.rules.max_plies, moves, policy)
        return Decisions(moves, policy, np.full(count, np.nan, np.float32))
