"""Self-play in plain PyTorch: one network plays both sides of many games; an actor-critic learns.

    python docs/how_to/plain_self_play.py --updates 1000

Read it before any library: nothing is hidden. `Batch` steps all games at once and shows each one
as its side to move sees it, so one network plays South and North alike. The trap of self-play is
in `advantages`: the next position belongs to the *other* player, so what it promises is
subtracted, never added. `train/ppo.py` is the grown-up form of this loop.
"""

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical

from agents.arena import play_match
from agents.function import FunctionAgent
from oware_env import Batch
from oware_env.encoding import ONEHOT_SIZE

GAMES, PLIES, LAMBDA, ENTROPY, LEARNING_RATE = 128, 32, 0.9, 0.02, 1e-3


def policy(outputs: Tensor, masks: Tensor) -> Categorical:
    """The chances of the legal moves: the first six outputs of the network, masked."""
    return Categorical(logits=outputs[..., :6].masked_fill(masks == 0, -1e9))


def play(batch: Batch, network: nn.Module) -> tuple[Tensor, ...]:
    """Play PLIES moves in every game: observations, masks, moves, rewards, ends [PLIES, GAMES]."""
    steps = []
    for _ in range(PLIES):
        observations = torch.from_numpy(batch.observe("onehot"))
        masks = torch.from_numpy(batch.legal_mask())
        moves = policy(network(observations), masks).sample()
        sign = np.where(batch.south_to_move, 1, -1)  # of the side that makes this move
        rewards, ended = torch.zeros(GAMES), torch.zeros(GAMES)
        finished = batch.step(moves.numpy())
        south, north = finished.scores.T
        results = np.sign(south - north) * sign[finished.rows]
        rewards[finished.rows] = torch.from_numpy(results).float()
        ended[finished.rows] = 1.0
        steps.append((observations, masks, moves, rewards, ended))
    return tuple(torch.stack(column) for column in zip(*steps, strict=True))


def advantages(rewards: Tensor, ended: Tensor, values: Tensor) -> Tensor:
    """How much better each move was than expected: GAE with the sign turned at every ply."""
    gains, following = torch.zeros_like(rewards), torch.zeros(GAMES)
    for ply in reversed(range(PLIES)):
        goes_on = 1 - ended[ply]
        surprise = rewards[ply] - goes_on * values[ply + 1] - values[ply]
        following = gains[ply] = surprise - LAMBDA * goes_on * following
    return gains


def main(updates: int = 600, seed: int = 0, games: int = 400) -> None:
    """Learn from ``updates`` times 4,096 moves, then play ``games`` against two baselines."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = nn.Sequential(  # six moves, and the value for the side to move
        nn.Linear(ONEHOT_SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 7)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    batch = Batch(GAMES, seed=seed)
    for update in range(1, updates + 1):
        with torch.no_grad():
            observations, masks, moves, rewards, ended = play(batch, network)
            last = network(torch.from_numpy(batch.observe("onehot")))[None, :, 6]
        outputs = network(observations)
        chances, values = policy(outputs, masks), outputs[..., 6]
        gains = advantages(rewards, ended, torch.cat([values.detach(), last]))
        actor = -(chances.log_prob(moves) * gains).mean() - ENTROPY * chances.entropy().mean()
        critic = (values.detach() + gains - values).square().mean()
        optimiser.zero_grad()
        (actor + critic / 2).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if update % 25 == 0:
            print(f"update {update}: value error {critic.item():.3f}", flush=True)

    def act(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            outputs = network(torch.from_numpy(observations))
        return policy(outputs, torch.from_numpy(masks)).probs.argmax(dim=1).numpy()

    agent = FunctionAgent(act, "self-play", observation="onehot")
    for opponent in ("random", "greedy"):
        print(play_match(agent, opponent, games=games, seed=seed))


if __name__ == "__main__":
    tyro.cli(main)
