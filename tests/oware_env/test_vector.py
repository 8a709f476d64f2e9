"""The vector environment: its rows are single environments, in every mode; its own promises."""

import copy
import itertools
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from oware_env import Rules, State
from oware_env.episode import observe, random_opponent
from oware_env.positions import game_key
from oware_env.single_agent import OwareSingleAgentEnv
from oware_env.vector import OwareVectorEnv

SEATS = ["south", "north", "alternate"]
MODES = list(AutoresetMode)
SOUTH_WINS_WITH_F = "0-0-0-0-0-3-1-1-1-0-0-1-21-20-S"  # 27-20
EMPTY_C = "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S"
HALF_THE_OPENINGS_ARE_OVER = "1-0-0-0-0-3-1-1-1-0-0-1-20-20-S"  # F wins at once, A does not


def last_legal(positions):
    """An opponent that draws nothing: the highest house that may be played."""
    moves = [
        State.from_board(board, True, ply=int(ply)).legal_moves[-1]
        for board, ply in zip(positions.boards, positions.plies, strict=True)
    ]
    return np.array(moves)


class SameOptions(gymnasium.Wrapper):
    """Every reset uses the same options."""

    def __init__(self, env, options):
        super().__init__(env)
        self.options = options

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options=self.options or options)


def sync(size, mode=AutoresetMode.NEXT_STEP, options=None, limit=None, **arguments):
    """The reference: single environments, stepped one by one by Gymnasium."""

    def make():
        env = SameOptions(OwareSingleAgentEnv(**arguments), options)
        return env if limit is None else TimeLimit(env, limit)

    return SyncVectorEnv([make] * size, autoreset_mode=mode)


def some_actions(random, env, illegal=0.02):
    """Random legal actions, and now and then any house at all."""
    masks = env.action_masks()
    legal = (masks * random.random(masks.shape)).argmax(axis=1)
    any_house = random.integers(0, 6, len(masks))
    return np.where(random.random(len(masks)) < illegal, any_house, legal)


def check_same(ours, theirs, steps, seed=3, options=None, illegal=0.02):
    """Drive both with the same actions; all they return is equal. How many ends there were."""
    random = np.random.default_rng(seed)
    assert data_equivalence(
        ours.reset(seed=seed, options=dict(options or {})),
        theirs.reset(seed=seed, options=dict(options or {})),
        exact=True,
    )
    ends = 0
    for _ in range(steps):
        actions = some_actions(random, ours, illegal)
        step = ours.step(actions)
        assert data_equivalence(step, theirs.step(actions), exact=True)
        assert ours.observation_space.contains(step[0])
        ended = step[2] | step[3]
        ends += ended.sum()
        if ours.autoreset_mode == AutoresetMode.DISABLED and ended.any():
            resets = [env.reset(options={"reset_mask": ended.copy()}) for env in (ours, theirs)]
            assert data_equivalence(*resets, exact=True)
    return ends


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(("observation", "reward"), [("counts", "margin"), ("onehot", "result")])
def test_a_row_plays_the_episodes_of_the_single_environment(mode, seat, observation, reward):
    arguments = {"seat": seat, "observation": observation, "reward": reward}
    ours = OwareVectorEnv(6, autoreset_mode=mode, **arguments)
    assert check_same(ours, sync(6, mode, **arguments), steps=150) > 12


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_end_by_every_rule_are_those_of_the_single_environment(mode):
    rules = Rules(max_plies=90)
    ours = OwareVectorEnv(8, last_legal, "alternate", rules, reward="margin", autoreset_mode=mode)
    theirs = sync(8, mode, opponent=last_legal, seat="alternate", rules=rules, reward="margin")
    assert check_same(ours, theirs, steps=200, illegal=0.0) > 30


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seat", SEATS)
def test_max_episode_steps_truncates_as_gymnasiums_time_limit_does(mode, seat):
    rules = Rules(max_plies=30)
    for limit in (1, 15, 25):  # before the end of the game, at it and never
        arguments = {"seat": seat, "rules": rules}
        ours = OwareVectorEnv(8, autoreset_mode=mode, max_episode_steps=limit, **arguments)
        assert check_same(ours, sync(8, mode, limit=limit, **arguments), steps=60) > 15


def test_without_a_limit_of_steps_no_row_is_truncated():
    env = OwareVectorEnv(4)
    env.reset(seed=0)
    for _ in range(60):
        assert not env.step(env.action_masks().argmax(axis=1))[3].any()


