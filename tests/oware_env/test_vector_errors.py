"""Mistakes in using the vector environment: one clear line each, and no row has moved."""

import copy

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from oware_env import AWARI, OwareError, Rules
from oware_env.episode import random_opponent
from oware_env.vector import OwareVectorEnv

MODES = list(AutoresetMode)
SOUTH_WON = "0-0-0-0-0-0-0-0-0-0-0-1-27-20-N"
SOUTH_WINS_WITH_F = "0-0-0-0-0-3-1-1-1-0-0-1-21-20-S"


class Spoiler:
    """Plays randomly, until its answers are spoilt."""

    def __init__(self):
        self.spoil = None

    def __call__(self, positions):
        moves = random_opponent(positions)
        return moves if self.spoil is None else self.spoil(moves)

    def __repr__(self):
        return "Spoiler()"


def in_play(mode=AutoresetMode.NEXT_STEP, steps=20, **arguments):
    env = OwareVectorEnv(20, Spoiler(), seat="alternate", autoreset_mode=mode, **arguments)
    env.reset(seed=0)
    for _ in range(steps):
        step = env.step(env.action_masks().argmax(axis=1))
        if mode == AutoresetMode.DISABLED and step[2].any():
            env.reset(options={"reset_mask": step[2]})
    return env


def refused(call, env, *arguments, **keywords):
    """The message of the error that a call raises; the environment then plays on as its twin."""
    twin = copy.deepcopy(env)
    twin.opponent.spoil = None
    with pytest.raises(OwareError) as caught:
        call(env, *arguments, **keywords)
    assert "\n" not in str(caught.value)
    env.opponent.spoil = None
    for _ in range(3):
        actions = env.action_masks().argmax(axis=1)
        assert actions.tolist() == twin.action_masks().argmax(axis=1).tolist()
        assert data_equivalence(env.step(actions), twin.step(actions), exact=True)
    results = [each.reset(options={"random_plies": 5}) for each in (env, twin)]
    assert data_equivalence(*results, exact=True)
    return str(caught.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", [9, 6, -1, 127, 262])
def test_an_action_outside_the_houses_names_its_row(mode, action):
    env = in_play(mode)
    actions = env.action_masks().argmax(axis=1)
    actions[17:] = action
    message = refused(OwareVectorEnv.step, env, actions)
    assert message == f"row 17: an action is 0-5, not {action}"


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        (np.zeros(19, int), "int64 of shape (19,)"),
        (np.zeros((20, 1), int), "int64 of shape (20, 1)"),
        (np.zeros(20), "float64 of shape (20,)"),
        (np.full(20, np.nan), "float64 of shape (20,)"),
        (np.zeros(20, bool), "bool of shape (20,)"),
        (["A"] * 20, "<U1 of shape (20,)"),
        (3, "int64 of shape ()"),
        (None, "object of shape ()"),
        ([True] + [0] * 19, "bool of shape (20,)"),
        ([np.bool_(True)] + [0] * 19, "bool of shape (20,)"),
        ([2**70] * 20, "object of shape (20,)"),
        (np.zeros(20, "m8[s]"), "timedelta64[s] of shape (20,)"),
    ],
)
def test_actions_of_a_wrong_type_or_shape_are_refused(actions, found):
    message = refused(OwareVectorEnv.step, in_play(), actions)
    assert message == f"actions must be 20 integers, one a row, not {found}"


class Unreadable:
    def __array__(self, *arguments, **keywords):
        raise RuntimeError("this tensor requires grad:\nuse detach()")


@pytest.mark.parametrize("answer", [[[0], [1, 2]] * 10, Unreadable()])
def test_what_is_no_array_is_refused_by_name(answer):
    message = refused(OwareVectorEnv.step, in_play(), answer)
    assert message.startswith("actions cannot be made an array: ")
    env = in_play(steps=0)
    env.opponent.spoil = lambda moves: answer
    message = refused(OwareVectorEnv.step, env, np.zeros(20, int))
    assert message.startswith("the moves of opponent Spoiler() cannot be made an array: ")


@pytest.mark.parametrize("kind", ["i1", "u1", ">i2", "i4", ">i8", "u8"])
def test_moves_may_be_integers_of_any_type(kind):
    env, twin = in_play(steps=0), in_play(steps=0)
    env.opponent.spoil = lambda moves: moves.astype(kind)
    actions = env.action_masks().argmax(axis=1)
    assert data_equivalence(env.step(actions.astype(kind)), twin.step(actions), exact=True)


@pytest.mark.parametrize("row", [-1, 20, True, 1.0, None, "0", 2**70, [0]])
def test_a_row_that_is_not_there_is_refused(row):
    with pytest.raises(OwareError, match=r"^row must be (at most 19|a whole number)"):
        in_play(steps=0).state(row)


