"""What a table must hold before a kernel looks into it: facts, shapes and values that agree.

Kernels index without checks. A digest says that a file is what was written, not that whoever
wrote it made sense; a table that passes here cannot lead a kernel out of its arrays.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.tablebase.index import count_boards, level_starts
from oware_env.errors import OwareError, as_integer, shown
from oware_env.positions import Positions, checked_positions
from oware_env.rules import SEEDS, Rules

MOST_SEEDS = 24  # beyond it indices no longer fit the int32 of the successors
MOST_PLIES = 10_000  # left: each costs a pass over all boards
_MOST_LEFT_OUT = 127  # stands for "no value yet" in a share
_CHOICES = 2  # of each rule after max_plies


class Facts(NamedTuple):
    """What a table says of itself."""

    rules: Rules
    seeds: int  # most on the board
    exact_seeds: int  # up to so many every value is kept
    first: int  # plies left that its bounds are proved for
    last: int


def is_whole(number: Any, least: int, most: int | None = None) -> bool:
    """Whether it is a whole number of a range, and no truth value."""
    found = as_integer(number)
    return found is not None and least <= found and (most is None or found <= most)


def check_seeds(seeds: Any, least: int = 1) -> int:
    """A number of seeds that a table may have; raises OwareError."""
    if not is_whole(seeds, least, MOST_SEEDS):
        raise OwareError(
            f"seeds must be a whole number from {least} to {MOST_SEEDS}, not "
            f"{shown(seeds)}: a table of 20 seeds takes 7 GB of memory, and each further "
            "seed half as much again"
        )
    return int(seeds)


def check_plies(plies: Any) -> tuple[int, int]:
    """A range of plies left that a table can be proved for; raises OwareError."""
    is_pair = isinstance(plies, tuple) and len(plies) == 2
    if not (is_pair and is_whole(plies[0], 0, MOST_PLIES) and is_whole(plies[1], plies[0])):
        raise OwareError(f"plies must be a range such as (100, 400), not {shown(plies)}")
    first, last = plies
    if last > MOST_PLIES:
        raise OwareError(
            f"a table covers at most {MOST_PLIES:,} plies left, not {shown(last)}: every "
            "ply is a pass over all boards"
        )
    return int(first), int(last)


def check_rules(rules: Any) -> Rules:
    """Rules made of whole numbers in their ranges; raises OwareError."""
    is_sound = (
        isinstance(rules, Rules)
        and is_whole(rules[0], 1, 2**31 - 1)
        and all(is_whole(choice, 0, _CHOICES - 1) for choice in rules[1:])
    )
    if not is_sound:
        raise OwareError(f"rules must be those of {Rules()}, not {shown(rules)}")
    return Rules(*map(int, rules))


def read_facts(facts: Mapping[str, Any], path: Path) -> Facts:
    """The facts of a table file; raises OwareError that names the one that cannot be."""
    try:
        given, seeds = facts["rules"], check_seeds(facts["seeds"])
        is_list = isinstance(given, list) and len(given) == len(Rules._fields)
        rules = check_rules(Rules(*given) if is_list else given)
        first, last = check_plies((facts["first"], facts["last"]))
        exact = facts["exact_seeds"]
    except KeyError as missing:
        raise _unsound(path, f"it does not say its {missing.args[0]}") from None
    except OwareError as error:
        raise _unsound(path, str(error)) from None
    if not is_whole(exact, 0, seeds):
        raise _unsound(path, f"exact_seeds must be from 0 to {seeds}, not {shown(exact)}")
    return Facts(rules, seeds, exact, first, last)


def check_arrays(arrays: Mapping[str, np.ndarray], facts: Facts, path: Path) -> None:
    """Compare the arrays of a table with what it says of itself, see probe.TableArrays.

    Raises OwareError that names the array and both sides.
    """
    boards, few = count_boards(facts.seeds), count_boards(facts.exact_seeds)
    opened = len(arrays["open_exact"]) if "open_exact" in arrays else 0
    wanted = {
        "low": (np.int8, (2, boards)),
        "high": (np.int8, (2, boards)),
        "exact": (np.int8, (facts.first, few)),
        "open_rows": (np.int32, (few,)),
        "open_exact": (np.int8, (opened, facts.last - facts.first + 1)),
    }
    for name in sorted(wanted.keys() | arrays.keys()):
        there = _described(arrays[name]) if name in arrays else "missing"
        here = f"{np.dtype(wanted[name][0])}{list(wanted[name][1])}" if name in wanted else "none"
        if there != here:
            raise _unsound(path, f"{shown(name)} is {there}, its facts ask for {here}")
    _check_bounds(arrays["low"], arrays["high"], facts, path)
    _check_exact(arrays, facts, path)


def _described(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _check_bounds(low: np.ndarray, high: np.ndarray, facts: Facts, path: Path) -> None:
    """Every board's bounds must be in order, and not above its seeds."""
    starts = level_starts(facts.seeds).tolist()
    for parity in (0, 1):
        is_kept = facts.first + (facts.first + parity) % 2 <= facts.last
        for seeds in range(facts.seeds + 1):
            level = slice(starts[seeds], starts[seeds + 1])
            lows, highs = low[parity, level], high[parity, level]
            if is_kept:
                is_sound = lows.min() >= -seeds and highs.max() <= seeds and (lows <= highs).all()
            else:  # no ply of the range: nothing was ever taken in
                ends = _MOST_LEFT_OUT - seeds, -1 - seeds
                is_sound = (lows == ends[0]).all() and (highs == ends[1]).all()
            if not is_sound:
                raise _unsound(path, f"bounds of boards of {seeds} seeds cannot be")


