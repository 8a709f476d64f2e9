"""The network: a residual MLP over summed table rows, with policy, result and margin heads.

Input is uint8[B, 33] (encoding.network_input): 14 board entries, the plies left, and 18 entries
of what moves would take. Each entry's count picks one row of a table and the rows are summed: a
first layer at the price of 33 look-ups. The rows are made of a few features of a count
(:func:`count_features`),
so that a count seen rarely still means something and a pair of stores cannot name one game and
its result. Blocks are pre-norm: x + W2 relu(W1 norm(x)).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from oware_env.encoding import HOUSE_CLASSES, PLIES_LEFT_CLIP
from oware_env.errors import OwareError
from oware_env.rules import SEEDS
from oware_env.tactics import EVEN, MOST_TAKEN

COUNT_ROWS = SEEDS + 1
ENTRY_ROWS = (
    *[COUNT_ROWS] * 14,
    PLIES_LEFT_CLIP + 1,
    *[MOST_TAKEN + 1] * 12,
    *[EVEN + MOST_TAKEN + 1] * 6,
)
TABLE_ROWS = sum(ENTRY_ROWS)
STORE_STEPS = (12, 18, 20, 22, 23, 24)  # finer towards the 25 that win
PLIES_LEFT_STEPS = (0, 1, 2, 3, 4, 6, 8, 16, 32)
TAKEN_STEPS = (2, 3, 4, 5, 7, 10)
EXCHANGE_STEPS = (-7, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7)
MARGIN_CLASSES = 2 * SEEDS + 1  # -48 .. 48
PRESETS = {
    "tiny": (64, 2),
    "small": (128, 2),
    "medium": (128, 4),
    "deep": (128, 8),
    "large": (256, 6),
}


class Heads(NamedTuple):
    """What the network says of B positions, all for the side to move."""

    policy: Tensor  # float32[B, 6], logits, illegal moves not masked
    result: Tensor  # float32[B, 3], logits of win, draw, loss
    margin: Tensor  # float32[B, 97], logits of the full margin -48 .. 48


def count_features() -> Tensor:
    """What the first layer knows of each count: float32[1135, 360], one block an entry.

    A house is a one-hot of 0 .. 11 and "12 or more", and the excess over 12; a store is its
    count and whether it has reached each of STORE_STEPS; plies left likewise, from 64 down; seeds
    taken likewise, and a move that takes none has no feature at all; so are exchanges, where an
    empty house has none.
    """
    counts = torch.arange(COUNT_ROWS)
    house = torch.zeros(COUNT_ROWS, HOUSE_CLASSES + 1)
    house[counts, counts.clamp(max=HOUSE_CLASSES - 1)] = 1.0
    house[:, HOUSE_CLASSES] = (counts - HOUSE_CLASSES + 1).clamp(min=0) / 12
    steps = [counts >= step for step in STORE_STEPS]
    store = torch.stack([counts / 12, *steps], dim=1)
    left = torch.arange(PLIES_LEFT_CLIP + 1)
    near = [left <= step for step in PLIES_LEFT_STEPS]
    plies = torch.stack([1 - left / PLIES_LEFT_CLIP, *near], dim=1)
    seeds = torch.arange(MOST_TAKEN + 1)
    reached = [seeds >= step for step in TAKEN_STEPS]
    taken = torch.stack([seeds / 4, *reached], dim=1)
    gains = torch.arange(EVEN + MOST_TAKEN + 1) - EVEN
    above = [gains >= step for step in EXCHANGE_STEPS]
    exchange = torch.stack([gains / 4, *above], dim=1)
    exchange[0] = 0.0  # an empty house
    return torch.block_diag(*[house] * 12, store, store, plies, *[taken] * 12, *[exchange] * 6)


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
    """The residual MLP of ``width`` and ``depth`` blocks.

    ``products`` is the type of the factors of all products but the heads'. What they are summed up
    in, and everything between them, is float32 in any case.
    """

    offsets: Tensor
    count_features: Tensor

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        self.products = torch.float32
        self.register_buffer("count_features", count_features(), persistent=False)
        self.first = nn.Parameter(torch.empty(self.count_features.shape[1], width))
        # The first norm rescales whatever comes in, so a small start only means that what is
        # learned soon outweighs what was drawn: a fifth of unit variance learned fastest, of the
        # board and the plies left, for most moves take nothing.
        nn.init.normal_(self.first, std=0.2 * 15**-0.5)
        self.bias = nn.Parameter(torch.zeros(width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, 6)
        self.result = nn.Linear(width, 3)
        self.margin = nn.Linear(width, MARGIN_CLASSES)
        rows = torch.tensor(ENTRY_ROWS)
        self.register_buffer("offsets", rows.cumsum(0) - rows, persistent=False)

    def table(self) -> Tensor:
        """The rows that inputs pick, float32[1135, width]; count c of entry e is offsets[e] + c."""
        return self.count_features @ self.first

    def features(self, inputs: Tensor) -> Tensor:
        """What the heads read: uint8[B, 33] to float32[B, width]."""
        rows = inputs.to(torch.int64) + self.offsets
        known = functional.embedding_bag(rows, self.count_features, mode="sum")
        half = self.products != torch.float32
        with torch.autocast(inputs.device.type, self.products, enabled=half):
            features = torch.addmm(self.bias, known, self.first).float()
            for block in self.blocks:
                features = block(features)
        return functional.relu(self.norm(features))

    def forward(self, inputs: Tensor) -> Heads:
        """All heads for uint8[B, 33]."""
        features, heads = self.features(inputs), (self.policy, self.result, self.margin)
        # One product instead of three, two of which would be too narrow for the machine.
        weights, biases = ([getattr(head, part) for head in heads] for part in ("weight", "bias"))
        outputs = functional.linear(features, torch.cat(weights), torch.cat(biases))
        return Heads(*outputs.split([head.out_features for head in heads], dim=1))


def operations(preset: str) -> int:
    """Floating-point operations of one judgement (policy and result) by a preset: products alone.

    A product of B rows with a matrix of m x n counts 2 B m n; the look-ups of the first layer, the
    norms and the like are left out.
    """
    width, depth = PRESETS[preset]
    return 2 * (2 * depth * width * width + width * 9)


def build_network(preset: str, seed: int = 0) -> Network:
    """A freshly initialised network of a named size; equal seeds give equal weights."""
    if preset not in PRESETS:
        raise OwareError(f"network must be one of {', '.join(PRESETS)}, not {preset!r}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(*PRESETS[preset])
