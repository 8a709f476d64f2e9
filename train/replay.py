"""The replay window: the newest positions, a share of all that were ever played."""

import numpy as np

from train.config import Replay
from train.samples import Samples, join


class ReplayWindow:
    """Holds the newest samples; grows with the run (KataGo, SelfplayTraining, "window")."""

    def __init__(self, config: Replay) -> None:
        self.config = config
        self.total = 0  # positions ever added
        self._parts: list[Samples] = []  # one a unit, oldest first
        self._joined: Samples | None = None

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    @property
    def limit(self) -> int:
        """How many positions the window may hold now."""
        beyond = max(0, self.total - self.config.least)
        return min(self.config.most, self.config.least + int(self.config.growth * beyond))

    def add(self, samples: Samples) -> None:
        """Add a unit's samples and let the oldest units go that no longer fit."""
        self._parts.append(samples)
        self.total += len(samples)
        while len(self._parts) > 1 and len(self) - len(self._parts[0]) >= self.limit:
            self._parts.pop(0)
        self._joined = None

    def sample(self, count: int, seed: tuple[int, ...]) -> Samples:
        """``count`` samples drawn uniformly with replacement; equal seeds draw the same."""
        window = self.contents()
        rows = np.random.default_rng(seed).integers(len(window), size=count)
        return Samples(*(array[rows] for array in window))

    def contents(self) -> Samples:
        """The whole window as one group, oldest first."""
        if self._joined is None:
            self._joined = join(self._parts)
            self._parts = [self._slice(start, part) for start, part in self._starts()]
        return self._joined

    def _starts(self) -> list[tuple[int, Samples]]:
        starts = np.cumsum([0, *(len(part) for part in self._parts)])
        return list(zip(starts.tolist(), self._parts, strict=False))

    def _slice(self, start: int, part: Samples) -> Samples:
        """The same rows as views of the joined window, so that nothing is held twice."""
        assert self._joined is not None
        return Samples(*(array[start : start + len(part)] for array in self._joined))

    def lengths(self) -> list[int]:
        """Positions of each unit in the window, oldest first (for saving)."""
        return [len(part) for part in self._parts]

    def restore(self, window: Samples, lengths: list[int], total: int) -> None:
        """Put back what :meth:`contents`, :meth:`lengths` and ``total`` said."""
        stops = np.cumsum([0, *lengths])
        self._parts = [
            Samples(*(array[start : start + length] for array in window))
            for start, length in zip(stops.tolist(), lengths, strict=False)
        ]
        self.total, self._joined = total, None
