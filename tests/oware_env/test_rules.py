import numpy as np
import pytest

from oware_env import rules
from oware_env.errors import OwareError
from oware_env.rules import AWARI, Rules
from oware_env.state import State


def board_of(mover, opponent, stores=(0, 0)):
    """A board from two rows and (mover's, opponent's) stores."""
    return np.array([*mover, *opponent, *stores], np.int8)


def letters(mask):
    return "".join("ABCDEF"[move] for move in range(6) if mask >> move & 1)


EMPTY = (0, 0, 0, 0, 0, 0)


# The five classic mistakes of rules.md.


def test_mistake_1_no_seeds_opposite_are_captured_and_no_move_earns_another():
    # Kalah would take e, opposite the empty B that the last seed falls into.
    state = State.parse("1-0-4-0-0-0-0-0-0-0-7-0-18-18-S")
    after = state.play("A")
    assert after.houses == (0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 7, 0)
    assert after.stores == (18, 18)
    # Kalah's fourth seed from C falls into a granary and earns a second move; here it falls in a.
    after = State.initial().play("C")
    assert after.houses == (4, 4, 0, 5, 5, 5, 5, 4, 4, 4, 4, 4)
    assert after.stores == (0, 0)
    assert not after.south_to_move


def test_mistake_2_the_chain_behind_the_landing_house_is_taken_too():
    state = State.parse("0-0-0-0-0-3-1-2-1-4-0-0-18-19-S")
    report = state.explain("F")
    assert report.captured == (8, 7, 6)
    assert report.captured_seeds == 7
    assert state.play("F").stores == (25, 19)


def test_mistake_3_a_lap_skips_the_house_it_started_from():
    state = State.parse("0-0-0-0-12-0-1-1-1-1-1-1-15-15-S")
    after = state.play("E")
    assert after.houses[4] == 0
    # Twelve seeds from E reach F again; without the skip the last one would fall in E.
    assert after.houses == (1, 1, 1, 1, 0, 2, 2, 2, 2, 2, 2, 2)
    assert state.explain("E").landing == 5


def test_mistake_4_a_chain_that_takes_everything_takes_nothing():
    state = State.parse("3-0-0-0-0-3-1-2-1-0-0-0-19-19-S")
    after = state.play("F")
    assert after.stores == (19, 19)
    assert after.houses == (3, 0, 0, 0, 0, 0, 2, 3, 2, 0, 0, 0)


def test_mistake_5_the_duty_to_feed_can_force_the_move_that_gives_seeds_away():
    state = State.parse("1-0-0-0-0-6-0-0-0-0-0-0-20-21-S")
    assert state.legal_letters == ("F",)
    assert "must be fed" in state.explain("A").why_not
    after = state.play("F")
    assert after.houses == (1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1)


# Single kernels.


@pytest.mark.parametrize("seeds", range(1, 49))
@pytest.mark.parametrize("move", range(6))
def test_a_sow_puts_one_seed_into_each_house_but_its_origin(move, seeds):
    board = np.zeros(14, np.int8)
    board[move] = seeds
    last = rules.sow(board, move)
    others = [(move + step) % 12 for step in range(1, 12)]
    laps, rest = divmod(seeds, 11)
    assert board[move] == 0
    assert [int(board[house]) for house in others] == [laps + (n < rest) for n in range(11)]
    assert last == others[(seeds - 1) % 11]
    assert not board[12:].any()


def test_a_board_packs_into_two_ints_and_back():
    generator = np.random.default_rng(0)
    for _ in range(100):
        board = generator.integers(0, 49, 14).astype(np.int8)
        mover, opponent = rules.pack(board)
        assert np.array_equal(rules.unpack(mover, opponent), board)


def test_advance_on_packed_boards_is_play_and_status():
    board = rules.initial_board()
    packed = rules.pack(board)
    for ply, move in enumerate([5, 5, 3, 1, 4, 0]):
        *packed, status = rules.advance(*packed, move, ply, 400)
        rules.play(board, move)
        assert np.array_equal(rules.unpack(*packed), board)
        assert status == rules.status(board, ply + 1, 400)


def test_turning_twice_changes_nothing():
    board = np.arange(14).astype(np.int8)
    turned = board.copy()
    rules.turn(turned)
    assert turned.tolist() == [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 13, 12]
    rules.turn(turned)
    assert np.array_equal(turned, board)


def test_the_end_is_tested_in_the_order_of_the_rules():
    majority = board_of((1, 0, 0, 0, 0, 0), EMPTY, (25, 22))
    assert rules.status(majority, 400, 400) >> 6 == rules.MAJORITY
    unfed = board_of((4, 0, 0, 0, 0, 0), EMPTY, (22, 22))
    assert rules.status(unfed, 400, 400) >> 6 == rules.NO_FEEDING_MOVE
    running = board_of((0, 0, 0, 0, 0, 4), EMPTY, (22, 22))
    assert rules.status(running, 400, 400) == rules.MOVE_LIMIT << 6
    assert rules.status(running, 399, 400) == 0b100000


