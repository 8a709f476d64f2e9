"""Shared by all tests: how hard Hypothesis tries, Ctrl-C, tables, and games of random moves."""

import os
import random
import signal
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from oware_env.rules import Rules
from oware_env.state import State

# Examples are derived from the test itself: a run never depends on luck or on the clock.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("interpreted", settings.get_profile("default"), max_examples=20)
settings.load_profile(os.environ.get("OWARE_TEST_PROFILE", "default"))

# A shell that starts the tests in the background tells them to ignore Ctrl-C, and the commands
# that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Endgame tables that tests build on the way do not go into the user's folder."""
    os.environ["OWARE_TABLES"] = str(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def random_game() -> Callable[..., list[State]]:
    """A function (seed, rules) -> all states of one game of uniformly random moves."""

    def play(seed: int, rules: Rules = Rules()) -> list[State]:
        choose = random.Random(seed)
        states = [State.initial(rules)]
        while not states[-1].is_over:
            states.append(states[-1].play(choose.choice(states[-1].legal_moves)))
        return states

    return play
