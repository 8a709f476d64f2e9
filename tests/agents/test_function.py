"""A function as an agent: it sees what environments show, and its answers are checked."""

import numpy as np
import pytest
import torch

import agents
from agents import roster
from agents.arena.match import play_match
from agents.arena.tournament import TournamentSettings, run_tournament
from agents.function import FunctionAgent
from oware_env import AWARI, OwareError, Rules, State, oware_v0
from oware_env.positions import Positions, game_keys
from oware_env.rules import legal_moves
from oware_env.single_agent import OwareSingleAgentEnv

EMPTY_C = "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S"


def lowest(observations, masks):
    return masks.argmax(axis=1)


def highest_of_one(observation, mask):
    return int(np.flatnonzero(mask)[-1])


def one_position(text, ply=0):
    board = State.parse(text).board
    return Positions(board[None], np.array([ply], np.int32), game_keys(np.uint64(0), np.arange(1)))


def in_one_row(answer):
    """A function that plays legally but for its first row."""

    def answers(observations, masks):
        actions = masks.argmax(axis=1).astype(np.int64)
        actions[0] = answer
        return actions

    return answers


@pytest.mark.parametrize(("observation", "size"), [("counts", 15), ("onehot", 171)])
def test_the_function_sees_what_the_environment_shows(observation, size):
    env = oware_v0.raw_env(observation=observation)
    env.reset(seed=3, options={"random_plies": 9})
    shown = env.observe(env.agent_selection)
    seen = []

    def note(observations, masks):
        seen.append((observations.copy(), masks.copy()))
        return masks.argmax(axis=1)

    agents.choose(FunctionAgent(note, "note", observation=observation), env.unwrapped.game_state)
    [(observations, masks)] = seen
    assert observations.dtype == np.float32 and observations.shape == (1, size)
    assert masks.dtype == np.int8 and masks.shape == (1, 6)
    np.testing.assert_array_equal(observations[0], shown["observation"])
    np.testing.assert_array_equal(masks[0], shown["action_mask"])


def test_the_plies_left_are_those_of_its_rules():
    lengths = []

    def note(observations, masks):
        lengths.append(float(observations[0, 14]))
        return masks.argmax(axis=1)

    FunctionAgent(note, "note", Rules(max_plies=100)).decide(one_position(EMPTY_C, ply=25))
    assert lengths == [0.75]


def test_decisions_are_the_functions_moves(positions):
    asked = positions(200)
    decisions = FunctionAgent(lowest, "lowest").decide(asked)
    expected = [(mask & -mask).bit_length() - 1 for mask in map(legal_moves, asked.boards)]
    assert decisions.moves.dtype == np.int8 and decisions.moves.tolist() == expected
    assert decisions.policy.dtype == np.float32
    assert decisions.policy.argmax(axis=1).tolist() == expected
    assert (np.sort(decisions.policy, axis=1) == [0, 0, 0, 0, 0, 1]).all()
    assert np.isnan(decisions.value).all()


def test_a_function_of_one_position_plays_like_its_batched_form(positions):
    def highest(observations, masks):
        return 5 - masks[:, ::-1].argmax(axis=1)

    asked = positions(100)
    alone = FunctionAgent(highest_of_one, "highest", batched=False)
    together = FunctionAgent(highest, "highest")
    assert alone.decide(asked).moves.tolist() == together.decide(asked).moves.tolist()


@pytest.mark.parametrize(
    "wrap", [list, np.uint8, lambda moves: torch.from_numpy(np.asarray(moves))]
)
def test_actions_may_be_a_list_an_array_or_a_tensor(positions, wrap):
    asked = positions(10)
    agent = FunctionAgent(lambda observations, masks: wrap(masks.argmax(axis=1)), "wrapped")
    assert agent.decide(asked).moves.tolist() == lowest(None, agent_masks(asked)).tolist()


def agent_masks(asked):
    masks = [legal_moves(board) for board in asked.boards]
    return np.array([[mask >> move & 1 for move in range(6)] for mask in masks])


