"""What moves and replies would take, against games played out move by move."""

import numpy as np
import pytest

from oware_env import State
from oware_env.rules import aims, sow
from oware_env.tactics import EVEN, MOST_TAKEN, TACTICS, best_capture, write_tactics


def tactics(state: State) -> list[int]:
    out = np.full(TACTICS, 255, np.uint8)
    write_tactics(state.board, out)
    return out.tolist()


def taken(state: State, move: int) -> int:
    """Seeds that a legal move takes, by playing it."""
    return int(state.play(move).board[13]) - int(state.board[12])


def best_reply(state: State, move: int) -> int:
    after = state.play(move)
    return max((taken(after, reply) for reply in after.legal_moves), default=0)


def worst_exchange(state: State, move: int) -> int:
    """What the best answer takes less what the reply takes, after the worst reply."""
    after = state.play(move)
    return min(best_reply(after, reply) - taken(after, reply) for reply in after.legal_moves)


@pytest.mark.parametrize("seed", range(8))
def test_they_are_what_playing_the_moves_takes(random_game, seed):
    for state in random_game(seed):
        if not state.is_over:
            seen = tactics(state)
            for move in state.legal_moves:
                assert seen[move] == taken(state, move)
                after = state.play(move)
                if not after.is_over:
                    assert seen[6 + move] == best_reply(state, move)
                    if not any(after.play(reply).is_over for reply in after.legal_moves):
                        assert seen[12 + move] == EVEN + worst_exchange(state, move)


def test_an_empty_house_takes_nothing_and_allows_nothing():
    seen = tactics(State.parse("0-4-0-4-0-5-1-1-2-2-1-4-12-12-S"))
    assert [seen[move] for move in range(0, 18, 2)] == [0] * 9


def test_a_void_slam_takes_nothing():
    state = State.parse("0-0-0-0-0-2-1-1-0-0-0-0-22-22-S")
    assert tactics(state)[5] == 0
    assert best_capture(state.board, 63) == 0


def test_the_most_that_a_move_can_take():
    state = State.parse("0-0-0-0-0-5-2-2-2-2-2-1-16-16-S")
    assert tactics(state)[5] == MOST_TAKEN == best_capture(state.board, 1 << 5)


def test_only_the_moves_asked_for_count():
    state = State.parse("0-0-0-0-2-2-1-1-5-0-0-0-18-19-S")
    assert best_capture(state.board, 1 << 5) == 4
    assert best_capture(state.board, 1 << 4) == 2
    assert best_capture(state.board, 0) == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_move_aims_when_its_sow_ends_in_a_house_that_falls(random_game, seed):
    for state in random_game(seed):
        for move in state.legal_moves:
            after = state.board.copy()
            last = sow(after, move)
            assert aims(state.board, move) == (last >= 6 and after[last] in (2, 3))
