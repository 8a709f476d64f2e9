"""RLlib through its PettingZooEnv: masks, rewards of both players, and a PPO that learns."""

import re

import numpy as np
import pytest

from agents.arena import play_match


@pytest.fixture(scope="module")
def script(how_to):
    """The script; it must import Ray itself, which reads its settings when it is imported."""
    return how_to("rllib_ppo")


def test_a_game_through_its_wrapper_pays_both_players(script):
    env = script.make_env()
    generator = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    ends = {"__all__": False}
    plies = 0
    while not ends["__all__"]:
        (player, observation), *others = seen.items()
        assert not others and env.observation_spaces[player].contains(observation)
        offered = observation["action_mask"].nonzero()[0]
        seen, rewards, ends, cut, _ = env.step({player: int(generator.choice(offered))})
        plies += 1
    assert plies > 20 and not any(cut.values())
    assert set(seen) == set(rewards) == {"player_0", "player_1"}
    assert sum(rewards.values()) == 0 and all(rewards.values())
    assert not any(observation["action_mask"].any() for observation in seen.values())


@pytest.fixture(scope="module")
def episodes(script):
    """Eight games as RLlib records them, played by an untrained masked policy."""
    script.register_env("oware", script.make_env)
    with script.local_ray():
        assert script.ray.util.get_node_ip_address() == "127.0.0.1"
        algorithm = script.settings(seed=0).build_algo()
        games = algorithm.env_runner.sample(num_episodes=8)
        algorithm.stop()
        script.Path(algorithm.logdir).rmdir()
    return games


def test_every_move_is_one_that_the_mask_offers(episodes):
    # The raw environment would have raised IllegalMove too.
    for game in episodes:
        for own in game.agent_episodes.values():
            masks = own.get_observations()["action_mask"]
            assert masks[np.arange(len(own)), own.get_actions()].all()
            assert not masks[:-1].all()


def test_a_player_has_a_sequence_of_its_own_that_ends_with_its_reward(episodes):
    assert len(episodes) >= 8
    for game in episodes:
        south, north = game.agent_episodes["player_0"], game.agent_episodes["player_1"]
        assert len(south) - len(north) in (0, 1)
        for own in (south, north):
            assert own.is_terminated and not own.is_truncated
            assert not np.any(own.get_rewards()[:-1])
        assert south.get_rewards()[-1] == -north.get_rewards()[-1]
    assert any(game.agent_episodes["player_0"].get_rewards()[-1] for game in episodes)


def test_it_learns_to_beat_random_from_both_seats(script, capsys):
    result = play_match(script.train(60_000, seed=0), "random", games=400)
    south = result.points[result.games.a_is_south].mean()
    north = result.points[~result.games.a_is_south].mean()
    with capsys.disabled():
        print(f"\n{result}; as South {south:.1%}, as North {north:.1%}")
    assert result.score >= 0.85 and min(south, north) >= 0.8  # measured: 95 to 97 %
    assert not script.ray.is_initialized()


def test_the_script_runs_as_its_text_says_and_leaves_nothing_at_home(run_script, tmp_path):
    lines = run_script("rllib_ppo", "--steps", "1", "--games", "20").splitlines()
    assert len(lines) == 2
    for line, opponent in zip(lines, ("random", "greedy"), strict=True):
        assert re.match(rf"rllib-ppo against {opponent}: .* in 20 paired games", line)
    assert list((tmp_path / "ray_results").iterdir()) == []
