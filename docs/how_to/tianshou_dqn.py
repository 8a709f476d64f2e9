"""tianshou 2: one DQN plays both sides through its PettingZooEnv, then meets our agents.

    .venv-tianshou/bin/python docs/how_to/tianshou_dqn.py --steps 40000

tianshou 2.0.1 needs pandas 2, this project's notebooks use pandas 3: it has an environment of its
own, which `make compat` makes. The mask reaches tianshou in the observation alone, so leave
`mask_in="obs"`. Three things about its multi-agent part are easy to miss:

- The position after a move is the *other* player's. Returns over an even number of steps end at a
  position of the same player, so `n_step_return_horizon` must be even.
- Only the group of policies is told that it trains, not its members: `eps_training` of a member
  is never used, `eps_inference` is what explores.
- The learning rate schedules of the members are never stepped: `train` does that.
"""

import logging

import numpy as np
import torch
import tyro
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env import oware_v0
from oware_env.encoding import ONEHOT_SIZE

GAMES, ROUND, BUFFER = 32, 320, 100_000  # games side by side, moves between two updates
HORIZON, DISCOUNT, EXPLORATION, LEARNING_RATE = 10, 0.99, 0.2, 5e-4


def make_env() -> PettingZooEnv:
    """One game. The raw environment raises an error at an illegal move: a lost mask cannot hide."""
    return PettingZooEnv(oware_v0.raw_env(observation="onehot"))


def make_learner(env: PettingZooEnv, steps: int) -> DQN:
    """A masked DQN whose learning rate falls to zero over ``steps`` moves."""
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=ONEHOT_SIZE, action_shape=6, hidden_sizes=[128, 128]),
        action_space=env.action_space,
        eps_inference=EXPLORATION,
    )
    schedule = LRSchedulerFactoryLinear(1, steps, ROUND)
    return DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=LEARNING_RATE).with_lr_scheduler_factory(schedule),
        gamma=DISCOUNT,
        n_step_return_horizon=HORIZON,
        target_update_freq=50,
    )


def train(steps: int, seed: int) -> FunctionAgent:
    """Self-play of ``steps`` moves; what was learned, without exploration, as an agent of ours."""
    np.random.seed(seed)
    torch.manual_seed(seed)
    logging.getLogger("tianshou").setLevel(logging.ERROR)  # notes on returns of two players
    env = make_env()
    learner = make_learner(env, steps)
    both = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=env)
    games = DummyVectorEnv([make_env] * GAMES)
    games.seed(seed)
    memory = VectorReplayBuffer(BUFFER, GAMES)
    collector = Collector(both, games, memory, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=4 * ROUND)

    def before_round(_: int, moves: int) -> None:
        if moves:
            learner.lr_schedulers[0].step()

    settings = OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=steps,
        collection_step_num_env_steps=ROUND,
        batch_size=256,
        update_step_num_gradient_steps_per_sample=0.05,
        training_fn=before_round,
        multi_agent_return_reduction=lambda returns: returns[:, 0],
        verbose=False,
        show_progress=False,
    )
    both.run_training(settings)

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return learner.policy(Batch(obs=Batch(obs=observations, mask=masks), info={})).act

    return FunctionAgent(act, "tianshou-dqn", observation="onehot")


def main(steps: int = 40_000, seed: int = 0, games: int = 400) -> None:
    """Train by self-play over ``steps`` moves, then play ``games``, half of them as North."""
    torch.set_num_threads(1)
    agent = train(steps, seed)
    for opponent in ("random", "greedy"):
        print(play_match(agent, opponent, games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
