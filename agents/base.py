"""What an agent and an evaluator are: two protocols, and the bridges to one state.

Agents are batch-first: a single game is a batch of one, and a match plays all its games in
lock-step. Bottom layer of ``agents``; imports no torch.
"""

from collections.abc import Callable
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from oware_env.batch import one_integer_each
from oware_env.errors import OwareError, seed_number, shown
from oware_env.positions import Decisions, Positions, as_array, as_positions, game_key
from oware_env.state import IllegalMove, State


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


def checked_agent(agent: Any) -> Agent:
    """``agent`` when it is one. Raises OwareError for a spec, a class or anything else."""
    if isinstance(agent, Agent) and not isinstance(agent, type):
        return agent
    raise OwareError(
        f"an agent has a name and decide(positions), as those of agents.make(spec), "
        f"not {shown(agent)}"
    )


def asked_moves(agent: Agent, positions: Positions) -> np.ndarray:
    """The agent's moves in B running positions: B integers, legal or not.

    Raises OwareError naming the agent when it answers with anything else.
    """
    return checked_moves(agent.name, agent.decide(positions), len(positions.plies))


def checked_moves(name: str, decisions: Any, count: int) -> np.ndarray:
    """The moves of an agent's decisions: ``count`` integers, legal or not.

    Raises OwareError naming the agent for floats, booleans, None and other shapes.
    """
    if not isinstance(decisions, Decisions):
        raise OwareError(
            f"agent {name}: decide() must answer with Decisions(moves, policy, value), "
            f"not {shown(decisions)}"
        )
    moves = decisions.moves
    if type(moves) is np.ndarray and moves.dtype == np.int8 and moves.shape == (count,):
        return moves  # as nearly always: no message is made for nothing
    return one_integer_each(f"agent {name}: moves", moves, count)


def consult(agent: Agent, state: State, seed: int = 0) -> Decisions:
    """The agent's decision, a batch of one, in one running state; equal seeds decide equally.

    Raises OwareError naming the agent when it answers with what is no move, or with a policy and
    a value that are no numbers. Whether the move is legal is left to who plays it.
    """
    checked_agent(agent)
    if not isinstance(state, State):
        raise OwareError(f"an agent is asked about a State, not {shown(state)}")
    if state.is_over:
        raise OwareError(f"the game is over in {state.to_text()}: there is nothing to choose")
    keys = np.array([game_key(np.uint64(seed_number("seed", seed)), 0)], np.uint64)
    decisions = agent.decide(as_positions(state.board[None], np.array([state.ply]), keys))
    checked_moves(agent.name, decisions, 1)
    policy = _numbers(f"agent {agent.name}: policy", decisions.policy, (1, 6))
    value = _numbers(f"agent {agent.name}: value", decisions.value, (1,))
    return Decisions(np.asarray(decisions.moves), policy, value)


def choose(agent: Agent, state: State, seed: int = 0) -> int:
    """The agent's move 0-5 in one running state; equal seeds give equal choices.

    Raises OwareError naming the agent when its move is not legal.
    """
    move = int(consult(agent, state, seed).moves[0])
    try:
        state.play(move)
    except IllegalMove as error:
        raise OwareError(f"agent {agent.name}: {error}") from None
    return move


def as_opponent(agent: Agent) -> Callable[[Positions], np.ndarray]:
    """The agent as an opponent of the environments: a callable from Positions to moves int8[B]."""
    return AgentOpponent(checked_agent(agent))


@final
class AgentOpponent:
    """An agent as an opponent of the environments, who names it in what they refuse."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def __call__(self, positions: Positions) -> np.ndarray:
        """The agent's moves, integers [B]. Raises OwareError naming it for anything else."""
        return asked_moves(self.agent, positions)

    def __repr__(self) -> str:
        return self.agent.name


def _numbers(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """``values`` as float32 of a shape, else OwareError naming them."""
    array = as_array(name, values)
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise OwareError(
            f"{name} must be numbers {list(shape)}, not {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float32, copy=False)
