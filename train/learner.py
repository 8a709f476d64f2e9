"""The learner: network, averaged copy and optimiser, and what one step does."""

import math
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from agents.neural import bfloat16
from agents.neural.network import Heads, build_network
from oware_env.errors import OwareError
from oware_env.rules import SEEDS
from train.config import Config
from train.replay import ReplayWindow
from train.samples import DRAW, UNKNOWN_MARGIN, Samples

LOSSES = ("policy", "result", "margin")


def result_targets(results: Tensor, values: Tensor, mix: float) -> Tensor:
    """What the result head learns: classes int64[B], or chances of them float32[B, 3] with a mix.

    ``results`` int64[B] are the games' and ``values`` float32[B] those of the searches, in
    [-1, 1] for the mover, NaN where there is none. A game's result is right on average, but one
    draw; the search's value hardly varies, but is the network's own word: hence a mixture (as in
    lc0's ``q_ratio``). A value q does not tell draws apart. It becomes a win with chance
    (1 + q) / 2 and else a loss, because few games are drawn: the other way, a win or loss with
    chance |q| and else a draw, would call every unclear position a draw. What a draw is comes from
    the results. Rows without a value keep theirs, and so do draws valued at exactly 0, which is
    what a table proves; a proved win or loss has the value of its result anyway.
    """
    if mix == 0.0:
        return results
    played = functional.one_hot(results, 3).float()
    is_result_alone = values.isnan() | ((results == DRAW) & (values == 0))
    wins = (1 + values) / 2
    seen = torch.stack((wins, torch.zeros_like(wins), 1 - wins), dim=1)
    return torch.where(is_result_alone[:, None], played, (1 - mix) * played + mix * seen)


def value_losses(heads: Heads, targets: dict[str, Tensor]) -> dict[str, Tensor]:
    """Mean cross-entropies of ``result`` and ``margin``; unknown margins count in no sum.

    The targets of ``results`` are classes or chances of them, see :func:`result_targets`.
    """
    known = targets["margins"] != UNKNOWN_MARGIN
    classes = torch.where(known, targets["margins"] + SEEDS, 0)
    margin = functional.cross_entropy(heads.margin, classes, reduction="none") * known
    return {
        "result": functional.cross_entropy(heads.result, targets["results"]),
        "margin": margin.sum() / known.sum().clamp(min=1),
    }


def losses(heads: Heads, targets: dict[str, Tensor], margin_weight: float) -> dict[str, Tensor]:
    """Mean cross-entropies of the three heads and their weighted ``total``.

    Rows without a policy target (all zero) or with an unknown margin count in neither sum.
    """
    policy = -(targets["policies"] * heads.policy.log_softmax(dim=1)).sum(dim=1)
    searched = targets["policies"].sum(dim=1).clamp(min=1e-9, max=1.0)
    parts = {"policy": policy.sum() / searched.sum().clamp(min=1.0), **value_losses(heads, targets)}
    total = parts["policy"] + parts["result"] + margin_weight * parts["margin"]
    return parts | {"total": total}


def masked_policy(heads: Heads, inputs: Tensor) -> Heads:
    """The same heads with the policy logits of empty houses at minus infinity.

    Feeding restricts further moves; their targets are zero, so the network learns those itself.
    """
    empty = inputs[:, :6] == 0
    return heads._replace(policy=heads.policy.masked_fill(empty, -1e9))


