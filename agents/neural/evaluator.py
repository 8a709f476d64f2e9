"""The network as an evaluator for search: positions in, logits and values out, in one batch."""

import time

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.neural.network import Block, Network
from oware_env.encoding import network_input
from oware_env.errors import OwareError
from oware_env.positions import Positions
from oware_env.rules import Rules, require_abapa


class NetworkEvaluator:
    """Judges batches with a frozen copy of a network: value = P(win) - P(loss).

    The copy is folded for speed: each norm's scale and shift go into the layer after it, the
    policy and result heads become one product, the margin head is left out. Later training of
    the network does not reach it.
    """

    def __init__(self, network: Network, rules: Rules = Rules(), device: str = "cpu") -> None:
        self.rules = require_abapa(rules)
        self.device = torch.device(device)
        self.encode_seconds = 0.0  # spent so far on turning positions into inputs
        with torch.inference_mode():
            self._offsets = network.offsets.to(self.device)
            self._table = network.table().detach().to(self.device, copy=True)
            self._bias = network.bias.detach().to(self.device, copy=True)
            blocks = [block for block in network.blocks if isinstance(block, Block)]
            self._blocks = [self._fold(block) for block in blocks]
            heads = network.policy, network.result
            self._norm = network.norm.weight.detach().to(self.device, copy=True)
            self._norm_bias = network.norm.bias.detach().to(self.device, copy=True)
            self._head = torch.cat([head.weight for head in heads]).to(self.device).t().contiguous()
            self._head_bias = torch.cat([head.bias for head in heads]).to(self.device)

    def _fold(self, block: Block) -> tuple[Tensor, Tensor, Tensor]:
        """(inner weights, inner bias, outer weights) of a block, its norm folded in, transposed."""
        inner = (block.inner.weight * block.norm.weight).t()
        bias = block.inner.bias + block.inner.weight @ block.norm.bias
        parts = inner, bias, block.outer.weight.t()
        inner, bias, outer = (part.detach().to(self.device).contiguous() for part in parts)
        return inner, bias, outer

    @torch.inference_mode()
    def __call__(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """(logits float32[B, 6], values float32[B] in [-1, 1])."""
        started = time.perf_counter()
        inputs = network_input(positions.boards, positions.plies, self.rules.max_plies)
        self.encode_seconds += time.perf_counter() - started
        outputs = self._forward(torch.from_numpy(inputs).to(self.device))
        results = outputs[:, 6:].softmax(dim=1)
        values = results[:, 0] - results[:, 2]
        return outputs[:, :6].contiguous().cpu().numpy(), values.cpu().numpy()

    def _forward(self, inputs: Tensor) -> Tensor:
        """Policy and result logits, float32[B, 9]."""
        rows = inputs.to(torch.int64) + self._offsets
        features = functional.embedding_bag(rows, self._table, mode="sum").add_(self._bias)
        shape = (features.shape[1],)
        for inner, bias, outer in self._blocks:
            hidden = torch.addmm(bias, functional.layer_norm(features, shape), inner).relu_()
            features = torch.addmm(features, hidden, outer)
        features = functional.layer_norm(features, shape, self._norm, self._norm_bias).relu_()
        return torch.addmm(self._head_bias, features, self._head)


def use_one_thread() -> None:
    """Tell torch to use one thread: the project runs one process a core, and two torch threads
    on two busy cores are several times slower than one.
    """
    torch.set_num_threads(1)


def check_device(device: str) -> None:
    """Raise OwareError when torch does not know the device or it is not there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise OwareError(f"device {device!r} cannot be used: {reason}") from None
