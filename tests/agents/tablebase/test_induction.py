"""Values against a plain minimax that knows no index, no shares and no layers."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from agents.tablebase.probe import probe
from oware_env.rules import capture, legal_moves, sow, turn

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
LIMIT = json.loads((GOLDEN / "abapa-limit.json").read_text())
AWARI_COUNTS = json.loads((GOLDEN / "awari-counts.json").read_text())


@cache
def margin(houses, left):
    """The mover's full margin, by trying everything; the rules of rules.md, numbers 8 and 10."""
    board = np.array([*houses, 0, 0], np.int8)
    own, other = sum(houses[:6]), sum(houses[6:])
    if own == 0:
        return -other
    moves = legal_moves(board)
    if moves == 0:
        return own + other
    if left == 0:
        return own - other
    best = -99
    for move in range(6):
        if moves >> move & 1:
            after = board.copy()
            captured = capture(after, sow(after, move))
            turn(after)
            best = max(best, captured - margin(tuple(after[:12].tolist()), left - 1))
    return best


@pytest.mark.parametrize("seeds", [1, 2, 3, 4, 5])
def test_exact_layers_are_those_of_a_plain_minimax(table, boards_of, positions_of, seeds):
    boards = boards_of(seeds)
    for left in range(13):
        low, high = table.bounds(positions_of(boards, 400 - left), 400)
        plain = [margin(tuple(board[:12].tolist()), left) for board in boards]
        assert low.tolist() == high.tolist() == plain


@pytest.mark.parametrize("seeds", [6, 7, 8, 9])
def test_samples_of_more_seeds_are_those_of_a_plain_minimax(table, boards_of, positions_of, seeds):
    boards = boards_of(seeds)
    sample = boards[np.random.default_rng(seeds).choice(len(boards), 25, replace=False)]
    for left in (0, 1, 3, 6):
        low, high = table.bounds(positions_of(sample, 400 - left), 400)
        plain = [margin(tuple(board[:12].tolist()), left) for board in sample]
        assert low.tolist() == high.tolist() == plain


@pytest.mark.parametrize("seeds", range(1, 10))
def test_bounds_have_the_known_counts_and_sums(table, counts_of, seeds):
    assert counts_of(*table.level_bounds(seeds)) == LIMIT["by_seeds"][str(seeds)]


def test_the_known_values_of_single_boards_lie_in_the_bounds(table):
    checked = 0
    for example in LIMIT["examples"]:
        board = np.array([*example["board"], 0, 0], np.int8)
        if board.sum() > table.seeds:
            continue
        values = [probe(board, left, table.arrays)[0] for left in range(100, 401)]
        assert (min(values), max(values)) == (example["lo"], example["hi"])
        for left, value in example["values"].items():
            assert probe(board, int(left), table.arrays) == (value, value)
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("seeds", range(10))
def test_awari_has_the_published_wins_draws_and_losses(awari, seeds):
    low, high = awari.level_bounds(seeds)
    assert (np.sign(low) == np.sign(high)).all()
    expected = AWARI_COUNTS["counts"][str(seeds)]
    wins, draws, losses = (int((np.sign(low) == sign).sum()) for sign in (1, 0, -1))
    assert [wins, draws, losses] == [expected[name] for name in ("wins", "draws", "losses")]
