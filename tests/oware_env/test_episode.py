"""How an episode starts: reset options, seeds, random openings; and the default opponent."""

import numpy as np
import pytest

from oware_env import OwareError, Rules, State, oware_v0
from oware_env.episode import Openings, observe, random_opponent, rewards
from oware_env.positions import as_positions

LOOP = "1-0-0-0-0-0-1-0-0-0-0-0-23-23-S"
SOUTH_WON = "0-0-0-0-0-0-0-0-0-0-0-1-27-20-N"


def openings(env, seed, count):
    states = []
    for game in range(count):
        env.reset(seed=seed if game == 0 else None, options={"random_plies": 6})
        states.append(env.unwrapped.game_state)
    return states


def test_random_plies_are_keyed_by_the_seed():
    ours = openings(oware_v0.env(), 11, 20)
    assert ours == openings(oware_v0.raw_env(), 11, 20)
    assert ours != openings(oware_v0.env(), 12, 20)
    assert len(set(ours)) > 10
    assert {state.ply for state in ours} == {6}


def test_a_seed_starts_the_numbering_of_episodes_anew():
    env = oware_v0.env()
    assert openings(env, 11, 3) == openings(env, 11, 3) != openings(env, None, 3)


def test_without_a_seed_every_environment_draws_its_own_openings():
    assert openings(oware_v0.env(), None, 20) != openings(oware_v0.env(), None, 20)


def test_random_plies_start_from_the_given_position():
    env = oware_v0.env()
    env.reset(seed=0, options={"position": LOOP, "ply": 10, "random_plies": 12})
    assert env.unwrapped.game_state == State.parse(LOOP, ply=22)


def test_random_openings_never_start_with_a_finished_game():
    # F wins at once, A does not: every second draw would be over.
    position = "1-0-0-0-0-3-1-1-1-0-0-1-20-20-S"
    starts = Openings(Rules()).starts(0, {"position": position, "random_plies": 1})
    states = [next(starts)[0] for _ in range(20)]
    assert not any(state.is_over for state in states)


def test_random_openings_reach_every_move():
    starts = Openings(Rules()).starts(0, {"random_plies": 1})
    assert len({next(starts)[0] for _ in range(60)}) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_ply": 6}, "unknown reset option 'random_ply'.*did you mean 'random_plies'"),
        ({"seed": 6}, "unknown reset option 'seed': known are position, ply, random_plies"),
        ([("ply", 1)], "reset options must be a dict"),
        ({"random_plies": -1}, "'random_plies' must be a whole number of at least 0, not -1"),
        ({"random_plies": True}, "'random_plies' must be a whole number of at least 0, not True"),
        ({"random_plies": 400}, "'random_plies' 400 ended 100 games from 4-4-4-.*use fewer"),
        ({"position": "4-4"}, "15 joined by"),
        ({"position": SOUTH_WON.replace("27", "26")}, "holds 47 seeds"),
        ({"ply": 401}, "ply must be between 0 and max_plies 400, not 401"),
    ],
)
def test_a_bad_reset_option_is_refused_and_the_game_goes_on(options, message):
    env = oware_v0.env()
    env.reset(seed=0)
    env.step(2)
    before = env.unwrapped.game_state
    with pytest.raises(OwareError, match=message) as caught:
        env.reset(options=options)
    assert "\n" not in str(caught.value)
    assert env.unwrapped.game_state == before and env.agent_selection == "player_1"
    env.step(2)


def test_both_seats_see_their_own_side_first():
    state = State.initial().play(0)
    south, north = observe(state, True, 15), observe(state, False, 15)
    np.testing.assert_array_equal(south[:6], north[6:12])
    np.testing.assert_array_equal(south[6:12], north[:6])
    assert south[0] == 0 and north[6] == 0


def test_rewards_are_of_a_finished_game_and_sum_to_nothing():
    over = State.parse(SOUTH_WON)
    assert rewards(over, "result") == (1.0, -1.0)
    assert rewards(over, "margin") == (7 / 48, -7 / 48)
    with pytest.raises(ValueError, match="the game still runs in 4-4-4"):
        rewards(State.initial(), "result")


def test_the_default_opponent_plays_legal_moves_keyed_by_game_and_ply(random_game):
    states = [state for seed in range(5) for state in random_game(seed)[:-1]]
    boards = np.stack([state.board for state in states])
    plies = np.array([state.ply for state in states])
    moves = {}
    for key in (1, 2):
        keys = np.full(len(states), key, np.uint64)
        moves[key] = random_opponent(as_positions(boards, plies, keys))
        assert moves[key].dtype == np.int8
        legal = [move in state.legal_moves for move, state in zip(moves[key], states, strict=True)]
        assert all(legal)
        alone = random_opponent(as_positions(boards[:1], plies[:1], keys[:1]))
        assert alone[0] == moves[key][0]
    assert (moves[1] != moves[2]).any()
