"""Matches: every game is legal, from both seats, and the same however it is cut or where played."""

import numpy as np
import pytest

import agents
from agents.arena.match import MatchUnit, play_match, play_openings, play_unit
from agents.arena.openings import random_openings
from agents.workers import open_executor
from oware_env import Rules, State
from oware_env.errors import OwareError
from oware_env.positions import Decisions
from oware_env.rules import MOVE_LIMIT, REASONS, legal_moves


def _replay(moves, rules=Rules()):
    state = State.initial(rules)
    for move in moves[moves >= 0]:
        state = state.play(int(move))
    return state


def _same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


class First:
    """Plays the first legal move and notes which seat it was asked for."""

    def __init__(self, name="first"):
        self.name = name
        self.seats = set()

    def decide(self, positions):
        self.seats |= set((positions.plies % 2).tolist())
        masks = [legal_moves(board) for board in positions.boards]
        policy = np.array([[mask >> move & 1 for move in range(6)] for mask in masks], np.float32)
        moves = policy.argmax(axis=1).astype(np.int8)
        return Decisions(moves, policy, np.zeros(len(moves), np.float32))


class Cheat(First):
    def decide(self, positions):
        answer = super().decide(positions)
        return answer._replace(moves=np.where(positions.plies > 8, 6, answer.moves).astype(np.int8))


def test_every_game_replays_to_its_scores_and_reason():
    rules = Rules(max_plies=120)
    result = play_match("random", "greedy", games=60, seed=4, rules=rules)
    openings = random_openings(30, 6, 4, rules)
    games = result.games
    for game in range(60):
        state = _replay(games.moves[game], rules)
        assert state.outcome is not None
        assert state.outcome.scores == tuple(games.scores[game])
        assert state.outcome.reason == REASONS[games.reasons[game]]
        assert state.ply == games.plies[game]
        assert np.array_equal(games.moves[game, :6], openings.moves[game // 2])
    assert games.a_is_south.tolist() == [True, False] * 30
    assert games.openings.tolist() == [game // 2 for game in range(60)]
    assert MOVE_LIMIT in games.reasons or games.plies.max() < 120


def test_each_move_is_chosen_by_the_agent_whose_turn_it_is():
    # "first" always plays its first legal house, so its moves tell it from the random player.
    result = play_match(First(), "random", games=20, seed=1)
    games = result.games
    for game in range(20):
        state = State.initial()
        for ply in range(games.plies[game]):
            move = int(games.moves[game, ply])
            is_firsts = (ply % 2 == 0) == bool(games.a_is_south[game])
            if ply >= 6 and is_firsts:
                assert move == state.legal_moves[0]
            state = state.play(move)


def test_agent_objects_play_both_seats():
    agent = First()
    play_openings((agent, First("other")), random_openings(1, 5))
    assert agent.seats == {0, 1}


def test_counts_and_scores_agree_with_the_games():
    result = play_match("greedy", "random", games=40)
    wins, draws, losses = result.wins_draws_losses
    assert wins + draws + losses == 40
    assert result.score == (wins + draws / 2) / 40
    assert result.pair_scores.shape == (20,)
    assert result.pair_scores.mean() == pytest.approx(result.score)
    south = sum(np.sign(s - n) / 2 + 0.5 for s, n in result.games.scores.astype(int)) / 40
    assert result.south_score == pytest.approx(south)
    low, high = result.interval
    assert low < result.score < high
    assert str(result).startswith(f"greedy against random: {result.score:.1%} [")


def test_a_fixed_player_against_itself_scores_half_and_repeats_its_games():
    result = play_match(First(), First(), games=20)
    assert result.score == 0.5
    assert result.distinct_games == 10  # both games of an opening are the same game


def test_games_do_not_depend_on_how_the_openings_are_cut():
    unit = MatchUnit("random", "greedy", Rules(), 5, 6, 0, 12)
    whole = play_unit(unit)
    parts = [play_unit(unit._replace(start=k, stop=k + 4)) for k in (0, 4, 8)]
    for k, part in enumerate(parts):
        share = [array[8 * k : 8 * k + 8] for array in whole]
        longest = part.moves.shape[1]
        assert _same(part[:-1], share[:-1])
        assert np.array_equal(part.moves, share[-1][:, :longest])
    assert play_match("random", "greedy", games=24, seed=5).games.moves.shape == whole.moves.shape
    assert _same(play_match("random", "greedy", games=24, seed=5).games, whole)


def test_units_give_the_same_bytes_in_process_and_in_processes():
    units = [
        MatchUnit("random", "careful", Rules(), seed, 4, start, start + 3)
        for seed in (0, 1)
        for start in (0, 3)
    ]
    with open_executor(0) as here, open_executor(2) as there:
        expected = list(here.run_in_order(play_unit, units))
        found = list(there.run_in_order(play_unit, units))
    assert all(_same(one, other) for one, other in zip(expected, found, strict=True))
    assert not _same(expected[0], expected[2])


def test_long_games_are_kept_whole():
    result = play_openings((First(), "random"), random_openings(1, 0), rules=Rules(max_plies=3000))
    assert _replay(result.games.moves[0], Rules(max_plies=3000)).is_over


def test_an_agent_that_answers_illegally_is_named():
    with pytest.raises(OwareError, match=r"agent cheat: illegal move 6 in .*: a move is 0-5"):
        play_match(Cheat("cheat"), "random", games=2)


@pytest.mark.parametrize("games", [0, 3, -2, 2.0, True])
def test_games_come_in_pairs(games):
    with pytest.raises(OwareError, match="games must be an even number of at least 2"):
        play_match("random", "random", games=games)


def test_specs_are_checked_before_anything_is_played():
    with pytest.raises(OwareError, match="unknown agent 'gredy'"):
        play_match("random", "gredy")


def test_a_match_takes_specs_and_agents_alike():
    by_spec = play_match("greedy", "random", games=10)
    by_agent = play_match(agents.make("greedy"), agents.make("random"), games=10)
    assert _same(by_spec.games, by_agent.games)
