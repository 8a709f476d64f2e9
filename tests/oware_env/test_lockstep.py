"""Games played side by side to their ends equal games played one by one with States."""

import numpy as np
import pytest

from oware_env.errors import OwareError
from oware_env.lockstep import Lockstep, open_randomly, play_randomly
from oware_env.positions import (
    DRAW_MOVE,
    DRAW_OPENING,
    Positions,
    game_keys,
    pick_move,
    random_bits,
)
from oware_env.rules import AWARI, REASONS, Rules, initial_board, status
from oware_env.state import IllegalMove, State


def start(count, seed=0, south=True):
    boards = np.tile(initial_board(), (count, 1))
    keys = game_keys(np.uint64(seed), np.arange(count))
    return Positions(boards, np.zeros(count, np.int32), keys), np.full(count, south)


def keyed_move(mask, key, ply):
    return pick_move(int(mask), np.uint64(random_bits(np.uint64(key), ply, DRAW_MOVE, 0)))


def keyed_moves(games):
    _, plies, keys = games.positions()
    rows = zip(games.statuses, keys, plies, strict=True)
    return np.array([keyed_move(code, key, ply) for code, key, ply in rows], np.int8)


def play_out(games):
    while games.running:
        games.play(keyed_moves(games))
    return games


def replay(state, key):
    """The last state of the same game played move by move."""
    while not state.is_over:
        state = state.play(keyed_move(sum(1 << move for move in state.legal_moves), key, state.ply))
    return state


def opened(count, rules, seed=3):
    """Starts with both seats to move and plies of 0 to 30."""
    positions, south = start(count, seed)
    open_randomly(*positions[:2], south, positions.keys, 30, rules.max_plies)
    return positions, south


@pytest.mark.parametrize("max_plies", [400, 90])
def test_games_equal_those_replayed_with_states(max_plies):
    rules = Rules(max_plies=max_plies)
    positions, south = opened(80, rules)
    assert len(set(south.tolist())) == 2 and len(set(positions.plies.tolist())) > 10
    games = play_out(Lockstep(positions, south, rules))
    for game in range(80):
        begin = State.from_board(
            positions.boards[game], bool(south[game]), rules, int(positions.plies[game])
        )
        last = replay(begin, positions.keys[game])
        assert tuple(games.scores[game].tolist()) == last.outcome.scores
        assert games.lengths[game] == last.ply
        assert REASONS[games.reasons[game]] == last.outcome.reason
    wanted = {"majority", "move_limit"} if max_plies == 90 else set(REASONS[1:])
    assert {REASONS[reason] for reason in games.reasons} >= wanted


def test_a_game_that_north_starts_is_the_turned_one():
    positions, south = start(30)
    by_south = play_out(Lockstep(positions, south))
    by_north = play_out(Lockstep(positions, ~south))
    assert np.array_equal(by_north.scores, by_south.scores[:, ::-1])
    assert np.array_equal(by_north.lengths, by_south.lengths)
    assert np.array_equal(by_north.reasons, by_south.reasons)


def test_running_games_are_packed_in_front_under_their_own_numbers():
    rules = Rules(max_plies=70)
    positions, south = opened(40, rules)
    states = [
        State.from_board(board, bool(side), rules, int(ply))
        for board, ply, side in zip(positions.boards, positions.plies, south, strict=True)
    ]
    games, sizes = Lockstep(positions, south, rules), set()
    while games.running:
        sizes.add(games.running)
        numbers = games.games.tolist()
        assert numbers == [game for game in range(40) if not states[game].is_over]
        boards, plies, keys = games.positions()
        assert np.array_equal(keys, positions.keys[numbers])
        for row, game in enumerate(numbers):
            assert games.state(row) == states[game]
            assert np.array_equal(boards[row], states[game].board)
            assert plies[row] == states[game].ply
            assert games.south_to_move[row] == states[game].south_to_move
            assert games.statuses[row] == status(boards[row], plies[row], 70)
            assert games.lengths[game] == 0
        moves = keyed_moves(games)
        for game, move in zip(numbers, moves.tolist(), strict=True):
            states[game] = states[game].play(move)
        games.play(moves)
    assert len(sizes) > 10


def test_games_that_are_stopped_leave_the_others_as_they_are():
    positions, south = opened(30, Rules())
    games, others = Lockstep(positions, south), Lockstep(positions, south)
    for _ in range(5):
        for each in (games, others):
            each.play(keyed_moves(each))
    stopped = games.games % 3 == 0
    numbers, plies = games.games[stopped].copy(), games.positions().plies[stopped].copy()
    games.stop(stopped, np.tile([30, 18], (len(numbers), 1)))
    assert games.running == others.running - len(numbers)
    kept = ~np.isin(others.games, numbers)
    for mine, theirs in zip(contents(games)[:6], contents(others)[:6], strict=True):
        assert np.array_equal(mine, theirs[kept])
    assert (games.scores[numbers] == [30, 18]).all() and not games.reasons[numbers].any()
    assert np.array_equal(games.lengths[numbers], plies)
    play_out(games), play_out(others)
    rest = np.setdiff1d(np.arange(30), numbers)
    assert np.array_equal(games.scores[rest], others.scores[rest])
    assert np.array_equal(games.lengths[rest], others.lengths[rest])
    assert (games.scores[numbers] == [30, 18]).all() and games.reasons[rest].all()


def test_a_game_does_not_depend_on_how_many_are_played():
    positions, south = start(20)
    together = play_out(Lockstep(positions, south))
    few = Positions(*(array[5:7] for array in positions))
    apart = play_out(Lockstep(few, south[5:7]))
    assert np.array_equal(apart.scores, together.scores[5:7])
    assert np.array_equal(apart.lengths, together.lengths[5:7])


