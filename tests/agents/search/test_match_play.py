"""Match play: a time a move, its fairness, and settings that are refused."""

import numpy as np
import pytest

from agents.search import match_play, mcts
from agents.search.match_play import MatchPlay, Mcts, match_player
from agents.search.mcts import Search
from agents.search.rollout import RolloutEvaluator
from agents.search.tree import COUNT
from oware_env.errors import OwareError
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import Rules
from oware_env.state import State


def take(positions, rows):
    return Positions(*(np.ascontiguousarray(array[rows]) for array in positions))


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


class Clock:
    """A clock that moves on by a hundredth of a second with every batch that is judged."""

    def __init__(self, monkeypatch):
        self.now, self.rollouts = 0.0, RolloutEvaluator()
        monkeypatch.setattr(mcts, "clock", self)
        monkeypatch.setattr(match_play, "clock", self)

    def perf_counter(self):
        return self.now

    def __call__(self, positions):
        self.now += 0.01
        return self.rollouts(positions)


def early_games(positions, count):
    games = positions(12 * count, seed=1)
    chosen = np.flatnonzero(games.boards[:, 12:].max(axis=1) < 14)[:count]
    assert len(chosen) == count
    return take(games, chosen)


# The root takes 0.01 s, a slice of 8 simulations 0.08 s: the clock is looked at after each.
@pytest.mark.parametrize(("time", "simulations"), [(0.001, 8), (0.085, 8), (0.095, 16), (0.5, 56)])
def test_a_search_runs_in_slices_until_its_time_is_over(positions, monkeypatch, time, simulations):
    evaluator = Clock(monkeypatch)
    games = early_games(positions, 10)
    timed = Mcts(Search(evaluator, simulations=1000), "timed", time=time).decide(games)
    counted = Mcts(Search(RolloutEvaluator(), simulations=simulations), "counted").decide(games)
    assert same(timed, counted)


def test_each_position_has_the_time_for_itself(positions, monkeypatch):
    evaluator = Clock(monkeypatch)
    games = early_games(positions, 10)
    agent = Mcts(Search(evaluator, simulations=1000), "timed", time=0.3)
    together = agent.decide(games)
    assert 10 * 0.3 <= evaluator.now <= 10 * 0.39
    for row in range(10):
        alone = agent.decide(take(games, slice(row, row + 1)))
        assert same(alone, (array[row : row + 1] for array in together))


def test_the_number_of_simulations_is_the_limit_of_a_timed_search(positions, monkeypatch):
    evaluator = Clock(monkeypatch)
    search = Search(evaluator, simulations=20)
    Mcts(search, "timed", time=1e6).decide(early_games(positions, 3))
    assert search._tree.sizes[0] <= 27 and evaluator.now < 1


def test_where_there_is_no_choice_no_time_is_spent(monkeypatch):
    evaluator = Clock(monkeypatch)
    state = State.parse("0-0-0-0-0-3-2-1-4-1-5-2-15-15-S")
    assert len(state.legal_moves) == 1
    keys = game_keys(np.uint64(0), np.arange(1))
    asked = as_positions(state.board[None], np.array([0]), keys)
    agent = Mcts(Search(evaluator, simulations=1000), "timed", time=5.0)
    assert agent.decide(asked).moves[0] == 5 and evaluator.now < 0.1


def test_a_proved_position_takes_no_more_time(table, monkeypatch):
    evaluator = Clock(monkeypatch)
    state = State.parse("0-0-1-1-1-0-0-0-1-0-0-0-22-22-S")  # E wins; C and D lose
    keys = game_keys(np.uint64(0), np.arange(1))
    asked = as_positions(state.board[None], np.array([0]), keys)
    search = Search(evaluator, simulations=1000, table=table.arrays)
    answer = Mcts(search, "timed", time=5.0).decide(asked)
    assert answer.moves[0] == 4 and answer.value[0] == 1 and evaluator.now < 0.1


def test_a_timed_search_keeps_a_tree_for_each_of_its_games(positions, monkeypatch):
    evaluator = Clock(monkeypatch)
    games = early_games(positions, 6)
    agent = Mcts(Search(evaluator, simulations=500), "timed", time=0.2, reuse=True)
    agent.decide(games)
    first = agent.search._tree.ints[0, 0, COUNT]
    agent.decide(take(games, [5, 2, 0]))
    assert agent.search._tree.ints[0, 0, COUNT] >= 2 * first - 1
    agent.decide(take(games, [2]))
    assert agent.search._tree.ints[0, 0, COUNT] >= 3 * first - 2


def test_the_real_clock_ends_a_search():
    agent = match_player(RolloutEvaluator(), Rules(), MatchPlay(time=0.02))
    state = State.initial()
    asked = as_positions(state.board[None], np.array([0]), game_keys(np.uint64(0), np.arange(1)))
    assert agent.decide(asked).moves[0] in state.legal_moves
    assert agent.name == "time=0.02"


@pytest.mark.parametrize(
    ("play", "message"),
    [
        (MatchPlay(), "exactly one of sims and time, such as sims=64 or time=0.1, not sims=None"),
        (MatchPlay(sims=4, time=1.0), "exactly one of sims and time"),
        (MatchPlay(sims=0), "at least 1 simulation, not 0"),
        (MatchPlay(time=0.0), "time must be a number of seconds above 0, not 0.0"),
        (MatchPlay(time=float("nan")), "a number of seconds above 0, not nan"),
        (MatchPlay(time=True), "a number of seconds above 0, not True"),
        (MatchPlay(sims=4, choice="best"), "choice must be one of lcb, visits, not 'best'"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(play, message):
    with pytest.raises(OwareError) as caught:
        match_player(RolloutEvaluator(), Rules(), play)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_settings_read_as_in_a_spec():
    assert str(MatchPlay(sims=64)) == "sims=64"
    assert (
        str(MatchPlay(time=0.5, reuse=True, choice="visits")) == "time=0.5,reuse=yes,choice=visits"
    )


@pytest.mark.parametrize(
    ("play", "message"),
    [
        (MatchPlay(sims="8"), "at least 1 simulation, not '8'"),
        (MatchPlay(sims=2.5), "at least 1 simulation, not 2.5"),
        (MatchPlay(sims=True), "at least 1 simulation, not True"),
        (MatchPlay(sims=10**5000), "at most 1,048,576 simulations, not int of very many digits"),
        (MatchPlay(time="1"), "time must be a number of seconds above 0, not '1'"),
        (MatchPlay(time=float("inf")), "time must be a number of seconds above 0, not inf"),
        ("sims=8", "how to play is a MatchPlay such as MatchPlay(sims=64), not 'sims=8'"),
        (None, "how to play is a MatchPlay"),
    ],
)
def test_malformed_settings_of_a_search_are_one_line(play, message):
    with pytest.raises(OwareError) as caught:
        match_player(RolloutEvaluator(Rules()), Rules(), play)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("exploration", ["1", None, True, [], 10**400, float("nan"), -1])
def test_an_exploration_that_is_no_number_is_one_line(exploration):
    with pytest.raises(OwareError, match="exploration must be a number of at least 0, not "):
        match_player(RolloutEvaluator(Rules()), Rules(), MatchPlay(sims=8), exploration=exploration)
