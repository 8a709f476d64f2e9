"""Lessons: endgames of ended games, played out by the policy and labelled by the table."""

import numpy as np
import pytest

from agents.tablebase.probe import NO_MARGIN, open_table
from oware_env.encoding import network_input
from oware_env.positions import Positions
from oware_env.rules import RUNNING
from train.endgames import final_bounds
from train.learner import Learner
from train.lessons import MOST_PLIES
from train.samples import DRAW, Samples
from train.selfplay import SelfPlayUnit, play_unit

SEEDS = 8
MODE = {
    "selfplay.endgames": "both",
    "selfplay.table": SEEDS,
    "selfplay.games": 64,
    "max_plies": 400,
}


def _play(tiny, mode, lessons):
    config = tiny({**MODE, "selfplay.endgames": mode, "selfplay.lessons": lessons})
    return config, play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 2))


@pytest.fixture(scope="module", params=["both", "adjudicate"])
def with_and_without(tiny, request):
    return _play(tiny, request.param, 2), _play(tiny, request.param, 0)


@pytest.fixture(scope="module")
def lessons(with_and_without):
    (_, played), (_, plain) = with_and_without
    return Samples(*(array[len(plain.samples) :] for array in played.samples))


def test_the_games_are_the_same_and_the_lessons_come_after_them(with_and_without, lessons):
    (_, played), (_, plain) = with_and_without
    for ours, theirs in zip(played.samples, plain.samples, strict=True):
        assert ours[: len(theirs)].tobytes() == theirs.tobytes()
    for ours, theirs in zip(
        (*played.ends, *played.moves), (*plain.ends, *plain.moves), strict=True
    ):
        assert np.array_equal(ours, theirs)
    assert played.figures["lessons"] == len(lessons) > 50
    assert plain.figures["lessons"] == 0


def test_the_targets_are_what_the_table_proves(with_and_without, lessons):
    config = with_and_without[0][0]
    boards = lessons.inputs[:, :14].astype(np.int8)
    faced = Positions(boards, lessons.plies, np.zeros(len(boards), np.uint64))
    table = open_table(SEEDS)
    lows, _ = table.move_bounds(faced, config.max_plies)
    legal, best = lows != NO_MARGIN, lows == lows.max(axis=1, keepdims=True)
    assert (boards[:, :12].sum(axis=1) <= SEEDS).all()
    assert np.allclose(lessons.policies.sum(axis=1), 1) and not lessons.policies[~best].any()
    assert (lessons.policies[best] > 0).all(), "every best move has a share"
    assert (legal & ~best).any(axis=1).all(), "where all moves are as good there is no lesson"
    bounds = final_bounds(table, faced, config.max_plies)
    assert np.array_equal(DRAW - lessons.results, np.sign(bounds.least))
    assert np.array_equal(lessons.values, np.sign(bounds.least))
    assert np.array_equal(lessons.margins, lows.max(axis=1))
    assert np.array_equal(lessons.inputs, network_input(boards, lessons.plies, config.max_plies))


def test_they_follow_the_games_that_were_ended_and_come_once(with_and_without, lessons):
    config, played = with_and_without[0]
    rows = lessons.games - 2 * config.selfplay.games
    assert (played.ends.reasons[rows] == RUNNING).all()
    since = lessons.plies - played.ends.plies[rows]
    assert since.min() == 0 and 5 < since.max() < MOST_PLIES
    assert len(np.unique(lessons.inputs[:, :14], axis=0)) == len(lessons)


def test_playing_out_twice_adds_to_what_playing_out_once_shows(tiny, with_and_without, lessons):
    config = with_and_without[0][0]
    _, once = _play(tiny, config.selfplay.endgames, 1)
    count = int(once.figures["lessons"])
    shown = {board.tobytes() for board in once.samples.inputs[-count:, :14]}
    assert shown < {board.tobytes() for board in lessons.inputs[:, :14]}


def test_moves_that_give_seeds_away_are_played_too(with_and_without, lessons):
    """From ply to ply of a game the mover's margin changes sides exactly, but after a mistake."""
    mistakes = 0
    for game in np.unique(lessons.games):
        own = np.flatnonzero(lessons.games == game)
        leads = lessons.margins[own].astype(int) + (
            lessons.inputs[own, 12].astype(int) - lessons.inputs[own, 13]
        )
        signs = np.where(lessons.plies[own] % 2 == 0, 1, -1)
        mistakes += len(np.unique(leads * signs)) > 1
    assert mistakes > 5
