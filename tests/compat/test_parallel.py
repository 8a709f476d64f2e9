"""PettingZoo's turn_based_aec_to_parallel: both agents act at every step, one of them counts."""

import warnings

import numpy as np
import pytest
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from oware_env import IllegalMove, State, oware_v0

with warnings.catch_warnings():  # pettingzoo.test warns about its own imports
    warnings.simplefilter("ignore")
    from pettingzoo.test import parallel_api_test, parallel_seed_test

every_maker = pytest.mark.parametrize("make", [oware_v0.env, oware_v0.raw_env])
every_mask_place = pytest.mark.parametrize("mask_in", ["obs", "info", "both"])


@every_maker
@pytest.mark.parametrize("mask_in", ["obs", "both"])  # the test looks for masks there alone
def test_it_passes_the_parallel_test(make, mask_in):
    parallel_api_test(turn_based_aec_to_parallel(make(mask_in=mask_in)), num_cycles=300)


@every_maker
@every_mask_place
def test_it_passes_the_seed_test(make, mask_in):
    parallel_seed_test(lambda: turn_based_aec_to_parallel(make(mask_in=mask_in)))


@every_maker
@every_mask_place
def test_a_game_goes_through(make, mask_in):
    env = turn_based_aec_to_parallel(make(mask_in=mask_in))
    observations, infos = env.reset(seed=5)
    draw = np.random.default_rng(5)
    state, agent = State.initial(), "player_0"
    while env.agents:
        source = infos if mask_in == "info" else observations
        masks = {name: source[name]["action_mask"] for name in env.agents}
        other = "player_1" if agent == "player_0" else "player_0"
        assert tuple(np.flatnonzero(masks[agent])) == state.legal_moves
        assert not masks[other].any()
        move = int(draw.choice(state.legal_moves))
        state = state.play(move)
        observations, rewards, ends, cuts, infos = env.step({agent: move, other: 0})
        assert ends == dict.fromkeys(ends, state.is_over) and not any(cuts.values())
        agent = other
        if not state.is_over:
            assert rewards == {"player_0": 0, "player_1": 0}
            assert infos[agent]["active_agent"] == agent
    south, north = state.outcome.scores
    assert rewards == {"player_0": np.sign(south - north), "player_1": np.sign(north - south)}


def test_an_illegal_action_of_the_side_to_move_is_not_hidden():
    env = turn_based_aec_to_parallel(oware_v0.raw_env())
    env.reset(options={"position": "4-4-0-5-5-5-5-4-4-4-4-4-0-0-S"})
    with pytest.raises(IllegalMove, match="house C is empty"):
        env.step({"player_0": 2, "player_1": 0})
