"""Trained agents: the raw policy of a network, or a search guided by it.

The one place where network and search meet; both know only the Evaluator protocol.
"""

from pathlib import Path

import numpy as np

from agents.base import Agent, Evaluator
from agents.compiled import remembering
from agents.neural.checkpoint import load_network, newest_checkpoint
from agents.neural.evaluator import NetworkEvaluator, check_device, use_one_thread
from agents.policy import likeliest_moves, masked_policies
from agents.search.exploration import Exploration
from agents.search.match_play import MatchPlay, match_player
from agents.tablebase.probe import TableArrays
from oware_env.errors import OwareError, shown
from oware_env.positions import Decisions, Positions, checked_positions
from oware_env.rules import Rules

# The constant of PUCT for a trained network: its values are steady, so a search may trust them
# early. The same network scored 79 % with 1.25 and 89 % with 0.5 or 0.8 (docs/decisions/0009). What
# many simulations and moves not tried yet add to it is measured in docs/match_play.md.
EXPLORATION = Exploration(0.65, growth=0.4, reduction=0.1, transpositions=True)
# A search plays better when it takes the policy as less sure than it was trained to be: it looks at
# what its own kind would not (docs/match_play.md). Self-play takes the policy as it is.
PRIOR_TEMPERATURE = 1.4


class PolicyAgent:
    """Plays the likeliest move of a network, without search."""

    def __init__(self, evaluator: Evaluator, name: str) -> None:
        self.evaluator = evaluator
        self.name = name

    def decide(self, positions: Positions) -> Decisions:
        """Moves, the network's policy over the legal moves, and its values."""
        positions = checked_positions(positions)
        logits, values = self.evaluator(positions)
        policies = np.empty((len(values), 6), np.float32)
        row = masked_policies(positions.boards, logits, policies)
        if row < 0 and np.isnan(values).any():
            row = int(np.isnan(values).argmax())
        if row >= 0:
            raise ValueError(
                f"the network returned NaN for board {positions.boards[row].tolist()} at ply "
                f"{positions.plies[row]}: logits {logits[row].tolist()}, value {values[row]}"
            )
        moves = np.empty(len(values), np.int8)
        likeliest_moves(policies, positions.plies, positions.keys, moves)
        return Decisions(moves, policies, values)


def neural_agent(
    evaluator: NetworkEvaluator,
    play: int | MatchPlay | None,
    name: str,
    table: TableArrays | None = None,
) -> Agent:
    """The agent of an evaluator: a search as ``play`` says, or the policy alone for None.

    A number stands for so many simulations a move. A search may have a ``table`` of endgames.
    """
    if play is None:
        return PolicyAgent(evaluator, name)
    settings = play if isinstance(play, MatchPlay) else MatchPlay(sims=play)
    judge, rules = remembering(evaluator.softened(PRIOR_TEMPERATURE), slots=0), evaluator.rules
    agent = match_player(judge, rules, settings, exploration=EXPLORATION, table=table)
    agent.name = name
    return agent


def load_agent(
    path: str | Path,
    rules: Rules = Rules(),
    *,
    device: str = "cpu",
    play: int | MatchPlay | None = None,
    table: TableArrays | None = None,
) -> Agent:
    """The agent of a run or checkpoint folder, as :func:`neural_agent` makes it.

    Raises OwareError in one line.
    """
    if not isinstance(path, str | Path):
        raise OwareError(f"a run is a folder such as 'runs/NAME', not {shown(path)}")
    check_device(device)
    use_one_thread()
    folder = newest_checkpoint(Path(path))
    evaluator = NetworkEvaluator(load_network(folder, rules), rules, device)
    settings = MatchPlay(sims=play) if isinstance(play, int) else play
    name = str(path) if settings is None else f"{path}:{settings}"
    return neural_agent(evaluator, settings, name, table)
