"""The Gymnasium environment: one learner, an opponent inside, either seat."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from oware_env import AWARI, OwareError, Rules, State
from oware_env.encoding import encode_observations
from oware_env.single_agent import OwareSingleAgentEnv

SEATS = ["south", "north", "alternate"]
EMPTY_C = "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S"
SOUTH_WINS_WITH_F = "0-0-0-0-0-3-1-1-1-0-0-1-21-20-S"  # 27-20
SOUTH_WON = "0-0-0-0-0-0-0-0-0-0-0-1-27-20-N"


def first_legal(positions):
    """An opponent: the lowest non-empty house that may be played."""
    moves = []
    for board, ply in zip(positions.boards, positions.plies, strict=True):
        moves.append(State.from_board(board, True, ply=int(ply)).legal_moves[0])
    return np.array(moves, np.int8)


def play_first_legal(env):
    """Play to the end with the learner's lowest legal house; all that came back."""
    steps = []
    terminated = False
    while not terminated:
        action = int(env.action_masks().argmax())
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((observation.tolist(), reward, truncated, info["action_mask"].tolist()))
    return steps


def as_seen_by_mover(state, size=15):
    out = np.empty((1, size), np.float32)
    plies = np.array([state.ply], np.int32)
    encode_observations(state.board[None], plies, state.rules.max_plies, out)
    return out[0]


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("observation", ["counts", "onehot"])
def test_gymnasiums_checker_finds_nothing(seat, observation, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make("Oware-v0", seat=seat, observation=observation).unwrapped
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("seat", ["south", "north"])
def test_the_learner_meets_its_own_turns_seen_from_its_own_side(seat):
    env = OwareSingleAgentEnv(opponent=first_legal, seat=seat)
    expected = State.initial()
    if seat == "north":
        expected = expected.play(0)
    observation, info = env.reset(seed=0)
    while True:
        assert env.state == expected
        assert env.learner_is_south == (seat == "south") == expected.south_to_move
        np.testing.assert_array_equal(observation, as_seen_by_mover(expected))
        assert tuple(env.action_masks().nonzero()[0]) == expected.legal_moves
        assert env.action_masks().dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].tolist() == env.action_masks().tolist()

        action = expected.legal_moves[-1]
        expected = expected.play(action)
        if not expected.is_over:
            expected = expected.play(expected.legal_moves[0])
        observation, reward, terminated, truncated, info = env.step(action)
        assert not truncated and terminated == expected.is_over
        if terminated:
            break
        assert reward == 0.0
    south, north = expected.outcome.scores
    assert reward == (np.sign(south - north) if seat == "south" else np.sign(north - south))
    assert not env.action_masks().any()
    own_store = env.state.stores[0 if seat == "south" else 1]
    assert observation[12] == np.float32(own_store) / np.float32(48)


@pytest.mark.parametrize("reward", ["result", "margin"])
@pytest.mark.parametrize("seat", ["south", "north"])
def test_the_reward_is_the_learners(reward, seat):
    turned = "1-1-1-0-0-1-0-0-0-0-0-3-20-21-N"
    env = OwareSingleAgentEnv(seat=seat, reward=reward)
    env.reset(options={"position": SOUTH_WINS_WITH_F if seat == "south" else turned})
    _, value, terminated, _, _ = env.step(5)
    assert terminated
    assert value == (7 / 48 if reward == "margin" else 1.0)


@pytest.mark.parametrize("reward", ["result", "margin"])
def test_a_win_of_the_opponent_is_the_learners_loss(reward):
    def always_f(positions):
        return np.full(len(positions.plies), 5, np.int8)

    # North shifts its seed from e to f; then South's F takes c, b and a.
    position = "0-0-0-0-0-3-1-1-1-0-1-0-21-20-N"
    env = OwareSingleAgentEnv(opponent=always_f, seat="north", reward=reward)
    env.reset(options={"position": position})
    _, value, terminated, _, _ = env.step(4)
    assert terminated and env.state.outcome.scores == (27, 20)
    assert value == (-7 / 48 if reward == "margin" else -1.0)


def test_alternate_switches_the_seat_at_each_reset():
    env = OwareSingleAgentEnv(opponent=first_legal, seat="alternate")
    seats = []
    for _ in range(4):
        env.reset()
        seats.append((env.learner_is_south, env.state.ply))
    assert seats == [(True, 0), (False, 1)] * 2
    for _ in range(2):
        env.reset(seed=0)
        assert env.learner_is_south


