"""The algorithms by name; each is imported when it is asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from train.config import Config

if TYPE_CHECKING:
    from train.protocol import Algorithm


def algorithm_of(config: Config) -> "Callable[[Config], Algorithm]":
    """What trains as the configuration says."""
    if config.algorithm == "ppo":
        from train.ppo import PPO

        return PPO
    from train.alphazero import AlphaZero

    return AlphaZero
