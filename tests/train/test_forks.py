"""Forks: late positions played on from once more, with moves that the search would not make."""

from collections import Counter

import numpy as np
import pytest

from agents.tablebase.probe import open_table
from oware_env.encoding import network_input
from oware_env.errors import OwareError
from oware_env.positions import Positions
from oware_env.rules import legal_moves, play
from train.endgames import final_bounds
from train.forks import ABOVE
from train.learner import Learner
from train.samples import DRAW, Samples
from train.selfplay import SelfPlayUnit, play_unit

SEEDS = 8
MODE = {
    "selfplay.search_plies": 400,
    "selfplay.table": SEEDS,
    "selfplay.games": 64,
    "selfplay.lessons": 0,
    "max_plies": 400,
}


def _play(tiny, mode, forks):
    config = tiny({**MODE, "selfplay.endgames": mode, "selfplay.forks": forks})
    return config, play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 2))


def _children(board):
    """The boards after each legal move."""
    board = board.astype(np.int8)
    for move in range(6):
        if legal_moves(board) >> move & 1:
            child = board.copy()
            play(child, move)
            yield child


@pytest.fixture(scope="module", params=["both", "adjudicate"])
def with_and_without(tiny, request):
    return _play(tiny, request.param, 3), _play(tiny, request.param, 0)


@pytest.fixture(scope="module")
def forks(with_and_without):
    (_, played), (_, plain) = with_and_without
    return Samples(*(array[len(plain.samples) :] for array in played.samples))


def test_the_games_are_the_same_and_the_forks_come_after_them(with_and_without, forks):
    (_, played), (_, plain) = with_and_without
    for ours, theirs in zip(played.samples, plain.samples, strict=True):
        assert ours[: len(theirs)].tobytes() == theirs.tobytes()
    for ours, theirs in zip(
        (*played.ends, *played.moves), (*plain.ends, *plain.moves), strict=True
    ):
        assert np.array_equal(ours, theirs)
    assert played.figures["forks"] == len(forks) > 200
    assert played.figures["simulations"] > plain.figures["simulations"]
    assert plain.figures["forks"] == 0


def test_each_begins_with_a_move_that_its_game_did_not_make(with_and_without, forks):
    (config, _), (_, plain) = with_and_without
    assert (forks.inputs[:, :12].sum(axis=1) <= SEEDS + ABOVE).all()
    lines = {
        (number, ply): board
        for number, ply, board in zip(
            plain.samples.games, plain.samples.plies, plain.samples.inputs[:, :14], strict=True
        )
    }
    begun = Counter()
    for number, ply, board in zip(forks.games, forks.plies, forks.inputs[:, :14], strict=True):
        before, after = lines.get((number, ply - 1)), lines.get((number, ply))
        if before is not None and (after is None or (board != after).any()):
            begun[number] += any((board == child).all() for child in _children(before))
    assert sum(count >= config.selfplay.forks for count in begun.values()) > 20


def test_the_same_unit_has_the_same_forks(tiny, with_and_without):
    (config, played) = with_and_without[0]
    _, again = _play(tiny, config.selfplay.endgames, config.selfplay.forks)
    for ours, theirs in zip(played.samples, again.samples, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_they_show_positions_that_the_game_did_not(with_and_without, forks):
    (_, plain) = with_and_without[1]
    seen = {board.tobytes() for board in plain.samples.inputs[:, :14]}
    new = {board.tobytes() for board in forks.inputs[:, :14]} - seen
    assert len(new) > len(forks) / 2


def test_all_of_them_end_where_the_table_decides(with_and_without, forks):
    config = with_and_without[0][0]
    boards = forks.inputs[:, :14].astype(np.int8)
    faced = Positions(boards, forks.plies, np.zeros(len(boards), np.uint64))
    bounds = final_bounds(open_table(SEEDS), faced, config.max_plies)
    assert bounds.decided.sum() > 20
    assert not forks.policies[bounds.decided].any(), "nobody moves there any more"
    assert np.array_equal(
        DRAW - forks.results[bounds.decided], np.sign(bounds.least[bounds.decided])
    )
    assert np.array_equal(forks.inputs, network_input(boards, forks.plies, config.max_plies))


def test_a_result_that_the_search_proves_is_the_target_whatever_came_of_it(with_and_without, forks):
    """Above the table a value is exact only when the search proved it."""
    config = with_and_without[0][0]
    is_above = forks.inputs[:, :12].sum(axis=1) > SEEDS
    is_proved = is_above & np.isin(forks.values, [-1.0, 0.0, 1.0])
    if config.selfplay.endgames == "adjudicate":  # its searches do not look into the table
        assert not is_proved.any()
        return
    assert is_proved.sum() > 50
    assert np.array_equal(DRAW - forks.results[is_proved], forks.values[is_proved])


@pytest.mark.parametrize("mode", ["none", "search"])
def test_refused_where_no_game_is_ended(tiny, mode):
    with pytest.raises((OwareError, ValueError), match="forks is not read"):
        tiny({"selfplay.endgames": mode, "selfplay.forks": 2})


def test_games_without_late_positions_have_none(tiny):
    mode = {"selfplay.endgames": "both", "selfplay.table": 2, "selfplay.forks": 2}
    config = tiny({**MODE, **mode, "max_plies": 10})
    played = play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 0))
    assert played.figures["forks"] == 0 and len(played.samples) > 100
