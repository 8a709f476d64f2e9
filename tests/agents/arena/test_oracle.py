from functools import cache

import numpy as np
import pytest

import agents
from agents.arena.match import play_match
from agents.arena.oracle import (
    OPEN,
    calibrate,
    game_positions,
    grade,
    join_positions,
    truth,
    uniform_positions,
)
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase
from oware_env.errors import OwareError
from oware_env.positions import Decisions, Positions
from oware_env.rules import Rules
from oware_env.state import State


@pytest.fixture
def table(rough):
    """Bounds that leave something open."""
    return rough


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """Up to six seeds, with every value."""
    return Tablebase(build_table(6, folder=tmp_path_factory.mktemp("exact")))


@cache
def result(state):
    """1, 0 or -1 for the side to move under the real rules, majority included, by trying it all."""
    if state.is_over:
        south, north = state.outcome.scores
        return int(np.sign(south - north)) * (1 if state.south_to_move else -1)
    return max(-result(state.play(move)) for move in state.legal_moves)


def state_of(positions, row, rules=Rules()):
    return State.from_board(positions.boards[row], True, rules, int(positions.plies[row]))


def test_results_near_the_limit_are_those_of_the_game_itself(exact):
    """The table knows the full margin; the game stops at 25. Both must agree in who wins."""
    random = uniform_positions(6, 150, seed=3)
    plies = np.full(len(random.plies), 400 - 7, np.int32)
    positions = Positions(random.boards, plies, random.keys)
    found = truth(exact, positions, 400)
    assert (found.results != OPEN).all()
    for row in range(len(plies)):
        state = state_of(positions, row)
        assert found.results[row] == result(state)
        for move in range(6):
            if move not in state.legal_moves:
                assert found.after[row, move] == OPEN
                assert not (found.keeps[row, move] or found.worsens[row, move])
                continue
            worth = -result(state.play(move))
            assert found.after[row, move] == worth
            assert found.keeps[row, move] == (worth == found.results[row])
            assert found.worsens[row, move] == (worth < found.results[row])
        worths = [-result(state.play(move)) for move in state.legal_moves]
        assert found.without_choice[row] == (len(set(worths)) == 1)
    assert found.decisions.sum() > 20


def test_far_from_the_limit_nothing_is_guessed(table):
    positions = uniform_positions(8, 2000)
    found = truth(table, positions, 400)
    is_open = found.results == OPEN
    assert 0 < is_open.mean() < 0.2
    assert not found.keeps[is_open].any() and not found.worsens[is_open].any()
    assert not (found.keeps & found.worsens).any()
    decided = ~is_open
    assert (found.worsens | found.keeps)[decided].any(axis=1).mean() > 0.9


def test_with_every_value_nothing_is_open(exact):
    found = truth(exact, uniform_positions(6, 1000, seed=8), 400)
    assert (found.results != OPEN).all()
    assert (found.keeps | found.worsens | np.isnan(found.regret)).all()
    assert found.keeps.any(axis=1).all()
    assert (found.decisions ^ found.without_choice).all()


def decisions_of(moves, value=np.nan):
    count = len(moves)
    policy = np.zeros((count, 6), np.float32)
    return Decisions(moves.astype(np.int8), policy, np.full(count, value, np.float32))


def test_the_best_moves_get_the_best_grade_and_the_worst_the_worst(table):
    positions = uniform_positions(7, 1000, seed=1)
    found = truth(table, positions, 400)
    regret = np.nan_to_num(found.regret, nan=1.0)
    cost = np.where(found.keeps, -1.0, np.where(found.worsens, 100.0, 0.0)) + regret
    legal = table.move_bounds(positions, 400)[0] != -128
    best = np.where(legal, cost, np.inf).argmin(axis=1)
    worst = np.where(legal, cost, -np.inf).argmax(axis=1)
    good, bad = grade(found, decisions_of(best)), grade(found, decisions_of(worst))
    assert good.accuracy == 1.0 and bad.accuracy == 0.0
    assert good.judged == good.decisions == bad.decisions == bad.judged > 100
    assert sum(good.blunders.values()) == 0 < sum(bad.blunders.values()) <= bad.judged
    assert good.regret < bad.regret and bad.regret_worst >= bad.regret_95 >= bad.regret
    assert good.positions == 1000 and good.decided == bad.decided
    assert good.accuracy_low < good.accuracy_high == pytest.approx(1.0)
    assert 0.0 == bad.accuracy_low < bad.accuracy_high < good.accuracy_low
    for one in (good, bad):
        assert one.positions >= one.decided >= one.decisions + one.without_choice


def test_values_are_held_against_the_proved_results(table):
    positions = uniform_positions(6, 500)
    found = truth(table, positions, 400)
    moves = np.array([state_of(positions, row).legal_moves[0] for row in range(500)])
    results = found.results[found.results != OPEN]
    assert grade(found, decisions_of(moves, 0.5)).value_error == pytest.approx(
        np.abs(0.5 - results).mean()
    )
    assert np.isnan(grade(found, decisions_of(moves)).value_error)


def test_calibration_holds_the_mean_value_of_a_bin_against_the_mean_result():
    values = np.array([-1.0, -0.9, -0.1, 0.1, 0.15, 0.99, 1.0], np.float32)
    results = np.array([-1, 1, 0, 1, 0, 1, 1], np.int8)
    bins = calibrate(results, values)
    assert [(one.low, one.high, one.positions) for one in bins] == [
        (-1.0, -0.8, 2),
        (-0.2, 0.0, 1),
        (0.0, 0.2, 2),
        (0.8, 1.0, 2),
    ]
    assert [one.predicted for one in bins] == pytest.approx([-0.95, -0.1, 0.125, 0.995])
    assert [one.proved for one in bins] == [0.0, 0.0, 0.5, 1.0]
    assert calibrate(np.zeros(0, np.int8), np.zeros(0, np.float32)) == ()