def test_one_row_alone_is_a_single_environment():
    assert check_same(OwareVectorEnv(1, seat="alternate"), sync(1, seat="alternate"), 400) > 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "seat", "observation", "reward"),
    list(itertools.product(MODES, SEATS, ["counts", "onehot"], ["result", "margin"])),
)
def test_hundreds_of_episodes_are_those_of_the_single_environment(mode, seat, observation, reward):
    arguments = {"seat": seat, "observation": observation, "reward": reward}
    ours = OwareVectorEnv(16, autoreset_mode=mode, **arguments)
    assert check_same(ours, sync(16, mode, **arguments), steps=1000, seed=8) > 300


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(
    "options",
    [
        {"random_plies": 7},
        {"position": EMPTY_C, "ply": 360},
        {"position": EMPTY_C, "ply": 361, "random_plies": 12},
    ],
)
def test_reset_options_hold_for_the_restarts_too(mode, seat, options):
    ours = OwareVectorEnv(6, seat=seat, autoreset_mode=mode)
    theirs = sync(6, mode, options, seat=seat)
    assert check_same(ours, theirs, 60, seed=2, options=options) > 2
    ours.reset(seed=2)
    assert {ours.state(row).ply for row in range(6)} == {1 if seat == "north" else 0}


@pytest.mark.parametrize("seat", ["south", "north"])
def test_openings_that_end_the_game_are_drawn_again_as_in_the_single_environment(seat):
    options = {"position": HALF_THE_OPENINGS_ARE_OVER, "random_plies": 1}
    ours = OwareVectorEnv(40, seat=seat)
    theirs = sync(40, options=options, seat=seat)
    assert check_same(ours, theirs, 20, options=options) > 20
    assert len(set(ours._rows.episodes)) > 3  # some rows drew more often than others


def test_the_first_turn_of_an_opponent_can_end_an_opening_too():
    # After a South's only move wins at once, after e one of two does.
    options = {"position": "0-0-0-0-0-3-1-1-1-0-2-0-20-20-N", "random_plies": 1}
    ours = OwareVectorEnv(40, seat="north")
    theirs = sync(40, options=options, seat="north")
    assert check_same(ours, theirs, 12, options=options) > 10
    assert len(set(ours._rows.episodes)) > 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seat", SEATS)
def test_some_rows_are_reset_as_single_environments_are(mode, seat):
    ours, theirs = OwareVectorEnv(5, seat=seat, autoreset_mode=mode), sync(5, mode, seat=seat)
    check_same(ours, theirs, steps=0)
    random = np.random.default_rng(1)
    for seeds in (None, 40, [7, None, 9, None, 2**64 - 1], np.arange(5)):
        for _ in range(6):
            actions = some_actions(random, ours, illegal=0.0)
            assert data_equivalence(ours.step(actions), theirs.step(actions), exact=True)
        mask = np.array([True, True, False, False, True])
        results = [
            env.reset(seed=seeds, options={"random_plies": 3, "reset_mask": mask.copy()})
            for env in (ours, theirs)
        ]
        assert data_equivalence(*results, exact=True)
        assert results[0][1]["_action_mask"].tolist() == mask.tolist()
    lists = [env.reset(seed=[3, None, 1, None, 0]) for env in (ours, theirs)]
    assert data_equivalence(*lists, exact=True)


def test_the_options_of_a_reset_are_left_as_they_are():
    mask = np.array([True, False])
    options = {"reset_mask": mask, "random_plies": 2}
    env = OwareVectorEnv(2, seed=0)
    env.reset()
    _, infos = env.reset(options=options)
    assert set(options) == {"reset_mask", "random_plies"} and mask.tolist() == [True, False]
    infos["_action_mask"][:] = True
    assert mask.tolist() == [True, False]


def test_a_row_does_not_depend_on_how_many_there_are():
    many, few = OwareVectorEnv(9, seat="alternate"), OwareVectorEnv(2, seat="alternate")
    many.reset(seed=4)
    few.reset(seed=9)
    for _ in range(150):
        actions = many.action_masks().argmax(axis=1)
        ours, theirs = many.step(actions), few.step(actions[5:7])
        for left, right in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(left[5:7], right)


def start_both(mode, reward="margin"):
    """Two rows; row 0 wins 27-20 with F, row 1 stands at the start of a game."""
    env = OwareVectorEnv(2, last_legal, "alternate", reward=reward, autoreset_mode=mode)
    env.reset(seed=0)
    options = {"position": SOUTH_WINS_WITH_F, "reset_mask": np.array([True, False])}
    env.reset(seed=0, options=options)
    return env


def after_f(state):
    return observe(state.play(5), True, 15)


