"""What an agent and an evaluator are: two protocols, and the bridges to one state.

Agents are batch-first: a single game is a batch of one, and a match plays all its games in
lock-step. Bottom layer of ``agents``; imports no torch.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from oware_env.positions import Decisions, Positions, as_positions, game_key
from oware_env.state import State


@runtime_checkable
class Agent(Protocol):
    """Chooses moves. Draws random numbers only from each position's (key, ply)."""

    name: str  # the spec it was made from

    def decide(self, positions: Positions) -> Decisions:
        """A legal move, a policy and a value for each of B running positions."""
        ...


class Evaluator(Protocol):
    """Judges positions for a search: a network, a rollout, a rule of thumb."""

    def __call__(self, positions: Positions) -> tuple[np.ndarray, np.ndarray]:
        """(logits float32[B, 6], values float32[B] in [-1, 1] for the mover).

        Logits of illegal moves are ignored by the search.
        """
        ...


def consult(agent: Agent, state: State, seed: int = 0) -> Decisions:
    """The agent's decision, a batch of one, in one running state; equal seeds decide equally."""
    if state.is_over:
        raise ValueError(f"the game is over in {state.to_text()}: there is nothing to choose")
    keys = np.array([game_key(np.uint64(seed), 0)], np.uint64)
    return agent.decide(as_positions(state.board[None], np.array([state.ply]), keys))


def choose(agent: Agent, state: State, seed: int = 0) -> int:
    """The agent's move 0-5 in one running state; equal seeds give equal choices."""
    return int(consult(agent, state, seed).moves[0])


def as_opponent(agent: Agent) -> Callable[[Positions], np.ndarray]:
    """The agent as an opponent of the environments: a callable from Positions to moves int8[B]."""
    return lambda positions: agent.decide(positions).moves
