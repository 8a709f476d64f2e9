"""Value targets of hand-made games: the right sign for both seats, draws and every ending."""

from typing import NamedTuple

import numpy as np
import pytest

from agents.tablebase import build
from agents.tablebase.probe import Tablebase, open_table
from oware_env.encoding import NETWORK_SIZE, network_input
from oware_env.lockstep import Lockstep
from oware_env.positions import as_positions
from oware_env.rules import REASONS, Rules
from oware_env.state import State
from train.samples import (
    DRAW,
    LOSS,
    UNKNOWN_MARGIN,
    WIN,
    Bounds,
    GameEnds,
    Noted,
    Samples,
    join,
    make_samples,
    rescore,
)


class Case(NamedTuple):
    """A game near its end; results and margins are for the side to move at each ply."""

    position: str  # houses and stores as South sees them when South starts
    moves: str  # houses in relative numbers 0-5, one a ply
    scores: tuple[int, int]  # settled totals of the side that starts and the other
    reason: str
    results: list[int]
    margins: list[int]
    limit: int = 400


UNKNOWN = UNKNOWN_MARGIN
CASES = {
    # F lays the second seed into a: taking both would be a grand slam, so they stay, and North,
    # who cannot feed, gets them.
    "no feeding move, the starter loses": Case(
        "0-0-0-0-0-1-1-0-0-0-0-0-23-23", "5", (23, 25), "no_feeding_move", [LOSS], [-2]
    ),
    "no feeding move, draw": Case(
        "0-0-0-0-0-1-1-0-0-0-0-0-24-22", "5", (24, 24), "no_feeding_move", [DRAW], [-2]
    ),
    # A to B, then f lays North's last seed into A: the starter gets both seeds.
    "no feeding move, the starter wins": Case(
        "1-0-0-0-0-0-0-0-0-0-0-1-23-23", "05", (25, 23), "no_feeding_move", [WIN, LOSS], [2, -2]
    ),
    # The same with the starter behind in stores: both seeds bring it level.
    "no feeding move, the trailing side draws": Case(
        "1-0-0-0-0-0-0-0-0-0-0-1-22-24", "05", (24, 24), "no_feeding_move", [DRAW, DRAW], [2, -2]
    ),
    # F takes the two seeds of a; at the limit A's seed is the starter's, those of c the other's.
    "the limit after a capture": Case(
        "1-0-0-0-0-1-1-0-3-0-0-0-20-22",
        "52",
        (23, 25),
        "move_limit",
        [LOSS, WIN],
        [0, 2],
        limit=2,
    ),
    "the limit, draw": Case(
        "2-0-0-0-0-0-0-0-2-0-0-0-22-22", "02", (24, 24), "move_limit", [DRAW, DRAW], [0, 0], limit=2
    ),
    "the limit, the starter wins": Case(
        "3-0-0-0-0-0-0-0-1-0-0-0-22-22", "02", (25, 23), "move_limit", [WIN, LOSS], [2, -2], limit=2
    ),
    # F takes a and reaches 25: nobody knows who would have got the four seeds in d.
    "majority, the starter wins": Case(
        "0-0-0-0-0-1-1-0-0-4-0-0-23-19", "5", (25, 19), "majority", [WIN], [UNKNOWN]
    ),
    # A moves on, then f takes the three seeds of B: the other side goes beyond 25.
    "majority, the starter loses": Case(
        "1-1-0-0-0-2-0-0-0-0-0-2-18-24",
        "05",
        (18, 27),
        "majority",
        [LOSS, WIN],
        [UNKNOWN, UNKNOWN],
    ),
}


def _play_out(case, south_starts):
    """The samples and the end of a case with either seat starting."""
    numbers = case.position.split("-")
    if not south_starts:
        numbers = [*numbers[6:12], *numbers[:6], numbers[13], numbers[12]]
    rules = Rules(max_plies=case.limit)
    state = State.parse("-".join(numbers) + ("-S" if south_starts else "-N"), rules=rules)
    positions = as_positions(state.board[None], np.zeros(1), np.zeros(1))
    games = Lockstep(positions, np.array([south_starts]), rules)
    inputs, south = [], []
    for move in case.moves:
        boards, plies, _ = games.positions()
        inputs.append(network_input(boards, plies, rules.max_plies))
        south.append(games.south_to_move.copy())
        games.play(np.array([int(move)], np.int8))
    assert games.running == 0, "the case is not played to its end"
    ends = GameEnds(games.scores, games.lengths, games.reasons)
    plies = np.arange(len(inputs), dtype=np.int32)
    return make_samples(_note(np.concatenate(inputs), plies, np.concatenate(south)), ends), ends


