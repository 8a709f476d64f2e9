"""AEC loop speed: the raw environment beside PettingZoo's connect_four_v3, in the same run.

The same random masked loop with ``last()`` drives both; rounds alternate between them, so that
other work on the machine hits both alike. Run: ``python -m benchmarks.aec``.
"""

import random

from pettingzoo import AECEnv

from benchmarks.figure import Figure, Mark, clock, interleave
from oware_env import oware_v0

OWARE_MOVES, CONNECT_FOUR_MOVES = 30_000, 4_000


def moves_per_second(env: AECEnv, moves: int, seed: int) -> float:
    """Play random legal moves, whole games, until ``moves`` are reached."""
    draw = random.Random(seed).random
    played = 0
    started = clock()
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
    return played / (clock() - started)


def aec_loop() -> Figure:
    """Measure row 3; needs an importable pygame for connect_four."""
    from pettingzoo.classic import connect_four_v3

    ours, theirs = oware_v0.raw_env(), connect_four_v3.raw_env()
    oware, connect_four, ratio = interleave(
        lambda seed: moves_per_second(ours, OWARE_MOVES, seed),
        lambda seed: moves_per_second(theirs, CONNECT_FOUR_MOVES, seed),
    )
    return Figure(
        "AEC raw_env, random loop with last()",
        oware,
        "moves/s",
        Mark(6, "x"),
        "PettingZoo connect_four_v3",
        connect_four,
        ratio,
    )


if __name__ == "__main__":
    from benchmarks.figure import show

    figure = aec_loop()
    print(f"{show(figure.ours, figure.unit)}, {show(figure.ratio or 0, 'x')} {figure.peer}")
