"""Larger tables against what others published or worked out independently."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase
from oware_env.positions import as_positions
from oware_env.rules import AWARI

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
LIMIT = json.loads((GOLDEN / "abapa-limit.json").read_text())["by_seeds"]
PUBLISHED = json.loads((GOLDEN / "awari-counts.json").read_text())


@pytest.mark.slow
def test_abapa_to_fourteen_seeds_has_the_known_counts_and_sums(tmp_path, counts_of):
    table = Tablebase(build_table(14, folder=tmp_path))
    for seeds in range(1, 15):
        assert counts_of(*table.level_bounds(seeds)) == LIMIT[str(seeds)]


@pytest.fixture(scope="module")
def awari(tmp_path_factory):
    """Sixteen seeds under awari, from which play no longer changes a value."""
    folder = tmp_path_factory.mktemp("awari")
    return Tablebase(build_table(16, AWARI, plies=(399, 400), folder=folder), AWARI)


@pytest.mark.slow
def test_awari_has_the_published_counts_and_histograms(awari):
    for seeds in range(17):
        low, high = awari.level_bounds(seeds)
        assert (np.sign(low) == np.sign(high)).all()
        counts = PUBLISHED["counts"][str(seeds)]
        found = [int((np.sign(low) == sign).sum()) for sign in (1, 0, -1)]
        assert found == [counts[name] for name in ("wins", "draws", "losses")]
        if str(seeds) in PUBLISHED["histograms"]:
            assert (low == high).all()
            values, numbers = np.unique(low, return_counts=True)
            histogram = dict(zip(map(str, values), numbers.tolist(), strict=True))
            assert histogram == PUBLISHED["histograms"][str(seeds)]


@pytest.mark.slow
def test_a_published_position_of_awari_has_its_published_values(awari):
    board = np.array([[1, 1, 1, 1, 1, 2, 4, 2, 3, 0, 0, 0, 0, 32]], np.int8)
    position = as_positions(board, np.zeros(1), np.zeros(1))
    low, high = awari.bounds(position, 400)
    assert low[0] == high[0] == 0
    lows, highs = awari.move_bounds(position, 401)  # one ply more, so that 400 are left after it
    assert lows.tolist() == highs.tolist() == [[-1, -1, -2, -2, -2, 0]]