def _note(inputs, plies, south, games=0):
    """What is noted of N positions that were not searched."""
    count = len(plies)
    return Noted(
        inputs,
        policies=np.zeros((count, 6), np.float32),
        values=np.full(count, np.nan, np.float32),
        plies=plies,
        games=np.broadcast_to(np.asarray(games, np.int32), count).copy(),
        south=south,
    )


@pytest.mark.parametrize("south_starts", [True, False], ids=["south", "north"])
@pytest.mark.parametrize("name", CASES)
def test_targets_of_hand_made_games(name, south_starts):
    case = CASES[name]
    samples, ends = _play_out(case, south_starts)
    scores = case.scores if south_starts else case.scores[::-1]
    assert tuple(ends.scores[0]) == scores
    assert REASONS[ends.reasons[0]] == case.reason
    assert samples.results.tolist() == case.results
    assert samples.margins.tolist() == case.margins


def test_the_cases_cover_every_ending_with_every_result():
    seen = {(case.reason, case.results[0]) for case in CASES.values()}
    wanted = {(reason, result) for reason in REASONS[2:] for result in (WIN, DRAW, LOSS)}
    assert seen == wanted | {("majority", WIN), ("majority", LOSS)}


def test_results_and_margins_agree_with_the_outcomes_of_whole_games(random_game):
    endings = set()
    for seed in range(60):
        states = random_game(seed, Rules(max_plies=400 if seed % 3 else 30 + seed))
        outcome, running = states[-1].outcome, states[:-1]
        endings.add(outcome.reason)
        samples = _samples_of(states)
        for row, state in enumerate(running):
            seat, other = (0, 1) if state.south_to_move else (1, 0)
            final = outcome.scores[seat] - outcome.scores[other]
            now = state.stores[seat] - state.stores[other]
            assert samples.results[row] == (WIN if final > 0 else LOSS if final < 0 else DRAW)
            expected = UNKNOWN if outcome.reason == "majority" else final - now
            assert samples.margins[row] == expected
    assert endings == set(REASONS[1:])


def _noted(states):
    """What is noted of the running states of one whole game."""
    running = states[:-1]
    boards = np.array([state.board for state in running], np.int8)
    plies = np.array([state.ply for state in running], np.int32)
    south = np.array([state.south_to_move for state in running])
    return _note(network_input(boards, plies, states[0].rules.max_plies), plies, south)


def _end(states):
    outcome = states[-1].outcome
    return GameEnds(
        np.array([outcome.scores], np.int16),
        np.array([states[-1].ply], np.int32),
        np.array([REASONS.index(outcome.reason)], np.int8),
    )


def _samples_of(states):
    """Samples of the running states of one whole game."""
    return make_samples(_noted(states), _end(states))


def test_margins_of_neighbouring_plies_mirror_each_other_up_to_what_was_captured():
    case = CASES["the limit after a capture"]
    samples, _ = _play_out(case, True)
    captured = int(samples.inputs[1, 13]) - int(samples.inputs[0, 12])
    assert captured == 2
    assert samples.margins[0] == captured - samples.margins[1]


def test_the_unknown_margin_is_no_margin_that_can_occur():
    assert UNKNOWN_MARGIN > 48


def test_samples_of_several_games_are_joined_in_order(random_game):
    parts = [_samples_of(random_game(seed)) for seed in (1, 2)]
    whole = join(parts)
    assert isinstance(whole, Samples) and len(whole) == len(parts[0]) + len(parts[1])
    for array, first, second in zip(whole, *parts, strict=True):
        assert array.tobytes() == np.concatenate([first, second]).tobytes()


@pytest.fixture(scope="module", params=["exact", "wide"])
def table(request, tmp_path_factory):
    """A table of up to eight seeds; a wide one is exact only to three."""
    if request.param == "exact":
        return open_table(8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "EXACT_SEEDS", 3)
        return Tablebase(build.build_table(8, folder=tmp_path_factory.mktemp("wide")))


def _proved(table, states):
    """Bounds (least, greatest) of the mover's final lead in every state, one at a time."""
    found = []
    for state in states:
        positions = as_positions(state.board[None], np.array([state.ply]), np.zeros(1))
        low, high = table.bounds(positions, state.rules.max_plies)
        ahead = int(state.board[12]) - int(state.board[13])
        found.append((ahead + int(low[0]), ahead + int(high[0])))
    return found


def _sign(number):
    return (number > 0) - (number < 0)


