"""The array tree: one worked out by hand, its invariants, the compiled parts one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.policy import masked_softmax
from agents.search.mcts import Search
from agents.search.tree import (
    BOARD,
    CHILDREN,
    COUNT,
    MEANS,
    PLY,
    PRIORS,
    STATUS,
    TOTAL,
    VISITS,
)
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import MAJORITY, Rules, legal_moves, play, settle, status
from oware_env.state import State

# The tree worked out by hand. South: E and F hold a seed, 23 in store. North: a and f, 21.
#
#   root --E--> one --f--> two --A--> four
#     |          |           +---F--> five
#     |          +----a--> three
#     +----F--> six: F takes two seeds at a, South has 25
ROOT = "0-0-0-0-1-1-1-0-0-0-0-1-23-21-S"
E, F, SMALL_A, SMALL_F, A = 4, 5, 0, 5, 0
NAMES = ("root", "one", "two", "three", "four", "five")
PATHS = ((), (E,), (E, SMALL_F), (E, SMALL_A), (E, SMALL_F, A), (E, SMALL_F, F))
# The evaluator's values, each for the side to move: South, North, South, South, North, North.
VALUES = (0.2, -0.1, 0.3, 0.6, 0.8, 0.4)
PRIOR = (
    {E: 0.85, F: 0.15},
    {SMALL_A: 0.4, SMALL_F: 0.6},
    {A: 0.5, F: 0.5},
    {F: 1.0},
    {SMALL_A: 1.0},
    {0: 0.9, 1: 0.1},
)


def board_after(path):
    state = State.parse(ROOT)
    for move in path:
        state = state.play(move)
    return state.board


class ByHand:
    """An evaluator that knows the six boards above and notes what it is asked."""

    def __init__(self):
        self.names = []
        self.known = {board_after(path).tobytes(): row for row, path in enumerate(PATHS)}

    def __call__(self, positions):
        rows = [self.known[board.tobytes()] for board in positions.boards]
        self.names += [NAMES[row] for row in rows]
        logits = np.full((len(rows), 6), 9.0, np.float32)  # illegal moves look best of all
        for row, known in enumerate(rows):
            for move, prior in PRIOR[known].items():
                logits[row, move] = np.log(prior)
        return logits, np.array([VALUES[row] for row in rows], np.float32)


def one(text, ply=0):
    board = State.parse(text).board
    return as_positions(board[None], np.array([ply]), game_keys(np.uint64(0), np.arange(1)))


def search_by_hand(simulations, games=1):
    evaluator = ByHand()
    search = Search(evaluator, simulations=simulations, exploration=1.0)
    positions = Positions(*(np.repeat(array, games, axis=0) for array in one(ROOT)))
    return search, evaluator, search.run(positions)


# Score of a move = mean + sqrt(count) * prior / (visits + 1); untried: the node's mean. At the root
#
# before  count  total   mean      E                                    F
#   1       1     0.2    0.2     0.2    +      .85/1 = 1.050     0.2  +      .15/1 = 0.350
#   2       2     0.3    0.15    0.1    + 1.414*.85/2 = 0.701    0.15 + 1.414*.15   = 0.362
#   3       3     0.6    0.2     0.2    + 1.732*.85/3 = 0.691    0.2  + 1.732*.15   = 0.460
#   4       4     1.2    0.3     0.3333 + 2    *.85/4 = 0.758    0.3  + 2    *.15   = 0.600
#   5       5     0.4    0.08    0.05   + 2.236*.85/5 = 0.430    0.08 + 2.236*.15   = 0.415
#   6       6     0.0    0.0    -0.04   + 2.449*.85/6 = 0.307    0    + 2.449*.15   = 0.367
#   7       7     1.0    0.1429 -0.04   + 2.646*.85/6 = 0.335    1    + 2.646*.15/2 = 1.198
#
# So E five times, then F twice. E's values for South: one 0.1, two 0.3, three 0.6, four -0.8,
# five -0.4. At node one (North):
#
# before  count  total   mean      a                                    f
#   2       1    -0.1   -0.1    -0.1 +       .4   = 0.300       -0.1  +       .6   = 0.500
#   3       2    -0.4   -0.2    -0.2 + 1.414*.4   = 0.366       -0.3  + 1.414*.6/2 = 0.124
#   4       3    -1.0   -0.333  -0.6 + 1.732*.4/2 = -0.254      -0.3  + 1.732*.6/2 = 0.220
#   5       4    -0.2   -0.05   -0.6 + 2    *.4/2 = -0.200       0.25 + 2    *.6/3 = 0.650
#
# and at node two (South) A and F are equal before 4: A, the first, is taken; before 5 the node
# has count 2, mean -0.25: A -0.8 + 1.414*.5/2 = -0.446, F -0.25 + 1.414*.5 = 0.457.


@pytest.mark.parametrize(
    ("simulations", "moves", "nodes"),
    [
        (1, {E: 1}, 2),
        (2, {E: 2}, 3),
        (3, {E: 3}, 4),
        (4, {E: 4}, 5),
        (5, {E: 5}, 6),
        (6, {E: 5, F: 1}, 7),
        (7, {E: 5, F: 2}, 7),  # the finished game is found again: no new node
    ],
)
def test_each_simulation_goes_where_the_scores_worked_out_by_hand_say(simulations, moves, nodes):
    search, evaluator, result = search_by_hand(simulations)
    assert {move: n for move, n in enumerate(result.visits[0].tolist()) if n} == moves
    assert search._tree.sizes[0] == nodes
    assert evaluator.names == list(NAMES)[: simulations + 1]


def node_row(tree, node, first, kind=float):
    array = tree.floats if kind is float else tree.ints
    return array[0, node, first : first + 6].tolist()


def six(entries, empty):
    """Six entries, ``empty`` but for those given by move."""
    return [entries.get(move, empty) for move in range(6)]


# node: visits, children, means, total, count; means are for the node's side to move.
BY_HAND = (
    ({E: 5, F: 2}, {E: 1, F: 6}, {E: -0.04, F: 1.0}, 2.0, 8),
    ({SMALL_A: 1, SMALL_F: 3}, {SMALL_A: 3, SMALL_F: 2}, {SMALL_A: -0.6, SMALL_F: 0.3}, 0.2, 5),
    ({A: 1, F: 1}, {A: 4, F: 5}, {A: -0.8, F: -0.4}, -0.9, 3),
    ({}, {}, {}, 0.6, 1),
    ({}, {}, {}, 0.8, 1),
    ({}, {}, {}, 0.4, 1),
)


@pytest.mark.parametrize("node", range(6))
def test_the_tree_of_seven_simulations_is_the_one_worked_out_by_hand(node):
    tree = search_by_hand(7)[0]._tree
    visits, children, means, total, count = BY_HAND[node]
    assert node_row(tree, node, VISITS, int) == six(visits, 0)
    assert node_row(tree, node, CHILDREN, int) == six(children, -1)
    assert node_row(tree, node, MEANS) == pytest.approx(six(means, 0.0), abs=1e-6)
    assert node_row(tree, node, PRIORS) == pytest.approx(six(PRIOR[node], 0.0), abs=1e-6)
    assert tree.floats[0, node, TOTAL] == pytest.approx(total, abs=1e-6)
    assert tree.ints[0, node, COUNT] == count
    board = board_after(PATHS[node])
    assert np.array_equal(tree.bytes[0, node, BOARD : BOARD + 14], board)
    assert tree.ints[0, node, PLY] == len(PATHS[node])
    assert tree.ints[0, node, STATUS] == legal_moves(board)


def test_the_finished_game_of_the_tree_by_hand_keeps_its_exact_value():
    tree = search_by_hand(7)[0]._tree
    assert tree.ints[0, 6, STATUS] == MAJORITY << 6
    assert tree.floats[0, 6, TOTAL] == -1  # North is to move and has lost
    assert tree.ints[0, 6, COUNT] == 1
    assert tree.bytes[0, 6, BOARD : BOARD + 14].tolist() == board_after((F,)).tolist()


def test_what_the_search_by_hand_reports():
    result = search_by_hand(7)[2]
    assert result.values == pytest.approx([0.25])  # total 2.0 over 8 values
    assert result.priors[0] == pytest.approx(six(PRIOR[0], 0.0))


def test_games_side_by_side_grow_the_same_tree():
    alone, together = search_by_hand(7)[0]._tree, search_by_hand(7, games=5)[0]._tree
    for game in range(5):
        assert np.array_equal(together.ints[game], alone.ints[0])


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(14, 7))
    numbers = np.sin(positions.boards.astype(np.float64) @ weights)
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


def check_node(tree, game, node, rules):
    """What holds at every node of every tree; returns its children."""
    ints, floats = tree.ints[game, node], tree.floats[game, node]
    board = tree.bytes[game, node, BOARD : BOARD + 14]
    assert ints[STATUS] == status(board, ints[PLY], rules.max_plies)
    visits, means = ints[VISITS : VISITS + 6], floats[MEANS : MEANS + 6]
    if ints[STATUS] >= 64:
        assert floats[TOTAL] == np.sign(np.subtract(*settle(board, ints[STATUS] >> 6)))
        assert ints[COUNT] == 1 and not visits.any()
        return []
    own = row_wise(Positions(board[None], ints[PLY : PLY + 1], np.zeros(1, np.uint64)))[1][0]
    assert ints[COUNT] == 1 + visits.sum()
    assert floats[TOTAL] == pytest.approx(own + (visits * means).sum(), abs=1e-3)
    children = []
    for move in range(6):
        child = int(ints[CHILDREN + move])
        assert (child >= 0) == (visits[move] > 0)
        if child < 0:
            continue
        assert ints[STATUS] >> move & 1 and child > node
        after = board.copy()
        play(after, move)
        assert np.array_equal(after, tree.bytes[game, child, BOARD : BOARD + 14])
        assert tree.ints[game, child, PLY] == ints[PLY] + 1
        total, count = tree.floats[game, child, TOTAL], tree.ints[game, child, COUNT]
        assert means[move] == pytest.approx(-total / count, abs=1e-4)
        if tree.ints[game, child, STATUS] < 64:
            assert visits[move] == count
        children.append(child)
    return children


@pytest.mark.parametrize("max_plies", [400, 60])
def test_every_node_holds_what_its_children_say_with_the_sign_flipped(positions, max_plies):
    rules = Rules(max_plies=max_plies)
    games = positions(24, seed=1, rules=rules)
    search = Search(row_wise, rules, simulations=120)
    search.run(games)
    finished = 0
    for game in range(24):
        found, waiting = 1, [0]
        while waiting:
            node = waiting.pop()
            finished += search._tree.ints[game, node, STATUS] >= 64
            children = check_node(search._tree, game, node, rules)
            found += len(children)
            waiting += children
        assert found == search._tree.sizes[game]
    assert finished > 20


SPECIAL = [np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, -0.0, 1.0, -2.5, 100.0, -1e4]
logit = st.one_of(st.sampled_from(SPECIAL), st.floats(width=32, allow_nan=False))


@given(st.lists(logit, min_size=6, max_size=6), st.integers(1, 63))
def test_the_masked_softmax_of_any_numbers_is_a_distribution_over_the_legal_moves(values, legal):
    out = np.full(6, 7, np.float32)
    assert masked_softmax(np.array(values, np.float32), legal, out)
    mask = np.array([legal >> move & 1 for move in range(6)], bool)
    assert (out[~mask] == 0).all() and (out >= 0).all()
    assert out.sum() == pytest.approx(1, abs=1e-5)
    best = np.minimum(np.array(values, np.float32)[mask], 1e30)
    assert out[mask][best == best.max()] == pytest.approx(out.max())


@given(st.lists(logit, min_size=6, max_size=6), st.integers(1, 63), st.integers(0, 5))
def test_the_masked_softmax_reports_a_nan_in_any_place(values, legal, place):
    values[place] = np.nan
    assert not masked_softmax(np.array(values, np.float32), legal, np.zeros(6, np.float32))


def test_the_masked_softmax_of_ordinary_logits():
    out = np.zeros(6, np.float32)
    assert masked_softmax(np.array([0, 1, 2, 9, 9, 9], np.float32), 0b000111, out)
    expected = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    assert out[:3] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("far", [-np.inf, np.inf])
def test_legal_logits_that_are_all_infinite_are_equal(far):
    out = np.zeros(6, np.float32)
    logits = np.array([far, far, np.inf, far, np.inf, np.inf], np.float32)
    assert masked_softmax(logits, 0b001011, out)
    assert out == pytest.approx(six({0: 1 / 3, 1: 1 / 3, 3: 1 / 3}, 0.0))
