"""Advantages of hand-made games: the sign across plies, for both seats and both kinds of game."""

from typing import NamedTuple

import numpy as np
import pytest

from train.advantages import estimate_advantages

S, N = True, False


class Case(NamedTuple):
    """The decisions of one game; lambda is 0.5 throughout."""

    south: list[bool]  # who took each
    values: list[float]  # what its mover expected
    reward: int  # the result for South
    advantages: list[float]


CASES = {
    # Live, odd, South wins. Last: 1 - 0.5 = 0.5. North before it expected -0.1 and came to face
    # South's 0.5, a step of -0.5 + 0.1 = -0.4; with half of South's gain as its loss -0.65. South
    # first: step 0.1 - 0.2 = -0.1, plus half of North's loss: 0.225.
    "live, South wins, odd": Case([S, N, S], [0.2, -0.1, 0.5], 1, [0.225, -0.65, 0.5]),
    # The same game lost by South. Last: -1 - 0.5 = -1.5; North: -0.4 + 0.75 = 0.35; South:
    # -0.1 - 0.175 = -0.275.
    "live, North wins, odd": Case([S, N, S], [0.2, -0.1, 0.5], -1, [-0.275, 0.35, -1.5]),
    # Last: -0.5; North: -0.4 + 0.25 = -0.15; South: -0.1 + 0.075 = -0.025.
    "live, draw, odd": Case([S, N, S], [0.2, -0.1, 0.5], 0, [-0.025, -0.15, -0.5]),
    # Even: North moves last. It wins: 1 - 0.3 = 0.7; South: step -0.3 - 0.4 = -0.7, -0.35 more.
    "live, North wins, even": Case([S, N], [0.4, 0.3], -1, [-1.05, 0.7]),
    # North's last ply loses: -1 - 0.3 = -1.3; South: -0.7 + 0.65 = -0.05.
    "live, South wins, even": Case([S, N], [0.4, 0.3], 1, [-0.05, -1.3]),
    "live, draw, even": Case([S, N], [0.4, 0.3], 0, [-0.55, -0.3]),
    # North moves first after an odd opening. South last: 1 - 0.5; North: -0.5 - 0.1 - 0.25.
    "live, North starts": Case([N, S], [0.1, 0.5], 1, [-0.85, 0.5]),
    # Against a past self only the learner's plies stand here, and no sign turns. Last:
    # 1 - 0.5 = 0.5; before: 0.5 + 0.1 = 0.6 and half of 0.5: 0.85; first: -0.3 + 0.425 = 0.125.
    "pool, learner South wins": Case([S, S, S], [0.2, -0.1, 0.5], 1, [0.125, 0.85, 0.5]),
    # Last: -1.5; before: 0.6 - 0.75 = -0.15; first: -0.3 - 0.075 = -0.375.
    "pool, learner South loses": Case([S, S, S], [0.2, -0.1, 0.5], -1, [-0.375, -0.15, -1.5]),
    # The learner has North, so South's loss is its win.
    "pool, learner North wins": Case([N, N, N], [0.2, -0.1, 0.5], -1, [0.125, 0.85, 0.5]),
    "pool, learner North loses": Case([N, N, N], [0.2, -0.1, 0.5], 1, [-0.375, -0.15, -1.5]),
    # Even. Last: 0 - 0.3; first: 0.3 - 0.4 - 0.15 = -0.25.
    "pool, draw, even": Case([N, N], [0.4, 0.3], 0, [-0.25, -0.3]),
    "one ply, North wins by it": Case([N], [0.25], -1, [0.75]),
    "one ply, South loses by it": Case([S], [0.25], -1, [-1.25]),
}


def estimate(values, games, south, rewards, trace=0.5):
    advantages = np.full(len(values), np.nan, np.float32)
    estimate_advantages(
        np.array(values, np.float32),
        np.array(games, np.int32),
        np.array(south, np.bool_),
        np.array(rewards, np.int64),
        trace,
        advantages,
    )
    return advantages


@pytest.mark.parametrize("name", CASES)
def test_advantages_of_hand_made_games(name):
    case = CASES[name]
    found = estimate(case.values, [0] * len(case.values), case.south, [case.reward])
    assert found == pytest.approx(case.advantages, abs=1e-6)


def test_games_that_are_played_side_by_side_do_not_touch_each_other():
    """All cases interleaved ply by ply, as a unit notes them; those that end earlier drop out."""
    cases = list(CASES.values())
    rows = [(ply, game) for ply in range(3) for game, c in enumerate(cases) if ply < len(c.south)]
    found = estimate(
        [cases[game].values[ply] for ply, game in rows],
        [game for _, game in rows],
        [cases[game].south[ply] for ply, game in rows],
        [case.reward for case in cases],
    )
    assert found == pytest.approx([cases[g].advantages[p] for p, g in rows], abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_a_trace_of_one_compares_with_the_result_and_of_zero_with_the_next_value(name):
    case = CASES[name]
    count = len(case.south)
    results = np.where(case.south, case.reward, -case.reward)
    whole = estimate(case.values, [0] * count, case.south, [case.reward], trace=1.0)
    assert whole == pytest.approx(results - np.array(case.values), abs=1e-6)
    signs = [1 if a == b else -1 for a, b in zip(case.south, case.south[1:], strict=False)]
    nexts = [*(sign * v for sign, v in zip(signs, case.values[1:], strict=True)), results[-1]]
    step = estimate(case.values, [0] * count, case.south, [case.reward], trace=0.0)
    assert step == pytest.approx(np.array(nexts) - case.values, abs=1e-6)
