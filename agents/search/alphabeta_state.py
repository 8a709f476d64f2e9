"""What an alpha-beta search consists of between two slices: arrays, and names of their parts.

Kernels index the arrays directly: a view of a row, or a tuple of arrays handed on, would cost more
than the work done with it. So the whole search is one row a level, one row of counters, and tables.
The numbers here are frozen into every @kernel of the search.
"""

from typing import NamedTuple

import numpy as np

from agents.tablebase.probe import TableArrays
from oware_env.rules import BOARD, SEEDS

MAX_DEPTH = 60

# Values are hundredths of a seed, as in evaluation.py; beyond CERTAIN they are results: first who
# wins, then how soon, then by how many seeds. What a table of endgames proves counts less than a
# game that is over, so that a game that can be finished is finished.
SOONER = 64  # above the largest margin of seeds, so that a quicker win is always preferred
WIN = 30_000  # a win at the root; less SOONER for each ply until it
PROVED_WIN = WIN - SOONER * (MAX_DEPTH + 2)  # a win that a table proves, at the root
CERTAIN = PROVED_WIN - SOONER * (MAX_DEPTH + 2)
INFINITY = 32_000

# Entries of Search.state. The first two are the words of Search.board.
FIRST_WORD, SECOND_WORD, PLY, MAX_PLIES, EVALUATION = range(5)
IS_EXACT = 5  # 1: what is found is what a search of full depth without a table finds
MAX_REST = 6  # the depth of the last iteration
DEPTH = 7  # of the iteration under way
COMPLETED = 8  # of the last iteration that was finished
LEVEL, NODES, MOVE, VALUE = 9, 10, 11, 12  # MOVE and VALUE are the answer so far
GOAL = 13  # result of the root that a table proves and the search may not lose, else proofs.OPEN
COVERED = 14  # seeds in the stores from which on the table of endgames is asked
GENERATION = 15  # number of the search: older entries of the transposition table make room

# Columns of Search.frames: a node whose moves are being tried.
REST, COUNT, NEXT, STAGE = 0, 1, 2, 3  # plies below it, moves, the one under way, how it is tried
ALPHA, BETA, FLOOR, BEST, BEST_MOVE = 4, 5, 6, 7, 8  # FLOOR is alpha on entry
LOW, HIGH = 9, 10  # bounds of the value by the table of endgames
KEY, FIRST, SECOND = 11, 12, 13  # of the transposition table; the words of the board
ORDER = 14  # +0 .. +5: hope * 8 + move, best hopes first
FRAME = 24

FULL, SCOUT, REDUCED = range(3)  # STAGE

HISTORY = 64  # entries of Search.history a move: by seeds in its house


class Search(NamedTuple):
    """A search between two slices."""

    frames: np.ndarray  # int64[levels, FRAME], see REST .. ORDER; level 0 is the root
    state: np.ndarray  # int64[16], see FIRST_WORD .. GENERATION
    board: np.ndarray  # int8[14], the board at hand: the same memory as the first two of state
    history: np.ndarray  # int64[2 * 6 * HISTORY], how often a move was enough, by side and seeds
    table: np.ndarray  # int64[buckets, 4], the transposition table
    endgames: TableArrays | None


def new_search(
    evaluation: int, max_plies: int, table_bits: int, endgames: TableArrays | None = None
) -> Search:
    """Fresh arrays for one evaluation and move limit; the table has ``2**table_bits`` buckets."""
    state = np.zeros(16, np.int64)
    buckets = np.zeros((1 << table_bits) * 4 + 4, np.int64)
    skip = -(buckets.ctypes.data // 8) % 4  # aligned, so that a bucket lies in one cache line
    search = Search(
        frames=np.zeros((MAX_DEPTH + 1, FRAME), np.int64),
        state=state,
        board=state.view(np.int8)[:BOARD],
        history=np.zeros(2 * 6 * HISTORY, np.int64),
        table=buckets[skip : skip + (4 << table_bits)].reshape(-1, 4),
        endgames=endgames,
    )
    state[MAX_PLIES] = max_plies
    state[EVALUATION] = evaluation
    state[IS_EXACT] = 1
    state[COVERED] = 2 * SEEDS if endgames is None else SEEDS - int(endgames.limits[0])
    return search
