"""THE rules of Oware (Abapa), written once, as compiled kernels over one board.

Everything that plays (env, batch, search, tables, tests) calls these. A board is ``int8[14]``,
always seen by the side to move::

      opponent   11 10  9  8  7  6
      mover       0  1  2  3  4  5        12 = mover's store, 13 = opponent's store

Houses are numbered in sowing order; a move is the mover's house 0-5. Sources: docs/rules.md.
"""

from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError, integer, shown
from oware_env.kernel import kernel

HOUSES = 6  # houses of one side, and so moves
BOARD = 14  # entries of a board
MOVER_STORE = 12
OPPONENT_STORE = 13
SEEDS = 48
MAJORITY_SEEDS = 25
MOST_PLIES = 2**31 - 1  # of a move limit

# Why a game is over; RUNNING is "it is not".
RUNNING, MAJORITY, NO_FEEDING_MOVE, MOVE_LIMIT = 0, 1, 2, 3
REASONS = ("running", "majority", "no_feeding_move", "move_limit")

# The choices that make a rule set; the first of each is abapa's.
SLAM_VOID, SLAM_CAPTURES = 0, 1
FEED_WHEN_EMPTY, NEVER_LEAVE_EMPTY = 0, 1
REST_TO_MOVER, REST_TO_OPPONENT = 0, 1
OWN_ROWS, EVEN_SPLIT = 0, 1


class Rules(NamedTuple):
    """A rule set as data, carried by everything that is saved. ``Rules()`` is abapa."""

    max_plies: int = 400
    """Total plies after which a game is stopped and settled (an ending by rule)."""
    slam: int = SLAM_VOID
    """A capture of all the opponent's seeds: void as a whole, or taken."""
    feeding: int = FEED_WHEN_EMPTY
    """Feed an opponent who is empty at the start of the turn; or never leave one empty."""
    rest: int = REST_TO_MOVER
    """Who gets the seeds on the board when the side to move has no legal move."""
    limit: int = OWN_ROWS
    """At the move limit each side takes its own houses, or the rest is split evenly."""


AWARI = Rules(400, SLAM_CAPTURES, NEVER_LEAVE_EMPTY, REST_TO_OPPONENT, EVEN_SPLIT)
"""The rules of the published awari databases (Lincke 2002, appendix A): for tables only."""


def describe_rules(rules: Rules) -> str:
    """A rule set in words, for messages: ``"abapa (at most 400 plies)"``."""
    names = {Rules()[1:]: "abapa", AWARI[1:]: "awari"}
    name = names.get(rules[1:]) or f"variant {shown(tuple(rules[1:]))}"
    return f"{name} (at most {shown(rules.max_plies)} plies)"


def require_abapa(rules: Rules) -> Rules:
    """``rules`` as plain ints when games can be played under them.

    Raises :class:`OwareError` otherwise.
    """
    if not isinstance(rules, Rules):
        raise OwareError(
            f"rules must be a Rules value such as Rules(max_plies=400), not {shown(rules)}"
        )
    rules = Rules(*map(integer, rules, Rules._fields))
    if rules[1:] != Rules()[1:]:
        raise OwareError(
            f"games are played under abapa, not {describe_rules(rules)}: "
            "other rule sets are for the kernels and the tablebase"
        )
    if not 1 <= rules.max_plies <= MOST_PLIES:
        raise OwareError(
            f"max_plies must be between 1 and {MOST_PLIES}, not {shown(rules.max_plies)}"
        )
    return rules


def initial_board() -> np.ndarray:
    """The board before the first move, int8[14]: four seeds in each house, empty stores."""
    return np.array([4] * 12 + [0, 0], np.int8)


@kernel
def pack(board):
    """A board as two plain ints (mover's side, opponent's side): 7 bytes each, the store last.

    For callers from Python: two ints cross the compiled border several times faster than an array.
    """
    mover = np.int64(board[12]) << 48
    opponent = np.int64(board[13]) << 48
    for house in range(6):
        mover |= np.int64(board[house]) << 8 * house
        opponent |= np.int64(board[house + 6]) << 8 * house
    return mover, opponent


@kernel
def unpack(mover, opponent):
    """The board, a fresh int8[14], of two packed sides."""
    board = np.empty(BOARD, np.int8)
    for house in range(6):
        board[house] = mover >> 8 * house & 255
        board[house + 6] = opponent >> 8 * house & 255
    board[12] = mover >> 48
    board[13] = opponent >> 48
    return board


def _sowings() -> tuple[np.ndarray, np.ndarray]:
    """The rule itself: changes of the houses, int8[6, 64, 12], and the last seed's, int8[6, 64]."""
    changes, last = np.zeros((6, 64, 12), np.int8), np.zeros((6, 64), np.int8)
    for move in range(6):
        for seeds in range(SEEDS + 1):
            house = move
            for _ in range(seeds):
                house = (house + 1) % 12
                if house == move:  # skipped on every lap
                    house = (house + 1) % 12
                changes[move, seeds, house] += 1
            changes[move, seeds, move] -= seeds
            last[move, seeds] = house
    return changes, last


_CHANGES, _LAST = _sowings()  # 64 columns, so that a row is found by a shift


@kernel(inner=True)
def sow_into(board, move, after):
    """Sow house ``move`` into ``after``, skipping it on every lap; the house of the last seed."""
    # Adding a row of a table takes no loop of unknown length, whose end a processor cannot
    # foresee: random play is a third faster. Unsigned indices spare the check for negative ones.
    origin = np.uint64(move)
    seeds = np.uint64(board[origin])
    for house in range(12):
        after[house] = board[house] + _CHANGES[origin, seeds, house]
    after[12], after[13] = board[12], board[13]
    return np.int64(_LAST[origin, seeds])


