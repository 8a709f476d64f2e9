"""Restarts: games that begin where the search was most wrong in games played before.

The regret of a position is the distance between the value that the search gave it and the result
that came of it. Each game that was learned from puts the position of its greatest regret into an
archive of the last units; a share of the games of a unit begin there, with others than the opening
as their start, the more often the greater the regret. So what goes wrong is played again until the
network knows better.

Method: self-play from an archive of positions is Go-Exploit (Trudeau and Bowling, AAMAS 2023),
the choice by regret RGSC (arXiv 2602.20809). There a network of its own foresees the regret of
positions; here it is what was seen. KataGo branches games for the same reason.
"""

from collections import deque
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from train.config import Config
from train.samples import DRAW, Samples

UNITS = 16  # whose games the archive knows
# Chances are as exp(regret / TEMPERATURE). A game that is won or lost has a regret of 1 from its
# opening alone, which is worth 0 then: 1.5 is drawn 7 times as often, and 2 54 times.
TEMPERATURE = 0.25
_DRAWS = 2  # tells these random numbers from others of (seed, number)


class Starts(NamedTuple):
    """Positions that games begin with. South is to move at even plies, as in every game."""

    boards: np.ndarray  # int8[S, 14], seen by the side to move
    plies: np.ndarray  # int32[S]

    @property
    def south_to_move(self) -> np.ndarray:
        """Whose turn it is, bool[S]."""
        return self.plies % 2 == 0


class Worst(NamedTuple):
    """The position of the greatest regret of each of G games."""

    starts: Starts
    regrets: np.ndarray  # float32[G], 0 to 2


def worst_positions(samples: Samples) -> Worst:
    """The position of each game where search and result disagreed most, the first among equals.

    Both are as a table of endgames corrected them, so what it decides has no regret. Games without
    any search have none.
    """
    regrets = np.abs(samples.values - (DRAW - samples.results)).astype(np.float32)
    searched = np.isfinite(regrets).nonzero()[0]
    order = np.lexsort((samples.plies[searched], -regrets[searched], samples.games[searched]))
    rows = searched[order]
    rows = rows[np.unique(samples.games[rows], return_index=True)[1]]
    return Worst(
        Starts(samples.inputs[rows, :14].astype(np.int8), samples.plies[rows]), regrets[rows]
    )


@final
class Archive:
    """The worst positions of the games of the last units."""

    def __init__(self, config: Config) -> None:
        """An empty one, for a run with this configuration."""
        self._seed = config.seed
        self._share = round(config.selfplay.restarts * config.selfplay.games)
        self._units: deque[Worst] = deque(maxlen=UNITS)
        self.is_used = self._share > 0

    def __len__(self) -> int:
        return sum(len(unit.regrets) for unit in self._units)

    def add(self, samples: Samples) -> None:
        """Take the games of the next unit, and forget those of the oldest when there are many."""
        if self.is_used:
            self._units.append(worst_positions(samples))

    def draw(self, number: int) -> Starts | None:
        """Where the last games of unit ``number`` begin, as things stand; None: at the opening.

        No position twice. Fewer than the share of the configuration while there are not as many.
        """
        count = min(self._share, len(self))
        if not count:
            return None
        starts, regrets = self._contents()
        chances = np.exp((regrets - regrets.max()) / np.float64(TEMPERATURE))
        random = np.random.default_rng((self._seed, number, _DRAWS))
        rows = random.choice(len(regrets), count, replace=False, p=chances / chances.sum())
        return Starts(starts.boards[rows], starts.plies[rows])

    def figures(self) -> dict[str, float]:
        """What the log says of it, when it is used: its positions and their mean regret."""
        if not len(self):
            return {}
        return {"archive/positions": len(self), "archive/regret": float(self._contents()[1].mean())}

    def _contents(self) -> Worst:
        """All positions, oldest unit first."""
        starts, regrets = zip(*self._units, strict=True)
        columns = zip(*starts, strict=True)
        return Worst(Starts(*(np.concatenate(c) for c in columns)), np.concatenate(regrets))

    def tensors(self) -> dict[str, Tensor]:
        """All of it, for a checkpoint."""
        if not self._units:
            return {}
        (boards, plies), regrets = self._contents()
        counts = np.array([len(unit.regrets) for unit in self._units])
        arrays = {"boards": boards, "plies": plies, "regrets": regrets, "counts": counts}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Put back what :meth:`tensors` gave."""
        self._units.clear()
        if not tensors:
            return
        ends = np.cumsum(tensors["counts"].numpy())[:-1]
        names = ("boards", "plies", "regrets")
        parts = (np.split(tensors[name].numpy(), ends) for name in names)
        for boards, plies, regrets in zip(*parts, strict=True):
            self._units.append(Worst(Starts(boards, plies), regrets))
