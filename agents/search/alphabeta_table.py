"""The transposition table of alpha-beta: what was found out about a node, for when it comes again.

A bucket holds two entries (Breuker, Uiterwijk and van den Herik 1994, "Replacement schemes for
transposition tables", scheme TWODEEP): the first keeps the deeper search of this generation, the
second takes whatever comes. An entry is two words: the key, and what is packed into the other.
"""

import numpy as np

from agents.search.alphabeta_state import CERTAIN, SOONER
from oware_env.kernel import kernel
from oware_env.positions import mix

EXACT, AT_LEAST, AT_MOST = 1, 2, 3

_MOST_LEFT = (1 << 13) - 1


@kernel(inner=True)
def key_of(first, second, left, goal):
    """The key of a board's two words with so many plies ``left``, under a goal of the root.

    A value found with other plies left would not do: the limit or the table of endgames may have
    had a say in it. The top 16 bits of the second word are free.
    """
    extra = np.uint64(min(left, _MOST_LEFT)) | np.uint64(goal) << np.uint64(13)
    return np.int64(mix(np.uint64(first) ^ mix(np.uint64(second) | extra << np.uint64(48))))


@kernel(inner=True)
def _shift(value, plies):
    """A value as seen ``plies`` plies further down: a result is so much nearer from there."""
    if value > CERTAIN:
        return value + SOONER * plies
    if value < -CERTAIN:
        return value - SOONER * plies
    return value


@kernel(inner=True)
def _packed(value, rest, generation, bound, move):
    return value << 32 | generation << 16 | rest << 8 | bound << 3 | move


@kernel(inner=True)
def store(table, key, level, rest, generation, value, bound, move):
    """Write what a search of ``rest`` plies below a node at ``level`` has proved of its value."""
    row = key & (len(table) - 1)
    known = table[row, 1]
    fresh = _packed(_shift(value, level), rest, generation, bound, move)
    is_current = known >> 16 & 65535 == generation
    if is_current and known >> 8 & 255 > rest:
        table[row, 2] = key
        table[row, 3] = fresh
        return
    if table[row, 0] != key:
        table[row, 2] = table[row, 0]
        table[row, 3] = known
    table[row, 0] = key
    table[row, 1] = fresh


@kernel(inner=True)
def look_up(table, key, level, rest, is_exact, alpha, beta):
    """What is known of a node at ``level``: (whether that decides it, value, best move or -1).

    Only an entry of ``rest`` plies decides when the search is to be exact, so that the value is the
    one that a search without a table finds; else any of at least so many.
    """
    row = key & (len(table) - 1)
    move = -1
    for column in range(2, -1, -2):
        if table[row, column] == key and table[row, column + 1] != 0:
            known = table[row, column + 1]
            move = known & 7
            depth = known >> 8 & 255
            if depth == rest or (depth > rest and not is_exact):
                value, bound = _shift(known >> 32, -level), known >> 3 & 3
                if (
                    bound == EXACT
                    or (bound == AT_LEAST and value >= beta)
                    or (bound == AT_MOST and value <= alpha)
                ):
                    return True, value, move
    return False, np.int64(0), move
