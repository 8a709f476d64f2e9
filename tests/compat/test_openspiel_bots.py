"""Our agents as bots on OpenSpiel's oware: whole games against its bots, and its extra ending."""

import numpy as np
import pytest

import agents
from agents.arena.openings import random_openings
from oware_env.errors import OwareError
from oware_env.positions import Decisions
from oware_env.state import State

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms.evaluate_bots import evaluate_bots  # noqa: E402
from open_spiel.python.bots.uniform_random import UniformRandomBot  # noqa: E402

from agents.openspiel import (  # noqa: E402
    OwareBot,
    board_of,
    ended_by_repetition,
    play_on_openspiel,
)

GAME = pyspiel.load_game("oware")


def openings(count, seed=0):
    return random_openings(count, 6, seed).moves


def after(*actions):
    state = GAME.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def uniform(seat):
    return pyspiel.make_uniform_random_bot(seat, 11 + seat)


def rollouts(seat):
    """OpenSpiel's C++ search with 100 rollouts a move."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seat)
    return pyspiel.MCTSBot(GAME, evaluator, 2.0, 100, 20, True, seat, False)


class Recorded:
    """An agent that notes the boards it is asked about."""

    def __init__(self, name):
        self.agent, self.name, self.boards = agents.make(name), name, []

    def decide(self, positions):
        self.boards.append(positions.boards[0].copy())
        return self.agent.decide(positions)


class Stubborn:
    """An agent that always answers with one move."""

    name = "stubborn"

    def __init__(self, move):
        self.move = move

    def decide(self, positions):
        policy = np.full((1, 6), np.nan, np.float32)
        return Decisions(np.array([self.move], np.int8), policy, policy[:, 0])


@pytest.mark.parametrize("seat", [0, 1])
def test_a_game_of_ours_is_the_same_game_in_both(seat):
    # Each position that our agent saw, and each move of either side, replayed on our State.
    for seed in range(15):
        agent = Recorded("strategist")
        bots = [uniform(0), uniform(1)]
        bots[seat] = OwareBot(agent, seed)
        theirs = after(*openings(15)[seed].tolist())
        opening = len(theirs.history())
        pyspiel.evaluate_bots(theirs, bots, 0)
        ours, seen = State.initial(), iter(agent.boards)
        for ply, action in enumerate(theirs.history()):
            assert action in ours.legal_moves
            if ply >= opening and ply % 2 == seat:
                assert np.array_equal(next(seen), ours.board)
            ours = ours.play(action)
        assert next(seen, None) is None
        if not ended_by_repetition(theirs.history()):
            south, north = ours.outcome.scores
            assert theirs.returns()[0] == np.sign(south - north)
        else:
            assert not ours.is_over


def test_a_board_is_read_in_the_movers_view_from_either_seat():
    state, ours = GAME.new_initial_state(), State.initial()
    for action in (2, 3, 0, 5, 1, 1, 4):
        assert np.array_equal(board_of(state), ours.board)
        assert board_of(state).dtype == np.int8
        state.apply_action(action)
        ours = ours.play(action)


def test_careful_beats_the_uniform_random_bot_of_openspiel():
    result = play_on_openspiel(OwareBot(agents.make("careful")), uniform, openings(20))
    assert result.score > 0.9, result
    assert result.points.shape == result.repeated.shape == result.plies.shape == (40,)
    assert sum(result.decided) + sum(result.stopped) == 40


def test_two_of_our_agents_play_and_the_score_is_the_first_ones():
    first, second = (OwareBot(agents.make(name)) for name in ("random", "careful"))
    result = play_on_openspiel(first, lambda seat: second, openings(10))
    assert result.score < 0.1, result
    assert result.pair_scores.mean() == pytest.approx(result.score)


def test_an_agent_plays_openspiels_tree_search_in_c():
    result = play_on_openspiel(OwareBot(agents.make("alphabeta:depth=4")), rollouts, openings(3))
    assert result.score > 0.5, result


def test_it_plays_in_openspiels_python_loop_too():
    rng = np.random.RandomState(3)
    for seat in (0, 1):
        bots = [UniformRandomBot(player, rng) for player in (0, 1)]
        bots[seat] = OwareBot(agents.make("careful"))
        state = GAME.new_initial_state()
        returns = evaluate_bots(state, bots, rng)
        assert state.is_terminal() and returns[seat] == 1


def test_games_that_the_repetition_rule_ends_are_counted_apart():
    result = play_on_openspiel(OwareBot(agents.make("random")), uniform, openings(60))
    stopped = int(result.repeated.sum())
    assert 4 <= stopped <= 20, stopped  # about one random game in eleven
    assert (sum(result.decided), sum(result.stopped)) == (120 - stopped, stopped)
    wins, draws, _ = np.add(result.decided, result.stopped)
    assert result.score == pytest.approx((wins + draws / 2) / 120)
    assert f"+{result.stopped[0]} ={result.stopped[1]} -{result.stopped[2]} stopped by" in str(
        result
    )


def test_a_repeated_position_is_recognized_and_a_game_cut_short_is_not_taken_for_one():
    ended = {}
    for seed in range(200):
        state, draws = GAME.new_initial_state(), np.random.RandomState(seed)
        while not state.is_terminal():
            state.apply_action(int(draws.choice(state.legal_actions())))
        ended.setdefault(ended_by_repetition(state.history()), state.history())
    history = ended[True]
    boards = {after(*history[:ply]).observation_string(0) for ply in range(len(history))}
    replayed = State.initial()
    for action in history:
        replayed = replayed.play(action)
    south, north = replayed.stores
    counts = " ".join(str(count) for count in replayed.houses)
    assert f"{len(history) % 2} | {south} {north} | {counts}" in boards
    with pytest.raises(
        OwareError, match=f"after {len(ended[False]) - 1} plies the game still runs"
    ):
        ended_by_repetition(ended[False][:-1])


def test_equal_seeds_play_equal_games_and_each_restart_is_another():
    def moves(bot, restarts):
        for _ in range(restarts):
            bot.restart()
        state = GAME.new_initial_state()
        while not state.is_terminal():
            state.apply_action(bot.step(state))
        return state.history()

    agent = agents.make("random")
    first = moves(OwareBot(agent, seed=4), 1)
    assert first == moves(OwareBot(agent, seed=4), 1)
    assert first != moves(OwareBot(agent, seed=5), 1)
    assert first != moves(OwareBot(agent, seed=4), 2)
    bot = OwareBot(agent, seed=4)
    bot.restart_at(GAME.new_initial_state())
    assert first == moves(bot, 0)


def test_the_policy_is_over_the_legal_actions_and_sums_to_one():
    state = after(2, 3, 0)
    bot = OwareBot(agents.make("random"))
    assert bot.provides_policy()
    policy, action = bot.step_with_policy(state)
    assert [move for move, _ in policy] == state.legal_actions()
    assert sum(chance for _, chance in policy) == pytest.approx(1)
    assert action == bot.step(state)


def test_an_illegal_answer_is_named_and_not_repaired():
    bot = OwareBot(Stubborn(2))
    state = after(2, 2)
    with pytest.raises(OwareError, match="agent stubborn: illegal move 2 in") as caught:
        bot.step(state)
    assert "\n" not in str(caught.value) and "legal moves: [0, 1, 3, 4, 5]" in str(caught.value)
    with pytest.raises(OwareError, match="agent stubborn: illegal move"):  # through OpenSpiel's C++
        play_on_openspiel(bot, uniform, openings(3))


def test_another_game_and_a_finished_one_are_refused():
    bot = OwareBot(agents.make("careful"))
    small = pyspiel.load_game("oware", {"num_houses_per_player": 4, "num_seeds_per_house": 6})
    for game in (pyspiel.load_game("mancala"), small):
        with pytest.raises(OwareError, match="the game must be oware with 6 houses and 4 seeds"):
            bot.step(game.new_initial_state())
    state, draws = GAME.new_initial_state(), np.random.RandomState(0)
    while not state.is_terminal():
        state.apply_action(int(draws.choice(state.legal_actions())))
    with pytest.raises(OwareError, match="the game is over") as caught:
        bot.step(state)
    assert "\n" not in str(caught.value)


def test_an_impossible_opening_is_refused():
    bot = OwareBot(agents.make("careful"))
    with pytest.raises(OwareError, match=r"opening \[2, 1, 2\]: move 2 at ply 2 is illegal"):
        play_on_openspiel(bot, uniform, np.array([[2, 1, 2]]))