class Learner:
    """Owns all trained state. ``steps`` counts optimiser steps since the start of the run."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.device = torch.device(config.device)
        self.network = build_network(config.network, config.seed).to(self.device)
        if bfloat16.AVAILABLE and self.device.type == "cpu":
            self.network.products = torch.bfloat16  # a step takes two thirds of the time
        self.average = {name: t.clone() for name, t in self.network.state_dict().items()}
        matrices = [p for p in self.network.parameters() if p.ndim > 1]
        vectors = [p for p in self.network.parameters() if p.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": config.learning.weight_decay},
            {"params": vectors, "weight_decay": 0.0},  # biases and norms are not decayed
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=config.learning.learning_rate, fused=True)
        self.steps = 0

    def rate(self, progress: float) -> float:
        """Learning rate at ``progress`` (0-1) of the budget: warm-up, then a cosine."""
        settings = self.config.learning
        warm = min(1.0, (self.steps + 1) / max(1, settings.warmup_steps))
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, progress))))
        share = settings.final_rate + (1 - settings.final_rate) * cosine
        return settings.learning_rate * warm * share

    def learn(self, window: ReplayWindow, steps: int, progress: float) -> dict[str, float]:
        """Take ``steps`` steps on samples drawn from the window; mean losses, rate and gradient."""
        sums: dict[str, Tensor] = {}
        for _ in range(steps):
            batch = window.sample(self.config.learning.batch, (self.config.seed, self.steps))
            for name, value in self.step(batch, progress).items():
                sums[name] = sums.get(name, torch.zeros(())) + value
        return {name: float(value) / max(1, steps) for name, value in sums.items()}

    def step(self, batch: Samples, progress: float) -> dict[str, Tensor]:
        """One optimiser step; the losses before it. Raises OwareError when they are not finite."""
        inputs = torch.from_numpy(batch.inputs).to(self.device)
        results = torch.from_numpy(batch.results).to(self.device, torch.int64)
        values = torch.from_numpy(batch.values).to(self.device)
        targets = {
            "policies": torch.from_numpy(batch.policies).to(self.device),
            "results": result_targets(results, values, self.config.learning.value_mix),
            "margins": torch.from_numpy(batch.margins).to(self.device, torch.int64),
        }
        heads = masked_policy(self.network(inputs), inputs)
        parts = losses(heads, targets, self.config.learning.margin_weight)
        return self.descend(parts, progress)

    def descend(self, parts: dict[str, Tensor], progress: float) -> dict[str, Tensor]:
        """One optimiser step down the gradient of ``parts["total"]``; the parts, detached.

        With them the gradient's norm and the rate. Raises OwareError when it is not finite.
        """
        rate = self.rate(progress)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        parts["total"].backward()
        parameters = self.network.parameters()
        norm = nn.utils.clip_grad_norm_(parameters, self.config.learning.gradient_clip)
        if not torch.isfinite(norm):
            raise OwareError(
                f"training diverged at step {self.steps}: the gradient is {norm.item()}; "
                "lower learning.learning_rate"
            )
        self.optimiser.step()
        self.steps += 1
        self._update_average()
        return {name: value.detach() for name, value in parts.items()} | {
            "gradient_norm": norm.detach(),
            "learning_rate": torch.tensor(rate),
        }

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the averaged weights; at the start they follow quickly, so early units gain too."""
        decay = min(self.config.learning.average, (1 + self.steps) / (10 + self.steps))
        state = self.network.state_dict()
        names = list(state)
        torch._foreach_lerp_(
            [self.average[name] for name in names], [state[name] for name in names], 1 - decay
        )

    def playing_weights(self) -> bytes:
        """The averaged weights as safetensors bytes: what units are played with."""
        return save({name: tensor.cpu().contiguous() for name, tensor in self.average.items()})

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Everything trained, for a checkpoint: model, ema and optimiser."""
        optimiser: dict[str, Tensor] = {}
        for index, slots in self.optimiser.state_dict()["state"].items():
            optimiser |= {f"{index}.{name}": tensor for name, tensor in slots.items()}
        return {
            "model": dict(self.network.state_dict()),
            "ema": self.average,
            "optimiser": optimiser,
        }

    def restore(self, tensors: dict[str, dict[str, Tensor]], steps: int) -> None:
        """Put back what :meth:`tensors` gave, so that training goes on as if never stopped.

        Raises OwareError for tensors of other names, shapes or types, or that are not finite.
        """
        own = self.network.state_dict()
        check_tensors(tensors["model"], own, "model")
        check_tensors(tensors["ema"], own, "ema")
        groups = self.optimiser.param_groups
        parameters = [parameter for group in groups for parameter in group["params"]]
        slots = {
            f"{index}.{name}": torch.zeros(() if name == "step" else parameter.shape)
            for index, parameter in enumerate(parameters)
            for name in ("step", "exp_avg", "exp_avg_sq")
        }
        if tensors["optimiser"]:  # there is none before the first step
            check_tensors(tensors["optimiser"], slots, "optimiser")
        self.network.load_state_dict(tensors["model"])
        self.average = {name: t.to(self.device).clone() for name, t in tensors["ema"].items()}
        state: dict[int, dict[str, Any]] = {}
        for key, tensor in tensors["optimiser"].items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = tensor
        whole = self.optimiser.state_dict()
        self.optimiser.load_state_dict({**whole, "state": state})
        self.steps = steps


def check_tensors(found: dict[str, Tensor], wanted: dict[str, Tensor], what: str) -> None:
    """Raise OwareError when tensors are not finite ones of the names, shapes and types wanted."""
    if found.keys() != wanted.keys():
        name = min(found.keys() ^ wanted.keys())
        raise OwareError(f"{what} {'lacks' if name in wanted else 'knows no'} {name!r}")
    for name, tensor in found.items():
        like = wanted[name]
        if (tensor.dtype, tensor.shape) != (like.dtype, like.shape):
            raise OwareError(
                f"{what}: {name} is {tensor.dtype} of shape {list(tensor.shape)}, "
                f"not {like.dtype} of shape {list(like.shape)}"
            )
        if not torch.isfinite(tensor).all():
            raise OwareError(f"{what}: {name} holds a number that is not finite")
