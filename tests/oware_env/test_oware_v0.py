"""The AEC environment keeps PettingZoo's contract: wrapped and raw, wherever the mask is."""

import copy
import itertools
import json
import pickle
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from oware_env import AWARI, IllegalMove, OwareError, Rules, State, oware_v0
from oware_env.notation import Placement, format_position

with warnings.catch_warnings():  # pettingzoo.test warns about its own imports
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, render_test, seed_test, state_test

AGENTS = ["player_0", "player_1"]
MAKERS = [oware_v0.env, oware_v0.raw_env]
MASK_PLACES = ["obs", "info", "both"]
DICT_NOTICES = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
}
LOOP = "1-0-0-0-0-0-1-0-0-0-0-0-23-23-S"
SOUTH_WON = "0-0-0-0-0-0-0-0-0-0-0-1-27-20-N"

HUGE = pytest.param(10**5000, id="huge")

every_maker = pytest.mark.parametrize("make", MAKERS)
every_mask_place = pytest.mark.parametrize("mask_in", MASK_PLACES)


def finished_cases():
    text = (Path(__file__).parents[1] / "golden" / "rules.jsonl").read_text()
    cases = [json.loads(line) for line in text.splitlines()]
    return [pytest.param(case, id=case["id"]) for case in cases if case["over"] and "move" in case]


def start_options(case):
    text = format_position(case["south"] + case["north"], case["stores"], case["to_move"] == "S")
    return {"position": text, "ply": 399 if case.get("cap_after_this_move") else 0}


def mask_of(env, agent):
    observation = env.observe(agent)
    if isinstance(observation, dict):
        return observation["action_mask"]
    return env.infos[agent]["action_mask"]


def play_random(env, seed, moves=10**9):
    """Random legal moves until the game is over, dead steps not taken, or ``moves`` are played."""
    draw = random.Random(seed)
    played = []
    while len(played) < moves and not any(env.terminations.values()):
        played.append(draw.choice(mask_of(env, env.agent_selection).nonzero()[0].tolist()))
        env.step(played[-1])
    return played


