"""Trained agents: the raw policy of a network, or a search guided by it."""

from pathlib import Path

import numpy as np
import torch

from agents.base import Agent, Evaluator
from agents.neural.checkpoint import STATE, load_network
from agents.neural.evaluator import NetworkEvaluator
from agents.search.mcts import Mcts, Search
from agents.search.tree import masked_softmax
from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.positions import DRAW_TIE, Decisions, Positions, pick_move, random_bits
from oware_env.rules import Rules, legal_moves

CHECKPOINTS = "checkpoints"


@kernel
def _policies(boards, logits, policies):
    """Masked softmax of every row; the first row with a NaN, or -1."""
    for row in range(len(boards)):
        if not masked_softmax(logits[row], legal_moves(boards[row]), policies[row]):
            return row
    return -1


@kernel
def _likeliest(policies, plies, keys, moves):
    """The likeliest move of every row, ties at random from the key."""
    for row in range(len(moves)):
        best = policies[row].max()
        mask = 0
        for move in range(6):
            if policies[row, move] == best:
                mask |= 1 << move
        moves[row] = pick_move(mask, random_bits(keys[row], plies[row], DRAW_TIE, 0))


class PolicyAgent:
    """Plays the likeliest move of a network, without search."""

    def __init__(self, evaluator: Evaluator, name: str) -> None:
        self.evaluator = evaluator
        self.name = name

    def decide(self, positions: Positions) -> Decisions:
        """Moves, the network's policy over the legal moves, and its values."""
        logits, values = self.evaluator(positions)
        policies = np.empty((len(values), 6), np.float32)
        row = _policies(positions.boards, logits, policies)
        if row < 0 and np.isnan(values).any():
            row = int(np.isnan(values).argmax())
        if row >= 0:
            raise ValueError(
                f"the network returned NaN for board {positions.boards[row].tolist()} at ply "
                f"{positions.plies[row]}: logits {logits[row].tolist()}, value {values[row]}"
            )
        moves = np.empty(len(values), np.int8)
        _likeliest(policies, positions.plies, positions.keys, moves)
        return Decisions(moves, policies, values)


def neural_agent(evaluator: NetworkEvaluator, sims: int | None, name: str) -> Agent:
    """The agent of an evaluator: ``sims`` simulations a move, or the policy alone for None."""
    if sims is None:
        return PolicyAgent(evaluator, name)
    return Mcts(Search(evaluator, evaluator.rules, simulations=sims), name)


def newest_checkpoint(path: Path) -> Path:
    """``path`` when it is a checkpoint folder, else the newest checkpoint of a run folder."""
    if (path / STATE).is_file():
        return path
    if not path.is_dir():
        raise OwareError(f"there is no run or checkpoint folder {path}")
    found = [folder for folder in (path / CHECKPOINTS).glob("step-*") if (folder / STATE).is_file()]
    if not found:
        raise OwareError(f"{path} holds no checkpoint: it is not the folder of a run")
    return max(found, key=lambda folder: folder.name)


def load_agent(
    path: str | Path, rules: Rules = Rules(), *, device: str = "cpu", sims: int | None = None
) -> Agent:
    """The agent of a run or checkpoint folder. Raises OwareError in one line.

    Torch is told to use one thread: agents run one process a core.
    """
    check_device(device)
    torch.set_num_threads(1)
    folder = newest_checkpoint(Path(path))
    evaluator = NetworkEvaluator(load_network(folder, rules), rules, device)
    return neural_agent(evaluator, sims, str(path) if sims is None else f"{path}:sims={sims}")


def check_device(device: str) -> None:
    """Raise OwareError when torch does not know the device or it is not there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise OwareError(f"device {device!r} cannot be used: {reason}") from None