def test_same_step_hands_over_the_end_and_starts_the_next_episode():
    env = start_both(AutoresetMode.SAME_STEP)
    before = env.state(0)
    seen, rewards, terminations, truncations, infos = env.step(np.array([5, 5]))
    assert rewards.tolist() == [7 / 48, 0.0]
    assert terminations.tolist() == [True, False] and not truncations.any()
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False]
    np.testing.assert_array_equal(infos["final_obs"][0], after_f(before))
    assert infos["final_obs"][1] is None
    assert infos["final_info"]["action_mask"].tolist() == [[0] * 6, [0] * 6]
    assert infos["final_info"]["_action_mask"].tolist() == [True, False]
    # The learner has the other seat now, and the opponent has opened the game.
    opened = State.initial().play(5)
    assert env.state(0) == opened and env.learner_is_south.tolist() == [False, True]
    np.testing.assert_array_equal(seen[0], observe(opened, False, 15))
    assert infos["action_mask"][0].tolist() == [1] * 6
    _, rewards, terminations, _, infos = env.step(np.array([0, 0]))
    assert not rewards.any() and not terminations.any() and "final_obs" not in infos


def test_next_step_shows_the_end_and_starts_the_next_episode_a_step_later():
    env = start_both(AutoresetMode.NEXT_STEP)
    before = env.state(0)
    seen, rewards, terminations, _, infos = env.step(np.array([5, 5]))
    assert rewards.tolist() == [7 / 48, 0.0] and terminations.tolist() == [True, False]
    np.testing.assert_array_equal(seen[0], after_f(before))
    assert infos["action_mask"][0].tolist() == [0] * 6 and infos["action_mask"][1].any()
    assert set(infos) == {"action_mask", "_action_mask"} and infos["_action_mask"].all()
    assert env.state(0).outcome.scores == (27, 20)
    for ignored in (0, 9):  # what is given for the ended row does not matter, not even a 9
        twin = copy.deepcopy(env)
        seen, rewards, terminations, truncations, infos = twin.step(np.array([ignored, 0]))
        assert not rewards.any() and not terminations.any() and not truncations.any()
        assert twin.state(0) == State.initial().play(5)
        assert infos["action_mask"][0].tolist() == [1] * 6
        assert twin.state(1).ply == 4


@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_ends_its_row_with_minus_one_and_an_unchanged_board(mode):
    env = OwareVectorEnv(2, last_legal, autoreset_mode=mode, reward="margin")
    env.reset(seed=0)
    env.reset(options={"position": EMPTY_C, "reset_mask": np.array([False, True])})
    before = env.state(1)
    seen, rewards, terminations, truncations, infos = env.step(np.array([2, 2]))
    assert rewards.tolist() == [0.0, -1.0]
    assert terminations.tolist() == [False, True] and not truncations.any()
    final = infos["final_obs"][1] if mode == AutoresetMode.SAME_STEP else seen[1]
    np.testing.assert_array_equal(final, observe(before, True, 15))
    offered = infos["action_mask"][1].tolist()
    if mode == AutoresetMode.SAME_STEP:
        assert env.state(1) == State.initial() and offered == [1] * 6
    else:
        assert env.state(1) == before and offered == [0] * 6
        assert not env.action_masks()[1].any()


def test_the_opponent_is_asked_once_a_step_for_all_rows_where_it_is_to_move():
    asked = []

    def watcher(positions):
        asked.append(positions)
        return random_opponent(positions)

    env = OwareVectorEnv(7, watcher, "alternate")
    env.reset(seed=11)
    assert asked == []
    ends = 0
    for step in range(200):
        before = len(asked)
        _, _, terminations, _, _ = env.step(env.action_masks().argmax(axis=1))
        ends += terminations.sum()
        assert len(asked) == before + 1, step
    assert ends > 10 and max(len(positions.plies) for positions in asked) == 7
    boards, plies, keys = asked[0]
    assert (boards.shape, boards.dtype) == ((7, 14), np.int8)
    assert (plies.dtype, plies.tolist()) == (np.int32, [1] * 7)
    assert keys.tolist() == [game_key(np.uint64(11 + row), 0) for row in range(7)]


