import numpy as np
import pytest

from agents.tablebase.build import build_table
from agents.tablebase.index import fill_board, level_starts
from agents.tablebase.probe import Tablebase
from oware_env.positions import Positions
from oware_env.rules import AWARI


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="session")
def table(folder):
    """Up to nine seeds under abapa, 100 to 400 plies left."""
    return Tablebase(build_table(9, folder=folder))


@pytest.fixture(scope="session")
def awari(folder):
    """Up to nine seeds under awari, the layers 399 and 400 only."""
    return Tablebase(build_table(9, AWARI, plies=(399, 400), folder=folder), AWARI)


@pytest.fixture(scope="session")
def boards_of():
    """A function: all boards of exactly so many seeds, int8[N, 14]."""

    def boards_of(seeds):
        starts = level_starts(seeds)
        boards = np.zeros((starts[seeds + 1] - starts[seeds], 14), np.int8)
        for row, index in enumerate(range(starts[seeds], starts[seeds + 1])):
            fill_board(index, seeds, boards[row])
        boards[:, 13] = 48 - seeds
        return boards

    return boards_of


@pytest.fixture(scope="session")
def positions_of():
    """A function: boards as positions at one ply, with keys of no meaning."""

    def positions_of(boards, ply):
        count = len(boards)
        return Positions(boards, np.full(count, ply, np.int32), np.zeros(count, np.uint64))

    return positions_of


@pytest.fixture(scope="session")
def counts_of():
    """A function: the counts and sums of a level's bounds, as abapa-limit.json has them."""

    def counts_of(low, high):
        low, high = low.astype(int), high.astype(int)
        return {
            "positions": len(low),
            "equal": (low == high).sum(),
            "sign_decided": (np.sign(low) == np.sign(high)).sum(),
            "max_width": (high - low).max(),
            "wins": (low > 0).sum(),
            "losses": (high < 0).sum(),
            "sum_lo": low.sum(),
            "sum_hi": high.sum(),
        }

    return counts_of
