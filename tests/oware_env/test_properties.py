"""What follows from the rules: the eight properties of docs/rules.md, each a test of its own.

Every property is tried on positions of random games and on arbitrary positions of 48 seeds. The
same file runs again without compilation (test_kernel.py), with fewer examples.
"""

import os
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oware_env import rules
from oware_env.notation import Placement
from oware_env.state import State


@st.composite
def reached_states(draw):
    """A running position of a game of random moves from the start."""
    choose = random.Random(draw(st.integers(0, 2**32 - 1)))
    state = State.initial()
    for _ in range(draw(st.integers(0, 150))):
        after = state.play(choose.choice(state.legal_moves))
        if after.is_over:
            break
        state = after
    return state


def split(draw, seeds, parts):
    """``seeds`` dealt out to ``parts`` places, any way at all."""
    cuts = sorted(draw(st.lists(st.integers(0, seeds), min_size=parts - 1, max_size=parts - 1)))
    return [high - low for low, high in zip([0, *cuts], [*cuts, seeds], strict=True)]


def finish(draw, houses):
    """A running state of twelve mover-relative counts: the other seeds go to the stores."""
    stored = 48 - sum(houses)
    store = draw(st.integers(max(0, stored - 24), min(24, stored)))
    state = State.from_board([*houses, store, stored - store], draw(st.booleans()))
    assume(not state.is_over)
    return state


@st.composite
def arbitrary_states(draw):
    """Any valid running position: some houses, among them one of the mover's, share some seeds."""
    chosen = draw(st.sets(st.integers(0, 11), min_size=1).filter(lambda some: min(some) < 6))
    houses = [0] * 12
    # One seed stays with the mover, so that the side to move is never without.
    counts = split(draw, draw(st.integers(0, 47)), len(chosen))
    for house, count in zip(sorted(chosen), counts, strict=True):
        houses[house] = count
    houses[min(chosen)] += 1
    return finish(draw, houses)


@st.composite
def opponent_empty_boards(draw):
    """A board (int8[14]) with seeds on the mover's side only."""
    on_board = draw(st.integers(1, 48))
    stored = 48 - on_board
    store = draw(st.integers(max(0, stored - 24), min(24, stored)))
    board = [*split(draw, on_board, 6), *[0] * 6, store, stored - store]
    return np.array(board, np.int8)


@st.composite
def grand_slams(draw):
    """(state, move): the move would take the opponent's every seed."""
    move = draw(st.integers(0, 5))
    last = draw(st.integers(6, 11))
    houses = [draw(st.integers(0, 3)) for _ in range(6)] + [0] * 6
    houses[move] = last - move
    houses[6 : last + 1] = [draw(st.integers(1, 2)) for _ in range(last - 5)]
    return finish(draw, houses), move


@st.composite
def laps(draw):
    """(state, move) with a house of 12 seeds or more to sow."""
    move = draw(st.integers(0, 5))
    seeds = draw(st.integers(12, 48))
    houses = split(draw, draw(st.integers(0, 48 - seeds)), 12)
    houses[move] += seeds
    return finish(draw, houses), move


SOURCES = {"reached": reached_states(), "arbitrary": arbitrary_states()}


def on_every_kind_of_position(test):
    """Give ``test`` a state: of random games in one run, of any valid kind in the other."""

    @pytest.mark.parametrize("kind", SOURCES)
    @given(data=st.data())
    def run(kind, data):
        test(data.draw(SOURCES[kind]), data)

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


def draw_move(data, state):
    return data.draw(st.sampled_from(state.legal_moves))


def rows(state):
    """(the mover's houses, the opponent's houses)."""
    board = state.board.tolist()
    return board[:6], board[6:12]


def test_kernels_are_compiled_unless_that_is_switched_off():
    compiled = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"
    assert hasattr(rules.play, "py_func") == compiled
    assert hasattr(rules.sow, "py_func") == compiled


@on_every_kind_of_position
def test_1_board_and_stores_always_hold_48_seeds(state, data):
    after = state.play(draw_move(data, state))
    assert sum(after.houses) + sum(after.stores) == 48
    assert min(after.houses + after.stores) >= 0
    assert all(now >= then for now, then in zip(after.stores, state.stores, strict=True))


@on_every_kind_of_position
def test_2_the_mover_owns_a_seed_while_the_game_runs(state, data):
    after = state.play(draw_move(data, state))
    own, _ = rows(after)
    assert any(own) or after.is_over
    # Stronger, and why no position without one can arise: a move never leaves it so.
    assert any(own)


@given(board=opponent_empty_boards())
def test_3_a_house_feeds_if_and_only_if_it_holds_enough_seeds(board):
    legal = rules.legal_moves(board)
    for house in range(6):
        sown = board.copy()
        rules.sow(sown, house)
        reaches = bool(sown[6:12].any())
        assert reaches == (board[house] >= 6 - house)
        assert reaches == bool(legal >> house & 1)


@on_every_kind_of_position
def test_3_every_house_with_seeds_is_offered_when_the_opponent_has_some(state, data):
    own, opponent = rows(state)
    offered = [house for house in range(6) if own[house]]
    if not any(opponent):
        offered = [house for house in offered if own[house] >= 6 - house]
    assert list(state.legal_moves) == offered


@on_every_kind_of_position
def test_4_captures_never_empty_the_board(state, data):
    after = state.play(draw_move(data, state))
    assert any(after.houses)
    assert sum(after.stores) < 48


