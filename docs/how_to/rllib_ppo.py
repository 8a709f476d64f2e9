"""RLlib: PPO with masked moves, one policy for both sides, then matches against our agents.

    .venv-rllib/bin/python docs/how_to/rllib_ppo.py --steps 60000

ray 2.60.0 pins gymnasium 1.2.2, this project is tested with a newer one: RLlib has an environment
of its own, which `make compat` makes. Its module for masked PPO is part of its examples; it looks
for the observation under the key `observations`, which `RllibKeys` provides. RLlib keeps a sequence
for each player, so its advantages are right for two players in turn.

Everything runs in this process. RLlib starts Ray all the same: here without its dashboard and
reports of usage, on the loopback address alone, and it is shut down at the end.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Ray reads these when it is imported. The second, whatever its name, keeps Ray on 127.0.0.1.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

import numpy as np
import ray
import torch
import tyro
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env import oware_v0

GAMES, ROUND, EPOCHS, MINIBATCH = 16, 4_000, 6, 500  # games side by side, moves of an update
OBSERVATION, REWARD = "onehot", "margin"  # the final difference says more than who won


class RllibKeys(BaseWrapper):
    """Shows ``observation`` under the key that RLlib's masked module looks for."""

    def __init__(self, env: AECEnv) -> None:
        super().__init__(env)
        self._spaces = {
            agent: spaces.Dict(self._renamed(env.observation_space(agent).spaces))
            for agent in env.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of ``observe``."""
        return self._spaces[agent]

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Observation and mask of an agent."""
        return self._renamed(self.env.observe(agent))

    @staticmethod
    def _renamed(parts: Any) -> dict[str, Any]:
        return {"observations": parts["observation"], "action_mask": parts["action_mask"]}


def make_env(_: Any = None) -> PettingZooEnv:
    """One game. The raw environment raises an error at an illegal move: a lost mask cannot hide."""
    return PettingZooEnv(RllibKeys(oware_v0.raw_env(observation=OBSERVATION, reward=REWARD)))


def settings(seed: int) -> PPOConfig:
    """PPO in this process; ``both`` is the policy of either player."""
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config={"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"},
    )
    return (
        PPOConfig()
        .environment("oware")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES)
        .learners(num_learners=0)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"both": module}))
        .training(
            lr=5e-4,
            gamma=0.995,
            entropy_coeff=0.01,
            grad_clip=0.5,
            use_kl_loss=False,
            num_epochs=EPOCHS,
            minibatch_size=MINIBATCH,
            train_batch_size_per_learner=ROUND,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


@contextmanager
def local_ray() -> Iterator[None]:
    """Ray on this machine alone, with one processor, until the block ends."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def train(steps: int, seed: int) -> FunctionAgent:
    """Self-play of ``steps`` moves; what was learned, its likeliest moves, as an agent of ours."""
    register_env("oware", make_env)
    with local_ray():
        algorithm = settings(seed).build_algo()
        while algorithm.train()["num_env_steps_sampled_lifetime"] < steps:
            pass
        module = algorithm.get_module("both")
        algorithm.stop()
        Path(algorithm.logdir).rmdir()  # an empty folder that it made in ~/ray_results

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        seen = {"observations": torch.from_numpy(observations), "action_mask": torch.tensor(masks)}
        with torch.no_grad():
            return module.forward_inference({"obs": seen})["action_dist_inputs"].argmax(1).numpy()

    return FunctionAgent(act, "rllib-ppo", observation=OBSERVATION)


def main(steps: int = 60_000, seed: int = 0, games: int = 400) -> None:
    """Train by self-play over ``steps`` moves, then play ``games``, half of them as North."""
    torch.set_num_threads(1)
    agent = train(steps, seed)
    for opponent in ("random", "greedy"):
        print(play_match(agent, opponent, games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