def test_the_positions_given_are_copied():
    positions, south = start(4)
    play_out(Lockstep(positions, south))
    again, south_again = start(4)
    assert np.array_equal(south, south_again)
    assert all(np.array_equal(a, b) for a, b in zip(positions, again, strict=True))


def contents(games):
    arrays = (*games.positions(), games.south_to_move, games.statuses, games.games)
    return [array.copy() for array in (*arrays, games.scores, games.lengths, games.reasons)]


@pytest.mark.parametrize(("move", "why"), [(2, "empty"), (6, "a move is 0-5"), (-1, "0-5")])
def test_an_illegal_move_names_the_game_and_changes_nothing(move, why):
    rules = Rules(max_plies=60)
    games = Lockstep(*opened(30, rules), rules)
    while games.running > 20:  # so that rows and numbers of games differ
        games.play(keyed_moves(games))
    row = 12
    if move == 2:
        row = int(np.flatnonzero((games.statuses & 4) == 0)[-1])
    assert games.games[row] != row
    before, moves = contents(games), keyed_moves(games)
    moves[row] = move
    with pytest.raises(IllegalMove, match=f"game {games.games[row]}: .*{why}") as caught:
        games.play(moves)
    assert caught.value.position == games.state(row).to_text()
    assert all(np.array_equal(a, b) for a, b in zip(before, contents(games), strict=True))


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_of_moves_is_refused(count):
    games = Lockstep(*start(3))
    with pytest.raises(ValueError, match="3 games run"):
        games.play(np.zeros(count, np.int8))
    assert games.running == 3


def test_a_position_that_is_over_is_refused():
    positions, south = start(3)
    over = positions._replace(plies=np.array([0, 400, 0], np.int32))
    with pytest.raises(ValueError, match="game 1 is over before its first move"):
        Lockstep(over, south)


def test_other_rules_are_refused():
    with pytest.raises(ValueError, match="abapa, not awari"):
        Lockstep(*start(1), AWARI)


@pytest.mark.parametrize("most", [0, 1, 12, 300])
def test_a_random_opening_leaves_every_game_running_and_the_sides_right(most):
    positions, south = start(400)
    south[::2] = False
    before = south.copy()
    open_randomly(*positions[:2], south, positions.keys, most, 400)
    boards, plies, _ = positions
    assert (plies >= 0).all() and (plies <= most).all()
    assert np.array_equal(south, before ^ (plies % 2 == 1))
    assert all(status(board, ply, 400) < 64 for board, ply in zip(boards, plies, strict=True))
    assert (boards.sum(axis=1) == 48).all()
    if most == 12:
        assert set(plies.tolist()) == set(range(13))
    if most == 300:  # those that would end on the way have stayed where they were
        assert 20 < (plies == 0).sum() < 400 and plies.max() > 60


def test_a_random_opening_is_one_line_of_play_from_where_the_game_stood():
    positions, south = opened(30, Rules(), seed=5)
    for game in range(30):
        state = State.initial()
        for _ in range(positions.plies[game]):
            mask = sum(1 << move for move in state.legal_moves)
            bits = random_bits(positions.keys[game], state.ply, DRAW_OPENING, 0)
            state = state.play(pick_move(mask, np.uint64(bits)))
        assert np.array_equal(state.board, positions.boards[game])
        assert state.south_to_move == south[game]


def test_random_play_notes_its_moves_and_stops_at_the_end_of_the_game():
    board, moves = initial_board(), np.full(1000, -1, np.int8)
    ply = play_randomly(board, 0, moves, np.uint64(7), 400)
    state = State.initial()
    for move in moves[:ply].tolist():
        state = state.play(move)
    assert state.is_over and state.ply == ply
    assert np.array_equal(state.board, board) and (moves[ply:] == -1).all()
    assert play_randomly(board, ply, moves[:5], np.uint64(7), 400) == ply


@pytest.mark.parametrize("limit", [10, 400])
def test_random_play_stops_at_the_number_of_moves_or_at_the_limit(limit):
    board, moves = initial_board(), np.full(12, -1, np.int8)
    assert play_randomly(board, 0, moves, np.uint64(7), limit) == min(limit, 12)
    assert (moves >= 0).sum() == min(limit, 12)


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ([0.0] * 3, "float64 of shape"),
        (np.full(3, np.nan), "float64 of shape"),
        ([True, 0, 0], "bool of shape"),
        (None, "object of shape"),
    ],
)
def test_moves_that_are_no_integers_change_nothing(moves, found):
    games = Lockstep(*start(3))
    with pytest.raises(OwareError, match=f"3 games run: moves must be 3 integers.*not {found}"):
        games.play(moves)
    assert games.running == 3 and not games.positions().plies.any()


def test_what_games_are_started_and_stopped_with_is_checked():
    positions, south = start(3)
    for other in (positions._replace(boards=positions.boards * 0.3), tuple(positions[:2]), None):
        with pytest.raises(OwareError, match=r"must be whole numbers of int8|must be Pos"):
            Lockstep(other, south)
    for other in (south[:2], [1, 0, 1], np.ones(3), None):
        with pytest.raises(OwareError, match="south_to_move must be 3 booleans, one a game, not"):
            Lockstep(positions, other)
    games, scores = Lockstep(positions, south), np.tile([30, 18], (3, 1))
    for other in (south[:2], [0, 1, 2], None):
        with pytest.raises(OwareError, match="rows must be 3 booleans, one a game, not"):
            games.stop(other, scores)
    for other in (scores[:2], scores * 1.0, scores * 2, None):
        with pytest.raises(OwareError, match="scores must be "):
            games.stop(np.ones(3, np.bool_), other)
    with pytest.raises(OwareError, match="row must be at most 2, not 3"):
        games.state(3)
    assert games.running == 3 and not games.scores.any()
