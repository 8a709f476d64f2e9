"""tianshou through its PettingZooEnv: masks, rewards of both players, and a DQN that learns."""

import re

import numpy as np
import pytest
import torch
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.torch_utils import policy_within_training_step

from agents.arena import play_match
from oware_env import Rules, oware_v0

GAMES = 8
RULES = Rules(max_plies=60)


def make_env(**options):
    return PettingZooEnv(oware_v0.raw_env(rules=RULES, **options))


@pytest.fixture(scope="module")
def script(how_to):
    return how_to("tianshou_dqn")


@pytest.fixture(scope="module")
def random_games():
    """A buffer of whole games of tianshou's random players, and the statistics of the games."""
    np.random.seed(0)
    players = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(make_env().action_space)] * 2
    both = MultiAgentOffPolicyAlgorithm(algorithms=players, env=make_env())
    buffer = VectorReplayBuffer(4_000, GAMES)
    collector = Collector(both, DummyVectorEnv([make_env] * GAMES), buffer)
    collector.reset()
    return buffer, collector.collect(n_episode=4 * GAMES)


def test_players_take_turns_and_each_gets_its_result(random_games):
    buffer, statistics = random_games
    moves, _ = buffer.sample(0)
    ends = moves.rew[moves.done]
    assert len(ends) == statistics.n_collected_episodes == 4 * GAMES
    assert set(np.unique(ends)) <= {-1.0, 0.0, 1.0} and len(np.unique(ends[:, 0])) > 1
    assert (ends.sum(axis=1) == 0).all()
    assert (moves.rew[~moves.done] == 0).all()
    goes_on = ~moves.done
    assert (moves.obs.agent_id[goes_on] != moves.obs_next.agent_id[goes_on]).all()


def test_every_move_is_one_that_the_mask_offers(random_games):
    # The raw environment would have raised IllegalMove too.
    moves, _ = random_games[0].sample(0)
    assert moves.obs.mask[np.arange(len(moves)), moves.act.astype(int)].all()
    assert not moves.obs.mask.all()


def test_the_return_of_a_move_is_the_result_for_its_player(random_games, script):
    buffer, _ = random_games
    learner = script.make_learner(make_env(observation="counts"), 1_000)
    learner.gamma, learner.n_step = 1.0, RULES.max_plies
    learner._target_q = lambda buffer, indices: torch.zeros(len(indices), 1)
    both = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=make_env())
    moves, indices = buffer.sample(0)
    prepared = both._preprocess_batch(moves, buffer, indices)
    for player, column in (("player_0", 0), ("player_1", 1)):
        rows = (moves.obs.agent_id == player).nonzero()[0]
        last = indices[rows]
        for _ in range(RULES.max_plies):
            last = buffer.next(last)
        results = buffer.rew[last][:, column]
        assert np.array_equal(prepared[player].returns.numpy().ravel(), results)
        assert {-1.0, 1.0} <= set(results)


def test_an_even_horizon_ends_at_a_position_of_the_same_player(random_games, script):
    assert script.HORIZON % 2 == 0
    buffer, _ = random_games
    moves, indices = buffer.sample(0)
    last = indices
    for _ in range(script.HORIZON - 1):
        last = buffer.next(last)
    goes_on = ~buffer.done[last]
    assert goes_on.any()
    after = buffer[last].obs_next.agent_id
    assert (after[goes_on] == moves.obs.agent_id[goes_on]).all()


def test_a_mask_in_the_infos_does_not_reach_it():
    position = {"position": "0-4-4-4-4-4-4-4-4-4-4-4-2-2-S"}
    for place, offered in (("info", [True] * 6), ("obs", [False] + [True] * 5)):
        seen, _ = make_env(mask_in=place).reset(options=position)
        assert seen["mask"] == offered


def members(script, **exploration):
    space = make_env().action_space
    policy = DiscreteQLearningPolicy(model=torch.nn.Identity(), action_space=space, **exploration)
    learner = script.make_learner(make_env(), 1_000)
    learner.policy = policy
    return MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=make_env())


@pytest.mark.parametrize("setting, explores", [("eps_training", False), ("eps_inference", True)])
def test_only_eps_inference_of_a_member_explores(script, setting, explores):
    both = members(script, **{setting: 1.0})
    mask = np.tile(np.arange(6) > 0, (32, 1))  # house 0 is not offered
    seen = Batch(obs=Batch(agent_id=np.array(["player_0"] * 32), mask=mask))
    with policy_within_training_step(both.policy):
        moves = both.policy.add_exploration_noise(np.zeros(32, int), seen)
    assert (moves > 0).all() if explores else (moves == 0).all()


def test_the_schedules_of_the_members_are_left_to_us(script):
    learner = script.make_learner(make_env(), 1_000)
    both = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=make_env())
    assert len(learner.lr_schedulers) == 1 and both.lr_schedulers == []


def test_it_learns_to_beat_random_from_both_seats(script, capsys):
    result = play_match(script.train(40_000, seed=0), "random", games=400)
    south = result.points[result.games.a_is_south].mean()
    north = result.points[~result.games.a_is_south].mean()
    with capsys.disabled():
        print(f"\n{result}; as South {south:.1%}, as North {north:.1%}")
    assert result.score >= 0.75 and min(south, north) >= 0.7  # measured: 87 to 94 %


def test_the_script_runs_as_its_text_says(run_script):
    lines = run_script("tianshou_dqn", "--steps", "640", "--games", "20").splitlines()
    assert len(lines) == 2
    for line, opponent in zip(lines, ("random", "greedy"), strict=True):
        assert re.match(rf"tianshou-dqn against {opponent}: .* in 20 paired games", line)
