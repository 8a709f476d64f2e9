"""SuperSuit: its wrappers keep the game and the mask when the mask is in the infos."""

import numpy as np
import pytest

from oware_env import oware_v0
from oware_env.encoding import MASKS

supersuit = pytest.importorskip("supersuit", reason="needs the extra compat")

# SuperSuit's own: vectorize_aec_env_v0 makes PettingZoo's agent_selector by its old name.
old_name = pytest.mark.filterwarnings(
    "ignore:agent_selector is deprecated:DeprecationWarning:pettingzoo.utils.agent_selector"
)

# name: (wrapper, shape of an observation, its type)
WRAPPERS = {
    "dtype": (lambda env: supersuit.dtype_v0(env, np.float64), (15,), np.float64),
    "flatten": (supersuit.flatten_v0, (15,), np.float32),
    "reshape": (lambda env: supersuit.reshape_v0(env, (3, 5)), (3, 5), np.float32),
    "frame_stack": (lambda env: supersuit.frame_stack_v1(env, 4), (60,), np.float32),
    "agent_indicator": (supersuit.agent_indicator_v0, (17,), np.float32),
    "normalize_obs": (supersuit.normalize_obs_v0, (15,), np.float32),
    "pad_observations": (supersuit.pad_observations_v0, (15,), np.float32),
    "pad_action_space": (supersuit.pad_action_space_v0, (15,), np.float32),
    "delay_observations": (lambda env: supersuit.delay_observations_v0(env, 2), (15,), np.float32),
    "max_observation": (lambda env: supersuit.max_observation_v0(env, 2), (15,), np.float32),
    "clip_reward": (lambda env: supersuit.clip_reward_v0(env, -0.5, 0.5), (15,), np.float32),
}
NEED_A_BOX = ["dtype", "flatten", "frame_stack", "agent_indicator", "normalize_obs"]

every_maker = pytest.mark.parametrize("make", [oware_v0.env, oware_v0.raw_env])


def play_lowest(env):
    """Play the lowest legal house to the end, checking mask and observation at every ply."""
    plies = 0
    while env.agents:
        agent = env.agent_selection
        observation, _, terminated, truncated, info = env.last()
        assert env.observation_space(agent).contains(observation)
        if terminated or truncated:
            env.step(None)
            continue
        legal = env.unwrapped.game_state.legal_moves
        assert info["action_mask"].dtype == np.int8
        assert tuple(np.flatnonzero(info["action_mask"])) == legal
        env.step(legal[0])
        plies += 1
    return plies


@every_maker
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_keeps_game_and_mask(name, make):
    wrap, shape, dtype = WRAPPERS[name]
    env = wrap(make(mask_in="info"))
    env.reset(seed=0)
    first = env.observe("player_0")
    assert first.shape == shape and first.dtype == dtype
    assert play_lowest(env) == env.unwrapped.game_state.ply == 84
    assert env.unwrapped.game_state.outcome.winner == "north"


@pytest.mark.parametrize(("lowest", "highest"), [(-0.5, 0.5), (-2.0, 0.25)])
def test_clipped_rewards_come_for_both_on_the_last_step(lowest, highest):
    env = supersuit.clip_reward_v0(oware_v0.env(mask_in="info"), lowest, highest)
    env.reset(seed=0)
    while not any(env.terminations.values()):
        assert env.rewards == {"player_0": 0, "player_1": 0}
        env.step(env.unwrapped.game_state.legal_moves[0])
    assert env.rewards == {"player_0": max(-1.0, lowest), "player_1": highest}


def test_stacked_frames_are_the_observations_before():
    env = supersuit.frame_stack_v1(oware_v0.env(mask_in="info"), 2)
    env.reset(seed=0)
    seen = []
    for _ in range(6):
        stacked = env.last()[0].copy()  # SuperSuit writes the next frame into the same array
        seen.append((stacked, env.unwrapped.observe(env.agent_selection)))
        env.step(env.unwrapped.game_state.legal_moves[0])
    for stacked, plain in seen:
        np.testing.assert_array_equal(stacked[15:], plain)
    for (stacked, _), (_, two_plies_before) in zip(seen[2:], seen, strict=False):
        np.testing.assert_array_equal(stacked[:15], two_plies_before)


@every_maker
def test_several_wrappers_together_play_a_game(make):
    env = make(mask_in="info", reward="margin")
    env = supersuit.agent_indicator_v0(supersuit.frame_stack_v1(supersuit.dtype_v0(env, "f8"), 3))
    env.reset(seed=1, options={"random_plies": 6})
    assert env.observe("player_0").shape == (47,)
    play_lowest(env)
    assert env.unwrapped.game_state.is_over


@pytest.mark.parametrize("name", NEED_A_BOX)
def test_a_wrapper_of_observations_refuses_the_mask_in_them(name):
    # docs/libraries.md tells users to take mask_in="info" for this reason.
    with pytest.raises((AssertionError, AttributeError)):
        WRAPPERS[name][0](oware_v0.env(mask_in="obs"))


@old_name
def test_the_vector_of_games_offers_legal_moves_in_each():
    envs = supersuit.vectorize_aec_env_v0(oware_v0.raw_env(mask_in="info"), 3)
    envs.reset(seed=0, options={"random_plies": 4})
    for _ in range(40):  # raw: an illegal move would raise
        infos, passes = envs.last()[-1], envs.last()[-2]
        assert not passes.any()
        masks = np.array([info["action_mask"] for info in infos])
        assert (masks == [MASKS[env.game_state._status & 63] for env in envs.envs]).all()
        envs.step(5 - masks[:, ::-1].argmax(axis=1))
    assert len({env.game_state.to_text() for env in envs.envs}) == 3
