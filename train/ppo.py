"""PPO self-play: no search; the policy learns from the results of games it drew moves for.

Workers play units of whole games with the newest weights, some live, so that both sides learn,
some against a copy of a past self; the learner takes each unit once. Read from top to bottom:
what a unit leaves behind, how it is played, what is learned from it, and the state of a run. The
loop around it is in :mod:`train.training`. Method: Schulman et al. 2017, with a mask.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from agents.neural.checkpoint import network_from
from agents.neural.evaluator import NetworkEvaluator
from agents.neural.network import Heads
from agents.policy import draw_moves
from agents.search.cache import CachedEvaluator
from agents.trained import PolicyAgent
from oware_env.encoding import MASKS, network_input
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions
from train.advantages import estimate_advantages
from train.config import Config
from train.learner import LOSSES, Learner, value_losses
from train.pool import Pool, pack_pair, unpack_pair
from train.samples import DRAW, GameEnds, value_targets
from train.selfplay import SelfPlayUnit, game_figures, network_seconds, start_games
from train.training import train_new_run

LIVE, AS_SOUTH, AS_NORTH = range(3)  # whose plies are learned from in a game
MOVE_MASKS = torch.from_numpy(np.array(MASKS)).bool()  # bool[64, 6], moves of each six-bit mask
NO_MOVE = -1e9  # the logit of a move that is not legal


def run_training(config: Config) -> Path:
    """Train a new run from Python and return its folder (see training.train_new_run)."""
    return train_new_run(PPO, config)


class Experience(NamedTuple):
    """N decisions of the learner, in the order they were taken. All is seen by their mover."""

    inputs: np.ndarray  # uint8[N, 33], encoding.network_input
    legal: np.ndarray  # uint8[N], six-bit mask of the legal moves
    moves: np.ndarray  # int8[N], the move played
    log_chances: np.ndarray  # float32[N], log-probability it was drawn with
    values: np.ndarray  # float32[N], result that was expected
    advantages: np.ndarray  # float32[N], by how much it turned out better
    results: np.ndarray  # int8[N], WIN, DRAW or LOSS
    margins: np.ndarray  # int8[N], full margin from here on, or UNKNOWN_MARGIN


class Played(NamedTuple):
    """The games of one unit."""

    experience: Experience
    ends: GameEnds
    moves: tuple[np.ndarray, np.ndarray]  # Lockstep.moves
    figures: dict[str, float]  # means for the log; times in seconds are not reproducible


class _Noted(NamedTuple):
    """Decisions as they are taken: the first five of Experience, the game, whether South moved."""

    inputs: np.ndarray
    legal: np.ndarray
    moves: np.ndarray
    log_chances: np.ndarray
    values: np.ndarray
    games: np.ndarray
    south: np.ndarray


def play_unit(unit: SelfPlayUnit) -> Played:
    """Play the games of a unit; the same unit gives the same bytes on the same machine type."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    config, judges, agents = unit.config, [], []
    for weights in unpack_pair(unit.weights):
        network = network_from(weights, config.network, f"unit {unit.number}")
        judge = NetworkEvaluator(network, config.rules, config.device)
        judges.append((judge, CachedEvaluator(judge, config.rules, slots=0)))  # counts calls
        agents.append(PolicyAgent(judges[-1][1], "policy"))
    learner, past = agents
    games, seats = start_games(config, unit.number), learner_seats(config)
    plies = []
    while games.running:
        seat = seats[games.games]
        learns = (seat == LIVE) | ((seat == AS_SOUTH) == games.south_to_move)
        moves = np.empty(games.running, np.int8)
        if learns.any():
            plies.append(_decide(games, learns.nonzero()[0], learner, moves))
        if not learns.all():
            _decide(games, (~learns).nonzero()[0], past, moves)
        games.play(moves)
    ends = GameEnds(games.scores, games.lengths, games.reasons)
    noted = _Noted(*(np.concatenate(arrays) for arrays in zip(*plies, strict=True)))
    experience = make_experience(noted, ends, config.ppo.trace)
    figures = _figures(experience, ends, seats) | {
        "network_seconds": sum(network_seconds(*pair) for pair in judges),
        "seconds": time.perf_counter() - start,
    }
    return Played(experience, ends, games.moves(), figures)


