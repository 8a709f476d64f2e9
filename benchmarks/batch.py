"""``Batch.step`` with mask and observation, driven from Python with random moves, one core."""

import statistics

import numpy as np

from benchmarks.figure import ROUNDS, Figure, Mark, clock
from oware_env.batch import Batch
from oware_env.kernel import kernel
from oware_env.positions import DRAW_MOVE, pick_move, random_bits

GAMES = 4096
STEPS = 500


@kernel
def random_moves(statuses, keys, plies, moves):
    """Write a uniformly random legal move for every row."""
    for row in range(len(moves)):
        bits = random_bits(keys[row], plies[row], DRAW_MOVE, 0)
        moves[row] = pick_move(statuses[row], bits)


def steps_per_second(seed: int, games: int = GAMES, steps: int = STEPS) -> float:
    """Moves a second over all rows; choosing the random moves is part of the time."""
    batch = Batch(games, seed=seed)
    moves, mask, observation = np.empty(games, np.int8), batch.legal_mask(), batch.observe()
    started = clock()
    for _ in range(steps):
        random_moves(batch.statuses, batch.keys, batch.plies, moves)
        batch.step(moves)
        batch.legal_mask(out=mask)
        batch.observe(out=observation)
    return games * steps / (clock() - started)


def batch_steps() -> Figure:
    """Measure row 2; Pgx is not installed, its figure is quoted beside the mark."""
    steps_per_second(0, steps=10)  # compiles
    ours = statistics.median(steps_per_second(seed) for seed in range(1, ROUNDS + 1))
    return Figure(
        f"Batch.step, mask, observation, B={GAMES}",
        ours,
        "moves/s",
        Mark(15e6, "moves/s"),
        "Pgx connect_four, 2 cores, quoted",
        2.5e6,
        ours / 2.5e6,
    )
