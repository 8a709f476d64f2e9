"""Advantages: how much better each move turned out than what the network expected of its position.

Generalised advantage estimation (Schulman et al. 2016) for two sides that play in turns. Rewards
come only with the end of a game and nothing is discounted but by ``trace`` (lambda).
"""

import numpy as np

from oware_env.kernel import kernel


@kernel
def estimate_advantages(values, games, south, rewards, trace, advantages):
    """Write the advantage of each of N decisions, float32[N], for the side that took it.

    ``values[row]``: expected result for its mover, of game ``games[row]``; ``south[row]``:
    whether that was South. The decisions of a game stand in the order they were taken, other
    games' between them. ``rewards[game]``: the game's result for South, 1, 0 or -1.

    The value of the decision that follows is its own mover's. Where the other side took it, as in
    live self-play, the sign turns; where the same side did, because the opponent's ply between
    them belongs to the environment, it stays.
    """
    following = np.full(len(rewards), -1)  # in each game the decision after, -1: the end
    for row in range(len(values) - 1, -1, -1):
        game = games[row]
        after = following[game]
        if after < 0:
            reward = rewards[game] if south[row] else -rewards[game]
            advantages[row] = reward - values[row]
        else:
            sign = 1.0 if south[row] == south[after] else -1.0
            step = sign * values[after] - values[row]
            advantages[row] = step + trace * sign * advantages[after]
        following[game] = row