def test_what_an_opponent_does_to_its_positions_changes_nothing():
    def vandal(positions):
        moves = random_opponent(positions)
        for array in positions:
            array[:] = 0
        return moves

    left, right = OwareVectorEnv(3, vandal, seed=1), OwareVectorEnv(3, seed=1)
    left.reset(), right.reset()
    for _ in range(80):
        actions = left.action_masks().argmax(axis=1)
        assert data_equivalence(left.step(actions), right.step(actions), exact=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_actions_and_replies_of_any_integer_type_are_played_alike(dtype):
    left = OwareVectorEnv(3, lambda positions: random_opponent(positions).astype(dtype), seed=1)
    right = OwareVectorEnv(3, seed=1)
    left.reset(), right.reset()
    for _ in range(60):
        actions = left.action_masks().argmax(axis=1)
        results = left.step(actions.astype(dtype)), right.step(actions.tolist())
        assert data_equivalence(*results, exact=True)


def test_masks_seats_and_states_of_the_rows_agree():
    env = OwareVectorEnv(4, seat="alternate", seed=2)
    assert env.action_masks().shape == (4, 6) and not env.action_masks().any()
    _, infos = env.reset()
    for _ in range(120):
        masks = env.action_masks()
        assert masks.dtype == np.bool_ and infos["action_mask"].dtype == np.int8
        assert masks.tolist() == infos["action_mask"].astype(bool).tolist()
        for row in range(4):
            state = env.state(row)
            assert tuple(masks[row].nonzero()[0]) == state.legal_moves
            assert state.is_over or state.south_to_move == env.learner_is_south[row]
        infos = env.step(masks.argmax(axis=1))[4]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_returned_is_never_written_to_again(mode):
    env = OwareVectorEnv(5, seat="alternate", autoreset_mode=mode, rules=Rules(max_plies=30))
    twin = copy.deepcopy(env)
    kept = [env.reset(seed=0), twin.reset(seed=0)]
    as_they_were = copy.deepcopy(kept[:1])
    for _ in range(14):
        actions = env.action_masks().argmax(axis=1)
        kept[0] = env.step(actions)
        as_they_were.append(copy.deepcopy(kept[0]))
        kept.append(kept[0])
        for array in (*twin.step(actions)[:4], twin.action_masks(), twin.learner_is_south):
            array[:] = 0  # a caller may do what it likes with what it was given
    del kept[0:2]
    assert data_equivalence(kept, as_they_were[1:], exact=True)
    assert [twin.state(row) for row in range(5)] == [env.state(row) for row in range(5)]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_copy_in_mid_game_is_equal_and_independent(duplicate, mode):
    env = OwareVectorEnv(4, seat="alternate", autoreset_mode=mode)
    env.reset(options={"random_plies": 4})
    random = np.random.default_rng(0)
    for _ in range(30):
        env.step(some_actions(random, env))
    twin = duplicate(env)
    before = [env.state(row) for row in range(4)]
    actions = [np.zeros(4, int)]
    results = [twin.step(actions[0])]
    for _ in range(80):
        actions.append(some_actions(random, twin))
        results.append(twin.step(actions[-1]))
    assert [env.state(row) for row in range(4)] == before
    for action, result in zip(actions, results, strict=True):
        assert data_equivalence(env.step(action), result, exact=True)


def starts(env, **arguments):
    observations, _ = env.reset(options={"random_plies": 6}, **arguments)
    return observations.tolist()


def test_the_constructors_seed_is_that_of_the_first_reset():
    env, other = OwareVectorEnv(4, seed=5), OwareVectorEnv(4)
    first, second = starts(env), starts(env)
    assert first == starts(other, seed=5) and second == starts(other)
    assert first != second and first == starts(env, seed=5)
    assert first != starts(env, seed=6) and first[1:] != first[:-1]
    assert starts(OwareVectorEnv(4)) != starts(OwareVectorEnv(4))
    assert starts(OwareVectorEnv(2, seed=[5, 8]))[0] == first[0]


def test_seeds_may_be_numpys_integers():
    single = OwareSingleAgentEnv(seat="north").reset(seed=np.int64(41))[0]
    for seed in (np.int64(40), np.array([40, 41])):
        observations, _ = OwareVectorEnv(2, seat="north").reset(seed=seed)
        np.testing.assert_array_equal(observations[1], single)


def test_every_render_mode_shows_each_board():
    env = OwareVectorEnv(3, last_legal, render_mode="ansi")
    env.reset()
    env.step(np.array([0, 1, 2]))
    for row, text in enumerate(env.render()):
        assert text == str(env.state(row)) and "South to move, ply 2" in text
    env = OwareVectorEnv(2, render_mode="rgb_array")
    env.reset()
    assert [picture.dtype for picture in env.render()] == [np.uint8] * 2
    assert env.render()[0].ndim == 3
    with pytest.warns(UserWarning, match="render_mode"):
        assert OwareVectorEnv(1).render() is None
