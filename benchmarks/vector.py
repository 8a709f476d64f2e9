"""``OwareVectorEnv`` against random moves, beside Gymnasium's ``SyncVectorEnv`` of our single env.

The same loop drives both: a random legal action for every row from ``infos["action_mask"]``, then
``step``. Run: ``python -m benchmarks.vector``.
"""

import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv

from benchmarks.figure import Figure, Mark, clock, interleave
from oware_env.kernel import kernel
from oware_env.positions import DRAW_MOVE, pick_move, random_bits
from oware_env.single_agent import OwareSingleAgentEnv
from oware_env.vector import OwareVectorEnv

ENVS, STEPS = 1024, 300
SYNC_ENVS, SYNC_STEPS = 64, 40


@kernel
def masked_moves(masks, seed, step, actions):
    """Write a uniformly random legal action for every row that has one; returns how many have."""
    playing = 0
    for row in range(len(actions)):
        mask = 0
        for move in range(6):
            mask |= np.int64(masks[row, move]) << move
        if mask:
            bits = random_bits(np.uint64(seed), step, DRAW_MOVE, row)
            actions[row] = pick_move(mask, bits)
            playing += 1
    return playing


def steps_per_second(env: VectorEnv, steps: int, seed: int) -> float:
    """Steps a second over all rows: the learner's move and the reply, observation and mask.

    A row that only starts its next episode makes no step. Choosing the actions is in the time.
    """
    actions = np.zeros(env.num_envs, np.int64)
    _, infos = env.reset(seed=seed * env.num_envs)
    played = 0
    started = clock()
    for step in range(steps):
        played += masked_moves(infos["action_mask"], seed, step, actions)
        _observations, _rewards, _terminations, _truncations, infos = env.step(actions)
    return played / (clock() - started)


def vector_steps() -> Figure:
    """Measure the row of the vector environment."""
    ours = OwareVectorEnv(ENVS)
    theirs = SyncVectorEnv([OwareSingleAgentEnv] * SYNC_ENVS)
    vector, sync, ratio = interleave(
        lambda seed: steps_per_second(ours, STEPS, seed),
        lambda seed: steps_per_second(theirs, SYNC_STEPS, seed),
    )
    return Figure(
        f"OwareVectorEnv, random opponent, N={ENVS}",
        vector,
        "steps/s",
        Mark(1e6, "steps/s"),
        f"SyncVectorEnv, N={SYNC_ENVS}",
        sync,
        ratio,
    )


if __name__ == "__main__":
    from benchmarks.figure import show

    figure = vector_steps()
    print(f"{show(figure.ours, figure.unit)}, {show(figure.ratio or 0, 'x')} {figure.peer}")