def learner_seats(config: Config) -> np.ndarray:
    """Which plies of each game of a unit are learned from, int8[G]: LIVE, AS_SOUTH or AS_NORTH."""
    games = config.selfplay.games
    seats = np.full(games, LIVE, np.int8)
    against_past = round(games * config.ppo.pool_share)
    seats[games - against_past :] = np.where(np.arange(against_past) % 2, AS_NORTH, AS_SOUTH)
    return seats


def _decide(games: Lockstep, rows: np.ndarray, agent: PolicyAgent, moves: np.ndarray) -> _Noted:
    """Draw moves for some of the running games from the policy; write them, and note all of it."""
    positions = Positions(*(array[rows] for array in games.positions()))
    _, policies, values = agent.decide(positions)
    drawn = draw_moves(policies, positions.keys, positions.plies, np.ones(len(rows)))
    moves[rows] = drawn
    return _Noted(
        network_input(positions.boards, positions.plies, games.rules.max_plies),
        games.statuses[rows].astype(np.uint8),
        drawn,
        np.log(policies[np.arange(len(rows)), drawn]),
        values,
        games.games[rows].astype(np.int32),
        games.south_to_move[rows],
    )


def make_experience(noted: _Noted, ends: GameEnds, trace: float) -> Experience:
    """What the decisions of finished games turned out to be worth."""
    rewards = np.sign(ends.scores[:, 0].astype(np.int64) - ends.scores[:, 1])
    advantages = np.empty(len(noted.games), np.float32)
    estimate_advantages(noted.values, noted.games, noted.south, rewards, trace, advantages)
    results, margins = value_targets(noted.inputs, noted.games, noted.south, ends)
    return Experience(*noted[:5], advantages, results, margins)


def _figures(experience: Experience, ends: GameEnds, seats: np.ndarray) -> dict[str, float]:
    """What the log says of the games of a unit: live ones as such, and the score of the others."""
    live = seats == LIVE
    figures = game_figures(GameEnds(*(array[live] for array in ends))) if live.any() else {}
    if not live.all():
        points = (np.sign(ends.scores[:, 0].astype(np.int64) - ends.scores[:, 1]) + 1) / 2
        points = np.where(seats == AS_NORTH, 1 - points, points)
        figures["pool_score"] = float(points[~live].mean())
    results = DRAW - experience.results.astype(np.float64)  # 1, 0, -1
    missed = results - experience.values
    return figures | {
        "games": float(len(seats)),
        "decisions": float(len(experience.moves)),
        # Share of the variance of the results that the values foresaw: 1 is all, 0 none.
        "explained_variance": float(1 - missed.var() / max(results.var(), 1e-12)),
    }


def log_policy(heads: Heads, legal: Tensor) -> Tensor:
    """Log-probabilities float32[B, 6]; a move that is not legal gets no chance and no gradient."""
    masks = MOVE_MASKS.to(legal.device)[legal]
    return heads.policy.masked_fill(~masks, NO_MOVE).log_softmax(dim=1)


def policy_losses(heads: Heads, batch: dict[str, Tensor], clip: float) -> dict[str, Tensor]:
    """Clipped ``policy`` loss and ``entropy`` of a minibatch, with figures.

    A ratio is the chance of the move now over the chance it was drawn with.
    """
    logs = log_policy(heads, batch["legal"])
    distance = logs.gather(1, batch["moves"][:, None])[:, 0] - batch["log_chances"]
    ratios = distance.exp()
    gain = ratios * batch["advantages"]
    clipped = ratios.clamp(1 - clip, 1 + clip) * batch["advantages"]
    return {
        "policy": -torch.minimum(gain, clipped).mean(),
        "entropy": -(logs.exp() * logs).sum(dim=1).mean(),
        "kl": (ratios.detach() - 1 - distance.detach()).mean(),  # Schulman's unbiased estimate
        "clip_share": ((ratios.detach() - 1).abs() > clip).float().mean(),
    }