def _expected(states, proved):
    """Result and margin of every running state, worked out forwards from each, by the text."""
    outcome, running = states[-1].outcome, states[:-1]
    end = outcome.scores[0] - outcome.scores[1]  # South's
    for number, state in enumerate(running):
        winner, lead = _sign(end), None if outcome.reason == "majority" else end
        later = [
            (least, greatest) if s.south_to_move else (-greatest, -least)
            for s, (least, greatest) in zip(running[number:], proved[number:], strict=True)
        ]
        winner = next((_sign(a) for a, b in later if _sign(a) == _sign(b)), winner)
        exact = next((at for at, (least, greatest) in enumerate(later) if least == greatest), None)
        if exact is not None:
            lead = later[exact][0]
        if lead is not None and any(not a <= lead <= b for a, b in later[:exact]):
            lead = None
        side = 1 if state.south_to_move else -1
        ahead = int(state.board[12]) - int(state.board[13])
        yield DRAW - side * winner, UNKNOWN if lead is None else side * lead - ahead


def _rescored(states, proved):
    bounds = Bounds(*np.array(proved, np.int8).reshape(-1, 2).T)
    noted = _noted(states)
    return rescore(make_samples(noted, _end(states)), noted, _end(states), bounds)


def test_rescoring_equals_a_slow_version_that_looks_forward(random_game, table):
    changed = gained = 0
    for seed in range(80):
        states = random_game(seed, Rules(max_plies=400 if seed % 3 else 150 + seed))
        proved = _proved(table, states[:-1])
        before, after = _samples_of(states), _rescored(states, proved)
        expected = list(_expected(states, proved))
        assert after.results.tolist() == [result for result, _ in expected]
        assert after.margins.tolist() == [margin for _, margin in expected]
        assert np.array_equal(after.inputs, before.inputs)
        known = after.margins != UNKNOWN
        leads = after.margins + after.inputs[:, 12].astype(int) - after.inputs[:, 13]
        assert (np.sign(leads[known]) == DRAW - after.results[known]).all()
        changed += (after.results != before.results).sum()
        gained += (known & (before.margins == UNKNOWN)).sum()
    assert changed > 500 and gained > 500


def test_a_blunder_in_the_ending_does_not_spoil_the_labels_before_it():
    # A-B wins by 25-23. South plays E instead, and f takes both seeds at A: 25-22 for North.
    states = [State.parse("1-0-0-0-1-0-0-0-0-0-0-1-22-23-S")]
    for move in ("E", "f"):
        states.append(states[-1].play(move))
    assert (states[-1].outcome.winner, states[-1].outcome.scores) == ("north", (22, 25))
    before = _samples_of(states)
    assert (before.results.tolist(), before.margins.tolist()) == ([LOSS, WIN], [UNKNOWN, UNKNOWN])
    after = _rescored(states, _proved(open_table(8), states[:-1]))
    assert after.results.tolist() == [WIN, WIN]
    assert after.margins.tolist() == [3, 3]


def test_each_proof_counts_back_to_the_proof_before_it_and_each_game_for_itself():
    # Two games in turns, South to move in every row, nothing captured yet; game 0 was lost in the
    # end, game 1 drawn. Row 2 is proved won by 4, row 4 drawn, row 6 (by 2 to 6) won.
    games = np.array([0, 1, 0, 1, 0, 1, 0, 0], np.int32)
    least = [-48, -48, 4, -48, 0, -48, 2, -48]
    greatest = [48, 48, 4, 48, 0, 48, 6, 48]
    ends = GameEnds(
        np.array([[20, 28], [24, 24]], np.int16), np.array([5, 3], np.int32), np.full(2, 3, np.int8)
    )
    plies, south = np.arange(8, dtype=np.int32), np.ones(8, np.bool_)
    noted = _note(np.zeros((8, NETWORK_SIZE), np.uint8), plies, south, games)
    noted.values[:] = np.linspace(-0.7, 0.7, 8)
    plain = make_samples(noted, ends, first_game=30)
    bounds = Bounds(np.array(least, np.int8), np.array(greatest, np.int8))
    after = rescore(plain, noted, ends, bounds)
    assert plain.results.tolist() == [LOSS, DRAW] * 3 + [LOSS, LOSS]
    assert after.results.tolist() == [WIN, DRAW, WIN, DRAW, DRAW, DRAW, WIN, LOSS]
    assert after.margins.tolist() == [4, 0, 4, 0, 0, 0, UNKNOWN, -8]
    assert after.games.tolist() == plain.games.tolist() == (games + 30).tolist()
    expected = noted.values.copy()
    expected[[2, 4, 6]] = 1, 0, 1  # what is proved; the search's word elsewhere
    assert plain.values.tolist() == noted.values.tolist()
    assert after.values.tolist() == expected.tolist()