def test_values_that_are_right_on_average_are_calibrated_and_bold_ones_are_not(table):
    positions = uniform_positions(7, 1000)
    found = truth(table, positions, 400)
    moves = np.array([state_of(positions, row).legal_moves[0] for row in range(1000)])
    mean = found.results[found.results != OPEN].mean()
    right, bold = grade(found, decisions_of(moves, mean)), grade(found, decisions_of(moves, 0.95))
    assert right.calibration_error == pytest.approx(0.0, abs=1e-6)
    assert bold.calibration_error == pytest.approx(0.95 - mean)
    assert sum(one.positions for one in bold.calibration) == bold.decided
    none = grade(found, decisions_of(moves))
    assert np.isnan(none.calibration_error) and none.calibration == ()


def test_groups_of_positions_are_joined_without_doubles():
    some, more = uniform_positions(4, 60), uniform_positions(4, 60, seed=1)
    joined = join_positions([some, more, some], Rules())
    expected = np.unique(np.concatenate([some.boards, more.boards]), axis=0)
    assert np.array_equal(np.unique(joined.boards, axis=0), expected)
    assert len(joined.plies) == len(expected) == len(np.unique(joined.keys))


def test_nothing_to_count_is_not_a_number(table):
    none = Positions(np.zeros((0, 14), np.int8), np.zeros(0, np.int32), np.zeros(0, np.uint64))
    empty = grade(truth(table, none, 400), decisions_of(np.zeros(0)))
    assert empty.positions == 0
    assert np.isnan(empty.accuracy) and np.isnan(empty.regret_worst)


@pytest.mark.parametrize("seeds", [1, 4, 10])
def test_uniform_positions_are_running_distinct_and_of_so_many_seeds(seeds):
    positions = uniform_positions(seeds, 300, seed=5)
    assert (positions.boards[:, :12].sum(axis=1) == seeds).all()
    assert (positions.boards.sum(axis=1) == 48).all()
    assert len(np.unique(positions.boards, axis=0)) == len(positions.boards) <= 300
    assert all(not state_of(positions, row).is_over for row in range(len(positions.plies)))
    again = uniform_positions(seeds, 300, seed=5)
    assert all(np.array_equal(a, b) for a, b in zip(positions, again, strict=True))


def test_positions_of_games_are_those_a_move_was_made_on():
    games = play_match("careful", "greedy", games=20).games
    found = game_positions(games.moves, games.plies, 12, Rules())
    expected = {}
    for moves, plies in zip(games.moves, games.plies, strict=True):
        state = State.initial()
        for move in moves[:plies]:
            if sum(state.houses) <= 12:
                expected.setdefault(state.board.tobytes(), state.ply)
            state = state.play(int(move))
        assert state.is_over
    got = {b.tobytes(): int(p) for b, p in zip(found.boards, found.plies, strict=True)}
    assert got == expected and len(got) > 30


def test_the_ladder_is_graded_in_its_order(table):
    positions = uniform_positions(8, 1500)
    found = truth(table, positions, 400)
    specs = ("random", "greedy", "careful", "alphabeta:depth=6")
    grades = [grade(found, agents.make(spec).decide(positions)) for spec in specs]
    assert sorted(grades, key=lambda one: one.accuracy) == grades
    assert sorted(grades, key=lambda one: -one.regret) == grades


@pytest.mark.parametrize(
    ("moves", "values", "message"),
    [
        ([6, 0], [0.0, 0.0], "move 6 is not legal in position 0"),
        ([-1, 0], [0.0, 0.0], "move -1 is not legal in position 0"),
        ([0.0, 1.0], [0.0, 0.0], "2 positions need as many whole numbers as moves, not float64"),
        ([0], [0.0, 0.0], "of shape (1,)"),
        (None, [0.0, 0.0], "not object of shape ()"),
        (["A", "B"], [0.0, 0.0], "2 positions need as many whole numbers"),
        (0, [0.0], "2 positions need as many values"),
        (0, None, "2 positions need as many values"),
    ],
)
def test_answers_that_are_no_moves_are_refused(exact, moves, values, message):
    positions = Positions(*(array[:2] for array in uniform_positions(6, 20)))
    found = truth(exact, positions, 400)
    moves = found.legal.argmax(axis=1) if moves == 0 else moves
    with pytest.raises(OwareError) as caught:
        grade(found, Decisions(np.asarray(moves), None, np.asarray(values)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("seeds", "count"), [(0, 5), (49, 5), (10**6, 5), ("6", 5), (6, -1), (6, 2.5)]
)
def test_boards_that_there_are_none_of_are_refused(seeds, count):
    with pytest.raises(OwareError, match="boards hold 1 to 48"):
        uniform_positions(seeds, count)


@pytest.mark.parametrize(
    ("moves", "lengths"),
    [
        ([[6, 0]], [1]),
        ([[-1, 0]], [2]),
        ([[0, 0]], [3]),
        ([[0, 0]], [-1]),
        ([[0]], [1, 1]),
        ([0], [1]),
    ],
)
def test_games_of_what_are_no_moves_never_reach_a_kernel(moves, lengths):
    with pytest.raises(OwareError, match="moves must be 0 to 5"):
        game_positions(np.array(moves, np.int8), np.array(lengths, np.int32), 48, Rules())
