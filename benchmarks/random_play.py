"""Whole games of uniformly random moves inside one kernel, beside OpenSpiel from Python."""

import numpy as np

from benchmarks.figure import Figure, Mark, clock, interleave
from benchmarks.state import openspiel_moves_per_second
from oware_env.kernel import kernel
from oware_env.lockstep import play_randomly
from oware_env.positions import game_key
from oware_env.rules import Rules, initial_board

MOVES = 4_000_000


@kernel
def random_games(start, least, seed, max_plies):
    """Play games to their ends, one after the other, until ``least`` moves are made: how many."""
    moves = np.empty(max_plies, np.int8)
    played, game = 0, 0
    while played < least:
        board = start.copy()
        played += play_randomly(board, 0, moves, game_key(seed, game), max_plies)
        game += 1
    return played


def kernel_moves_per_second(seed: int, moves: int = MOVES) -> float:
    """Moves a second of random games on one core."""
    started = clock()
    played = random_games(initial_board(), moves, np.uint64(seed), Rules().max_plies)
    return float(played / (clock() - started))


def random_play() -> Figure:
    """Measure row 1."""
    ours, theirs, ratio = interleave(kernel_moves_per_second, openspiel_moves_per_second)
    return Figure(
        "random play inside a kernel",
        ours,
        "moves/s",
        Mark(30, "x"),
        "OpenSpiel oware, from Python",
        theirs,
        ratio,
    )
