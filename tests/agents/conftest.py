"""Shared by the tests of agents: running positions from all parts of random games."""

from collections.abc import Callable

import numpy as np
import pytest

from agents.scripted import Scripted
from agents.tablebase import build
from agents.tablebase.probe import Tablebase
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions, game_keys
from oware_env.rules import Rules, initial_board


@pytest.fixture(scope="session")
def rough(tmp_path_factory: pytest.TempPathFactory) -> Tablebase:
    """A table of up to eight seeds, exact only to three: above, the bounds themselves show."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "EXACT_SEEDS", 3)
        return Tablebase(build.build_table(8, folder=tmp_path_factory.mktemp("rough")))


@pytest.fixture(scope="session")
def positions() -> Callable[..., Positions]:
    """A function (count, seed, rules) -> running positions, every other one close to its end.

    They come from random games; each has a key of its own.
    """

    def gather(count: int, seed: int = 0, rules: Rules = Rules()) -> Positions:
        start = np.tile(initial_board(), (64, 1))
        keys = game_keys(np.uint64(seed), np.arange(64))
        games = Lockstep(
            Positions(start, np.zeros(64, np.int32), keys), np.ones(64, np.bool_), rules
        )
        player = Scripted("random", rules)
        boards, plies, numbers = [], [], []
        while games.running:
            faced = games.positions()
            boards.append(faced.boards.copy())
            plies.append(faced.plies.copy())
            numbers.append(games.games.copy())
            games.play(player.decide(faced).moves)
        all_plies = np.concatenate(plies)
        left = games.lengths[np.concatenate(numbers)] - all_plies
        random = np.random.default_rng(seed)
        rows = random.integers(0, len(all_plies), count)
        rows[1::2] = random.choice(np.flatnonzero(left <= 6), count // 2)
        return Positions(
            np.concatenate(boards)[rows],
            all_plies[rows],
            game_keys(np.uint64(seed), np.arange(count)),
        )

    return gather