def test_a_step_needs_a_reset():
    env = OwareVectorEnv(2, seed=0)
    with pytest.raises(OwareError, match=r"no episode has started: call reset\(\) before step"):
        env.step(np.zeros(2, int))
    with pytest.raises(OwareError, match=r"the first reset\(\) starts every row"):
        env.reset(options={"reset_mask": np.array([True, False])})


def test_without_autoreset_a_row_that_is_over_cannot_step():
    env = OwareVectorEnv(3, Spoiler(), autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    env.reset(options={"position": SOUTH_WINS_WITH_F, "reset_mask": np.array([False, True, False])})
    assert env.step(np.full(3, 5))[2].tolist() == [False, True, False]
    before = [env.state(row) for row in range(3)]
    with pytest.raises(OwareError, match=r"row 1: the episode is over: reset\(\) it with option"):
        env.step(np.zeros(3, int))
    assert [env.state(row) for row in range(3)] == before
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert not env.step(np.zeros(3, int))[2].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("move", [6, -1, 99])
def test_an_illegal_move_of_the_opponent_is_an_error_that_names_it(mode, move):
    env = in_play(mode)

    def spoil(moves):
        moves[11] = move
        return moves

    env.opponent.spoil = spoil
    actions = env.action_masks().argmax(axis=1)
    message = refused(OwareVectorEnv.step, env, actions)
    assert (
        message.startswith("row 1") and f": opponent Spoiler(): illegal move {move} in " in message
    )
    assert "a move is 0-5; legal moves: " in message


def test_an_empty_house_of_the_opponent_is_named_with_its_position():
    env = OwareVectorEnv(4, Spoiler(), seat="south")
    env.reset(seed=0)
    mask = np.array([False, False, True, False])
    env.reset(options={"position": "4-4-4-4-4-4-5-5-0-5-5-4-0-0-S", "reset_mask": mask})
    env.opponent.spoil = lambda moves: np.full(4, 2)
    message = refused(OwareVectorEnv.step, env, np.zeros(4, int))
    assert message == (
        "row 2: opponent Spoiler(): illegal move 2 in 0-5-5-5-5-4-5-5-0-5-5-4-0-0-N: "
        "house c is empty; legal moves: a b d e f"
    )


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            lambda moves: moves[:-1],
            "answered 20 positions with moves of shape (19,); it must be (20,)",
        ),
        (lambda moves: moves[0], "with moves of shape (); it must be (20,)"),
        (lambda moves: None, "with moves of shape (); it must be (20,)"),
        (lambda moves: moves.astype(float), "answered with moves of type float64; they must be"),
        (lambda moves: ["A"] * len(moves), "answered with moves of type <U1; they must be"),
    ],
)
def test_an_opponent_that_answers_in_a_wrong_form_is_named(answer, found):
    env = in_play(steps=0)
    env.opponent.spoil = answer
    message = refused(OwareVectorEnv.step, env, np.zeros(20, int))
    assert message.startswith("opponent Spoiler() ") and found in message


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_opponent_that_fails_at_a_restart_leaves_the_end_to_be_played_again(mode):
    env = OwareVectorEnv(2, Spoiler(), seat="north", autoreset_mode=mode)
    env.reset(seed=0)
    turned = "1-1-1-0-0-1-0-0-0-0-0-3-20-21-N"  # North wins with f
    env.reset(options={"position": turned, "reset_mask": np.array([True, False])})
    if mode == AutoresetMode.NEXT_STEP:
        env.step(np.full(2, 5))
    env.opponent.spoil = lambda moves: np.full(len(moves), 7)
    message = refused(OwareVectorEnv.step, env, np.full(2, 5))
    assert message.startswith("row ") and "illegal move 7" in message


