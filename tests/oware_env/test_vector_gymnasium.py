"""The vector environment under Gymnasium's own tools: make_vec, spaces and vector wrappers."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

from oware_env import Rules
from oware_env.single_agent import OwareSingleAgentEnv
from oware_env.vector import OwareVectorEnv

MODES = list(AutoresetMode)


def first_legal(env):
    return env.unwrapped.action_masks().argmax(axis=1)


def restarted(env, ended):
    """Start the rows that ended anew, where the environment leaves that to the caller."""
    if env.unwrapped.autoreset_mode == AutoresetMode.DISABLED and ended.any():
        env.reset(options={"reset_mask": ended.copy()})


@pytest.mark.parametrize("arguments", [{}, {"vectorization_mode": "vector_entry_point"}])
def test_gymnasium_makes_it_by_its_id(arguments):
    env = gymnasium.make_vec(
        "Oware-v0", num_envs=5, seat="north", rules=Rules(max_plies=99), seed=3, **arguments
    )
    assert isinstance(env, OwareVectorEnv) and env.num_envs == 5
    assert env.rules.max_plies == 99
    assert env.spec.id == "Oware-v0" and "num_envs=5" in repr(env)
    observations, infos = env.reset()
    again = gymnasium.make_vec(env.spec)
    assert data_equivalence((observations, infos), again.reset(), exact=True)
    assert gymnasium.make_vec("Oware-v0", num_envs=2, autoreset_mode="SameStep").num_envs == 2


def test_make_vec_takes_max_episode_steps_as_make_does():
    envs = gymnasium.make_vec("Oware-v0", num_envs=2, max_episode_steps=5)
    env = gymnasium.make("Oware-v0", max_episode_steps=5)
    envs.reset(seed=0), env.reset(seed=0)
    for step in range(1, 6):
        truncations = envs.step(np.array([step, step]))[3]
        assert truncations.tolist() == [step == 5] * 2 and env.step(step)[3] == (step == 5)
    assert envs.spec.kwargs["max_episode_steps"] == 5
    assert gymnasium.make_vec(envs.spec).max_episode_steps == 5


@pytest.mark.parametrize("mode", MODES)
def test_it_says_what_gymnasium_asks_of_a_vector_environment(mode):
    env = OwareVectorEnv(3, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in OwareVectorEnv.metadata
    assert OwareVectorEnv(3, autoreset_mode=mode.value).autoreset_mode is mode
    assert env.unwrapped is env and env.render_mode is None
    assert OwareVectorEnv(3).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("observation", ["counts", "onehot"])
def test_the_spaces_are_those_of_the_single_environment_batched(observation):
    env = OwareVectorEnv(3, observation=observation)
    single = OwareSingleAgentEnv(observation=observation)
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    reference = SyncVectorEnv([lambda: single] * 3)
    assert env.observation_space == reference.observation_space
    assert env.action_space == reference.action_space
    env.action_space.seed(0)
    observations, infos = env.reset(seed=0)
    for _ in range(60):
        assert env.observation_space.contains(observations)
        actions = env.action_space.sample(tuple(infos["action_mask"]))
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert observations.dtype == np.float32 and rewards.dtype == np.float64
        assert terminations.dtype == truncations.dtype == np.bool_


@pytest.mark.parametrize("mode", MODES)
def test_the_statistics_of_episodes_are_those_of_the_games(mode):
    env = wrappers.RecordEpisodeStatistics(
        OwareVectorEnv(4, seat="alternate", autoreset_mode=mode, rules=Rules(max_plies=60))
    )
    env.reset(seed=0)
    moves, ends = np.zeros(4, int), 0
    for _ in range(150):
        moves += env.unwrapped.action_masks().any(axis=1)  # a row that is over makes no move
        _, rewards, terminations, _, infos = env.step(first_legal(env))
        if terminations.any():
            episode = infos["episode"]
            np.testing.assert_array_equal(episode["l"][terminations], moves[terminations])
            np.testing.assert_array_equal(episode["r"][terminations], rewards[terminations])
            assert infos["_episode"].tolist() == terminations.tolist()
        moves[terminations] = 0
        ends += terminations.sum()
        restarted(env, terminations)
    assert ends == env.episode_count > 15 and {29, 30} >= set(env.length_queue) - set(range(29))


@pytest.mark.parametrize("mode", MODES)
def test_infos_turn_into_a_list_of_each_rows_own(mode):
    rules = Rules(max_plies=50)
    env = wrappers.DictInfoToList(OwareVectorEnv(3, rules=rules, autoreset_mode=mode))
    _, infos = env.reset(seed=0)
    finals = 0
    for _ in range(120):
        for row, info in enumerate(infos):
            expected = env.unwrapped.action_masks()[row]
            assert info["action_mask"].tolist() == expected.astype(int).tolist()
        _, _, terminations, _, infos = env.step(first_legal(env))
        for row in terminations.nonzero()[0]:
            same_step = mode == AutoresetMode.SAME_STEP
            assert ("final_obs" in infos[row]) == ("final_info" in infos[row]) == same_step
            if same_step:
                assert infos[row]["final_obs"].shape == (15,)
                assert not infos[row]["final_info"]["action_mask"].any()
                finals += 1
        restarted(env, terminations)
        if env.unwrapped.autoreset_mode == AutoresetMode.DISABLED and terminations.any():
            infos = [{"action_mask": mask.astype(int)} for mask in env.unwrapped.action_masks()]
    assert finals > 2 or mode != AutoresetMode.SAME_STEP


# Gymnasium's observation wrappers and its array conversion take no SAME_STEP environment.
WITHOUT_SAME_STEP = [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]


@pytest.mark.parametrize("mode", WITHOUT_SAME_STEP)
def test_observations_and_rewards_pass_through_other_wrappers(mode):
    bare = OwareVectorEnv(3, autoreset_mode=mode, reward="margin")
    env = wrappers.FlattenObservation(OwareVectorEnv(3, autoreset_mode=mode, reward="margin"))
    env = wrappers.TransformReward(env, lambda rewards: rewards * 48)
    assert data_equivalence(env.reset(seed=1), bare.reset(seed=1), exact=True)
    seeds = 0.0
    for _ in range(120):
        actions = first_legal(env)
        ours, expected = env.step(actions), bare.step(actions)
        np.testing.assert_array_equal(ours[0], expected[0])
        np.testing.assert_array_equal(ours[1], expected[1] * 48)
        assert data_equivalence(ours[2:], expected[2:], exact=True)
        seeds += abs(ours[1]).sum()
        for each in (env, bare):
            restarted(each, expected[2])
    assert seeds == round(seeds) > 20


def test_a_dtype_wrapper_and_a_running_mean_take_it():
    env = wrappers.NormalizeObservation(OwareVectorEnv(3))
    env = wrappers.DtypeObservation(env, np.float64)
    env.reset(seed=0)
    for _ in range(60):
        observations = env.step(first_legal(env))[0]
    assert observations.dtype == np.float64 and np.isfinite(observations).all()


@pytest.mark.parametrize("mode", WITHOUT_SAME_STEP)
def test_it_speaks_torch_through_gymnasiums_wrapper(mode):
    pytest.importorskip("array_api_compat", reason="Gymnasium's array conversion needs it")
    import torch

    env = wrappers.NumpyToTorch(OwareVectorEnv(3, autoreset_mode=mode))
    bare = OwareVectorEnv(3, autoreset_mode=mode)
    observations, infos = env.reset(seed=2)
    np.testing.assert_array_equal(observations.numpy(), bare.reset(seed=2)[0])
    for _ in range(30):
        actions = infos["action_mask"].argmax(dim=1)
        assert isinstance(actions, torch.Tensor)
        observations, rewards, terminations, _, infos = env.step(actions)
        expected = bare.step(actions.numpy())
        np.testing.assert_array_equal(observations.numpy(), expected[0])
        np.testing.assert_array_equal(rewards.numpy(), expected[1])
        np.testing.assert_array_equal(terminations.numpy(), expected[2])


def test_torch_actions_are_taken_as_they_are():
    import torch

    env = OwareVectorEnv(3, seed=0)
    _, infos = env.reset()
    env.step(torch.from_numpy(infos["action_mask"]).argmax(dim=1))
    assert [env.state(row).ply for row in range(3)] == [2, 2, 2]


def test_it_closes_once_and_again():
    env = OwareVectorEnv(2)
    env.reset(seed=0)
    env.close()
    assert env.closed
    env.close()
