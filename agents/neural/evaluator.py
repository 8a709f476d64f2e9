"""The network as an evaluator for search: positions in, logits and values out, in one batch."""

import copy
import statistics
import time
import warnings

import numpy as np
import torch

from agents.neural.folded import fold, judge
from agents.neural.forward import arrays_of, judge_inputs
from agents.neural.network import Network
from oware_env.encoding import network_input
from oware_env.errors import OwareError, shown
from oware_env.files import printable
from oware_env.positions import Positions
from oware_env.rules import Rules, initial_board, require_abapa

_REASON = 160  # characters that are shown of why a device cannot be used


class NetworkEvaluator:
    """Judges batches with a frozen copy of a network: value = P(win) - P(loss).

    On the CPU by compiled loops of our own, elsewhere by torch; later training of the network does
    not reach the copy.
    """

    def __init__(self, network: Network, rules: Rules = Rules(), device: str = "cpu") -> None:
        """Raises OwareError when torch cannot compute on the device."""
        check_device(device)
        self.rules = require_abapa(rules)
        self.device = torch.device(device)
        self._folded = fold(network, self.device)
        self.arrays = arrays_of(self._folded) if self.device.type == "cpu" else None

    def softened(self, temperature: float) -> "NetworkEvaluator":
        """A copy that divides the policy's logits by ``temperature``, at no cost: by its head."""
        other, moves = copy.copy(self), slice(0, 6)
        head, bias = self._folded.head.clone(), self._folded.head_bias.clone()
        head[:, moves] /= temperature
        bias[moves] /= temperature
        other._folded = self._folded._replace(head=head, head_bias=bias)
        other.arrays = None if self.arrays is None else arrays_of(other._folded)
        return other

    def __call__(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """(logits float32[B, 6], values float32[B] in [-1, 1])."""
        inputs = network_input(positions.boards, positions.plies, self.rules.max_plies)
        if self.arrays is not None:
            logits, values = judge_inputs(self.arrays, inputs)
            return logits, values
        logits, values = judge(self._folded, torch.from_numpy(inputs).to(self.device))
        return logits.cpu().numpy(), values.cpu().numpy()

    def seconds_a_call(self, count: int) -> float:
        """Seconds that judging ``count`` positions takes now: a clock for compiled loops."""
        boards, plies = np.tile(initial_board(), (count, 1)), np.zeros(count, np.int32)
        positions = Positions(boards, plies, np.zeros(count, np.uint64))
        times = []
        for _ in range(3):
            started = time.perf_counter()
            self(positions)
            times.append(time.perf_counter() - started)
        return statistics.median(times)


def use_one_thread() -> None:
    """Tell torch to use one thread: the project runs one process a core, and two torch threads
    on two busy cores are several times slower than one.
    """
    torch.set_num_threads(1)


def check_device(device: str) -> None:
    """Raise OwareError unless torch can compute on the device: some hold shapes and no numbers."""
    if not isinstance(device, str):
        raise OwareError(f"a device is text such as 'cpu' or 'cuda', not {shown(device)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about kinds of devices that torch is giving up
            is_right = float(torch.ones(2, device=device).sum()) == 2.0
        reason = "" if is_right else "it adds one and one wrongly"
    except Exception as error:  # each kind of device has its own: it cannot be used, whatever it is
        reason = printable(str(error).split("\n")[0])[:_REASON] or type(error).__name__
    if reason:
        raise OwareError(f"device {shown(device)} cannot be used: {reason}")
