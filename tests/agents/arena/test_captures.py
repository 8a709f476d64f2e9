"""Captures of played games are those that the states themselves show."""

import numpy as np
import pytest

from agents.arena.captures import captures, played_moves, south_pair_scores
from agents.arena.match import play_match
from oware_env.records import GameRecord


@pytest.fixture(scope="module")
def matches():
    return play_match("greedy", "careful", games=8), play_match("random", "greedy", games=6)


def harvested(record):
    """Seeds of each move, from the stores of its states."""
    stores = [sum(state.stores) for state in record.states()]
    return np.diff(stores).tolist()


def record_of(games, number):
    return GameRecord.from_moves(games.moves[number, : games.plies[number]].tolist())


def test_seeds_are_those_that_the_stores_gained(matches):
    games = matches[0].games
    found = captures(games)
    for number, length in enumerate(games.plies):
        assert found[number, :length].tolist() == harvested(record_of(games, number))
        assert not found[number, length:].any()
    assert found.max() >= 4 and found.min() == 0


def test_every_move_has_a_row_with_who_made_it(matches):
    moves = played_moves(matches)
    lengths = np.concatenate([match.games.plies for match in matches])
    assert np.bincount(moves.game).tolist() == lengths.tolist()
    assert {len(column) for column in moves} == {lengths.sum()}
    assert (moves.south == (moves.ply % 2 == 0)).all()
    for game in (0, 1, 8, 9):  # the first two of each match: A as South, then as North
        match = matches[game // 8]
        south = moves.agent[(moves.game == game) & moves.south]
        north = moves.agent[(moves.game == game) & ~moves.south]
        names = (match.a, match.b) if game % 2 == 0 else (match.b, match.a)
        assert (set(south), set(north)) == ({names[0]}, {names[1]})
    assert (moves.agent != moves.opponent).all()


def test_the_seeds_of_a_game_add_up_to_its_stores(matches):
    moves = played_moves(matches[:1])
    games = matches[0].games
    for number in range(len(games.plies)):
        south, north = record_of(games, number).final.stores
        own = moves.game == number
        assert int(moves.seeds[own & moves.south].sum()) == south
        assert int(moves.seeds[own & ~moves.south].sum()) == north


def test_the_first_player_is_scored_by_opening(matches):
    for match in matches:
        scores = south_pair_scores(match)
        assert len(scores) == len(match.games.plies) // 2
        assert scores.mean() == pytest.approx(match.south_score)
    winner_is_always_south = matches[0].games._replace(
        scores=np.tile(np.array([30, 18], np.int16), (8, 1))
    )
    assert (
        south_pair_scores(matches[0]._replace(games=winner_is_always_south)).tolist() == [1.0] * 4
    )
