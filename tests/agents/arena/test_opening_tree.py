"""Opening trees hold the lines that an agent's policy, or the games, make frequent."""

import numpy as np
import pytest

import agents
from agents.arena.match import play_match
from agents.arena.opening_games import (
    Drawing,
    line_results,
    play_from_start,
    played_tree,
    south_results,
)
from agents.arena.opening_tree import blocks, opening_tree
from agents.arena.ratings import score_interval
from oware_env.errors import OwareError
from oware_env.positions import Decisions
from oware_env.rules import Rules
from oware_env.state import State

SHORT = Rules(max_plies=6)


class Fixed:
    """Half A, a third B, the rest F, of those that hold seeds; a value from the stores."""

    name = "fixed"

    def __init__(self):
        self.asked = []

    def decide(self, positions):
        self.asked.append(len(positions.plies))
        wanted = np.array([3, 2, 0, 0, 0, 1]) * (positions.boards[:, :6] > 0)
        policy = (wanted / wanted.sum(axis=1, keepdims=True)).astype(np.float32)
        ahead = (positions.boards[:, 12] - positions.boards[:, 13]) / 48
        tilt = np.where(positions.plies % 2 == 0, 0.25, -0.25)  # South is a quarter better
        return Decisions(policy.argmax(axis=1).astype(np.int8), policy, ahead + tilt)


def lines_of(tree):
    return [tree.line(node) for node in range(len(tree.moves))]


def test_frequencies_are_products_of_shares_and_one_call_a_ply_asks_all():
    agent = Fixed()
    tree = opening_tree(agent, plies=2, least=0.05)
    shares = dict(zip(lines_of(tree), tree.frequencies, strict=True))
    assert shares == pytest.approx(
        {
            "": 1,
            **{"A": 1 / 2, "B": 1 / 3, "F": 1 / 6},
            **{"Aa": 1 / 4, "Ab": 1 / 6, "Af": 1 / 12},
            **{"Ba": 1 / 6, "Bb": 1 / 9, "Bf": 1 / 18},
            **{"Fa": 1 / 12, "Fb": 1 / 18},  # Ff, 1 / 36, is too rare
        }
    )
    assert agent.asked == [1, 3, 8]
    assert tree.source == "fixed" and not tree.games.any()


def test_a_bound_is_kept_when_it_is_just_reached():
    tree = opening_tree(Fixed(), plies=2, least=1 / 6)
    assert lines_of(tree) == ["", "A", "B", "F", "Aa", "Ab", "Ba"]


def test_values_are_souths_at_every_ply():
    tree = opening_tree(Fixed(), plies=4, least=0.01)
    for node in range(len(tree.moves)):
        state = tree.state(node)
        south, north = state.stores
        assert state.ply == tree.plies[node]
        assert tree.values[node] == pytest.approx((south - north) / 48 + 0.25)


def test_moves_lie_within_the_place_of_their_parents():
    tree = opening_tree(Fixed(), plies=4, least=0.01)
    lefts, rights = tree.lefts(), tree.lefts() + tree.frequencies
    for ply in range(1, 5):
        nodes = np.flatnonzero(tree.plies == ply)
        assert (lefts[nodes][1:] >= rights[nodes][:-1] - 1e-6).all()
        above = tree.parents[nodes]
        assert (lefts[nodes] >= lefts[above] - 1e-6).all()
        assert (rights[nodes] <= rights[above] + 1e-6).all()


def test_a_table_has_the_most_frequent_line_first_with_its_replies():
    tree = opening_tree(Fixed(), plies=2, least=0.05)
    rows = tree.rows(1)
    assert [row.line for row in rows] == ["A", "B", "F"]
    assert rows[0].replies == "a 50%, b 33%, f 17%"
    assert rows[2].replies == "a 50%, b 33%"
    assert len(tree.rows()) == len(tree.moves) - 1 and tree.rows()[0].line == "A"
    assert [tree.line(node) for node in tree.main_line()] == ["", "A", "Aa"]
    assert tree.letters() == ["", *"ABF", *"abfabfab"]


def test_every_line_but_the_start_is_a_block_of_the_picture():
    tree = opening_tree(Fixed(), plies=2, least=0.05)
    drawn = blocks(tree)
    assert [block.text for block in drawn] == tree.letters()[1:]
    assert [block.ply for block in drawn] == [1] * 3 + [2] * 8
    assert drawn[4].left == pytest.approx(1 / 4) and drawn[4].width == pytest.approx(1 / 6)
    assert [block.value for block in drawn] == tree.values[1:].tolist()
    with pytest.raises(OwareError, match=r"the opening tree of fixed has no line"):
        blocks(opening_tree(Fixed(), plies=2, least=0.9))