@pytest.mark.parametrize("stores", [(25, 20), (20, 25), (25, 23), (47, 0)])
def test_a_majority_of_either_side_ends_the_game_and_sweeps_nothing(stores):
    board = board_of((48 - sum(stores), 0, 0, 0, 0, 0), EMPTY, stores)
    reason = rules.status(board, 0, 400) >> 6
    assert reason == rules.MAJORITY
    assert rules.settle(board, reason) == stores


def test_24_seeds_are_no_majority():
    board = board_of((0, 0, 0, 0, 0, 2), (0, 0, 0, 0, 1, 0), (24, 21))
    assert rules.status(board, 0, 400) == 0b100000


def test_at_the_limit_each_side_takes_its_own_houses():
    board = board_of((1, 2, 0, 0, 0, 0), (0, 0, 0, 4, 1, 0), (22, 18))
    assert rules.settle(board, rules.MOVE_LIMIT) == (25, 23)


# Rules as data.


def test_rules_without_arguments_are_abapa():
    assert Rules() == Rules(400, 0, 0, 0, 0)
    assert rules.require_abapa(Rules(max_plies=7)) == Rules(max_plies=7)
    assert rules.describe_rules(Rules()) == "abapa (at most 400 plies)"
    assert rules.describe_rules(AWARI) == "awari (at most 400 plies)"
    assert rules.describe_rules(Rules(slam=1)) == "variant (1, 0, 0, 0) (at most 400 plies)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (AWARI, "games are played under abapa, not awari (at most 400 plies): other rule sets"),
        (Rules(slam=1), "not variant (1, 0, 0, 0)"),
        (Rules(max_plies=0), "max_plies must be between 1 and 2147483647, not 0"),
        (Rules(max_plies=-5), "not -5"),
        (Rules(max_plies=2**31), "not 2147483648"),
        (Rules(max_plies=2.5), "max_plies must be a whole number, not 2.5"),
        (Rules(max_plies=True), "max_plies must be a whole number, not True"),
        (Rules(max_plies="many"), "max_plies must be a whole number, not 'many'"),
        ((400, 0, 0, 0, 0), "rules must be a Rules value"),
        (None, "rules must be a Rules value"),
    ],
)
def test_rules_no_game_can_be_played_under_are_refused(given, message):
    with pytest.raises(OwareError) as caught:
        rules.require_abapa(given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# Awari: the other rule set, for the kernels alone.


def awari_moves(board):
    return letters(rules.legal_moves(board, AWARI.feeding))


def test_awari_forbids_a_slam_while_another_move_exists():
    board = board_of((3, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, 0), (22, 21))
    assert awari_moves(board) == "A"
    assert letters(rules.legal_moves(board)) == "AF"


def test_awari_captures_a_slam_when_every_move_leaves_the_opponent_empty():
    board = board_of((0, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, 0), (23, 23))
    assert awari_moves(board) == "F"
    assert rules.play(board, 5, AWARI.slam) == 2
    assert board.tolist() == [0] * 12 + [23, 25]


def test_awari_allows_every_move_when_none_feeds():
    board = board_of((1, 2, 0, 0, 0, 0), EMPTY, (22, 23))
    assert awari_moves(board) == "AB"
    assert rules.legal_moves(board) == 0


def test_awari_demands_a_feeding_move_of_an_empty_opponent():
    board = board_of((1, 0, 0, 2, 2, 1), EMPTY, (20, 22))
    assert awari_moves(board) == letters(rules.legal_moves(board)) == "EF"


def test_awari_demands_no_feeding_that_a_capture_does_not_undo():
    # F puts its one seed beside a's: both are taken, but e keeps the opponent alive.
    board = board_of((0, 0, 0, 0, 0, 1), (1, 0, 0, 0, 1, 0), (22, 23))
    assert awari_moves(board) == "F"
    assert rules.play(board.copy(), 5, AWARI.slam) == 2


def test_an_awari_mover_without_seeds_loses_the_rest_to_the_opponent():
    board = board_of(EMPTY, (0, 3, 0, 0, 1, 0), (24, 20))
    reason = rules.status(board, 10, 400, AWARI.feeding) >> 6
    assert reason == rules.NO_FEEDING_MOVE
    assert rules.settle(board, reason, AWARI.rest, AWARI.limit) == (24, 24)
    assert rules.settle(board, reason) == (28, 20)


@pytest.mark.parametrize(("houses", "half"), [((5, 1), 3), ((4, 3), 3)])
def test_awari_splits_the_rest_evenly_at_the_limit(houses, half):
    row, other = (houses[0], 0, 0, 0, 0, 0), (houses[1], 0, 0, 0, 0, 0)
    board = board_of(row, other, (20, 28 - sum(houses)))
    settled = rules.settle(board, rules.MOVE_LIMIT, AWARI.rest, AWARI.limit)
    assert settled == (20 + half, 28 - sum(houses) + half)


def test_awari_offers_what_abapa_offers_where_no_move_empties_the_opponent(random_game):
    compared = 0
    for seed in range(20):
        for state in random_game(seed)[:-1]:
            board = state.board
            afters = [board.copy() for _ in state.legal_moves]
            for after, move in zip(afters, state.legal_moves, strict=True):
                rules.play(after, move, AWARI.slam)
            if all(after[:6].any() for after in afters):
                assert rules.legal_moves(board, AWARI.feeding) == rules.legal_moves(board)
                compared += 1
    assert compared > 1000
