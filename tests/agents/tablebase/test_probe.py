import numpy as np
import pytest

from agents.tablebase import probe as probe_module
from agents.tablebase.build import build_table
from agents.tablebase.probe import NO_MARGIN, Tablebase, open_table, probe
from oware_env.errors import OwareError
from oware_env.rules import AWARI, Rules, legal_moves, play


@pytest.mark.parametrize("left", [1, 5, 99, 100, 101, 250, 400])
@pytest.mark.parametrize("seeds", [3, 7])
def test_a_board_is_worth_what_its_best_move_is(rough, boards_of, positions_of, left, seeds):
    table, boards = rough, boards_of(seeds)
    moving = np.array([legal_moves(board) != 0 for board in boards])
    positions = positions_of(boards[moving], 400 - left)
    low, high = table.bounds(positions, 400)
    lows, highs = table.move_bounds(positions, 400)
    legal = lows != NO_MARGIN
    assert legal.any(axis=1).all()
    assert (highs[~legal] == NO_MARGIN).all()
    assert (lows <= highs).all()
    assert (lows.max(axis=1) <= high).all() and (highs.max(axis=1) >= low).all()
    if seeds == 3:
        assert (lows.max(axis=1) == low).all()
        assert (lows == highs).all()


def test_bounds_hold_for_every_number_of_plies_of_their_range(table, rough, boards_of):
    """What the exact values of all layers are must lie between the bounds of another table."""
    boards, differ = boards_of(7), 0
    for left in (100, 101, 137, 250, 399, 400):
        for board in boards[::23]:
            low, high = probe(board, left, rough.arrays)
            value, same = probe(board, left, table.arrays)
            assert low <= value == same <= high
            differ += low != high
    assert differ > 50


def test_every_value_of_few_seeds_is_known_at_any_number_of_plies_left(folder, table, boards_of):
    """Tables of one layer each, which know nothing of other layers, give the same values."""
    boards = boards_of(6)[::5]
    for left in (1, 99, 100, 101, 250, 400):
        layer = Tablebase(build_table(6, plies=(left, left), folder=folder / str(left)))
        for board in boards:
            assert probe(board, left, table.arrays) == probe(board, left, layer.arrays)


def test_what_is_not_covered_gets_the_bounds_of_any_board(table, positions_of):
    more = np.zeros((1, 14), np.int8)
    more[0, [2, 9]] = 6, 5
    assert [bound.tolist() for bound in table.bounds(positions_of(more, 100), 400)] == [[-11], [11]]
    few = np.zeros((1, 14), np.int8)
    few[0, [2, 9]] = 1
    low, high = table.bounds(positions_of(few, 0), 401)  # beyond the last layer
    assert (low[0], high[0]) == (-2, 2)
    low, high = table.bounds(positions_of(few, 0), 400)
    assert (low[0], high[0]) != (-2, 2)


def test_the_value_of_a_position_that_is_lost_by_one_seed_is_found_by_playing_it(table):
    """Following the best moves of the exact layers gains just what the table says."""
    board = np.array([1, 0, 2, 0, 0, 1, 0, 1, 0, 2, 0, 1, 0, 40], np.int8)
    left = 60
    expected, _ = probe(board, left, table.arrays)
    gained, sign = 0, 1
    while left and legal_moves(board):
        best = None
        for move in range(6):
            if legal_moves(board) >> move & 1:
                after = board.copy()
                captured = play(after, move)
                worth = captured - probe(after, left - 1, table.arrays)[0]
                if best is None or worth > best[0]:
                    best = worth, captured, after
        gained += sign * best[1]
        board, left, sign = best[2], left - 1, -sign
    assert gained + sign * probe(board, left, table.arrays)[0] == expected


def test_a_small_table_is_built_when_it_is_first_asked_for(tmp_path):
    open_table.cache_clear()
    table = open_table(3, folder=tmp_path)
    assert table.seeds == 3
    assert [path.name for path in tmp_path.iterdir()] == ["abapa-3.safetensors"]
    assert open_table(3, folder=tmp_path) is table


def test_a_large_one_that_is_missing_says_how_to_build_it(tmp_path):
    with pytest.raises(OwareError, match=r"build it with oware-tablebase build --seeds 12"):
        open_table(probe_module.BUILT_AT_ONCE + 2, folder=tmp_path)


def test_another_rule_set_is_refused_and_both_are_named(table):
    with pytest.raises(OwareError, match=r"abapa .* says nothing of awari"):
        Tablebase(table.path, AWARI)


def test_a_table_serves_another_move_limit(table, positions_of, boards_of):
    same = Tablebase(table.path, Rules(max_plies=300))
    boards = boards_of(4)
    low, high = same.bounds(positions_of(boards, 0), 300)
    again = table.bounds(positions_of(boards, 100), 400)
    assert (low.tolist(), high.tolist()) == (again[0].tolist(), again[1].tolist())
