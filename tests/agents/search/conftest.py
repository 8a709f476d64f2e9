"""Shared by the tests of searches with a table of endgames: endings to win, and games."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from agents.arena.oracle import truth, uniform_positions
from agents.base import Agent
from agents.tablebase.build import build_table
from agents.tablebase.probe import NO_MARGIN, Tablebase
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions

MAX_PLIES = 400


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Tablebase:
    """A table of up to seven seeds."""
    return Tablebase(build_table(7, folder=tmp_path_factory.mktemp("seven")))


@pytest.fixture(scope="session")
def proved_wins() -> Callable[[Tablebase, Iterable[int], int], Positions]:
    """A function (table, numbers of seeds, count) -> proved wins among so many of each number."""

    def gather(table: Tablebase, numbers: Iterable[int], count: int) -> Positions:
        parts = []
        for seeds in numbers:
            sample = uniform_positions(seeds, count, seed=11)
            wins = truth(table, sample, MAX_PLIES).results == 1
            parts.append([array[wins] for array in sample])
        return Positions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    return gather


@pytest.fixture(scope="session")
def games_won() -> Callable[[Tablebase, Agent, Positions, str], tuple[np.ndarray, np.ndarray]]:
    """A function (table, winner, start, defence) -> which games South wins, and their lengths.

    The winner plays South; the defence is "best", by the table, or "random".
    """

    def play(
        table: Tablebase, winner: Agent, start: Positions, defence: str
    ) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(0)
        games = Lockstep(start, np.ones(len(start.plies), np.bool_))
        while games.running:
            positions = Positions(*(array.copy() for array in games.positions()))
            south = games.south_to_move.copy()
            moves = winner.decide(positions).moves.astype(np.int64)
            lows, highs = table.move_bounds(positions, MAX_PLIES)
            score = highs.astype(np.float64) if defence == "best" else random.random(lows.shape)
            answers = np.where(lows != NO_MARGIN, score, -np.inf).argmax(axis=1)
            games.play(np.where(south, moves, answers))
        return games.scores[:, 0] > games.scores[:, 1], games.lengths - start.plies

    return play