@kernel(inner=True)
def sow(board, move):
    """Sow house ``move`` in place; return the house of the last seed."""
    return sow_into(board, move, board)


@kernel(inner=True)
def is_capturable(seeds):
    """Whether an opponent's house with so many seeds falls to the last seed of a sow."""
    return seeds == 2 or seeds == 3


@kernel(inner=True)
def aims(board, move):
    """Whether a sow ends in a house that falls to it, without sowing: a slam is still void."""
    seeds = np.uint64(board[move])
    last = _LAST[move, seeds]
    return last >= 6 and is_capturable(board[last] + _CHANGES[move, seeds, last])


@kernel(inner=True)
def chain_start(board, last):
    """First house of the chain captured by a last seed in house ``last``; ``last + 1`` if none.

    It runs from ``last`` back over opponent houses of 2 or 3. ``board`` is as after sowing.
    """
    start = last + 1
    while start > 6 and is_capturable(board[start - 1]):
        start -= 1
    return start


@kernel(inner=True)
def is_grand_slam(board, start, last):
    """Whether taking houses ``start`` .. ``last`` would leave the opponent without a seed."""
    for house in range(6, 12):
        if board[house] != 0 and (house < start or house > last):
            return False
    return start <= last


@kernel(inner=True)
def capture(board, last, slam=SLAM_VOID):
    """Take the chain that ends in house ``last`` into the mover's store; return its seeds."""
    if last < 6 or not is_capturable(board[last]):  # most moves: out before any loop
        return 0
    start = chain_start(board, last)
    if slam == SLAM_VOID and is_grand_slam(board, start, last):
        return 0
    captured = 0
    for house in range(start, last + 1):
        captured += board[house]
        board[house] = 0
    board[12] += captured
    return captured


@kernel(inner=True)
def turn(board):
    """Show the board to the other side, in place: swap the rows and the stores."""
    for house in range(6):
        kept = board[house]
        board[house] = board[house + 6]
        board[house + 6] = kept
    kept = board[12]
    board[12] = board[13]
    board[13] = kept


@kernel(inner=True)
def play(board, move, slam=SLAM_VOID):
    """Play a ``move`` that the caller vouches is legal and turn the board; seeds captured."""
    captured = capture(board, sow(board, move), slam)
    turn(board)
    return captured


@kernel(inner=True)
def is_opponent_empty(board):
    """Whether the opponent's six houses hold no seed."""
    seeds = 0
    for house in range(6, 12):
        seeds |= board[house]
    return seeds == 0


@kernel
def _leaves_opponent_empty(board, move):
    """Whether ``move``, slams taken, ends with no seed on the opponent's side (awari)."""
    after = board.copy()
    capture(after, sow(after, move), SLAM_CAPTURES)
    return is_opponent_empty(after)


@kernel
def legal_moves(board, feeding=FEED_WHEN_EMPTY):
    """The legal moves as six bits. 0 means the mover has none and the game is over."""
    moves = 0
    for house in range(6):
        moves |= np.int64(board[house] != 0) << house
    if feeding == FEED_WHEN_EMPTY:
        if is_opponent_empty(board):
            for house in range(6):
                if board[house] < 6 - house:  # does not reach the other side
                    moves &= ~(1 << house)
        return moves
    feeding_moves = moves
    for house in range(6):
        if moves >> house & 1 and _leaves_opponent_empty(board, house):
            feeding_moves &= ~(1 << house)
    return feeding_moves if feeding_moves else moves


@kernel(inner=True)
def status(board, ply, max_plies, feeding=FEED_WHEN_EMPTY):
    """What the side to move faces, in one int: legal moves (bits 0-5) | reason << 6.

    Tested in the order of the rules: majority, no feeding move, move limit. The moves are 0
    when the game is over and the reason is 0 (RUNNING) when it is not.
    """
    if board[12] >= MAJORITY_SEEDS or board[13] >= MAJORITY_SEEDS:
        return MAJORITY << 6
    moves = legal_moves(board, feeding)
    if moves == 0:
        return NO_FEEDING_MOVE << 6
    if ply >= max_plies:
        return MOVE_LIMIT << 6
    return moves


@kernel(inner=True)
def settle(board, reason, rest=REST_TO_MOVER, limit=OWN_ROWS):
    """Final totals (mover, opponent) of a game over for ``reason``; the board is left as it is.

    Under EVEN_SPLIT an odd last seed goes to neither side: only the difference has a meaning.
    """
    mover, opponent = np.int64(board[12]), np.int64(board[13])
    if reason == MAJORITY:
        return mover, opponent
    if reason == NO_FEEDING_MOVE:
        if rest == REST_TO_MOVER:
            return SEEDS - opponent, opponent
        return mover, SEEDS - mover
    if limit == OWN_ROWS:
        for house in range(6):
            mover += board[house]
        return mover, SEEDS - mover
    half = (SEEDS - mover - opponent) // 2
    return mover + half, opponent + half


@kernel
def advance(mover, opponent, move, ply, max_plies):
    """Play ``move`` on a packed board at ``ply``: the new packed sides, and their status."""
    board = unpack(mover, opponent)
    play(board, move)
    new_mover, new_opponent = pack(board)
    return new_mover, new_opponent, status(board, ply + 1, max_plies)
