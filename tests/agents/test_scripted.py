"""The scripted players: each idea on a position of its own, and the measured ladder."""

import numpy as np
import pytest

from agents.arena.match import play_match
from agents.base import Agent
from agents.scripted import SCRIPTS, Scripted
from oware_env.errors import OwareError
from oware_env.positions import Decisions, Positions, as_positions, game_keys
from oware_env.rules import Rules, status
from oware_env.state import State

LADDER = (
    "random",
    "greedy",
    "careful",
    "strategist",
    "alphabeta:depth=4",
    "alphabeta:depth=6",
    "alphabeta:depth=8",
)


def one(text: str, keys: int = 1) -> Positions:
    """A position given as text, in ``keys`` rows of different games."""
    state = State.parse(text)
    boards = np.repeat(state.board[None], keys, axis=0)
    return as_positions(boards, np.full(keys, state.ply), game_keys(np.uint64(0), np.arange(keys)))


def liked(name: str, text: str) -> set[str]:
    """The letters of the moves a script likes best."""
    policy = Scripted(name, Rules()).decide(one(text)).policy[0]
    return {"ABCDEF"[move] for move in np.nonzero(policy)[0]}


def test_random_is_uniform_over_the_legal_moves() -> None:
    decisions = Scripted("random", Rules()).decide(
        one("3-1-0-0-0-6-0-0-0-0-0-0-20-18-S", keys=3000)
    )
    assert np.all(decisions.policy == [0, 0, 0, 0, 0, 1])  # only F feeds
    decisions = Scripted("random", Rules()).decide(
        one("0-4-0-4-4-0-4-4-4-0-0-0-12-12-S", keys=3000)
    )
    assert np.allclose(decisions.policy, np.array([0, 1, 0, 1, 1, 0]) / 3)
    shares = np.bincount(decisions.moves, minlength=6) / 3000
    assert np.abs(shares - decisions.policy[0]).max() < 0.04


def test_greedy_takes_the_largest_capture() -> None:
    # E (2) takes the pair on b; F (4) takes the chain d, c, b and leaves f.
    assert liked("greedy", "0-0-0-0-2-4-0-1-1-1-0-1-19-19-S") == {"F"}


def test_careful_declines_a_capture_that_loses_more() -> None:
    # D takes 2, but d then ends in A and takes 3; A leaves in time.
    text = "2-0-4-4-0-0-0-1-0-3-0-0-16-18-S"
    assert State.parse(text).play("D").play("d").stores == (18, 21)
    assert liked("greedy", text) == {"D"}
    assert liked("careful", text) == {"A"}


def test_fortress_leaves_no_thin_house_where_greedy_captures() -> None:
    # E takes 2 and leaves D and F with one seed each; D moves onto E and leaves none thin.
    text = "5-0-0-1-4-0-1-0-1-0-6-0-16-14-S"
    assert liked("greedy", text) == {"E"}
    assert liked("fortress", text) == {"D"}


def test_hoarder_does_not_spend_its_big_house_for_two_seeds() -> None:
    text = "0-1-0-0-3-12-0-0-0-5-3-0-12-12-S"
    assert liked("greedy", text) == {"F"}
    assert liked("hoarder", text) == {"E"}  # raises F to 13


def test_hoarder_spends_its_big_house_for_a_chain() -> None:
    # F laps to e and takes five houses, 12 seeds.
    text = "1-0-0-0-2-16-0-1-0-1-0-3-12-12-S"
    assert State.parse(text).play("F").stores == (24, 12)
    assert liked("hoarder", text) == {"F"}


def test_feeder_sees_the_feeding_duty_that_greedy_runs_into() -> None:
    # E takes 2; then f runs out of seeds onto South's side, and South must feed with all five of F.
    text = "0-0-0-2-2-4-1-0-0-0-0-2-20-17-S"
    after = State.parse(text).play("E").play("f")
    assert after.legal_letters == ("F",)
    assert liked("greedy", text) == {"E"}
    assert liked("feeder", text) == {"D", "F"}


def test_strategist_combines_the_ideas() -> None:
    assert liked("strategist", "0-1-0-0-3-12-0-0-0-5-3-0-12-12-S") == {"B"}  # keeps the kroo
    # The capture with F lets North reach 25 with f; only A keeps the game open.
    assert liked("strategist", "1-0-0-0-1-1-2-0-0-0-0-1-19-23-S") == {"A"}


def check_decisions(decisions: Decisions, positions: Positions, rules: Rules) -> None:
    rows = np.arange(len(positions.plies))
    legal = np.array(
        [
            [status(board, ply, rules.max_plies) >> move & 1 for move in range(6)]
            for board, ply in zip(positions.boards, positions.plies, strict=True)
        ]
    )
    assert np.all(legal[rows, decisions.moves] == 1)
    assert np.all(decisions.policy[legal == 0] == 0)
    assert np.all(decisions.policy[rows, decisions.moves] == decisions.policy.max(axis=1))
    assert np.allclose(decisions.policy.sum(axis=1), 1)
    assert np.all(np.isnan(decisions.value))


@pytest.mark.parametrize("name", SCRIPTS)
def test_decides_legally_and_alone_as_in_a_batch(name: str, random_game) -> None:
    rules = Rules(max_plies=60)
    states = [state for seed in range(6) for state in random_game(seed, rules)]
    states = [state for state in states if not state.is_over]
    positions = as_positions(
        np.array([state.board for state in states]),
        np.array([state.ply for state in states]),
        game_keys(np.uint64(1), np.arange(len(states))),
    )
    agent: Agent = Scripted(name, rules)
    together = agent.decide(positions)
    check_decisions(together, positions, rules)
    for row in range(0, len(states), 7):
        alone = agent.decide(Positions(*(array[row : row + 1] for array in positions)))
        assert alone.moves[0] == together.moves[row]
        assert np.array_equal(alone.policy[0], together.policy[row])


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(OwareError, match=r"one of random, greedy, .* not 'gredy'"):
        Scripted("gredy", Rules())


@pytest.mark.parametrize("idea", ["fortress", "hoarder", "feeder"])
def test_one_idea_more_beats_greedy(idea: str) -> None:
    low, _ = play_match(idea, "greedy", games=600).interval
    assert low > 0.5


@pytest.mark.parametrize(
    "rung",
    [*range(1, 5), *(pytest.param(rung, marks=pytest.mark.slow) for rung in (5, 6))],
    ids=lambda rung: LADDER[rung],
)
def test_each_rung_of_the_ladder_beats_the_one_below(rung: int) -> None:
    low, _ = play_match(LADDER[rung], LADDER[rung - 1], games=300).interval
    assert low > 0.5
