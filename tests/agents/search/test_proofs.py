"""Search with a table of endgames: what is certain is found, and nothing else is claimed."""

import numpy as np
import pytest

from agents.arena.oracle import truth, uniform_positions
from agents.search.exploration import Exploration
from agents.search.match_play import Mcts
from agents.search.mcts import Search
from agents.search.proofs import DRAWN, LOST, WON, proof_of_moves
from agents.search.proofs import OPEN as UNPROVED
from agents.search.tree import CHILDREN, PROOF, STATUS
from agents.tablebase.build import build_table
from agents.tablebase.probe import NO_MARGIN, Tablebase
from oware_env.positions import Positions
from oware_env.rules import Rules
from oware_env.state import State

EXPLORATION = Exploration()


def even(positions):
    """An evaluator that knows nothing."""
    count = len(positions.plies)
    return np.zeros((count, 6), np.float32), np.zeros(count, np.float32)


def misled(positions):
    """An evaluator that is sure of the opposite of what the stores say."""
    count = len(positions.plies)
    ahead = positions.boards[:, 12].astype(np.float32) - positions.boards[:, 13]
    return np.zeros((count, 6), np.float32), -np.sign(ahead)


@pytest.mark.parametrize(
    ("proofs", "moves", "found"),
    [
        ([WON, UNPROVED, 0, 0, 0, 0], 0b11, WON),
        ([LOST, UNPROVED, 0, 0, 0, 0], 0b11, UNPROVED),
        ([DRAWN, UNPROVED, 0, 0, 0, 0], 0b11, UNPROVED),
        ([LOST, DRAWN, 0, 0, 0, 0], 0b11, DRAWN),
        ([LOST, LOST, 0, 0, 0, WON], 0b11, LOST),
    ],
)
def test_what_moves_say_of_the_position_before_them(proofs, moves, found):
    packed = sum(proof << 2 * move for move, proof in enumerate(proofs))
    assert proof_of_moves(packed, moves) == found


@pytest.mark.parametrize("evaluator", [even, misled])
@pytest.mark.parametrize("simulations", [1, 16, 64])
def test_within_the_table_no_move_is_worse_than_proved(table, evaluator, simulations):
    positions = uniform_positions(7, 600, seed=2)
    found = truth(table, positions, 400)
    search = Search(evaluator, simulations=simulations, table=table.arrays)
    moves = Mcts(search, "x").decide(positions).moves
    rows = np.arange(len(moves))
    assert found.decisions.sum() > 100
    assert found.keeps[rows, moves].all()


def test_values_and_visits_of_a_proved_root_are_its_own(table):
    positions = uniform_positions(6, 400, seed=4)
    found = truth(table, positions, 400)
    result = Search(misled, simulations=32, table=table.arrays).run(positions)
    wins = (found.results == 1) & found.keeps.any(axis=1)
    legal = table.move_bounds(positions, 400)[0] != NO_MARGIN
    lost = ((found.after == -1) | ~legal).all(axis=1)
    assert wins.sum() > 100 and lost.sum() > 50
    assert (result.values[wins] == 1).all() and (result.values[lost] == -1).all()
    assert (result.visits[wins | lost].max(axis=1) == 32).all()
    assert (result.visits.sum(axis=1) > 0).all()


@pytest.mark.parametrize("transpositions", [False, True])
def test_results_beyond_the_table_are_proved_by_climbing(table, transpositions):
    """Nine seeds near the limit, solved by trying everything: what the search calls certain is."""
    sample = uniform_positions(9, 120, seed=6)
    plies = np.full(len(sample.plies), 400 - 9, np.int32)
    positions = Positions(sample.boards, plies, sample.keys)
    exploration = Exploration(transpositions=transpositions)
    search = Search(even, simulations=200, table=table.arrays, exploration=exploration)
    result = search.run(positions)
    known = {}

    def solve(state):
        key = state.to_text(), state.ply
        if key not in known:
            if state.is_over:
                south, north = state.outcome.scores
                known[key] = int(np.sign(south - north)) * (1 if state.south_to_move else -1)
            else:
                known[key] = max(-solve(state.play(move)) for move in state.legal_moves)
        return known[key]

    proved = 0
    for row in range(len(plies)):
        proof = int(search._tree.bytes[row, 0, PROOF])
        if proof != UNPROVED:
            state = State.from_board(positions.boards[row], True, Rules(), int(plies[row]))
            assert proof - DRAWN == solve(state) == result.values[row]
            proved += 1
    assert proved > 30


def test_what_is_proved_of_a_shared_node_is_learned_by_all_that_lead_to_it(table):
    proved = {}
    for transpositions in (False, True):
        exploration = Exploration(2.0, transpositions=transpositions)
        search = Search(even, simulations=300, table=table.arrays, exploration=exploration)
        proved[transpositions] = 0
        for seeds in (8, 9, 10):
            search.run(uniform_positions(seeds, 500, seed=3))
            proved[transpositions] += int((search._tree.bytes[:500, 0, PROOF] != UNPROVED).sum())
    assert proved[True] > proved[False] > 400


def test_a_move_that_loses_for_certain_is_not_tried_again(table):
    positions = uniform_positions(9, 300, seed=9)  # more seeds than the table: not all is proved
    search = Search(even, simulations=16, table=table.arrays)
    search.run(positions)
    tree, checked = search._tree, 0
    for row in range(len(positions.plies)):
        if tree.bytes[row, 0, PROOF] == UNPROVED:
            for move in range(6):
                child = tree.ints[row, 0, CHILDREN + move]
                if child >= 0 and tree.bytes[row, child, PROOF] == WON:
                    assert not tree.ints[row, 0, STATUS] >> move & 1
                    checked += 1
    assert checked > 30


def winner(table, simulations, exploration=EXPLORATION):
    """A search that knows nothing but the table."""
    search = Search(even, simulations=simulations, table=table.arrays, exploration=exploration)
    return Mcts(search, "winner")


@pytest.mark.parametrize("simulations", [1, 16])
@pytest.mark.parametrize("defence", ["best", "random"])
def test_every_proved_win_is_won(table, proved_wins, games_won, defence, simulations):
    """Slow games are no excuse: the move limit ends each, and it must end as proved."""
    start = proved_wins(table, [7], 1000)
    assert len(start.plies) > 400
    for exploration in (EXPLORATION, Exploration(transpositions=True)):
        agent = winner(table, simulations, exploration)
        assert games_won(table, agent, start, defence)[0].all()


@pytest.mark.slow
@pytest.mark.parametrize("defence", ["best", "random"])
def test_ten_thousand_proved_wins_of_up_to_ten_seeds_are_won(
    tmp_path, proved_wins, games_won, defence
):
    table = Tablebase(build_table(10, folder=tmp_path))
    start = proved_wins(table, range(4, 11), 4500)
    assert len(start.plies) >= 10_000
    for simulations in (1, 16, 64):
        assert games_won(table, winner(table, simulations), start, defence)[0].all()
