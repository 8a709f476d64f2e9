"""TorchRL: masked PPO on the vector environment, from collector to a match with an interval.

    python docs/how_to/torchrl_masked.py --frames 102400

Two things make the mask count: `ActionMask` keeps random actions legal, and `MaskedCategorical` the
policy. TorchRL reads the mask from the infos by itself. It takes vector environments that restart
in the SAME_STEP of an end; 64 games in one are a dozen times faster than an `OwareSingleAgentEnv`
(which works alike after `GymWrapper(env).auto_register_info_dict()`).

The opponent is part of the environment, so TorchRL's GAE is right as it stands. It is not on the
two-player `PettingZooWrapper`, where the next value belongs to the other side and the sign turns at
every ply (`plain_self_play.py` shows how). There `use_mask=True` is compulsory, an idle player's
`action_mask` is all True, and `mask` alone says who moves.
"""

import numpy as np
import torch
import tyro
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import (
    ActionMask,
    Compose,
    DTypeCastTransform,
    EnvBase,
    GymWrapper,
    InitTracker,
)
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env.encoding import ONEHOT_SIZE
from oware_env.vector import OwareVectorEnv

GAMES, FRAMES_A_BATCH, EPOCHS, MINIBATCH = 64, 2048, 6, 256
LEARNING_RATE, ENTROPY, WIDTH = 5e-4, 0.01, 64
OBSERVATION = "onehot"


def make_env(seed: int) -> EnvBase:
    """64 games against uniformly random moves, each from both seats in turn, with their masks."""
    games = OwareVectorEnv(
        GAMES,
        seat="alternate",
        seed=seed,
        observation=OBSERVATION,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    env = GymWrapper(games, categorical_action_encoding=True)
    as_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    return env.append_transform(Compose(as_bool, ActionMask(), InitTracker()))


def layers(outputs: int) -> nn.Module:
    """A small network over an observation."""
    inner = nn.Linear(ONEHOT_SIZE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()
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
    loss = ClipPPOLoss(actor, critic, entropy_coeff=ENTROPY, normalize_advantage=True)
    optimiser = torch.optim.Adam(loss.parameters(), LEARNING_RATE)
    collector = Collector(
        make_env(seed), actor, frames_per_batch=FRAMES_A_BATCH, total_frames=frames
    )
    for number, batch in enumerate(collector, start=1):
        with torch.no_grad():
            advantage(batch)
        moves = batch.reshape(-1)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(moves)).split(MINIBATCH):
                losses = loss(moves[rows])
                optimiser.zero_grad()
                sum(
                    losses[f"loss_{part}"] for part in ("objective", "critic", "entropy")
                ).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimiser.step()
        if number % 5 == 0:
            rewards = batch["next", "reward"][batch["next", "done"]]
            print(f"batch {number}: mean reward {rewards.mean():+.2f} in {len(rewards)} games")
    collector.shutdown()
    return network


def main(frames: int = 102_400, seed: int = 0, games: int = 200) -> None:
    """Train a policy and let it play ``games``, half of them as North, in our arena."""
    torch.set_num_threads(1)
    network = train(frames, seed)

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            logits = network(torch.from_numpy(observations))
        return logits.masked_fill(torch.from_numpy(masks) == 0, -torch.inf).argmax(dim=1).numpy()

    agent = FunctionAgent(act, "torchrl-ppo", observation=OBSERVATION)
    for opponent in ("random", "greedy"):
        print(play_match(agent, opponent, games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