def _check_exact(arrays: Mapping[str, np.ndarray], facts: Facts, path: Path) -> None:
    """The values of few seeds must be possible, and have a row where the bounds leave one open."""
    starts = level_starts(facts.exact_seeds).tolist()
    exact, opened, few = arrays["exact"], arrays["open_exact"], starts[-1]
    for seeds in range(facts.exact_seeds + 1):
        if not _lies_within(exact[:, starts[seeds] : starts[seeds + 1]], seeds):
            raise _unsound(path, f"'exact' holds a value that {seeds} seeds cannot have")
    if not _lies_within(opened, facts.exact_seeds):
        raise _unsound(path, "'open_exact' holds a value that no board has")
    is_open = (arrays["low"][:, :few] < arrays["high"][:, :few]).any(axis=0)
    rows = np.full(few, -1, np.int32)
    rows[is_open] = np.arange(np.count_nonzero(is_open))
    if np.count_nonzero(is_open) != len(opened) or not np.array_equal(rows, arrays["open_rows"]):
        raise _unsound(path, "'open_rows' does not name the rows of 'open_exact'")


def _lies_within(values: np.ndarray, most: int) -> bool:
    return not values.size or bool(-most <= values.min() and values.max() <= most)


def _unsound(path: Path, reason: str) -> OwareError:
    return OwareError(f"{path} is not a sound table: {reason}: delete it and build")


def check_positions(positions: Positions, max_plies: int) -> Positions:
    """The positions, when a kernel can look them up. Raises OwareError that names the first row."""
    positions = checked_positions(positions)
    if not is_whole(max_plies, 0, 2**31 - 1):
        raise OwareError(f"max_plies must be a whole number, not {shown(max_plies)}")
    boards = positions.boards
    held = boards[:, :12].sum(axis=1, dtype=np.int64)
    if boards.size and (boards.min() < 0 or held.max() > SEEDS):
        row = int(((boards < 0).any(axis=1) | (held > SEEDS)).argmax())
        raise OwareError(f"row {row}: a board holds 0 to {SEEDS} seeds, not {boards[row].tolist()}")
    return positions
