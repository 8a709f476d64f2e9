"""Duplicates in the replay window: how often each position stands in it, and draws that heed it.

Openings and well-trodden endings come again and again. Drawn evenly they fill the batches; here the
n copies of a position are drawn as often as log2(1 + n) positions that stand alone, each copy
equally often (AlphaZero.jl's weights). Averaging the copies' targets as well would change no
expected gradient: the losses are cross-entropies, which are linear in the target, so drawing one of
the copies is an unbiased draw of their mean.

Positions are equal when the network sees no difference: same board, same plies left as clipped.
Counts are exact but for collisions of 64-bit hashes, so draws depend on the window alone and not on
how it came about.
"""

from typing import NamedTuple

import numpy as np

from oware_env.kernel import kernel
from oware_env.positions import mix, to_unit

FIRST_SLOTS = 1 << 10


class Counts(NamedTuple):
    """A hash table of S slots, a power of two, with linear probing."""

    keys: np.ndarray  # uint64[S], 0 while a slot is free
    copies: np.ndarray  # int32[S], may have come down to 0 again


@kernel
def position_keys(inputs):
    """Hashes of N network inputs uint8[N, 15]: uint64[N], never 0."""
    keys = np.empty(len(inputs), np.uint64)
    for row in range(len(inputs)):
        low, high = np.uint64(0), np.uint64(0)
        for entry in range(8):
            low = low << np.uint64(8) | np.uint64(inputs[row, entry])
        for entry in range(8, 15):
            high = high << np.uint64(8) | np.uint64(inputs[row, entry])
        keys[row] = max(mix(low ^ mix(high)), np.uint64(1))
    return keys


@kernel
def _slot(counts, key):
    """The slot of a key, or the free one where it would go."""
    last = np.uint64(len(counts.keys) - 1)
    slot = key & last
    while counts.keys[slot] != key and counts.keys[slot] != 0:
        slot = (slot + np.uint64(1)) & last
    return slot


@kernel
def count(counts, keys, step):
    """Add ``step`` to the copies of each key; how much slots used, positions and weight grew."""
    used = distinct = 0
    weight = 0.0
    for key in keys:
        slot = _slot(counts, key)
        used += counts.keys[slot] == 0
        before = counts.copies[slot]
        counts.keys[slot], counts.copies[slot] = key, before + step
        distinct += (before + step > 0) - (before > 0)
        weight += np.log2(1.0 + before + step) - np.log2(1.0 + before)
    return used, distinct, weight


@kernel
def draw(counts, keys, seed, rows):
    """Fill ``rows`` int64[K] with rows of the window whose ``keys`` are given, by rejection.

    A row drawn evenly is taken with probability log2(1 + n) / n, n being its copies. The random
    numbers are those of ``seed`` and a running number.
    """
    number = np.uint64(0)
    for place in range(len(rows)):
        while True:
            row = np.int64(to_unit(mix(seed ^ mix(number))) * len(keys))
            chance = to_unit(mix(seed ^ mix(number + np.uint64(1))))
            number += np.uint64(2)
            copies = counts.copies[_slot(counts, keys[row])]
            if chance * copies < np.log2(1.0 + copies):
                rows[place] = row
                break


class Duplicates:
    """Counts the copies of every position of a window, oldest row first."""

    def __init__(self) -> None:
        self.distinct = 0  # different positions
        self.weight = 0.0  # sum of log2(1 + n) over them
        self._counts = Counts(np.zeros(FIRST_SLOTS, np.uint64), np.zeros(FIRST_SLOTS, np.int32))
        self._used = 0  # slots that are not free
        self._keys = np.empty(0, np.uint64)  # of the rows, from the first to before the last
        self._first = self._last = 0

    def __len__(self) -> int:
        return self._last - self._first

    def add(self, inputs: np.ndarray) -> None:
        """Count rows that come into the window, uint8[N, 15]."""
        keys = position_keys(inputs)
        if 4 * (self._used + len(keys)) > 3 * len(self._counts.keys):
            self._count_again(self.distinct + len(keys))
        if self._last + len(keys) > len(self._keys):
            kept = self._window()
            self._keys = np.empty(2 * (len(kept) + len(keys)), np.uint64)
            self._keys[: len(kept)] = kept
            self._first, self._last = 0, len(kept)
        self._keys[self._last : self._last + len(keys)] = keys
        self._last += len(keys)
        self._count(keys, 1)

    def keep_newest(self, rows: int) -> None:
        """Forget all but so many of the rows."""
        first = max(self._first, self._last - rows)
        self._count(self._keys[self._first : first], -1)
        self._first = first

    def draw(self, rows: int, seed: tuple[int, ...]) -> np.ndarray:
        """Numbers int64[rows] of rows drawn with replacement, the oldest being 0.

        Equal seeds draw the same of equal windows. Raises ValueError when there is no row.
        """
        if not len(self):
            raise ValueError("there is no row to draw")
        drawn = np.empty(rows, np.int64)
        state = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        draw(self._counts, self._window(), state, drawn)
        return drawn

    def _window(self) -> np.ndarray:
        """The keys of the rows, a view."""
        return self._keys[self._first : self._last]

    def _count(self, keys: np.ndarray, step: int) -> None:
        used, distinct, weight = count(self._counts, keys, step)
        self._used += used
        self.distinct += distinct
        self.weight += weight

    def _count_again(self, positions: int) -> None:
        """Move the counts to a table with room for so many, which is then at most half full."""
        slots = FIRST_SLOTS
        while slots < 2 * positions:
            slots *= 2
        self._counts = Counts(np.zeros(slots, np.uint64), np.zeros(slots, np.int32))
        self._used, self.distinct, self.weight = 0, 0, 0.0
        self._count(self._window(), 1)
