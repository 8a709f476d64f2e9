"""AEC loop speed: the raw environment beside PettingZoo's connect_four_v3, in the same run.

The same random masked loop with ``last()`` drives both; rounds alternate between them, so that
other work on the machine hits both alike. Run: ``python -m benchmarks.aec``.
"""

import random
import statistics
import time
from typing import NamedTuple

from pettingzoo import AECEnv

from oware_env import oware_v0

ROUNDS = 5
OWARE_MOVES, CONNECT_FOUR_MOVES = 60_000, 8_000


class Speeds(NamedTuple):
    """Moves per second, medians over the rounds, and the median of the rounds' ratios."""

    oware: float
    connect_four: float
    ratio: float


def moves_per_second(env: AECEnv, moves: int, seed: int) -> float:
    """Play random legal moves, whole games, until ``moves`` are reached."""
    draw = random.Random(seed).random
    played = 0
    started = time.perf_counter()
    while played < moves:
        env.reset(seed=seed)
        for _ in env.agent_iter():
            observation, _reward, terminated, truncated, _info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0].tolist()
            env.step(legal[int(draw() * len(legal))])
            played += 1
    return played / (time.perf_counter() - started)


def aec_ratio(rounds: int = ROUNDS) -> Speeds:
    """Measure both environments interleaved; needs an importable pygame for connect_four."""
    from pettingzoo.classic import connect_four_v3

    ours, theirs = oware_v0.raw_env(), connect_four_v3.raw_env()
    moves_per_second(ours, 1000, seed=0)  # compiles
    moves_per_second(theirs, 1000, seed=0)
    pairs = [
        (
            moves_per_second(ours, OWARE_MOVES, seed),
            moves_per_second(theirs, CONNECT_FOUR_MOVES, seed),
        )
        for seed in range(1, rounds + 1)
    ]
    oware, connect_four = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Speeds(oware, connect_four, statistics.median(a / b for a, b in pairs))


if __name__ == "__main__":
    speeds = aec_ratio()
    print(
        f"raw_env {speeds.oware:,.0f} moves/s, connect_four_v3 {speeds.connect_four:,.0f} moves/s: "
        f"{speeds.ratio:.1f} x"
    )
