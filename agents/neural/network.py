"""The network: a residual MLP over summed embeddings, with policy, result and margin heads.

Input is uint8[B, 15] (encoding.network_input): 14 board entries and the plies left. Each entry's
count picks one row of a table and the rows are summed, which is a one-hot first layer at the
price of 15 look-ups. Blocks are pre-norm: x + W2 relu(W1 norm(x)).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from oware_env.encoding import NETWORK_SIZE, PLIES_LEFT_CLIP
from oware_env.errors import OwareError
from oware_env.rules import SEEDS

COUNT_ROWS = SEEDS + 1
TABLE_ROWS = 14 * COUNT_ROWS + PLIES_LEFT_CLIP + 1
MARGIN_CLASSES = 2 * SEEDS + 1  # -48 .. 48
PRESETS = {"tiny": (64, 2), "small": (128, 2), "medium": (128, 4), "large": (256, 6)}


class Heads(NamedTuple):
    """What the network says of B positions, all for the side to move."""

    policy: Tensor  # float32[B, 6], logits, illegal moves not masked
    result: Tensor  # float32[B, 3], logits of win, draw, loss
    margin: Tensor  # float32[B, 97], logits of the full margin -48 .. 48


class Block(nn.Module):
    """One residual block: two layers; a bias on the second would only repeat the next one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.outer.weight)  # each block starts as the identity

    def forward(self, features: Tensor) -> Tensor:
        """float32[B, width] to the same shape."""
        return features + self.outer(functional.relu(self.inner(self.norm(features))))


class Network(nn.Module):
    """The residual MLP of ``width`` and ``depth`` blocks."""

    offsets: Tensor

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        self.table = nn.EmbeddingBag(TABLE_ROWS, width, mode="sum")
        nn.init.normal_(self.table.weight, std=NETWORK_SIZE**-0.5)
        self.bias = nn.Parameter(torch.zeros(width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, 6)
        self.result = nn.Linear(width, 3)
        self.margin = nn.Linear(width, MARGIN_CLASSES)
        self.register_buffer("offsets", torch.arange(NETWORK_SIZE) * COUNT_ROWS, persistent=False)

    def features(self, inputs: Tensor) -> Tensor:
        """What the heads read: uint8[B, 15] to float32[B, width]."""
        features = self.table(inputs.to(torch.int64) + self.offsets) + self.bias
        for block in self.blocks:
            features = block(features)
        return functional.relu(self.norm(features))

    def forward(self, inputs: Tensor) -> Heads:
        """All heads for uint8[B, 15]."""
        features = self.features(inputs)
        return Heads(self.policy(features), self.result(features), self.margin(features))


def build_network(preset: str, seed: int = 0) -> Network:
    """A freshly initialised network of a named size; equal seeds give equal weights."""
    if preset not in PRESETS:
        raise OwareError(f"network must be one of {', '.join(PRESETS)}, not {preset!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(*PRESETS[preset])
