"""What an agent answers is checked once, and what is refused names the agent."""

import numpy as np
import pytest

import agents
from agents.base import asked_moves, checked_agent, consult
from oware_env import OwareError, State
from oware_env.positions import Decisions, as_positions
from oware_env.single_agent import OwareSingleAgentEnv

FEED = "1-0-0-0-0-1-0-0-0-0-0-0-23-23-S"
POLICY, VALUE = np.ones((1, 6), np.float32), np.zeros(1, np.float32)


class Answers:
    """Always gives the same decisions."""

    name = "mine"

    def __init__(self, decisions):
        self.decisions = decisions

    def decide(self, positions):
        return self.decisions


WRONG_MOVES = [
    ([1.0], "float64 of shape (1,)"),
    ([float("nan")], "float64 of shape (1,)"),
    ([None], "object of shape (1,)"),
    (None, "object of shape ()"),
    ([True], "bool of shape (1,)"),
    (2, "int64 of shape ()"),
    ([2, 2], "int64 of shape (2,)"),
    ([[2]], "int64 of shape (1, 1)"),
    (["C"], "<U1 of shape (1,)"),
]


def refused(call, *arguments):
    """The message of the error that a call raises: one line."""
    with pytest.raises(OwareError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("moves", "found"), WRONG_MOVES)
def test_moves_that_are_no_integers_name_the_agent(moves, found):
    agent = Answers(Decisions(moves, POLICY, VALUE))
    position = as_positions(State.initial().board[None], [0], [0])
    env = OwareSingleAgentEnv(agents.as_opponent(agent), seat="north")
    message = f"agent mine: moves must be 1 integers, one a row, not {found}"
    assert refused(asked_moves, agent, position) == message
    assert refused(agents.choose, agent, State.initial()) == message
    assert refused(agents.as_opponent(agent), position) == message
    assert refused(env.reset) == message


@pytest.mark.parametrize("answer", [None, 2, np.array([2]), (np.array([2]), POLICY, VALUE)])
def test_an_agent_that_gives_no_decisions_is_named(answer):
    message = refused(agents.choose, Answers(answer), State.initial())
    assert message.startswith(
        "agent mine: decide() must answer with Decisions(moves, policy, value)"
    )


def test_moves_of_different_lengths_name_the_agent():
    agent = Answers(Decisions([[1], [1, 2]], POLICY, VALUE))
    message = refused(agents.choose, agent, State.initial())
    assert message.startswith("agent mine: moves cannot be made an array: ")


@pytest.mark.parametrize("move", [2, 6, -1, 258, 2**62])
def test_an_illegal_choice_names_the_agent(move):
    agent = Answers(Decisions(np.array([move]), POLICY, VALUE))
    message = refused(agents.choose, agent, State.parse(FEED))
    assert message.startswith(f"agent mine: illegal move {move} in {FEED}: ")
    env = OwareSingleAgentEnv(agents.as_opponent(agent), seat="north")
    message = refused(lambda: env.reset(options={"position": FEED}))
    assert message.startswith(f"opponent mine: illegal move {move} in {FEED}: ")


@pytest.mark.parametrize(
    ("policy", "value", "message"),
    [
        (None, VALUE, "agent mine: policy must be numbers [1, 6], not object of shape ()"),
        (POLICY[0], VALUE, "agent mine: policy must be numbers [1, 6], not float32 of shape (6,)"),
        (POLICY, None, "agent mine: value must be numbers [1], not object of shape ()"),
        (POLICY, ["a"], "agent mine: value must be numbers [1], not <U1 of shape (1,)"),
    ],
)
def test_a_policy_or_value_of_another_form_names_the_agent(policy, value, message):
    agent = Answers(Decisions(np.array([2]), policy, value))
    assert refused(consult, agent, State.initial()) == message


@pytest.mark.parametrize("value", ["greedy", None, Answers, object(), 3])
def test_what_is_no_agent_is_refused(value):
    for call in (checked_agent, agents.as_opponent, lambda agent: agents.choose(agent, None)):
        assert refused(call, value).startswith("an agent has a name and decide(positions), as ")


def test_a_state_and_a_seed_are_needed_to_choose():
    agent = agents.make("random")
    assert refused(agents.choose, agent, FEED) == f"an agent is asked about a State, not {FEED!r}"
    over = State.parse("0-0-0-0-0-0-0-0-0-0-0-1-27-20-N")
    assert "the game is over" in refused(agents.choose, agent, over)
    for seed in (-1, 2**64, 1.5, True, None, "7"):
        assert refused(agents.choose, agent, State.initial(), seed).startswith("seed must be ")
