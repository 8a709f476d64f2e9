"""MaskablePPO of sb3-contrib: train on the Gymnasium environment, save, and meet our agents.

    python docs/how_to/maskable_ppo.py --steps 50000
    python docs/how_to/maskable_ppo.py --steps 200000 --opponent greedy

The environment has the method `action_masks()`, which is all that MaskablePPO asks for: every move
it tries is legal. The opponent is part of the environment and may be any of our agents. The saved
policy is loaded again, as you would elsewhere, and becomes an agent in two lines of `main`.
"""

from pathlib import Path

import numpy as np
import torch
import tyro
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

import agents
from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env.single_agent import OwareSingleAgentEnv

ENVIRONMENTS = 8
OBSERVATION = "onehot"  # every count of a house is an input of its own: learns more steadily
REWARD = "margin"  # the difference of the final scores says more about a game than who won
SETTINGS = {
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 6,
    "learning_rate": 5e-4,
    "ent_coef": 0.01,
}


def make_env(opponent: str = "random") -> OwareSingleAgentEnv:
    """One game against a spec of ours; the learner has either seat in turn."""
    return OwareSingleAgentEnv(
        agents.as_opponent(agents.make(opponent)),
        seat="alternate",
        observation=OBSERVATION,
        reward=REWARD,
    )


def train(steps: int, seed: int, opponent: str = "random") -> MaskablePPO:
    """A model that has seen ``steps`` moves of its own."""
    envs = DummyVecEnv([lambda: make_env(opponent)] * ENVIRONMENTS)
    envs.seed(seed)
    model = MaskablePPO("MlpPolicy", envs, seed=seed, device="cpu", **SETTINGS)
    return model.learn(steps)


def as_agent(model: MaskablePPO) -> FunctionAgent:
    """The model as an agent of ours: its likeliest legal move."""

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    return FunctionAgent(act, "maskable-ppo", observation=OBSERVATION)


def main(
    steps: int = 50_000,
    seed: int = 0,
    games: int = 200,
    opponent: str = "random",
    path: Path = Path("runs/maskable_ppo.zip"),
) -> None:
    """Train, save to ``path``, load, and play ``games``, half of them as North."""
    torch.set_num_threads(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    train(steps, seed, opponent).save(path)
    agent = as_agent(MaskablePPO.load(path, device="cpu"))
    print(f"saved to {path}")
    for other in ("random", "greedy"):
        print(play_match(agent, other, games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