def test_seats_are_symmetric():
    after_a = State.initial().play(0)
    assert not after_a.south_to_move
    houses, stores = after_a.houses, after_a.stores
    turned = "-".join(map(str, houses[6:] + houses[:6] + stores[::-1])) + "-S"
    games = []
    for seat, options in (("north", {}), ("south", {"position": turned, "ply": 1})):
        env = OwareSingleAgentEnv(opponent=first_legal, seat=seat)
        observation, _ = env.reset(options=options)
        games.append([observation.tolist(), play_first_legal(env)])
    assert games[0] == games[1]


def test_an_illegal_action_ends_the_episode_with_minus_one_and_an_unchanged_board():
    env = OwareSingleAgentEnv(reward="margin")
    env.reset(options={"position": EMPTY_C})
    before = env.state
    observation, reward, terminated, truncated, info = env.step(2)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert env.state == before
    np.testing.assert_array_equal(observation, as_seen_by_mover(before))
    assert info["action_mask"].tolist() == [0] * 6
    with pytest.raises(OwareError, match=r"the episode is over: call reset\(\)"):
        env.step(0)


def test_an_illegal_move_of_the_opponent_is_an_error_that_names_it():
    class Stubborn:
        def __call__(self, positions):
            return np.full(len(positions.plies), 2, np.int8)

        def __repr__(self):
            return "Stubborn()"

    env = OwareSingleAgentEnv(opponent=Stubborn())
    env.reset(options={"position": "4-4-4-4-4-4-5-5-0-5-5-4-0-0-S"})
    before = env.state
    with pytest.raises(OwareError, match=r"opponent Stubborn\(\): illegal move 2 .*c is empty"):
        env.step(0)
    assert env.state == before


def test_an_opponent_sees_one_position_in_the_documented_types():
    seen = []

    def watcher(positions):
        seen.append(positions)
        return first_legal(positions)

    env = OwareSingleAgentEnv(opponent=watcher, seat="north")
    env.reset(seed=3)
    env.step(0)
    for positions in seen:
        boards, plies, keys = positions
        assert (boards.shape, boards.dtype) == ((1, 14), np.int8)
        assert (plies.shape, plies.dtype) == ((1,), np.int32)
        assert (keys.shape, keys.dtype) == ((1,), np.uint64)
    assert [int(positions.plies[0]) for positions in seen] == [0, 2]
    assert seen[0].keys[0] == seen[1].keys[0]
    env.reset()
    assert seen[2].keys[0] != seen[0].keys[0]


def test_the_default_opponent_is_random_and_keyed_by_the_seed():
    def games(seed):
        env = OwareSingleAgentEnv()
        env.reset(seed=seed)
        first = play_first_legal(env)
        env.reset()
        return first, play_first_legal(env)

    assert games(4) == games(4)
    assert games(4) != games(5)
    assert games(4)[0] != games(4)[1]

    replies = set()
    env = OwareSingleAgentEnv(seat="north")
    for seed in range(60):
        env.reset(seed=seed)
        replies.add(env.state.houses)
    assert len(replies) == 6


def test_reset_options_are_those_of_the_aec_environment():
    env = OwareSingleAgentEnv(seat="south")
    env.reset(seed=5, options={"random_plies": 6})
    first = env.state
    assert first.ply == 6
    env.reset(seed=5, options={"random_plies": 6})
    assert env.state == first
    env.reset(options={"position": EMPTY_C, "ply": 30})
    assert env.state == State.parse(EMPTY_C, ply=30)


def test_a_random_opening_that_leaves_the_learner_no_turn_is_drawn_again():
    # South wins at once with F and not with A, so half the openings are over.
    env = OwareSingleAgentEnv(opponent=first_legal, seat="south")
    position = "1-0-0-0-0-3-1-1-1-0-0-1-20-20-S"
    for seed in range(20):
        env.reset(seed=seed, options={"position": position, "random_plies": 1})
        assert not env.state.is_over and env.state.south_to_move
        assert env.action_masks().any()


