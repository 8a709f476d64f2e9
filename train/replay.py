"""The replay window: the newest positions, a share of all that were ever played.

The positions lie in the run folder, in append-only files that are read through memory maps
(:mod:`train.shards`); a checkpoint notes how many there were. Files that have left the window go
once two checkpoints no longer need them, unless the run keeps all for an export.
"""

from pathlib import Path
from typing import Any

import numpy as np

from oware_env.encoding import NETWORK_SIZE
from oware_env.errors import OwareError
from train.config import Replay
from train.samples import Samples
from train.shards import Shards

SAMPLE = np.dtype(
    [
        ("inputs", "u1", NETWORK_SIZE),
        ("policies", "<f4", 6),
        ("results", "i1"),
        ("margins", "i1"),
        ("values", "<f4"),
        ("plies", "<i4"),
        ("games", "<i4"),
    ]
)


class ReplayWindow:
    """Holds the newest samples; grows with the run (KataGo, SelfplayTraining, "window")."""

    def __init__(self, config: Replay, folder: Path) -> None:
        """An empty window whose files go into ``folder``."""
        self.config = config
        self._shards = Shards(folder, SAMPLE)
        self._needed = 0  # first row that the newest checkpoint needs

    def __len__(self) -> int:
        return self.total - self.start

    @property
    def total(self) -> int:
        """Positions ever added."""
        return self._shards.rows

    @property
    def limit(self) -> int:
        """How many positions the window may hold now."""
        beyond = max(0, self.total - self.config.least)
        return min(self.config.most, self.config.least + int(self.config.growth * beyond))

    @property
    def start(self) -> int:
        """Number of its oldest position, counted from the first one ever added."""
        return max(0, self.total - self.limit)

    def add(self, samples: Samples) -> None:
        """Add a unit's samples. Raises OwareError when the disk does not take them."""
        rows = np.empty(len(samples), SAMPLE)
        for name, array in samples._asdict().items():
            rows[name] = array
        self._shards.append(rows)

    def sample(self, count: int, seed: tuple[int, ...]) -> Samples:
        """``count`` samples drawn uniformly with replacement; equal seeds draw the same."""
        numbers = np.random.default_rng(seed).integers(self.start, self.total, size=count)
        return _samples(self._shards.take(numbers))

    def contents(self) -> Samples:
        """The whole window, oldest first, a copy."""
        return _samples(self._shards.read(self.start, self.total))

    def state(self) -> dict[str, Any]:
        """What :meth:`restore` needs, for a checkpoint; the positions are on the disk then."""
        self._shards.drop_before(self._needed)
        self._needed = 0 if self.config.keep else self.start
        return self._shards.state(self._needed) | {"columns": list(SAMPLE.names or ())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the window that :meth:`state` told of; what was added later is forgotten.

        Raises OwareError when its files are missing, cut off or damaged, or of another version.
        """
        check_columns(state, self._shards.folder)
        self._shards.restore(state)
        self._needed = 0 if self.config.keep else self.start

    def close(self) -> None:
        """Close its files."""
        self._shards.close()


def check_columns(state: dict[str, Any], folder: Path) -> None:
    """Raise OwareError when the positions that a state tells of have other columns than ours."""
    if state.get("columns") != list(SAMPLE.names or ()):
        raise OwareError(
            f"the positions in {folder} were written by an earlier version: "
            "the run can play, but not be trained on or exported"
        )


def _samples(rows: np.ndarray) -> Samples:
    """Rows as arrays of their own, each without gaps."""
    return Samples(*(np.ascontiguousarray(rows[name]) for name in Samples._fields))
