"""A network folded for judging: fewer and larger steps, the same answers.

Each norm's scale and shift go into the layer after it, the policy and result heads become one
product, the margin head is left out. The folded network is a copy: later training of the network
does not reach it.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from agents.neural.network import Block, Network


class Folded(NamedTuple):
    """The weights of a folded network of width W with D blocks, all float32."""

    offsets: Tensor  # int64[33], first row of ``table`` of each entry of the input
    table: Tensor  # [1135, W], the rows that inputs pick
    bias: Tensor  # [W]
    inner: Tensor  # [D, W, W], the first product of each block, the norm's scale in it
    inner_bias: Tensor  # [D, W]
    outer: Tensor  # [D, W, W]
    norm: Tensor  # [W], scale of the last norm
    norm_bias: Tensor  # [W]
    head: Tensor  # [W, 9], policy and result
    head_bias: Tensor  # [9]


@torch.inference_mode()
def fold(network: Network, device: torch.device) -> Folded:
    """Fold a network; the weights lie on ``device`` and are its own."""
    blocks = [block for block in network.blocks if isinstance(block, Block)]
    heads = network.policy, network.result
    parts = (
        network.offsets,
        network.table(),
        network.bias,
        torch.stack([(block.inner.weight * block.norm.weight).t() for block in blocks]),
        torch.stack([block.inner.bias + block.inner.weight @ block.norm.bias for block in blocks]),
        torch.stack([block.outer.weight.t() for block in blocks]),
        network.norm.weight,
        network.norm.bias,
        torch.cat([head.weight for head in heads]).t(),
        torch.cat([head.bias for head in heads]),
    )
    copies = (part.detach().to(device, copy=True).contiguous() for part in parts)
    return Folded(*copies)


@torch.inference_mode()
def judge(folded: Folded, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """(logits float32[B, 6], values float32[B]) of uint8[B, 33], by torch on any device."""
    rows = inputs.to(torch.int64) + folded.offsets
    features = functional.embedding_bag(rows, folded.table, mode="sum").add_(folded.bias)
    shape = (features.shape[1],)
    for inner, bias, outer in zip(folded.inner, folded.inner_bias, folded.outer, strict=True):
        hidden = torch.addmm(bias, functional.layer_norm(features, shape), inner).relu_()
        features = torch.addmm(features, hidden, outer)
    features = functional.layer_norm(features, shape, folded.norm, folded.norm_bias).relu_()
    outputs = torch.addmm(folded.head_bias, features, folded.head)
    chances = outputs[:, 6:].softmax(dim=1)
    return outputs[:, :6].contiguous(), chances[:, 0] - chances[:, 2]
