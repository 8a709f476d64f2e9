"""Alpha-beta with a table of endgames: bounds are used as bounds, and won endings are won."""

import numpy as np
import pytest

from agents.arena.oracle import OPEN, truth, uniform_positions
from agents.search.alphabeta import AlphaBeta
from agents.search.alphabeta_kernels import search_slice
from agents.search.alphabeta_root import answer, begin
from agents.search.alphabeta_state import GOAL, INFINITY, PROVED_WIN, SOONER, VALUE, new_search
from agents.search.evaluation import EVALUATIONS, SEED, evaluate
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase, probe
from oware_env.kernel import kernel
from oware_env.positions import Positions
from oware_env.rules import Rules, play, settle, status

MAX_PLIES = 400


@kernel
def bounds(board, ply, level, table):
    """Bounds of the value by the table; equal where a result is proved."""
    if 48 - board[12] - board[13] > table.limits[0]:
        return -INFINITY, INFINITY
    low, high = probe(board, MAX_PLIES - ply, table)
    low, high = low + board[12] - board[13], high + board[12] - board[13]
    if low > 0:
        return PROVED_WIN - SOONER * level + low, PROVED_WIN - SOONER * level + low
    if high < 0:
        return -PROVED_WIN + SOONER * level + high, -PROVED_WIN + SOONER * level + high
    return SEED * low, SEED * high


@kernel
def minimax(board, ply, depth, level, table):
    """Plain negamax with every value held within the bounds of the table."""
    outcome = status(board, ply, MAX_PLIES)
    if outcome >= 64:
        mover, opponent = settle(board, outcome >> 6)
        return np.sign(mover - opponent) * (30_000 - SOONER * level) + mover - opponent
    low, high = bounds(board, ply, level, table)
    if low == high:
        return low
    best = -INFINITY
    if depth == 0:
        best = np.int64(evaluate(board, 1))
    for move in range(6):
        if depth > 0 and outcome >> move & 1:
            after = board.copy()
            play(after, move)
            best = max(best, -minimax(after, ply + 1, depth - 1, level + 1, table))
    return min(max(best, low), high)


def late_positions(seeds, left, count, seed):
    """Positions of so many seeds with so many plies left."""
    sample = uniform_positions(seeds, count, seed=seed)
    plies = np.full(len(sample.plies), MAX_PLIES - left, np.int32)
    boards = sample.boards
    running = [status(board, 0, left) < 64 for board in boards]
    return Positions(boards[running], plies[running], sample.keys[running])


def move_values(board, ply, depth, table):
    values = {}
    for move in range(6):
        if status(board, ply, MAX_PLIES) >> move & 1:
            after = board.copy()
            play(after, move)
            values[move] = -minimax(after, ply + 1, depth - 1, 1, table.arrays)
    return values


@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize(("seeds", "left"), [(9, 350), (9, 120), (11, 350), (14, 60), (10, 4)])
def test_equals_minimax_within_the_bounds(rough, depth, seeds, left):
    positions = late_positions(seeds, left, 60, seed=depth)
    search = new_search(EVALUATIONS["full"], MAX_PLIES, 10, rough.arrays)
    checked = 0
    for board, ply, key in zip(*positions, strict=True):
        begin(search, board, ply, key, depth)
        while not search_slice(search, 7):
            pass
        if not search.state[GOAL]:
            values = move_values(board, ply, min(depth, left), rough)
            best = max(values.values())
            found = int(search.state[VALUE])
            # A search ends as soon as the result is certain, at whatever depth that is.
            is_certain = abs(found) > 20_000
            assert np.sign(found) == np.sign(best) if is_certain else found == best
            assert is_certain or values[answer(search)[0]] == best
            checked += 1
    assert checked > 50


def test_a_proved_result_is_kept_and_said(table):
    positions = uniform_positions(7, 500, seed=3)
    found = truth(table, positions, MAX_PLIES)
    has_move = (found.results != OPEN) & found.keeps.any(axis=1)
    rows = np.arange(len(positions.plies))
    for depth in (1, 4):
        decisions = AlphaBeta(Rules(), depth=depth, table=table.arrays).decide(positions)
        assert found.keeps[rows, decisions.moves][has_move].all()
        assert np.array_equal(decisions.value[has_move], found.results[has_move])
    assert has_move.sum() > 300


def test_what_is_called_certain_beyond_the_table_agrees_with_a_larger_table(table, rough):
    positions = uniform_positions(8, 600, seed=5)  # one seed more than the table knows
    found = truth(rough, positions, MAX_PLIES)
    decisions = AlphaBeta(Rules(), depth=6, table=table.arrays).decide(positions)
    certain = (np.abs(decisions.value) == 1) & (found.results != OPEN)
    assert certain.sum() > 150
    assert np.array_equal(decisions.value[certain], found.results[certain])


def test_a_row_is_decided_as_if_it_were_alone(rough):
    """Also where the same boards come at other plies, and so with other values."""
    parts = [late_positions(10, left, 40, seed=2) for left in (300, 101, 100, 30, 3)]
    positions = Positions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    together = AlphaBeta(Rules(), depth=5, table=rough.arrays).decide(positions)
    for row in range(len(positions.plies)):
        alone = AlphaBeta(Rules(), depth=5, table=rough.arrays).decide(
            Positions(*(array[row : row + 1] for array in positions))
        )
        assert alone.moves[0] == together.moves[row] and alone.value[0] == together.value[row]


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("defence", ["best", "random"])
def test_every_proved_win_is_won(table, proved_wins, games_won, depth, defence):
    start = proved_wins(table, [7], 1000)
    assert len(start.plies) > 400
    agent = AlphaBeta(Rules(), depth=depth, table=table.arrays)
    assert games_won(table, agent, start, defence)[0].all()


def test_a_timed_search_wins_what_is_won_and_does_not_go_round(table, proved_wins, games_won):
    start = proved_wins(table, [7], 40)
    agent = AlphaBeta(Rules(), time=0.002, table=table.arrays)
    won, lengths = games_won(table, agent, start, "random")
    assert won.all()
    assert np.median(lengths) < 60


@pytest.mark.slow
@pytest.mark.parametrize("defence", ["best", "random"])
def test_thousands_of_proved_wins_of_up_to_ten_seeds_are_won(
    tmp_path, proved_wins, games_won, defence
):
    table = Tablebase(build_table(10, folder=tmp_path))
    start = proved_wins(table, range(4, 11), 1500)
    assert len(start.plies) > 4000
    for depth in (1, 4):
        agent = AlphaBeta(Rules(), depth=depth, table=table.arrays)
        assert games_won(table, agent, start, defence)[0].all()
