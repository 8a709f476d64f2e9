"""Lower confidence bounds: the squares behind them, their values, the choice by them."""

import numpy as np
import pytest

from agents.arena.oracle import uniform_positions
from agents.search.confidence import DEVIATIONS, highest_bounds, lower_bounds, sum_squares
from agents.search.exploration import Exploration
from agents.search.match_play import Mcts
from agents.search.mcts import Search
from agents.search.proofs import DRAWN, OPEN
from agents.search.tree import BOARD, CHILDREN, MEANS, PLY, PROOF, STATUS, VISITS
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import Rules
from oware_env.state import State


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(7, 14))
    numbers = np.sin((weights * positions.boards[:, None].astype(np.float64)).sum(axis=2))
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


def squares_below(tree, game, node, visits):
    """The squared values of ``visits`` simulations through a node; the evaluator is asked again."""
    if tree.bytes[game, node, PROOF] != OPEN and tree.ints[game, node, STATUS] >= 64:
        return visits * (float(tree.bytes[game, node, PROOF]) - DRAWN) ** 2
    board, ply = tree.bytes[game, node, BOARD : BOARD + 14], tree.ints[game, node, PLY : PLY + 1]
    total = float(row_wise(Positions(board[None], ply, np.zeros(1, np.uint64)))[1][0]) ** 2
    count = 1
    for move in range(6):
        child, tried = tree.ints[game, node, [CHILDREN + move, VISITS + move]].tolist()
        total += squares_below(tree, game, child, tried) if tried else 0.0
        count += tried
    return total * visits / count  # other parents led here as well


def check_squares(search, games):
    search.run(games)
    tree, squares = search._tree, np.empty(6)
    for game in range(30):
        sum_squares(tree, game, squares)
        for move in range(6):
            child, tried = tree.ints[game, 0, [CHILDREN + move, VISITS + move]].tolist()
            expected = squares_below(tree, game, child, tried) if tried else 0.0
            assert squares[move] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("max_plies", [400, 60])
def test_the_squares_are_those_of_all_simulations(positions, max_plies):
    rules = Rules(max_plies=max_plies)
    games = positions(30, seed=2, rules=rules)
    check_squares(Search(row_wise, rules, simulations=150), games)


def test_the_squares_of_shared_nodes_count_for_each_way_to_them():
    exploration = Exploration(3.0, transpositions=True)
    search = Search(row_wise, simulations=150, exploration=exploration)
    check_squares(search, uniform_positions(12, 30, seed=2))
    tree = search._tree
    nodes = np.concatenate([tree.ints[game, : tree.sizes[game]] for game in range(30)])
    links = (nodes[:, CHILDREN : CHILDREN + 6] >= 0).sum()
    assert links > len(nodes) - 30 + 20  # a tree has one link to each node but the root


def test_with_a_table_the_squares_stay_within_the_visits(positions, table):
    games = positions(200, seed=4)
    search = Search(row_wise, simulations=80, table=table.arrays)
    visits = search.run(games).visits
    tree, squares = search._tree, np.empty(6)
    for game in range(200):
        sum_squares(tree, game, squares)
        tried = tree.ints[game, 0, VISITS : VISITS + 6]
        assert (squares <= tried + 1e-3)[tried > 0].all() and (squares >= -1e-9).all()
    bounds = search.bounds(visits)
    assert (np.isfinite(bounds) == (visits > 0)).all() and not np.isnan(bounds).any()


def test_a_bound_is_the_mean_less_so_many_standard_errors(positions):
    games = positions(20, seed=6)
    search = Search(row_wise, simulations=90)
    visits = search.run(games).visits
    tree, squares = search._tree, np.empty(6)
    bounds = lower_bounds(tree, visits)
    for game in range(20):
        sum_squares(tree, game, squares)
        for move in np.flatnonzero(visits[game]):
            child, tried = tree.ints[game, 0, CHILDREN + move], visits[game, move]
            mean = float(tree.floats[game, 0, MEANS + move])
            error = np.sqrt((max(0, squares[move] / tried - mean**2) + tried**-3.0) / tried)
            error = 0.0 if tree.bytes[game, child, PROOF] != OPEN else error
            assert bounds[game, move] == pytest.approx(mean - DEVIATIONS * error, abs=1e-4)
    assert (bounds[visits == 0] == -np.inf).all()


def chosen(bounds, visits, count=1):
    rows = [
        np.tile(np.array(row, kind), (count, 1)) for row, kind in ((bounds, "f4"), (visits, "i4"))
    ]
    keys = game_keys(np.uint64(0), np.arange(count))
    return highest_bounds(*rows, keys, np.zeros(count, np.int32))


def test_the_highest_bound_among_well_tried_moves_is_chosen():
    nothing = -np.inf
    assert chosen([0.1, 0.3, 0.9, nothing, 0.2, nothing], [50, 30, 7, 0, 10, 0]) == 1
    assert chosen([0.1, 0.3, 0.9, nothing, 0.2, nothing], [50, 30, 8, 0, 10, 0]) == 2
    assert chosen([nothing] * 5 + [-5], [0, 0, 0, 0, 0, 1]) == 5


def test_equal_bounds_are_decided_by_the_key():
    moves = chosen([0.5, 0.5, 0.1, 0.5, 0, 0], [20, 20, 20, 20, 20, 20], count=3000)
    assert np.bincount(moves, minlength=6) == pytest.approx([1000, 1000, 0, 1000, 0, 0], abs=130)


def test_the_agent_plays_the_highest_bound(positions):
    games = positions(200, seed=8)
    search = Search(row_wise, simulations=64)
    by_bound = Mcts(search, "lcb").decide(games)
    result = search.run(games)
    bounds = np.where(
        result.visits >= 0.15 * result.visits.max(axis=1, keepdims=True),
        search.bounds(result.visits),
        -np.inf,
    )
    assert np.array_equal(bounds[np.arange(200), by_bound.moves], bounds.max(axis=1))
    by_visits = Mcts(search, "visits", choice="visits").decide(games)
    assert np.array_equal(by_bound.policy, by_visits.policy)
    assert np.array_equal(by_bound.value, by_visits.value)
    assert 0 < (by_bound.moves != by_visits.moves).mean() < 0.5


def test_a_proved_win_is_played(table):
    state = State.parse("0-0-1-1-1-0-0-0-1-0-0-0-22-22-S")  # E wins; C and D lose
    keys = game_keys(np.uint64(0), np.arange(1))
    asked = as_positions(state.board[None], np.array([0]), keys)
    search = Search(row_wise, simulations=20, table=table.arrays)
    assert Mcts(search, "lcb").decide(asked).moves[0] == 4
