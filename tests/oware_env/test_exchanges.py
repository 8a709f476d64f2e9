"""Long exchanges against lines played out move by move."""

import numpy as np
import pytest

from oware_env import State
from oware_env.exchanges import LONG_EXCHANGES, MOST_LEFT, write_long_exchanges
from oware_env.rules import BOARD, capture, legal_moves, sow_into, turn
from oware_env.tactics import EVEN


def exchanges(board: np.ndarray) -> list[int]:
    out = np.full(LONG_EXCHANGES, 255, np.uint8)
    write_long_exchanges(board, out)
    return out.tolist()


def after(board: np.ndarray, move: int) -> tuple[np.ndarray, int]:
    """The board after a move, seen from the other side, and what the move took."""
    played = np.empty(BOARD, np.int8)
    taken = capture(played, sow_into(board, move, played))
    turn(played)
    return played, taken


def best_line(board: np.ndarray, plies: int) -> int:
    """What the mover takes less what the opponent takes in so many plies, by trying them all."""
    moves = [move for move in range(6) if legal_moves(board) >> move & 1]
    if plies == 0 or not moves:
        return 0
    lines = [after(board, move) for move in moves]
    return max(taken - best_line(played, plies - 1) for played, taken in lines)


@pytest.mark.parametrize("seed", range(6))
def test_they_are_what_the_best_four_plies_leave(random_game, seed):
    seen = set()
    for state in random_game(seed)[::5]:
        found = exchanges(state.board)
        for move in range(6):
            if state.board[move]:
                left = -best_line(after(state.board, move)[0], 4)
                assert found[move] == EVEN + max(-MOST_LEFT, min(MOST_LEFT, left))
                seen.add(found[move])
    assert len(seen) > 4  # they are not all even


@pytest.mark.parametrize(
    "text, move, left",
    [("0-0-3-0-14-1-0-1-0-0-0-1-22-6-S", 2, 9), ("0-0-3-0-0-3-0-0-1-0-0-15-13-13-S", 2, -7)],
)
def test_more_either_way_is_as_good_as_the_most(text, move, left):
    board = State.parse(text).board
    assert -best_line(after(board, move)[0], 4) == left
    assert exchanges(board)[move] == EVEN + np.sign(left) * MOST_LEFT


def test_an_empty_house_has_none():
    found = exchanges(State.parse("0-4-0-4-0-5-1-1-2-2-1-4-12-12-S").board)
    assert [found[move] for move in (0, 2, 4)] == [0] * 3
    assert all(found[move] >= EVEN - MOST_LEFT for move in (1, 3, 5))


def test_a_line_ends_where_nobody_can_move():
    # Our last seed goes over, and the house it falls into is too far back to return it.
    board = State.parse("0-0-0-0-0-1-0-0-0-0-0-0-23-24-S").board
    assert legal_moves(after(board, 5)[0]) == 0
    assert exchanges(board)[5] == EVEN