def unit_losses(heads: Heads, batch: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """All losses of a minibatch, and their ``total``."""
    parts = policy_losses(heads, batch, config.ppo.clip) | value_losses(heads, batch)
    value = parts["result"] + config.learning.margin_weight * parts["margin"]
    total = parts["policy"] + config.ppo.value_weight * value
    return parts | {"total": total - config.ppo.entropy_weight * parts["entropy"]}


def learn_unit(
    learner: Learner, experience: Experience, progress: float, most_steps: int
) -> dict[str, float]:
    """Go over the decisions of a unit in minibatches, once or more; means of all steps."""
    config = learner.config
    whole = _tensors(experience, learner.device)
    count = len(experience.moves)
    parts = max(1, round(count / config.learning.batch))
    steps: list[dict[str, Tensor]] = []
    for _ in range(config.ppo.epochs):
        order = np.random.default_rng((config.seed, learner.steps)).permutation(count)
        before = len(steps)
        for rows in np.array_split(order, parts)[: most_steps - before]:
            index = torch.from_numpy(rows).to(learner.device)
            batch = {name: tensor[index] for name, tensor in whole.items()}
            losses = unit_losses(learner.network(batch["inputs"]), batch, config)
            steps.append(learner.descend(losses, progress))
        if len(steps) == most_steps or _mean(steps[before:], "kl") > config.ppo.target_kl:
            break
    return {name: _mean(steps, name) for name in steps[0]} | {"epochs": len(steps) / parts}


def _mean(steps: list[dict[str, Tensor]], name: str) -> float:
    return sum(float(step[name]) for step in steps) / len(steps)


def _tensors(experience: Experience, device: torch.device) -> dict[str, Tensor]:
    """A unit as tensors; the advantages are brought to mean 0 and deviation 1 over the unit."""
    found = experience.advantages.astype(np.float64)
    advantages = ((found - found.mean()) / (found.std() + 1e-8)).astype(np.float32)
    arrays = experience._asdict() | {"advantages": advantages}
    whole = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    return whole | {n: whole[n].long() for n in ("legal", "moves", "results", "margins")}


@final
class PPO:
    """What PPO plays and learns (see :class:`train.protocol.Algorithm`)."""

    play = staticmethod(play_unit)

    def __init__(self, config: Config) -> None:
        self.config = config.require_algorithm("ppo")
        self.learner = Learner(config)
        self.positions = 0  # decisions learned from
        self.units = 0
        self.pool = Pool(self.learner.average, config.ppo.pool_size, config.ppo.pool_units)

    def open(self, folder: Path) -> None:
        """Nothing to open: a unit is learned from once and not kept."""

    def close(self) -> None:
        """Nothing to close."""

    def unit_weights(self, number: int) -> bytes:
        """The newest weights and those of a past self."""
        past = self.pool.draw(self.config.seed, number)
        return pack_pair(self.learner.network.state_dict(), past)

    def learn(self, played: Played, progress: float, most_steps: int) -> dict[str, float]:
        """Learn from a unit and, now and then, put a copy of the weights into the pool."""
        learned = learn_unit(self.learner, played.experience, progress, most_steps)
        self.positions += len(played.experience.moves)
        self.units += 1
        self.pool.offer(self.units, self.learner.average)
        return unit_figures(played, learned) | {"pool/size": len(self.pool)}

    def summary(self, figures: dict[str, float]) -> str:
        """Loss, entropy and speed in a few words."""
        loss, entropy = figures["loss/result"], figures["policy/entropy"]
        speed = figures["speed/decisions_per_second"] / 1000
        return f"{speed:,.0f}k decisions/s  loss {loss:.2f}  entropy {entropy:.2f}"

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """The pool, for a checkpoint."""
        return {"pool": self.pool.tensors()}

    def state(self) -> dict[str, Any]:
        """How the pool goes on."""
        return {"pool_spacing": self.pool.spacing}

    def restore(self, folder: Path, state: dict[str, Any]) -> None:
        """Put back the pool of a checkpoint folder."""
        self.units = state["units"]
        self.pool.restore(folder, state["pool_spacing"])


def unit_figures(played: Played, learned: dict[str, float]) -> dict[str, float]:
    """What is logged of a unit: games, learning and speed."""
    figures = dict(played.figures)
    games, decisions = figures.pop("games"), figures.pop("decisions")
    seconds, network_seconds = figures.pop("seconds"), figures.pop("network_seconds")
    return {
        **{f"loss/{name}": learned[name] for name in (*LOSSES, "total")},
        **{f"policy/{name}": learned[name] for name in ("entropy", "kl", "clip_share", "epochs")},
        **{f"learner/{name}": learned[name] for name in ("gradient_norm", "learning_rate")},
        **{f"selfplay/{name}": value for name, value in figures.items()},
        "speed/games_per_second": games / seconds,
        "speed/decisions_per_second": decisions / seconds,
        "speed/network_share": network_seconds / seconds,
    }
