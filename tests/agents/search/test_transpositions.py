"""Transpositions: one node for each position of a game, found whatever was searched before."""

import numpy as np
import pytest

from agents.arena.oracle import uniform_positions
from agents.search import transpositions
from agents.search.exploration import Exploration
from agents.search.kept_trees import KeptTrees
from agents.search.match_play import Mcts
from agents.search.mcts import Search
from agents.search.transpositions import earlier_node, slots_for
from agents.search.tree import (
    BOARD,
    CHILDREN,
    COUNT,
    MEANS,
    PLY,
    STATUS,
    TOTAL,
    VISITS,
    new_tree,
)
from oware_env.positions import Positions
from oware_env.rules import play, status

TREE = Exploration(3.0)
GRAPH = TREE._replace(transpositions=True)
GAMES = 40


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(7, 14))
    numbers = np.sin((weights * positions.boards[:, None].astype(np.float64)).sum(axis=2))
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


def endings(count=GAMES, seed=1):
    """Positions of 12 seeds: moves of small houses far apart may be played in any order."""
    return uniform_positions(12, count, seed)


def searched(games, simulations=300, exploration=GRAPH):
    search = Search(row_wise, simulations=simulations, exploration=exploration)
    result = search.run(games)
    return search, result


def held(tree, game):
    """The positions of a game's nodes, as (ply, board)."""
    size = tree.sizes[game]
    boards = tree.bytes[game, :size, BOARD : BOARD + 14]
    plies = tree.ints[game, :size, PLY].tolist()
    return [(ply, board.tobytes()) for ply, board in zip(plies, boards, strict=True)]


def repeated(tree, games=GAMES):
    """The share of the nodes whose position another node of their game holds."""
    nodes = [held(tree, game) for game in range(games)]
    return 1 - sum(len(set(each)) for each in nodes) / sum(len(each) for each in nodes)


@pytest.fixture
def roomy(monkeypatch):
    """So many slots that hardly a position loses its own."""
    monkeypatch.setattr(transpositions, "SLOTS_A_NODE", 1 << 10)


def test_a_position_has_one_node(roomy):
    games = endings()
    tree = searched(games)[0]._tree
    assert repeated(tree) == 0.0
    plain = searched(games, exploration=TREE)[0]._tree
    assert plain.noted.shape == (GAMES, 0) and repeated(plain) > 0.03
    assert tree.sizes[:GAMES].sum() < plain.sizes[:GAMES].sum()


def test_few_positions_lose_their_slot():
    games = endings()
    plain = repeated(searched(games, exploration=TREE)[0]._tree)
    assert repeated(searched(games)[0]._tree) < 0.15 * plain


@pytest.mark.parametrize(("nodes", "slots"), [(1, 4), (2, 8), (8, 32), (9, 64), (407, 2048)])
def test_slots_are_a_power_of_two_and_enough(nodes, slots):
    assert slots_for(nodes) == slots


@pytest.mark.parametrize(
    ("noted", "new", "found"),
    [
        (0, 3, 0),  # the same position
        (0, 1, -1),  # another board
        (0, 2, -1),  # another ply
        (3, 0, -1),  # what is noted is of an earlier search: there is no such node yet
    ],
)
def test_positions_are_the_same_by_board_and_ply_among_the_nodes_there_are(noted, new, found):
    tree = new_tree(games=1, nodes=4, slots=1)  # one slot, which all contend for
    board, other = uniform_positions(12, 2).boards
    for node, (held_board, ply) in enumerate([(board, 7), (other, 7), (board, 9), (board, 7)]):
        tree.bytes[0, node, BOARD : BOARD + 14], tree.ints[0, node, PLY] = held_board, ply
    tree.noted[0, 0], tree.sizes[0] = noted, new  # a new node is not counted yet
    assert earlier_node(tree, 0, new) == found
    assert tree.noted[0, 0] == (new if found < 0 else noted)


def check_links(tree, game):
    """Every move leads to its own position; what a node sums up is its own value and its moves'."""
    parents = np.zeros(tree.sizes[game], np.int64)
    for node in range(tree.sizes[game]):
        ints, floats = tree.ints[game, node], tree.floats[game, node]
        for move in range(6):
            child = ints[CHILDREN + move]
            if child >= 0:
                after = tree.bytes[game, node, BOARD : BOARD + 14].copy()
                play(after, move)
                assert (tree.bytes[game, child, BOARD : BOARD + 14] == after).all()
                assert tree.ints[game, child, PLY] == ints[PLY] + 1
                parents[child] += 1
        tried, means = ints[VISITS : VISITS + 6], floats[MEANS : MEANS + 6]
        if ints[STATUS] < 64:
            assert ints[COUNT] == 1 + tried.sum()
            assert abs(floats[TOTAL] - (tried * means).sum()) <= 1 + 1e-3  # a value in [-1, 1]
    assert parents[0] == 0 and (parents[1:] >= 1).all()
    return parents


def test_moves_lead_to_their_positions_from_all_parents():
    search, result = searched(endings())
    shared = sum((check_links(search._tree, game) > 1).sum() for game in range(GAMES))
    assert shared > 100
    assert (result.visits.sum(axis=1) == 300).all() and (np.abs(result.values) <= 1).all()


def test_what_was_searched_before_changes_nothing():
    first, second = endings(seed=1), endings(seed=2)
    search, _ = searched(first)
    again = search.run(second)
    for left, right in zip(again, searched(second)[1], strict=True):
        assert np.array_equal(left, right)
    for left, right in zip(search.run(first), searched(first)[1], strict=True):
        assert np.array_equal(left, right)


def test_a_position_that_comes_again_is_searched_on(roomy):
    games = endings()

    def agent(simulations, reuse):
        search = Search(row_wise, simulations=simulations, exploration=GRAPH)
        return Mcts(search, "x", reuse=reuse)

    reusing = agent(60, reuse=True)
    reusing.decide(games)
    again, longer = reusing.decide(games), agent(120, reuse=False).decide(games)
    assert all(np.array_equal(a, b) for a, b in zip(again, longer, strict=True))


def test_kept_nodes_are_kept_once_and_found_by_new_ones(roomy):
    games = endings()
    search, result = searched(games)
    known = KeptTrees()
    known.add_call([search.pack(games.keys, 1000)])
    boards = games.boards.copy()
    for board, move in zip(boards, result.visits.argmax(axis=1), strict=True):
        play(board, move)
    runs = [status(board, 0, 400) < 64 for board in boards]
    count = sum(runs)
    now = Positions(boards[runs], games.plies[runs] + 1, games.keys[runs])
    search.begin(now, known)
    grafted = search._tree.sizes[:count].copy()
    assert count > 30 and (grafted > 1).all() and repeated(search._tree, count) == 0.0
    search.grow(now.keys, 300)
    assert (search._tree.sizes[:count] > grafted).all() and repeated(search._tree, count) == 0.0
    for game in range(count):
        check_links(search._tree, game)
