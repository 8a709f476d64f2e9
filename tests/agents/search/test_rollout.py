"""The rollout evaluator: real games, keyed, judged for the side to move."""

import numpy as np
import pytest

from agents.search.rollout import RolloutEvaluator
from oware_env.errors import OwareError
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import AWARI, Rules
from oware_env.state import State


def many(text, count=400, ply=0):
    boards = np.repeat(State.parse(text).board[None], count, axis=0)
    keys = game_keys(np.uint64(0), np.arange(count))
    return as_positions(boards, np.full(count, ply), keys)


def test_logits_are_equal_and_values_are_results(positions):
    logits, values = RolloutEvaluator()(positions(100))
    assert logits.shape == (100, 6) and not logits.any()
    assert (logits.dtype, values.dtype) == (np.float32, np.float32)
    assert set(values.tolist()) <= {-1.0, 0.0, 1.0} and len(set(values.tolist())) > 1


def test_the_positions_are_left_as_they_are(positions):
    given = positions(50)
    before = [array.copy() for array in given]
    RolloutEvaluator()(given)
    assert all(np.array_equal(a, b) for a, b in zip(before, given, strict=True))


@pytest.mark.parametrize(
    ("text", "ply", "value"),
    [
        # One move is left, a single one: the seats' own houses decide at the limit.
        ("0-0-0-0-0-1-0-0-5-0-0-0-20-22-S", 399, -1),
        ("0-3-0-0-0-0-0-1-0-0-0-0-22-22-S", 399, 1),
        ("0-1-0-0-0-0-0-1-0-0-0-0-23-23-S", 399, 0),
        # North is to move and has what it needs.
        ("0-0-0-0-0-2-0-2-0-0-0-0-20-24-N", 399, 1),
        # One move each: F gives a seed, a takes nothing; again the limit.
        ("0-0-0-0-0-1-0-0-0-0-0-5-24-18-S", 398, 1),
    ],
)
def test_a_forced_result_is_found_in_every_rollout(text, ply, value):
    state = State.parse(text, ply=ply)
    outcomes = {state.play(move).is_over for move in state.legal_moves}
    assert ply < 399 or outcomes == {True}
    assert (RolloutEvaluator()(many(text, ply=ply))[1] == value).all()


def test_the_side_that_is_far_ahead_wins_most_rollouts_whichever_moves():
    for text, low in (
        ("1-2-1-1-1-2-1-1-0-1-0-1-24-12-S", 0.9),
        ("1-0-1-0-1-1-1-2-1-1-1-2-12-24-S", -1.0),
    ):
        mean = RolloutEvaluator()(many(text))[1].mean()
        assert low <= mean if low > 0 else mean <= -0.7


def test_rollouts_depend_on_key_and_board_alone(positions):
    given = positions(80, seed=3)
    together = RolloutEvaluator()(given)[1]
    backwards = Positions(*(array[::-1].copy() for array in given))
    assert np.array_equal(RolloutEvaluator()(backwards)[1], together[::-1])
    for row in range(0, 80, 7):
        alone = Positions(*(array[row : row + 1] for array in given))
        assert RolloutEvaluator()(alone)[1][0] == together[row]
    start = RolloutEvaluator()(many("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"))[1]
    assert len(set(start.tolist())) > 1  # other keys, other games


def test_other_boards_of_one_game_draw_other_games():
    # The same ply and key: without the board in the draw these would be one game of 300.
    boards = np.repeat(State.initial().board[None], 300, axis=0)
    boards[:, 0] -= np.arange(300) % 4
    boards[:, 12] = 4 - boards[:, 0]
    boards[:, 12] += np.arange(300) % 3
    boards[:, 7] -= np.arange(300) % 3
    keys = np.zeros(300, np.uint64)
    values = RolloutEvaluator()(as_positions(boards, np.full(300, 20), keys))[1]
    assert 30 < (values == 1).sum() < 270


def test_the_move_limit_of_the_rules_is_kept():
    given = many("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", ply=19)
    values = RolloutEvaluator(Rules(max_plies=20))(given)[1]
    assert set(values.tolist()) == {0.0, -1.0}  # A and B keep all seeds at home, others give some
    assert (values == 0).mean() == pytest.approx(1 / 3, abs=0.1)


def test_other_rules_are_refused():
    with pytest.raises(OwareError, match="abapa, not awari"):
        RolloutEvaluator(AWARI)
