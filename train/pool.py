"""The pool of past selves: copies of the weights of earlier moments, evenly spread over the run."""

import re
from pathlib import Path
from typing import final

import numpy as np
from safetensors.torch import load, save
from torch import Tensor

from agents.neural.checkpoint import read_tensors
from oware_env.errors import OwareError, shown
from train.learner import check_tensors

Weights = dict[str, Tensor]


@final
class Pool:
    """At most ``size`` copies, one every ``spacing`` units; when full, every second goes."""

    def __init__(self, weights: Weights, size: int, spacing: int) -> None:
        """``weights``: those the run starts with, the first past self."""
        self.size, self.spacing = size, spacing
        self.copies: dict[int, Weights] = {}  # by the number of units learned
        self._add(0, weights)

    def __len__(self) -> int:
        return len(self.copies)

    def _add(self, units: int, weights: Weights) -> None:
        """Keep a true copy: a reference would go on learning."""
        self.copies[units] = {name: t.detach().cpu().clone() for name, t in weights.items()}

    def offer(self, units: int, weights: Weights) -> None:
        """Copy the weights after ``units`` units when one is due."""
        if units % self.spacing:
            return
        self._add(units, weights)
        while len(self.copies) > self.size:
            self.spacing *= 2
            self.copies = {n: copy for n, copy in self.copies.items() if n % self.spacing == 0}

    def draw(self, seed: int, unit: int) -> Weights:
        """The past self that a unit is played against: the newer of two drawn uniformly.

        The oldest are soon beaten by everything and teach little.
        """
        drawn = np.random.default_rng((seed, unit)).integers(len(self.copies), size=2)
        return self.copies[list(self.copies)[drawn.max()]]

    def tensors(self) -> Weights:
        """All copies in one group, for a checkpoint; ``spacing`` must be saved as well."""
        return {f"{n}.{name}": t for n, copy in self.copies.items() for name, t in copy.items()}

    def restore(self, folder: Path, spacing: int) -> None:
        """Put back what a checkpoint folder holds. Raises OwareError for what is no pool."""
        like = next(iter(self.copies.values()))
        found: dict[int, Weights] = {}
        for key, tensor in read_tensors(folder, "pool").items():
            number, _, name = key.partition(".")
            if not re.fullmatch("[0-9]{1,18}", number):
                raise OwareError(f"checkpoint {folder}: {shown(key)} is no copy of a pool")
            found.setdefault(int(number), {})[name] = tensor
        if not found:
            raise OwareError(f"checkpoint {folder}: its pool is empty")
        for unit, copy in found.items():
            check_tensors(copy, like, f"checkpoint {folder}, copy {unit} of the pool")
        self.spacing, self.copies = spacing, {unit: found[unit] for unit in sorted(found)}


def pack_pair(learner: Weights, past: Weights) -> bytes:
    """The weights of both players of a unit as safetensors bytes."""
    pair = {"learner": learner, "past": past}
    named = {f"{who}.{name}": t for who, weights in pair.items() for name, t in weights.items()}
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in named.items()})


def unpack_pair(content: bytes) -> tuple[Weights, Weights]:
    """What :func:`pack_pair` packed."""
    learner: Weights = {}
    past: Weights = {}
    for key, tensor in load(content).items():
        who, _, name = key.partition(".")
        (learner if who == "learner" else past)[name] = tensor
    return learner, past