@given(case=grand_slams())
def test_5_a_grand_slam_is_legal_takes_nothing_and_leaves_at_least_two_seeds(case):
    state, move = case
    assert move in state.legal_moves
    sown = state.board
    last = rules.sow(sown, move)
    rules.turn(sown)
    after = state.play(move)
    assert after.stores == state.stores
    assert np.array_equal(after.board, sown)
    assert sum(rows(after)[0]) >= 2
    assert len(state.explain(move).void_slam) == last - 5


@given(case=grand_slams())
def test_5_a_void_slam_that_empties_the_own_side_lays_the_duty_to_feed_on_the_opponent(case):
    state, move = case
    after = state.play(move)
    own, opponent = rows(after)
    if any(opponent):
        assert list(after.legal_moves) == [house for house in range(6) if own[house]]
    else:
        assert list(after.legal_moves) == [house for house in range(6) if own[house] >= 6 - house]


@on_every_kind_of_position
def test_5_only_a_slam_keeps_a_chain_from_being_taken(state, data):
    move = draw_move(data, state)
    board = state.board
    last = rules.sow(board, move)
    chain = last + 1 - rules.chain_start(board, last) if last >= 6 else 0
    left = int(board[6:12].sum()) - int(board[last + 1 - chain : last + 1].sum())
    captured = rules.capture(board, last)
    assert (captured > 0) == (chain > 0 and left > 0)
    assert board[6:12].any()


def test_5_a_void_slam_can_leave_the_mover_without_a_seed():
    after = State.parse("0-0-0-0-0-1-1-0-0-0-0-0-23-23-S").play("F")
    assert after.houses == (0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0)
    assert after.stores == (23, 23)


@given(board=opponent_empty_boards())
def test_6_a_mover_who_cannot_feed_gets_the_rest_whoever_led(board):
    board[:6] = [min(board[house], 5 - house) for house in range(6)]
    store = min(24, 48 - int(board[:6].sum()))
    board[12:] = 48 - int(board[:6].sum()) - store, store
    assume(board[12] <= 24)
    outcome = State.from_board(board, True).outcome
    assert outcome.reason == "no_feeding_move"
    assert outcome.scores == (48 - store, store)
    assert outcome.winner == (None if store == 24 else "south")


def test_6_the_leader_in_stores_may_lose_the_game():
    state = State.parse("4-3-2-1-0-0-0-0-0-0-0-0-18-20-S")
    assert state.outcome == ("south", "no_feeding_move", (28, 20))


def check_capture(state, move):
    """No capture beyond what the size of the sow and the landing house allow."""
    board = state.board
    seeds, before = int(board[move]), state.board
    last = rules.sow(board, move)
    captured = rules.capture(board, last)
    assert 0 <= captured <= 15
    if not captured:
        return
    assert last >= 6
    assert seeds < 34
    if seeds >= 23:
        assert before[last] == 0
    elif seeds >= 12:
        assert before[last] in (0, 1)
    else:
        assert before[last] in (1, 2)


@on_every_kind_of_position
def test_7_a_capture_is_bounded_by_the_landing_house_and_the_sow(state, data):
    check_capture(state, draw_move(data, state))


@given(case=laps())
def test_7_a_lapping_sow_captures_only_what_its_laps_allow(case):
    state, move = case
    check_capture(state, move)
    assert state.play(move).board[6 + move] == 0  # the house of origin, as the other side sees it


@pytest.mark.parametrize(
    ("move", "seeds", "before", "captured"),
    [
        *[(0, 6, 0, 0), (0, 6, 1, 2), (0, 6, 2, 3), (0, 6, 3, 0)],
        *[(5, 12, 0, 2), (5, 12, 1, 3), (5, 12, 2, 0)],
        *[(0, 22, 0, 2), (0, 22, 1, 3), (0, 22, 2, 0)],
        *[(5, 23, 0, 3), (5, 23, 1, 0), (0, 33, 0, 3), (0, 33, 1, 0)],
        *[(5, 34, 0, 0), (5, 34, 1, 0)],
    ],
)
def test_7_every_bound_is_reached_and_not_passed(move, seeds, before, captured):
    landing = 6 if move == 5 or seeds == 6 else 11
    board = np.zeros(14, np.int8)
    board[6:12] = 4  # too many to be captured, and enough to make it no slam
    board[landing] = before
    board[move] = seeds
    assert rules.sow(board, move) == landing
    assert rules.capture(board, landing) == captured


def rotated(state):
    """The board turned by 180 degrees: rows and stores swapped, the other side to move."""
    houses = state.houses[6:] + state.houses[:6]
    placement = Placement(houses, state.stores[::-1], not state.south_to_move)
    return State.from_placement(placement, state.rules, state.ply)


@on_every_kind_of_position
def test_8_a_board_turned_by_180_degrees_behaves_identically(state, data):
    turned = rotated(state)
    assert turned.legal_moves == state.legal_moves
    move = draw_move(data, state)
    after, turned_after = state.play(move), turned.play(move)
    assert turned_after == rotated(after)
    if after.is_over:
        other = {"south": "north", "north": "south", None: None}
        assert turned_after.outcome.winner == other[after.outcome.winner]
        assert turned_after.outcome.reason == after.outcome.reason
        assert turned_after.outcome.scores == after.outcome.scores[::-1]
    else:
        assert turned_after.legal_moves == after.legal_moves


def test_8_a_left_right_mirror_does_not_behave_identically():
    start = rules.initial_board()  # its own mirror image
    left, right = start.copy(), start.copy()
    rules.play(left, 0)
    rules.play(right, 5)
    mirrored = np.concatenate([left[:6][::-1], left[6:12][::-1], left[12:]])
    assert not np.array_equal(mirrored, right)
