"""Alpha-beta against plain minimax, forced wins, promises about batches, tables and time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from agents.search import alphabeta
from agents.search.alphabeta import AlphaBeta
from agents.search.alphabeta_kernels import decide_rows, search_slice
from agents.search.alphabeta_root import answer, begin
from agents.search.alphabeta_state import IS_EXACT, NODES, new_search
from agents.search.evaluation import EVALUATIONS, evaluate
from agents.tablebase.probe import Tablebase
from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import Rules, play, settle, status
from oware_env.state import State

RULES = Rules(max_plies=120)


@kernel
def minimax(board, ply, depth, level, kind, max_plies):
    """Plain negamax without bounds, table or order: what alpha-beta must find."""
    outcome = status(board, ply, max_plies)
    if outcome >= 64:
        mover, opponent = settle(board, outcome >> 6)
        if mover == opponent:
            return 0
        if mover > opponent:
            return 30_000 - 64 * level + mover - opponent
        return -30_000 + 64 * level + mover - opponent
    if depth == 0:
        return evaluate(board, kind)
    best = -40_000
    for move in range(6):
        if outcome >> move & 1:
            after = board.copy()
            play(after, move)
            value = -minimax(after, ply + 1, depth - 1, level + 1, kind, max_plies)
            best = max(best, value)
    return best


def move_values(board: np.ndarray, ply: int, depth: int, kind: int) -> dict[int, int]:
    """The exact value of each legal move."""
    values = {}
    for move in range(6):
        if status(board, ply, RULES.max_plies) >> move & 1:
            after = board.copy()
            play(after, move)
            values[move] = -minimax(after, ply + 1, depth - 1, 1, kind, RULES.max_plies)
    return values


def arbitrary_positions(count: int, seed: int) -> Positions:
    """Running positions with any stores below 25 and plies up to the limit.

    A third are reached by random play, a third are close to a majority, a third hold few seeds.
    """
    random = np.random.default_rng(seed)
    boards: list[np.ndarray] = []
    plies: list[int] = []
    while len(boards) < count:
        board, ply = np.array([4] * 12 + [0, 0], np.int8), 0
        if len(boards) % 3:
            lowest = 20 if len(boards) % 3 == 1 else 15
            board[12:] = random.integers(lowest, 25, 2)
            houses = random.choice(12, random.integers(3, 13), replace=False)
            board[:12] = 0
            np.add.at(board, random.choice(houses, 48 - board[12:].sum()), 1)
            ply = RULES.max_plies - int(random.integers(1, 12))
        for _ in range(random.integers(0, 40)):
            moves = status(board, ply, RULES.max_plies)
            if moves >= 64 or ply >= 60:
                break
            play(board, random.choice([move for move in range(6) if moves >> move & 1]))
            ply += 1
        if status(board, ply, RULES.max_plies) < 64:
            boards.append(board)
            plies.append(ply)
    return as_positions(np.array(boards), np.array(plies), game_keys(0, np.arange(count)))


def one(text: str, ply: int = 0, keys: int = 1) -> Positions:
    state = State.parse(text)
    boards = np.repeat(state.board[None], keys, axis=0)
    return as_positions(boards, np.full(keys, ply), game_keys(0, np.arange(keys)))


def squashed(value: int) -> np.float32:
    if abs(value) > 25_000:
        return np.float32(np.sign(value))
    return np.float32(math.tanh(value / 800))


@pytest.mark.parametrize("kind", EVALUATIONS)
@pytest.mark.parametrize("depth", range(1, 7))
def test_equals_plain_minimax(depth: int, kind: str) -> None:
    positions = arbitrary_positions(90, seed=depth)
    decisions = AlphaBeta(RULES, depth=depth, evaluation=kind).decide(positions)
    for row, (board, ply, _) in enumerate(zip(*positions, strict=True)):
        values = move_values(board, ply, depth, EVALUATIONS[kind])
        best = max(values.values())
        assert values[decisions.moves[row]] == best, (board, ply)
        assert decisions.value[row] == pytest.approx(squashed(best), abs=1e-6), (board, ply)


# The moves of alphabeta:depth=8,evaluation=material, against which figures are measured.
YARDSTICK = (
    "343355400134013025201002314243310305032020501540444452530333055040131425000"
    "330421135001001511355533250553540442242224011254441205211352504150302443344"
)


def test_the_yardstick_plays_as_it_always_did() -> None:
    """alphabeta:depth=8,evaluation=material, move for move, ties included (first release)."""
    agent = AlphaBeta(RULES, depth=8, evaluation="material")
    moves = agent.decide(arbitrary_positions(150, seed=100)).moves
    assert "".join(map(str, moves)) == YARDSTICK


def test_policy_is_one_hot() -> None:
    positions = arbitrary_positions(30, seed=1)
    decisions = AlphaBeta(RULES, depth=3).decide(positions)
    assert np.array_equal(decisions.policy, np.eye(6, dtype=np.float32)[decisions.moves])
    assert [array.dtype for array in decisions] == [np.int8, np.float32, np.float32]


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_finds_a_win_in_one(kind: str) -> None:
    decisions = AlphaBeta(Rules(), depth=1, evaluation=kind).decide(
        one("1-0-0-1-0-2-2-2-0-1-0-0-21-18-S")  # F takes b and a
    )
    assert (decisions.moves[0], decisions.value[0]) == (5, 1)


WIN_IN_THREE = "0-2-1-0-4-2-1-0-1-0-0-0-22-15-S"


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_finds_a_win_in_three_plies(kind: str) -> None:
    positions = one(WIN_IN_THREE)
    assert AlphaBeta(Rules(), depth=2, evaluation=kind).decide(positions).value[0] < 1
    decisions = AlphaBeta(Rules(), depth=3, evaluation=kind).decide(positions)
    assert decisions.value[0] == 1
    after = State.parse(WIN_IN_THREE).play(int(decisions.moves[0]))
    assert not after.is_over
    for reply in after.legal_moves:
        state = after.play(reply)
        wins = [state.play(move) for move in state.legal_moves]
        assert any(win.is_over and win.stores[0] >= 25 for win in wins), reply


def test_sees_the_result_at_the_move_limit() -> None:
    # 20-19 with two plies to go: only what lies in the own houses at the limit counts.
    text = "0-0-0-0-0-4-0-0-5-0-0-0-20-19-S"
    decisions = AlphaBeta(Rules(max_plies=50), depth=8).decide(one(text, ply=48))
    assert decisions.value[0] == -1


def test_a_row_is_decided_as_if_it_were_alone() -> None:
    positions = arbitrary_positions(60, seed=2)
    agent = AlphaBeta(RULES, depth=6)
    together = agent.decide(positions)
    backwards = agent.decide(Positions(*(np.ascontiguousarray(a[::-1]) for a in positions)))
    assert np.array_equal(backwards.moves[::-1], together.moves)
    for row in range(60):
        alone = AlphaBeta(RULES, depth=6).decide(Positions(*(a[row : row + 1] for a in positions)))
        assert alone.moves[0] == together.moves[row]
        assert alone.value[0] == together.value[row]


def test_what_was_found_far_from_the_limit_is_not_believed_near_it() -> None:
    positions = arbitrary_positions(60, seed=7)
    agent = AlphaBeta(RULES, depth=6)
    for left in (60, 6, 5, 7):
        positions = positions._replace(plies=np.full(60, RULES.max_plies - left, np.int32))
        used, fresh = agent.decide(positions), AlphaBeta(RULES, depth=6).decide(positions)
        assert np.array_equal(used.moves, fresh.moves)
        assert np.array_equal(used.value, fresh.value)


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_the_table_changes_nothing(kind: str) -> None:
    positions = arbitrary_positions(40, seed=3)
    expected = AlphaBeta(RULES, depth=7, evaluation=kind).decide(positions)
    moves, values = np.empty(40, np.int8), np.empty(40, np.float32)
    search = new_search(EVALUATIONS[kind], RULES.max_plies, 0)  # remembers one position
    decide_rows(search, *positions, 7, moves, values)
    assert np.array_equal(moves, expected.moves)
    assert np.array_equal(values, expected.value)


def test_slices_change_nothing() -> None:
    positions = arbitrary_positions(30, seed=4)
    expected = AlphaBeta(RULES, depth=5).decide(positions)
    search = new_search(EVALUATIONS["full"], RULES.max_plies, 12)
    for row, (board, ply, key) in enumerate(zip(*positions, strict=True)):
        begin(search, board, ply, key, 5)
        while not search_slice(search, 3):
            pass
        move, value = answer(search)
        assert (move, np.float32(value)) == (expected.moves[row], expected.value[row])


def test_equal_moves_are_chosen_by_the_games_key() -> None:
    positions = one("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", keys=200)
    agent = AlphaBeta(Rules(), depth=1, evaluation="material")
    moves = agent.decide(positions).moves
    assert np.bincount(moves, minlength=6).min() > 15  # no move captures: all six are equal
    assert np.array_equal(agent.decide(positions).moves, moves)


def test_a_timed_search_that_completes_a_depth_answers_as_a_fixed_one() -> None:
    positions = arbitrary_positions(40, seed=5)
    plies = np.full(40, RULES.max_plies - 5, np.int32)  # nothing is left to search below 5 plies
    positions = positions._replace(plies=plies)
    fixed = AlphaBeta(RULES, depth=5).decide(positions)
    timed = AlphaBeta(RULES, time=30).decide(positions)
    assert np.array_equal(timed.value, fixed.value)
    for row in range(40):  # among equal moves the timed search may take another
        values = move_values(positions.boards[row], plies[row], 5, EVALUATIONS["full"])
        is_certain = abs(timed.value[row]) == 1
        found, best = values[timed.moves[row]], max(values.values())
        assert np.sign(found) == np.sign(best) if is_certain else found == best


def test_a_timed_search_deepens() -> None:
    decisions = AlphaBeta(Rules(), time=0.01).decide(one(WIN_IN_THREE))
    assert decisions.value[0] == 1  # invisible at depths 1 and 2


def test_a_timed_search_stops_when_its_seconds_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[float] = []

    def perf_counter() -> float:
        readings.append(0.25 * len(readings))
        return readings[-1]

    monkeypatch.setattr(alphabeta, "clock", SimpleNamespace(perf_counter=perf_counter))
    positions = one("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", keys=3)
    decisions = AlphaBeta(Rules(), time=1).decide(positions)
    assert len(readings) == 3 * 5  # each row: the start, and four slices of a quarter of a second
    assert np.all((decisions.moves >= 0) & (decisions.moves < 6))


def test_the_mean_depth_is_of_the_searches_that_the_clock_stopped() -> None:
    agent = AlphaBeta(Rules(), time=0.005)
    assert math.isnan(agent.mean_depth)
    agent.decide(one(WIN_IN_THREE))  # ends by itself
    assert math.isnan(agent.mean_depth)
    agent.decide(one("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", keys=3))
    assert 3 < agent.mean_depth < 60


def test_a_timed_search_prunes_and_a_fixed_depth_does_not() -> None:
    start = one("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S")
    nodes = []
    for is_exact in (1, 0):
        search = new_search(EVALUATIONS["full"], 400, 14)
        search.state[IS_EXACT] = is_exact
        begin(search, start.boards[0], 0, 1, 14)
        assert search_slice(search, 1 << 40)
        nodes.append(search.state[NODES])
    assert nodes[1] < nodes[0] / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of depth and time"),
        ({"depth": 4, "time": 0.1}, "exactly one of depth and time"),
        ({"depth": 0}, "from 1 to 60, not 0"),
        ({"depth": 61}, "from 1 to 60, not 61"),
        ({"depth": 2.5}, "whole number from 1 to 60, not 2.5"),
        ({"time": 0}, "seconds above 0, not 0"),
        ({"time": math.nan}, "seconds above 0, not nan"),
        ({"depth": 4, "evaluation": "fool"}, "one of material, full, not 'fool'"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OwareError, match=message):
        AlphaBeta(Rules(), **options)  # type: ignore[arg-type]


def test_the_name_is_the_spec(rough: Tablebase) -> None:
    assert AlphaBeta(Rules(), depth=8).name == "alphabeta:depth=8"
    assert AlphaBeta(Rules(), depth=8, table=rough.arrays).name == "alphabeta:depth=8,table=8"
    name = AlphaBeta(Rules(), time=0.1, evaluation="material").name
    assert name == "alphabeta:time=0.1,evaluation=material"