def test_lines_of_a_game_that_is_over_end_there():
    tree = opening_tree(Fixed(), plies=5, least=0.01, rules=Rules(max_plies=3))
    assert tree.plies.max() == 3
    assert np.isnan(tree.values[tree.plies == 3]).all()
    assert np.isfinite(tree.values[tree.plies < 3]).all()


def test_a_player_without_doubt_has_a_single_line():
    agent = agents.make("alphabeta:depth=2")
    tree = opening_tree(agent, plies=6)
    assert len(tree.moves) == 7 and (tree.frequencies == 1).all()
    state = State.initial()
    for node in range(1, 7):
        assert tree.parents[node] == node - 1
        state = state.play(int(tree.moves[node]))
    assert tree.state(6) == state


def test_played_lines_are_counted_with_their_results():
    games = play_match("random", "greedy", games=60).games
    tree = played_tree(games, plies=3, least=0.01)
    results = np.sign(games.scores[:, 0].astype(int) - games.scores[:, 1])
    assert tree.games[0] == 60 and tree.values[0] == pytest.approx(results.mean())
    for node in range(1, len(tree.moves)):
        moves = [(ord(letter) & 31) - 1 for letter in tree.line(node)]
        same = (games.moves[:, : len(moves)] == moves).all(axis=1)
        assert tree.games[node] == same.sum() == round(60 * tree.frequencies[node])
        assert tree.values[node] == pytest.approx(results[same].mean())
    assert tree.games[tree.plies == 3].sum() == 60
    frequent = played_tree(games, plies=3, least=0.1)
    assert frequent.games[1:].min() > 0 and (frequent.frequencies >= 0.1).all()
    assert set(lines_of(frequent)) == {
        line for line, share in zip(lines_of(tree), tree.frequencies, strict=True) if share >= 0.1
    }


def test_results_of_lines_have_the_interval_of_their_games():
    games = play_match("random", "greedy", games=60).games
    tree = played_tree(games, plies=2, least=0.02)
    for ply in (1, 2):
        found = line_results(tree, games, ply)
        assert [one.line for one in found] == [row.line for row in tree.rows(ply)]
        for one, row in zip(found, tree.rows(ply), strict=True):
            assert one.games == row.games and one.result == pytest.approx(row.value)
            assert -1 <= one.low <= one.result <= one.high <= 1
    is_first = games.moves[:, 0] == ord(line_results(tree, games, 1)[0].line) - ord("A")
    low, high = score_interval((south_results(games)[is_first] + 1) / 2)
    assert line_results(tree, games, 1)[0][3:] == pytest.approx((2 * low - 1, 2 * high - 1))


def test_games_from_the_start_follow_the_policy_and_then_the_agent():
    agent = Drawing(Fixed(), plies=2)
    games = play_from_start(agent, 600, seed=3, rules=SHORT)
    tree = played_tree(games, plies=4, least=0.001)
    shares = dict(zip(lines_of(tree), tree.frequencies, strict=True))
    assert shares["A"] == pytest.approx(1 / 2, abs=0.08)
    assert shares["Bb"] == pytest.approx(1 / 9, abs=0.05)
    assert set(shares) >= {"A", "B", "F", "Aa", "Ff"}
    after = [line for line in shares if len(line) == 4]
    assert len(after) == 9  # two plies drawn, then one move each
    assert (play_from_start(agent, 600, seed=3, rules=SHORT).moves == games.moves).all()


def test_a_low_temperature_draws_the_likeliest_move():
    games = play_from_start(Drawing(Fixed(), plies=4, temperature=0.05), 20, rules=SHORT)
    assert len(np.unique(games.moves, axis=0)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plies": 0}, "plies must be a whole number from 1 to 40, not 0"),
        ({"plies": 2.5}, "plies must be a whole number from 1 to 40, not 2.5"),
        ({"plies": 4, "least": 0}, "least must be a share above 0 and at most 1, not 0"),
        ({"plies": 4, "least": 1.5}, "least must be a share above 0 and at most 1, not 1.5"),
    ],
)
def test_a_tree_of_no_use_is_refused(arguments, message):
    with pytest.raises(OwareError) as raised:
        opening_tree(Fixed(), **arguments)
    assert str(raised.value) == message
    with pytest.raises(OwareError):
        played_tree(play_match("random", "greedy", games=2).games, **arguments)


def test_mistakes_of_a_drawing_player_are_one_line():
    with pytest.raises(OwareError, match=r"^a temperature must be a number above 0, not 0$"):
        Drawing(Fixed(), 4, temperature=0)
    with pytest.raises(OwareError, match=r"^plies must be 0 or more, not -1$"):
        Drawing(Fixed(), -1)
    with pytest.raises(OwareError, match="even number"):
        play_from_start(Fixed(), 3)
