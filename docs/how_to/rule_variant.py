"""Change a rule: what is an argument, what is data for kernels, and what is work.

    python docs/how_to/rule_variant.py --games 100000

1. **The move limit** is an argument everywhere: `Rules(max_plies=200)` in `State`, `Batch`, every
   environment, match, tournament and training run.
2. **Slam, feeding, rest and limit** are data too (`Rules(slam=SLAM_CAPTURES)`, `AWARI`), but only
   the kernels of `oware_env/rules.py` take them. `random_games` below plays them at full speed.
   `State`, `Batch`, the environments and the agents play abapa alone and refuse others in one
   sentence: their compiled code is shorter and faster for it.
3. **A rule that no field describes** (another board, other captures) is an edit of `rules.py`: a
   new choice with the present behaviour as its first value, its branch in one kernel, its line in
   docs/rules.md, its tests, and a new version of the environment when abapa itself changes.
"""

import numpy as np
import tyro

from agents.arena import play_match
from agents.arena.ratings import score_interval
from oware_env import AWARI, OwareError, Rules, State
from oware_env.kernel import kernel
from oware_env.positions import DRAW_MOVE, game_key, pick_move, random_bits
from oware_env.rules import (
    NEVER_LEAVE_EMPTY,
    REASONS,
    SLAM_CAPTURES,
    initial_board,
    legal_moves,
    play,
    settle,
    status,
)

VARIANTS = {
    "abapa": Rules(),
    "slams capture": Rules(slam=SLAM_CAPTURES),
    "never leave empty": Rules(feeding=NEVER_LEAVE_EMPTY),
    "awari": AWARI,
}
LIMITS = 50, 100, 400
SLAM = "2-0-0-0-0-1-1-0-0-0-0-0-22-22-S"  # F would take the opponent's last two seeds


@kernel
def random_games(start, rules, seed, points, plies, reasons):
    """One game of uniformly random moves per row, under any rule set; ``points`` are South's."""
    for game in range(len(plies)):
        board, ply, key = start.copy(), 0, game_key(seed, game)
        facing = status(board, ply, rules.max_plies, rules.feeding)
        while facing < 64:  # legal moves in the low six bits, the reason above them
            move = pick_move(facing, random_bits(key, ply, DRAW_MOVE, 0))
            play(board, move, rules.slam)
            ply += 1
            facing = status(board, ply, rules.max_plies, rules.feeding)
        plies[game], reasons[game] = ply, facing >> 6
        mover, opponent = settle(board, reasons[game], rules.rest, rules.limit)
        lead = mover - opponent if ply % 2 == 0 else opponent - mover  # South's: it moved at ply 0
        points[game] = (np.sign(lead) + 1) / 2


def show_limits(games: int) -> None:
    """The same match under three move limits."""
    for limit in LIMITS:
        match = play_match("careful", "greedy", games=games, rules=Rules(max_plies=limit))
        print(f"at most {limit} plies: {match}, {match.limit_share:.0%} stopped by the limit")


def show_slam() -> None:
    """What each rule set offers and captures in one position."""
    board = State.parse(SLAM).board
    for name, rules in VARIANTS.items():
        moves = legal_moves(board, rules.feeding)
        offered = "".join(letter for move, letter in enumerate("ABCDEF") if moves >> move & 1)
        taken = f", F captures {play(board.copy(), 5, rules.slam)}" if "F" in offered else ""
        print(f"{name}: offers {offered}{taken}")


def show_games(games: int, seed: int) -> None:
    """Random games under each rule set."""
    for name, rules in VARIANTS.items():
        points, plies = np.empty(games), np.empty(games, np.int32)
        reasons = np.empty(games, np.int8)
        random_games(initial_board(), rules, np.uint64(seed), points, plies, reasons)
        low, high = score_interval(points)
        ends = [f"{REASONS[code]} {(reasons == code).mean():.1%}" for code in (1, 2, 3)]
        print(
            f"{name}: in {games:,} random games the first player scores {points.mean():.2%} ",
            end="",
        )
        print(f"[{low:.2%}, {high:.2%}]; {plies.mean():.1f} plies; {', '.join(ends)}")


def main(games: int = 100_000, matches: int = 400, seed: int = 0) -> None:
    """``matches`` games against each move limit, one position, and ``games`` random games."""
    show_limits(matches)
    show_slam()
    show_games(games, seed)
    try:
        State.initial(AWARI)
    except OwareError as refusal:
        print(f"State.initial(AWARI): {refusal}")


if __name__ == "__main__":
    tyro.cli(main)
