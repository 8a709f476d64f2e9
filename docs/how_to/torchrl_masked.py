"""TorchRL: masked PPO on the Gymnasium environment, from collector to a match with an interval.

    python docs/how_to/torchrl_masked.py --frames 20480

Three things make the mask count: `auto_register_info_dict` brings it from the infos into the
tensordict, `ActionMask` keeps random actions legal, `MaskedCategorical` keeps the policy legal.
The opponent is part of the environment, so TorchRL's GAE is right as it stands. It is not on the
two-player `PettingZooWrapper`, where the next value belongs to the other side and the sign turns at
every ply (`plain_self_play.py` shows how); there `use_mask=True` is compulsory, an idle player's
`action_mask` is all True, and only `mask` says who moves.
"""

import numpy as np
import torch
import tyro
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import (
    ActionMask,
    Compose,
    DTypeCastTransform,
    GymWrapper,
    InitTracker,
    TransformedEnv,
)
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env.encoding import COUNTS_SIZE
from oware_env.single_agent import OwareSingleAgentEnv

FRAMES_A_BATCH, EPOCHS, MINIBATCH, LEARNING_RATE, WIDTH = 1024, 10, 256, 1e-3, 64


def make_env() -> TransformedEnv:
    """One game against uniformly random moves, from both seats in turn, with its mask."""
    game = OwareSingleAgentEnv(seat="alternate")
    env = GymWrapper(game, categorical_action_encoding=True).auto_register_info_dict()
    as_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    return TransformedEnv(env, Compose(as_bool, ActionMask(), InitTracker()))


def layers(outputs: int) -> nn.Module:
    """A small network over the 15 numbers of an observation."""
    inner = nn.Linear(COUNTS_SIZE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()
    return nn.Sequential(*inner, nn.Linear(WIDTH, outputs))


def train(frames: int, seed: int) -> nn.Module:
    """Learn from ``frames`` moves of the learner; the network from observations to six logits."""
    torch.manual_seed(seed)
    network = layers(6)
    actor = ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        out_keys=["action"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(layers(1), in_keys=["observation"])
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    optimiser = torch.optim.Adam(loss.parameters(), LEARNING_RATE)
    env = make_env()
    env.set_seed(seed)
    collector = Collector(env, actor, frames_per_batch=FRAMES_A_BATCH, total_frames=frames)
    for batch in collector:
        with torch.no_grad():
            advantage(batch)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(batch)).split(MINIBATCH):
                losses = loss(batch[rows])
                optimiser.zero_grad()
                sum(
                    losses[f"loss_{part}"] for part in ("objective", "critic", "entropy")
                ).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimiser.step()
        rewards = batch["next", "reward"][batch["next", "done"]]
        print(f"{len(rewards)} games ended, mean reward {rewards.mean():+.2f}", flush=True)
    collector.shutdown()
    return network


def main(frames: int = 20_480, seed: int = 0, games: int = 200) -> None:
    """Train a policy and let it play ``games``, half of them as North, in our arena."""
    torch.set_num_threads(1)
    network = train(frames, seed)

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            logits = network(torch.from_numpy(observations))
        return logits.masked_fill(torch.from_numpy(masks) == 0, -torch.inf).argmax(dim=1).numpy()

    print(play_match(FunctionAgent(act, "torchrl-ppo"), "random", games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