def test_it_plays_a_match_from_both_seats():
    result = play_match(FunctionAgent(lowest, "lowest"), "random", games=40)
    assert (result.a, len(result.points)) == ("lowest", 40)
    again = play_match(FunctionAgent(lowest, "lowest"), agents.make("random"), games=40)
    assert np.array_equal(result.games.moves, again.games.moves)
    for game in range(0, 40, 7):
        state = State.initial()
        for ply in range(result.games.plies[game]):
            move = int(result.games.moves[game, ply])
            if ply >= 6 and state.south_to_move == result.games.a_is_south[game]:
                assert move == state.legal_moves[0]
            state = state.play(move)
        assert state.is_over


def test_it_is_an_opponent_of_the_environments():
    opponent = agents.as_opponent(FunctionAgent(lowest, "lowest"))
    env = OwareSingleAgentEnv(opponent, seat="north")
    env.reset(seed=0)
    assert env.state == State.initial().play(0)


def test_with_a_name_in_the_roster_it_plays_tournaments(monkeypatch):
    def build(asked):
        return FunctionAgent(lowest, "lowest", asked.rules)

    monkeypatch.setitem(roster.ROSTER, "lowest", roster.Entry(build, "the lowest house", {}))
    settings = TournamentSettings(
        agents=("lowest", "random", "greedy"), games=20, workers=0, max_plies=200
    )
    result = run_tournament(settings)
    assert [(match.a, match.b) for match in result.matches][:2] == [
        ("lowest", "random"),
        ("lowest", "greedy"),
    ]
    assert "lowest" in str(result)


def test_an_illegal_action_names_agent_function_position_and_action():
    agent = FunctionAgent(in_one_row(2), "mine")
    with pytest.raises(OwareError) as caught:
        agent.decide(one_position(EMPTY_C, ply=7))
    assert str(caught.value) == (
        "agent mine: function answers gave the illegal action 2 in "
        "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S at ply 7 (the mover shown as South): house C is empty; "
        "legal actions: 0, 1, 3, 4, 5"
    )


@pytest.mark.parametrize("action", [-1, 6, 256, 2**40])
def test_an_action_outside_the_six_houses_is_refused(action):
    agent = FunctionAgent(in_one_row(action), "mine")
    with pytest.raises(OwareError, match=f"the illegal action {action} in .*: a move is 0-5;"):
        agent.decide(one_position(EMPTY_C))


def test_a_function_that_changes_its_mask_does_not_change_the_rules():
    def allows_all(observations, masks):
        masks[:] = 1
        return np.full(len(masks), 2)

    with pytest.raises(OwareError, match="illegal action 2"):
        FunctionAgent(allows_all, "mine").decide(one_position(EMPTY_C))


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (lambda o, m: m, r"int8 of shape \(4, 6\)"),
        (lambda o, m: m.argmax(axis=1)[:3], r"int64 of shape \(3,\)"),
        (lambda o, m: m.argmax(axis=1) * 1.0, r"float64 of shape \(4,\)"),
        (lambda o, m: m[:, 0] > 0, r"bool of shape \(4,\)"),
        (lambda o, m: 3, r"int64 of shape \(\)"),
        (lambda o, m: None, r"object of shape \(\)"),
        (lambda o, m: [[0], [1, 2], [3], [4]], "object"),
    ],
)
def test_an_answer_of_another_form_is_refused(positions, answer, named):
    agent = FunctionAgent(answer, "mine")
    with pytest.raises(OwareError, match=f"agent mine: .* must answer with 4 whole .* {named}"):
        agent.decide(positions(4))


def test_one_action_in_an_array_of_its_own_is_refused(positions):
    agent = FunctionAgent(lambda o, m: [int(m.argmax())], "mine", batched=False)
    with pytest.raises(OwareError, match="must answer with a whole number"):
        agent.decide(positions(4))


def test_an_error_of_the_function_reaches_the_user(positions):
    with pytest.raises(ZeroDivisionError):
        FunctionAgent(lambda o, m: 1 // 0, "mine").decide(positions(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": "greedy"}, "function must be a callable .*, not 'greedy'"),
        ({"name": " "}, "name must be text"),
        ({"observation": "count"}, "observation must be 'counts' or 'onehot', not 'count'"),
        ({"rules": AWARI}, "games are played under abapa"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(OwareError, match=message):
        FunctionAgent(**{"function": lowest, "name": "lowest", **arguments})