def test_a_game_that_is_over_before_the_first_turn_is_refused():
    env = OwareSingleAgentEnv(seat="south")
    with pytest.raises(OwareError, match="is over before the learner's first move"):
        env.reset(options={"position": SOUTH_WON})
    with pytest.raises(OwareError, match=r"call reset\(\) before step"):
        env.step(0)
    north = OwareSingleAgentEnv(
        opponent=lambda positions: np.full(1, 5, np.int8), seat="north", rules=Rules()
    )
    with pytest.raises(OwareError, match="is over before the learner's first move"):
        north.reset(options={"position": SOUTH_WINS_WITH_F})


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_game_is_equal_and_independent(duplicate):
    env = OwareSingleAgentEnv(seat="alternate")
    env.reset(seed=9)
    env.step(0)
    before = env.state
    twin = duplicate(env)
    assert twin.state == before
    ours = play_first_legal(twin)
    assert env.state == before
    assert play_first_legal(env) == ours
    for each in (env, twin):
        each.reset(options={"random_plies": 5})
    assert env.state == twin.state and not env.learner_is_south and not twin.learner_is_south


def test_every_render_mode_shows_the_board(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = OwareSingleAgentEnv(render_mode="ansi", opponent=first_legal)
    env.reset()
    env.step(2)
    assert env.render() == str(env.state)
    env = OwareSingleAgentEnv(render_mode="rgb_array")
    env.reset()
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape[2] == 3
    env = OwareSingleAgentEnv(render_mode="human")
    env.reset()
    env.step(2)
    assert env.render() is None
    env.close()
    env = OwareSingleAgentEnv()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": "East"}, "seat must be 'south', 'north' or 'alternate', not 'East'"),
        ({"opponent": "random"}, r"opponent must be a callable .*as_opponent.* not 'random'"),
        ({"observation": 15}, "observation must be 'counts' or 'onehot', not 15"),
        ({"reward": "score"}, "reward must be 'result' or 'margin', not 'score'"),
        ({"render_mode": "text"}, "render_mode must be .* not 'text'"),
        ({"rules": AWARI}, "games are played under abapa, not awari"),
    ],
)
def test_a_bad_argument_is_refused_in_one_line(arguments, message):
    with pytest.raises(OwareError, match=message) as caught:
        OwareSingleAgentEnv(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "action",
    [
        6,
        -1,
        1.0,
        "A",
        None,
        np.array([1]),
        True,
        np.bool_(True),
        np.timedelta64(2, "s"),
        2**64,
        float("nan"),
        10**5000,
    ],
    ids=lambda action: type(action).__name__,
)
def test_an_action_that_is_no_house_is_refused(action):
    env = OwareSingleAgentEnv()
    env.reset(seed=0)
    before = env.state
    with pytest.raises(OwareError, match="an action is a whole number from 0 to 5"):
        env.step(action)
    assert env.state == before and env.action_masks().all()


@pytest.mark.parametrize("answer", [np.array([[1]]), np.array(1), np.array([1, 2]), None])
def test_an_opponent_must_answer_with_one_move(answer):
    env = OwareSingleAgentEnv(opponent=lambda positions: answer)
    env.reset()
    with pytest.raises(OwareError, match=r"with moves of shape .*; it must be \(1,\)"):
        env.step(0)


def test_a_bad_reset_is_refused_and_the_episode_goes_on():
    env = OwareSingleAgentEnv(seat="alternate")
    env.reset(seed=0)
    before = env.state
    with pytest.raises(OwareError, match="unknown reset option 'positions'"):
        env.reset(options={"positions": EMPTY_C})
    for seed in (-1, True, 1.0, np.array(3), "7", 2**64, 10**5000):
        with pytest.raises(OwareError, match="seed must be "):
            env.reset(seed=seed)
    assert env.state == before and env.learner_is_south
    env.step(0)


def test_it_is_a_gymnasium_environment():
    assert isinstance(OwareSingleAgentEnv().unwrapped, gymnasium.Env)


def test_the_position_has_the_name_that_the_two_agent_environment_gives_it():
    env = OwareSingleAgentEnv()
    env.reset(seed=0, options={"position": EMPTY_C, "ply": 30})
    assert env.game_state == env.state == State.parse(EMPTY_C, ply=30)


def test_an_opponent_that_counts_as_false_still_plays():
    class Empty(list):
        def __call__(self, positions):
            return np.full(len(positions.plies), 5)

    env = OwareSingleAgentEnv(Empty(), seat="north")
    env.reset(seed=0)
    assert env.game_state == State.initial().play(5)