def snapshot(env):
    """All that a user can see of an environment, as plain comparable values."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        return value.tolist() if isinstance(value, np.ndarray) else value

    return {
        "agents": list(env.agents),
        "turn": env.agent_selection,
        "rewards": dict(env.rewards),
        "cumulative": dict(env.unwrapped._cumulative_rewards),
        "ends": (dict(env.terminations), dict(env.truncations)),
        "infos": plain(env.infos),
        "observations": [plain(env.observe(agent)) for agent in AGENTS],
        "state": env.unwrapped.game_state,
    }


# PettingZoo's own tests


@every_mask_place
@pytest.mark.parametrize(("observation", "size"), [("counts", 16), ("onehot", 172)])
def test_state_test_passes(mask_in, observation, size):
    made = [oware_v0.env(mask_in=mask_in, observation=observation) for _ in range(2)]
    assert made[0].state_space == Box(0.0, 1.0, (size,), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state_test(made[0], turn_based_aec_to_parallel(made[1]))


@every_maker
@every_mask_place
@pytest.mark.parametrize("observation", ["counts", "onehot"])
def test_api_test_passes_with_the_two_dict_notices_at_most(make, mask_in, observation):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(mask_in=mask_in, observation=observation), num_cycles=1000)
    expected = set() if mask_in == "info" else DICT_NOTICES
    assert {str(warning.message) for warning in caught} == expected


@every_maker
@every_mask_place
def test_seed_test_passes(make, mask_in):
    seed_test(lambda: make(mask_in=mask_in), num_cycles=500)


@every_maker
@every_mask_place
def test_render_test_passes(make, mask_in, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    # render_test reads masks from Dict observations only: without one it samples any house, so
    # the action spaces get a seed whose eight first samples happen to be legal.
    seed = next(seed for seed in itertools.count() if all_samples_are_legal(seed))

    def seeded(render_mode):
        env = make(render_mode=render_mode, mask_in=mask_in)
        seed_actions(env, seed)
        return env

    render_test(seeded)


def seed_actions(env, seed):
    for agent in AGENTS:
        env.action_space(agent).seed(seed)


def all_samples_are_legal(seed, moves=8):
    env = oware_v0.raw_env()
    env.reset()
    seed_actions(env, seed)
    try:
        for _ in range(moves):
            env.step(env.action_space(env.agent_selection).sample())
    except IllegalMove:
        return False
    return True


# Turns, observations and masks


@every_maker
@every_mask_place
def test_only_the_side_to_move_is_offered_moves_and_they_are_the_legal_ones(make, mask_in):
    env = make(mask_in=mask_in)
    env.reset()
    draw = random.Random(5)
    while not any(env.terminations.values()):
        state, mover = env.unwrapped.game_state, env.agent_selection
        idle = AGENTS[1 - AGENTS.index(mover)]
        assert mover == AGENTS[0 if state.south_to_move else 1]
        assert mask_of(env, mover).dtype == np.int8
        assert tuple(mask_of(env, mover).nonzero()[0]) == state.legal_moves
        assert mask_of(env, idle).tolist() == [0] * 6
        if mask_in == "both":
            info = env.infos[mover]["action_mask"]
            assert info.tolist() == env.observe(mover)["action_mask"].tolist()
        env.step(draw.choice(state.legal_moves))
    for agent in AGENTS:
        assert mask_of(env, agent).tolist() == [0] * 6


@pytest.mark.parametrize("observation", ["counts", "onehot"])
def test_a_seat_swap_gives_identical_observations(observation, random_game):
    env = oware_v0.raw_env(observation=observation, mask_in="info")
    for state in random_game(3)[:-1]:
        houses, stores, south = state.houses, state.stores, state.south_to_move
        turned = Placement(houses[6:] + houses[:6], stores[::-1], not south)
        seen = []
        for placement in (Placement(houses, stores, south), turned):
            env.reset(options={"position": format_position(*placement), "ply": state.ply})
            idle = AGENTS[1 - AGENTS.index(env.agent_selection)]
            seen.append([env.observe(agent) for agent in (env.agent_selection, idle)])
        np.testing.assert_array_equal(seen[0], seen[1])


def test_counts_are_own_side_first_for_both_agents():
    env = oware_v0.raw_env(mask_in="info", rules=Rules(max_plies=100))
    env.reset(options={"position": "1-2-3-4-5-6-0-1-2-3-4-5-7-5-N", "ply": 25})
    south, north = [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]
    expected = np.array([*south, *north, 7, 5], np.float32) / np.float32(48)
    np.testing.assert_array_equal(env.observe("player_0"), np.append(expected, np.float32(0.75)))
    expected = np.array([*north, *south, 5, 7], np.float32) / np.float32(48)
    np.testing.assert_array_equal(env.observe("player_1"), np.append(expected, np.float32(0.75)))


def test_onehot_adds_the_count_class_of_every_house():
    env = oware_v0.raw_env(mask_in="info", observation="onehot")
    env.reset(options={"position": "1-0-3-4-5-20-0-1-2-3-4-5-0-0-S"})
    seen = env.observe("player_0")
    classes = seen[15:].reshape(12, 13)
    assert classes.argmax(axis=1).tolist() == [1, 0, 3, 4, 5, 12, 0, 1, 2, 3, 4, 5]
    assert classes.sum() == 12
    assert env.observation_space("player_0").contains(seen)


@every_maker
@every_mask_place
def test_observations_are_fresh_arrays_in_their_space_for_both_agents_at_any_time(make, mask_in):
    env = make(mask_in=mask_in)
    env.reset(seed=1)

    def check():
        before = snapshot(env)
        for agent in AGENTS:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            for array in seen.values() if isinstance(seen, dict) else [seen]:
                array[...] = 1
        assert snapshot(env) == before

    check()
    while env.agents:
        mover = env.agent_selection
        dead = env.terminations[mover]
        env.step(None if dead else int(mask_of(env, mover).argmax()))
        for agent in AGENTS:
            assert env.observation_space(agent).contains(env.observe(agent))
        if env.agents:
            check()
            assert set(env.infos) == set(env.agents)


def test_spaces_are_the_same_object_at_each_call():
    env = oware_v0.env()
    for agent in AGENTS:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


# Endings


@every_maker
@pytest.mark.parametrize("reward", ["result", "margin"])
@pytest.mark.parametrize("case", finished_cases())
def test_both_are_rewarded_on_the_last_step(make, reward, case):
    env = make(reward=reward)
    env.reset(options=start_options(case))
    env.step("ABCDEFabcdef".index(case["move"]) % 6)
    south, north = case["final"]
    expected = (south - north) / 48 if reward == "margin" else float(np.sign(south - north))
    assert env.rewards == {"player_0": expected, "player_1": -expected}
    assert env.terminations == dict.fromkeys(AGENTS, True)
    assert env.truncations == dict.fromkeys(AGENTS, False)
    for _ in AGENTS:
        _, total, terminated, _, _ = env.last()
        assert (
            terminated
            and total == {"player_0": expected, "player_1": -expected}[env.agent_selection]
        )
        env.step(None)


@every_maker
def test_dead_steps_then_reset_keep_the_order_of_agents(make):
    env = make()
    for game in range(4):
        env.reset(seed=game)
        assert env.agents == AGENTS and env.agent_selection == "player_0"
        play_random(env, game)
        # No dead step, one, two, one: whatever is left of the last game must not matter.
        order = [AGENTS[0 if env.unwrapped.game_state.south_to_move else 1]]
        order.append(AGENTS[1 - AGENTS.index(order[0])])
        for agent in order[: [0, 1, 2, 1][game]]:
            assert env.agent_selection == agent
            env.step(None)
        assert env.possible_agents == AGENTS
    env.reset()
    turns = [agent for agent, _ in zip(env.agent_iter(), range(6), strict=False) if play_one(env)]
    assert turns == AGENTS * 3


def play_one(env):
    env.step(int(mask_of(env, env.agent_selection).argmax()))
    return True


def test_a_dead_agent_may_only_pass_and_a_finished_game_must_be_reset():
    env = oware_v0.raw_env()
    env.reset(options={"position": SOUTH_WON})
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(0)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(OwareError, match=r"call reset\(\)"):
        env.step(None)


@every_maker
@every_mask_place
def test_a_position_that_is_over_ends_the_game_at_reset(make, mask_in):
    env = make(mask_in=mask_in)
    env.reset(options={"position": SOUTH_WON})
    assert env.agents == AGENTS and env.agent_selection == "player_1"
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    turns = []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        assert mask_of(env, agent).tolist() == [0] * 6
        turns.append((agent, reward, terminated, truncated))
        env.step(None)
    assert turns == [("player_1", -1.0, True, False), ("player_0", 1.0, True, False)]


def test_an_endless_loop_is_settled_at_the_move_limit():
    env = oware_v0.env(rules=Rules(max_plies=12_000))
    env.reset(options={"position": LOOP})
    plies = 0
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        assert not truncated
        if terminated:
            assert reward == 0.0
            env.step(None)
            continue
        assert env.unwrapped.game_state.to_text() == LOOP or plies % 12
        assert observation["observation"][14] == np.float32(12_000 - plies) / np.float32(12_000)
        assert agent == AGENTS[plies % 2]
        env.step(int(observation["action_mask"].argmax()))
        plies += 1
    assert plies == 12_000
    outcome = env.unwrapped.game_state.outcome
    assert outcome == (None, "move_limit", (24, 24))


# Illegal moves


@every_mask_place
def test_an_illegal_move_ends_the_wrapped_game_for_the_mover_alone(mask_in):
    env = oware_v0.env(mask_in=mask_in)
    position = "4-4-0-5-5-5-5-4-4-4-4-4-0-0-N"
    env.reset(options={"position": position, "ply": 1})
    env.step(0)
    env.last()
    before = env.unwrapped.game_state
    env.step(2)  # house C is empty
    assert env.unwrapped.game_state == before
    assert env.rewards == {"player_0": -1.0, "player_1": 0}
    assert all(env.terminations.values())
    totals = {}
    for agent in env.agent_iter():
        assert all(mask_of(env, each).tolist() == [0] * 6 for each in env.agents)
        totals[agent] = env.last()[1]
        env.step(None)
    assert totals == {"player_0": -1.0, "player_1": 0}
    env.reset()
    assert env.agents == AGENTS and env.agent_selection == "player_0"
    assert mask_of(env, "player_0").tolist() == [1] * 6


@pytest.mark.parametrize("move", [2, 6, -1, None, True, 1.0, np.array([1, 2])])
def test_raw_env_refuses_an_illegal_move_and_changes_nothing(move):
    env = oware_v0.raw_env(mask_in="both")
    env.reset(options={"position": "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S", "ply": 2})
    before = snapshot(env)
    with pytest.raises(IllegalMove, match="legal moves: A B D E F"):
        env.step(move)
    assert snapshot(env) == before


@pytest.mark.parametrize(
    "number", [int, np.int8, np.int64, np.array], ids=lambda kind: kind.__name__
)
def test_every_kind_of_integer_is_a_move(number):
    env = oware_v0.env()
    env.reset()
    env.step(number(2))
    assert env.unwrapped.game_state == State.initial().play(2)


# Copies


@every_maker
@every_mask_place
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("moves", [0, 1, 25, 10**9], ids=["start", "first", "middle", "end"])
def test_a_copy_is_equal_and_independent(make, mask_in, duplicate, moves):
    env = make(mask_in=mask_in)
    env.reset(seed=7, options={"random_plies": 4})
    play_random(env, 1, moves)
    before = snapshot(env)
    twin = duplicate(env)
    assert snapshot(twin) == before

    play_random(twin, 2)
    while twin.agents:
        twin.step(None)
    assert snapshot(env) == before
    twin.reset(options={"random_plies": 6})
    assert snapshot(env) == before

    play_random(env, 2)
    while env.agents:
        env.step(None)
    env.reset(options={"random_plies": 6})
    assert snapshot(twin) == snapshot(env)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_are_right_after_an_illegal_move_and_between_dead_steps(duplicate):
    env = oware_v0.env(mask_in="both")
    env.reset(options={"position": "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S"})
    env.step(2)
    for _ in AGENTS:
        twin = duplicate(env)
        assert snapshot(twin) == snapshot(env)
        env.step(None)
        twin.step(None)
        assert twin.agents == env.agents


def test_a_copy_of_an_open_window_opens_its_own(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = oware_v0.env(render_mode="human")
    env.reset()
    twin = pickle.loads(pickle.dumps(copy.deepcopy(env)))
    assert twin.render() is None
    twin.step(0)
    assert env.unwrapped.game_state == State.initial()
    twin.close()
    env.close()
    env.close()


# Reset, seeds and options


def test_north_to_move_leaves_south_as_player_0():
    env = oware_v0.env()
    env.reset(options={"position": "4-4-0-5-5-5-5-4-4-4-4-4-0-0-N", "ply": 1})
    assert env.agents == AGENTS and env.agent_selection == "player_1"
    assert env.unwrapped.game_state == State.parse("4-4-0-5-5-5-5-4-4-4-4-4-0-0-N", ply=1)


def test_the_state_of_the_game_is_public():
    env = oware_v0.env()
    env.reset()
    env.step(2)
    assert env.unwrapped.game_state == State.initial().play(2)
    assert env.unwrapped.rules == Rules()


# Pictures


@every_maker
def test_each_render_mode_shows_the_position_and_the_last_move(make):
    env = make(render_mode="ansi")
    env.reset()
    env.step(2)
    assert env.render() == str(State.initial().play(2))
    env = make(render_mode="rgb_array")
    env.reset()
    first = env.render()
    env.step(2)
    assert first.dtype == np.uint8 and first.shape[2] == 3
    assert (env.render() != first).any()


def test_render_without_a_mode_warns():
    env = oware_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


# Bad input


@every_maker
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation": "planes"}, "observation must be 'counts' or 'onehot', not 'planes'"),
        ({"mask_in": "infos"}, "mask_in must be 'obs', 'info' or 'both', not 'infos'"),
        ({"reward": 1}, "reward must be 'result' or 'margin', not 1"),
        ({"render_mode": "svg"}, "render_mode must be 'human', 'ansi' or 'rgb_array', not 'svg'"),
        ({"rules": AWARI}, "games are played under abapa, not awari"),
        ({"rules": 400}, "rules must be a Rules value"),
    ],
)
def test_a_bad_argument_is_refused_in_one_line(make, arguments, message):
    with pytest.raises(OwareError, match=message) as caught:
        make(**arguments)
    assert "\n" not in str(caught.value)


def test_an_unknown_agent_and_a_bad_seed_are_named():
    env = oware_v0.raw_env()
    with pytest.raises(OwareError, match="seed must be a whole number of at least 0, not -3"):
        env.reset(seed=-3)
    env.reset()
    with pytest.raises(OwareError, match="no agent 'player_2'"):
        env.observe("player_2")


@every_maker
@every_mask_place
def test_state_is_souths_view_and_who_is_to_move(make, mask_in):
    env = make(mask_in=mask_in)
    env.reset(options={"position": "0-0-0-0-0-3-1-1-1-0-0-1-21-20-S"})
    seen = []
    while env.agents:
        state = env.state()
        souths = env.observe("player_0")
        souths = souths["observation"] if isinstance(souths, dict) else souths
        assert state.tolist() == [*souths.tolist(), float(env.game_state.south_to_move)]
        assert env.state_space.contains(state) and env.state() is not state
        seen.append(state.tolist())
        env.step(None if env.terminations[env.agent_selection] else 5)
    assert len(seen) == 3 and [state[-1] for state in seen] == [1.0, 0.0, 0.0]


def test_wrappers_and_conversions_hand_state_on():
    env = turn_based_aec_to_parallel(oware_v0.env(mask_in="info"))
    env.reset(seed=0)
    assert env.state_space.contains(env.state()) and env.state()[-1] == 1.0


@pytest.mark.parametrize(
    "action",
    [
        True,
        np.bool_(True),
        1.0,
        np.float32(2),
        float("nan"),
        "A",
        b"A",
        [2],
        np.array([2]),
        np.array(True),
        np.timedelta64(2, "s"),
        HUGE,
        6,
        2**64,
        object(),
    ],
    ids=lambda action: type(action).__name__,
)
def test_an_action_that_is_no_house_changes_nothing(action):
    raw, env = oware_v0.raw_env(), oware_v0.env()
    for each in (raw, env):
        each.reset(seed=0)
    with pytest.raises(IllegalMove, match="legal moves: A B C D E F") as caught:
        raw.step(action)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    with pytest.raises(AssertionError, match="action is not in action space"):
        env.step(action)
    assert raw.game_state == env.game_state == State.initial()


@pytest.mark.parametrize("action", [2, np.int8(2), np.int64(2), np.array(2, np.int32)])
def test_a_house_is_any_integer(action):
    for env in (oware_v0.raw_env(), oware_v0.env()):
        env.reset()
        env.step(action)
        assert env.game_state == State.initial().play(2)


@pytest.mark.parametrize(
    "seed", [-1, 2**64, HUGE, True, 1.0, float("nan"), "7", [1], np.array(3), np.float64(2)]
)
def test_a_seed_of_other_than_64_bits_is_refused_by_name(seed):
    env = oware_v0.raw_env()
    env.reset(seed=2**64 - 1)
    with pytest.raises(OwareError, match=r"^seed must be ") as caught:
        env.reset(seed=seed)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["render_mode", "rules", "observation", "mask_in", "reward"])
@pytest.mark.parametrize("value", [np.array([1, 2]), [], {}, HUGE, True, b"obs", object()])
def test_an_argument_of_any_other_type_is_refused_by_name(name, value):
    with pytest.raises(OwareError, match=f"^{name} must be ") as caught:
        oware_v0.env(**{name: value})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