def test_an_error_inside_the_opponent_comes_out_as_it_is_and_nothing_has_moved():
    env = OwareVectorEnv(3, Spoiler())
    env.reset(seed=0)
    before = [env.state(row) for row in range(3)]

    def fail(moves):
        raise ZeroDivisionError("inside")

    env.opponent.spoil = fail
    with pytest.raises(ZeroDivisionError, match="inside"):
        env.step(np.zeros(3, int))
    assert [env.state(row) for row in range(3)] == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number of at least 1, not 0"),
        ({"num_envs": 2.0}, "num_envs must be a whole number of at least 1, not 2.0"),
        ({"num_envs": True}, "num_envs must be a whole number of at least 1, not True"),
        ({"seat": "East"}, "seat must be 'south', 'north' or 'alternate', not 'East'"),
        ({"opponent": "random"}, "opponent must be a callable from Positions to moves, such as"),
        ({"observation": 15}, "observation must be 'counts' or 'onehot', not 15"),
        ({"reward": "score"}, "reward must be 'result' or 'margin', not 'score'"),
        ({"rules": AWARI}, "games are played under abapa, not awari"),
        ({"rules": Rules(max_plies=0)}, "max_plies must be between 1 and"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, not 1.5"),
        ({"seed": "7"}, "seed must be a whole number of at least 0, not '7'"),
        ({"seed": True}, "seed must be a whole number of at least 0, not True"),
        ({"seed": 2**64}, "seed must be at most 18446744073709551615, not 18446744073709551616"),
        ({"seed": 2**64 - 1}, "seed must be at most 18446744073709551614 for 2 rows, not"),
        (
            {"seed": 10**5000},
            "seed must be at most 18446744073709551615, not int of very many digits",
        ),
        ({"num_envs": 2**40}, "num_envs must be at most 1048576, not 1099511627776"),
        ({"max_episode_steps": 0}, "max_episode_steps must be a whole number of at least 1, not 0"),
        ({"max_episode_steps": 5.0}, "max_episode_steps must be a whole number of at least 1, not"),
        ({"seat": np.array(["south", "north"])}, "seat must be 'south', 'north' or 'alternate', n"),
        ({"rules": Rules(max_plies=2.5)}, "max_plies must be a whole number, not 2.5"),
        ({"rules": Rules(slam=np.ones(2))}, "slam must be a whole number, not array([1., 1.])"),
        ({"rules": np.eye(9)}, "rules must be a Rules value such as Rules(max_plies=400), not"),
        (
            {"autoreset_mode": "next"},
            "autoreset_mode must be a gymnasium.vector.AutoresetMode, not",
        ),
        ({"render_mode": "human"}, "render_mode must be 'ansi' or 'rgb_array', not 'human'"),
    ],
)
def test_a_bad_argument_is_refused_in_one_line(arguments, message):
    with pytest.raises(OwareError) as caught:
        OwareVectorEnv(**{"num_envs": 2} | arguments)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"seed": [1, 2]}, "a list of seeds needs one for each of 20 rows, not 2"),
        ({"seed": np.array(3)}, "seed must be a whole number of at least 0, not array(3)"),
        ({"seed": np.zeros(20)}, "the seed of row 0 must be a whole number of at least 0, not"),
        ({"seed": [2**64] * 20}, "the seed of row 0 must be at most 18446744073709551615, not"),
        (
            {"options": {"ply": 10**5000}},
            "ply must be between 0 and max_plies 400, not int of very",
        ),
        ({"options": {"position": np.eye(9)}}, "a position must be text such as 4-4-4-4"),
        ({"options": {np.ones(3).tobytes(): 1}}, "unknown reset option b'"),
        (
            {"seed": [1] * 19 + [-3]},
            "the seed of row 19 must be a whole number of at least 0, not -3",
        ),
        ({"options": [1]}, "reset options must be a dict such as"),
        ({"options": {"ply": 401}}, "ply must be between 0 and max_plies 400, not 401"),
        ({"options": {"position": "4-4"}}, "position '4-4'"),
        (
            {"options": {"reset_maks": np.ones(20, bool)}},
            "unknown reset option 'reset_maks': known are position, ply, random_plies, reset_mask; "
            "did you mean 'reset_mask'?",
        ),
        (
            {"options": {"reset_mask": np.ones(19, bool)}},
            "option 'reset_mask' must be a bool array",
        ),
        ({"options": {"reset_mask": np.ones(20)}}, "option 'reset_mask' must be a bool array [20]"),
        ({"options": {"reset_mask": [True] * 20}}, "option 'reset_mask' must be a bool array [20]"),
        ({"options": {"reset_mask": np.zeros(20, bool)}}, "option 'reset_mask' chooses no row"),
        (
            {"options": {"random_plies": 400}},
            "row 0: option 'random_plies' 400 ended 100 games from 4-4-4-4-4-4-4-4-4-4-4-4-0-0-S",
        ),
        (
            {"options": {"random_plies": 10**15}},
            "row 0: option 'random_plies' 1000000000000000 ended",
        ),
        (
            {"options": {"position": SOUTH_WON}},
            f"row 0: the game from {SOUTH_WON} is over before the learner's first move",
        ),
    ],
)
def test_a_bad_reset_is_refused_and_the_episodes_go_on(arguments, message):
    assert refused(OwareVectorEnv.reset, in_play(), **arguments).startswith(message)


def test_a_start_that_the_opponent_ends_at_once_names_its_row():
    env = OwareVectorEnv(3, seat="north")
    env.reset(seed=0)
    options = {"position": SOUTH_WINS_WITH_F, "reset_mask": np.array([False, True, True])}
    with pytest.raises(OwareError, match=r"row 1: the game from .* is over before the learner's"):
        env.reset(options=options)
    assert [env.state(row).ply for row in range(3)] == [1, 1, 1]
