"""Importing the package is enough to make the environments by their ids."""

import subprocess
import sys

import gymnasium
import numpy as np
import pettingzoo

import oware_env
from oware_env import OwareError, Rules, State, oware_v0
from oware_env.single_agent import OwareSingleAgentEnv


def test_gymnasium_makes_the_single_agent_environment():
    env = gymnasium.make("Oware-v0", seat="north", rules=Rules(max_plies=99))
    assert isinstance(env.unwrapped, OwareSingleAgentEnv)
    assert env.unwrapped.rules.max_plies == 99
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    env.step(int(info["action_mask"].argmax()))
    assert env.unwrapped.state.ply == 3


def test_gymnasium_vectorises_it():
    envs = gymnasium.make_vec("Oware-v0", num_envs=3, vectorization_mode="sync", seat="alternate")
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (3, 15)
    for _ in range(120):  # past the end of every game
        masks = np.stack(infos["action_mask"])
        actions = np.where(masks.any(axis=1), masks.argmax(axis=1), 0)
        observations, _, _, _, infos = envs.step(actions)
    assert envs.single_observation_space.contains(observations[0])
    envs.close()


def test_pettingzoo_makes_the_aec_environment():
    env = pettingzoo.make("aec", "oware/oware-v0", mask_in="info", rules=Rules(max_plies=99))
    assert str(env) == "oware_v0"
    env.reset()
    env.step(2)
    assert env.unwrapped.game_state == State.initial(Rules(max_plies=99)).play(2)
    assert isinstance(env.unwrapped, oware_v0.raw_env)
    assert pettingzoo.spec("aec", "oware/oware_v0").version == 0


def test_the_names_are_exported():
    assert oware_env.oware_v0 is oware_v0
    assert oware_env.OwareError is OwareError
    assert set(oware_env.__all__) <= set(dir(oware_env))


def test_importing_warns_of_nothing_and_leaves_the_heavy_libraries_alone():
    code = (
        "import sys, oware_env\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'pygame', 'PIL', 'evalica', 'rich', 'tyro'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
