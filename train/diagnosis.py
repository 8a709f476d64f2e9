"""What a run looks like from inside, for TensorBoard, at every evaluation.

Pictures of three positions with the policy and value that the network gives them, and histograms
of what was played since the last evaluation. All is drawn in the driver and read by nobody, so a
run is the same with it or without; after a resume the first histograms begin at the checkpoint.
"""

from typing import Any, NamedTuple, final

import numpy as np
import torch

from agents.neural.checkpoint import network_from
from agents.neural.evaluator import NetworkEvaluator
from agents.trained import PolicyAgent
from oware_env import render
from oware_env.positions import as_positions
from oware_env.rules import SEEDS
from oware_env.state import State
from train.config import Config
from train.run import RunFolder
from train.samples import GameEnds, Samples

# The start; an even midgame with captures to see; and one where E alone wins, and D even loses.
POSITIONS = {
    "opening": ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", 0),
    "midgame": ("1-1-2-2-7-1-6-0-2-2-3-2-10-9-S", 28),
    "endgame": ("0-1-1-1-1-1-0-2-0-0-0-1-20-20-S", 90),
}
BINS = 64


class Histogram:
    """Counts of values in equal bins of a fixed range."""

    def __init__(self, low: float, high: float, bins: int = BINS) -> None:
        """Values beyond ``low`` and ``high`` count in the first and the last bin."""
        self.edges = np.linspace(low, high, bins + 1)
        self.counts = np.zeros(bins, np.int64)

    def add(self, values: np.ndarray) -> None:
        """Count finite values."""
        inside = values.astype(np.float64).clip(self.edges[0], self.edges[-1])
        self.counts += np.histogram(inside, self.edges)[0]


def _empty(max_plies: int) -> dict[str, Histogram]:
    return {
        "policy_entropy": Histogram(0.0, float(np.log(6))),  # nats, of the policy targets
        "root_value": Histogram(-1.0, 1.0),  # of the searches, for the mover
        "game_length": Histogram(0.0, max_plies),  # plies
        "final_lead": Histogram(-SEEDS - 0.5, SEEDS + 0.5, 2 * SEEDS + 1),  # South's, in seeds
    }


class Opinion(NamedTuple):
    """What a network thinks of a position."""

    state: State
    policy: np.ndarray  # float32[6]
    value: float

    def picture(self) -> np.ndarray:
        """Its board with bars below: uint8[H, W, 3]."""
        return render.rgb_array(self.state.scene(), self.policy.tolist(), self.value)


def opinions(weights: bytes, config: Config) -> dict[str, Opinion]:
    """What the network with these safetensors weights thinks of each of POSITIONS, no search."""
    from safetensors.torch import load

    torch.set_num_threads(1)
    network = network_from(load(weights), config.network, "the pictures")
    agent = PolicyAgent(NetworkEvaluator(network, config.rules, config.device), "pictures")
    states = [
        State.parse(text, config.rules, min(ply, config.max_plies - 1))
        for text, ply in POSITIONS.values()
    ]
    boards, plies = np.array([s.board for s in states]), np.array([s.ply for s in states])
    _, policies, values = agent.decide(as_positions(boards, plies, np.arange(len(states))))
    found = zip(POSITIONS, states, policies, values, strict=True)
    return {name: Opinion(state, policy, float(value)) for name, state, policy, value in found}


@final
class Diagnosis:
    """Gathers histograms of a run, and writes them with the pictures."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.histograms = _empty(config.max_plies)

    def note(self, played: Any) -> None:
        """Count the games of a unit; a unit of AlphaZero has ``samples`` of searches as well."""
        ends: GameEnds = played.ends
        self.histograms["game_length"].add(ends.plies)
        self.histograms["final_lead"].add(ends.scores[:, 0].astype(np.int64) - ends.scores[:, 1])
        samples: Samples | None = getattr(played, "samples", None)
        if samples is not None:
            policies = samples.policies[samples.policies.any(axis=1)]
            entropies = -(policies * np.log(np.maximum(policies, 1e-12))).sum(axis=1)
            self.histograms["policy_entropy"].add(entropies)
            self.histograms["root_value"].add(samples.values[np.isfinite(samples.values)])

    def write(self, run: RunFolder, step: int, weights: bytes) -> None:
        """Add pictures and histograms to the log of a run, and begin new histograms."""
        for name, opinion in opinions(weights, self.config).items():
            run.add_picture(step, f"positions/{name}", opinion.picture())
        for name, histogram in self.histograms.items():
            if histogram.counts.any():
                run.add_histogram(step, f"selfplay/{name}", histogram.counts, histogram.edges)
        self.histograms = _empty(self.config.max_plies)
