"""Random games side by side with an independent implementation of the same rules.

OpenSpiel's ``oware`` differs only in how a game may end: a repetition since the last capture
stops it, and after 25 seeds the rows are swept into the scores. Everything else must agree.
"""

import random
from collections import Counter

import pytest

from oware_env.state import State

pyspiel = pytest.importorskip("pyspiel")
GAME = pyspiel.load_game("oware")


def observed(state):
    """Our state as OpenSpiel writes it: the mover, both scores, the twelve houses."""
    counts = " ".join(str(count) for count in state.houses)
    south, north = state.stores
    return f"{0 if state.south_to_move else 1} | {south} {north} | {counts}"


def side_by_side(seed):
    """Play one random game in both; return how it ended. Any difference is an AssertionError."""
    choose = random.Random(seed)
    ours, theirs = State.initial(), GAME.new_initial_state()
    since_capture = set()
    while True:
        if ours.is_over:
            assert theirs.is_terminal(), f"we ended ({ours.outcome}), they did not: {ours!r}"
            south, north = ours.outcome.scores
            assert theirs.returns()[0] == (south > north) - (south < north)
            return ours.outcome.reason
        repeated = observed(ours) in since_capture
        assert theirs.is_terminal() == repeated, f"they ended without a repetition: {ours!r}"
        if repeated:
            return "repetition"
        since_capture.add(observed(ours))
        assert list(ours.legal_moves) == theirs.legal_actions()
        assert int(not ours.south_to_move) == theirs.current_player()
        assert observed(ours) == theirs.observation_string(0)
        move = choose.choice(ours.legal_moves)
        after = ours.play(move)
        theirs.apply_action(move)
        if after.stores != ours.stores:
            since_capture.clear()
        ours = after


def compare(seeds):
    ends = Counter(side_by_side(seed) for seed in seeds)
    assert set(ends) == {"majority", "no_feeding_move", "repetition"}
    assert ends.total() == len(seeds)
    # Random games repeat a position in about one of eleven: a sound count, not a lucky one.
    assert 0.05 < ends["repetition"] / len(seeds) < 0.14, ends


def test_a_thousand_random_games_agree_with_openspiel():
    compare(range(1000))


@pytest.mark.slow
def test_five_thousand_random_games_agree_with_openspiel():
    compare(range(10_000, 15_000))
