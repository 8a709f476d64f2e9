"""Seeded malformed calls of everything public: one clear line, and nothing has changed.

Each call gets values of any kind where a few are right. Only OwareError may come out (and of the
wrapped environment PettingZoo's own AssertionError), and only integers may be taken for integers.
"""

import random
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import agents
from agents.base import consult
from agents.function import FunctionAgent
from agents.scripted import Scripted
from oware_env import AWARI, Batch, OwareError, Rules, State, oware_v0
from oware_env.encoding import observation_size
from oware_env.episode import random_opponent
from oware_env.lockstep import Lockstep
from oware_env.perft import perft, perft_split
from oware_env.positions import Decisions, Positions, as_positions, checked_positions
from oware_env.single_agent import OwareSingleAgentEnv
from oware_env.vector import OwareVectorEnv

CALLS = 4000  # of each of the kinds below
ROWS = 3
TYPES = [
    "i1",
    "u1",
    "i2",
    "i4",
    ">i4",
    "i8",
    ">i8",
    "u8",
    "f4",
    "f8",
    "f2",
    "c8",
    "?",
    "U3",
    "S2",
    "O",
    "m8[s]",
    "M8[s]",
]
START = State.initial().board


class Mute:
    """Cannot be shown."""

    def __repr__(self):
        raise RuntimeError("mute")


class Closed:
    """Cannot be read as an array."""

    def __array__(self, *arguments, **keywords):
        raise RuntimeError("closed:\nuse detach()")


class Loud:
    """Shows itself as a terminal would obey it."""

    def __repr__(self):
        return "loud\n\x1b[31m"


SCALARS = [
    *(None, True, False, -1, 0, 1, 2, 3, 5, 6, 7, 255, 256, 258, 2**31, 2**40, 2**63, 2**64 - 1),
    *(2**64, 10**5000, -(10**5000), 0.5, 3.0, float("nan"), float("inf"), -float("inf"), 1j),
    *("", "A", "f", "south", "counts", "result", "4-4", "a\0b", "x" * 3000, b"x", [], [1], {}),
    *([[1], [1, 2]], {"ply": 1}, set(), object(), Mute(), Closed(), Loud(), np.int8(3)),
    *(np.uint64(2**64 - 1), np.float32(1), np.bool_(True), np.array(3), np.datetime64("2020")),
    *(lambda *_: None, int, range(3), slice(3), Ellipsis, bytearray(b"ab"), State.initial()),
    *(Rules(), AWARI, Rules(0), Rules(True), Rules(2.5), Rules(10**30), Rules(slam=np.ones(2))),
]


class Source:
    """Values of any kind from a seed."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)

    def any(self, depth=0):
        kind = self.random.randrange(10)
        if kind < 5 or depth > 1:
            return self.random.choice(SCALARS)
        if kind < 8:
            return self.array(self.random.choice([0, 1, 2, 3, 4, 6, 14, 20]))
        values = [self.any(depth + 1) for _ in range(self.random.choice([1, 2, 3, 4]))]
        return self.random.choice([list, tuple])(values)

    def array(self, size):
        shapes = [(size,)] * 4 + [(size, 1), (size, 2), (), (size, 14)]
        array = self.numbers.integers(-3, 9, self.random.choice(shapes))
        return array.astype(self.random.choice(TYPES))

    def rows(self, size=ROWS):
        """What may be taken for ``size`` integers, and often must not."""
        mixed = [self.any(2) for _ in range(size)]
        return self.random.choice([self.any(), self.array(size), self.array(size), mixed])

    def options(self):
        names = ["position", "ply", "random_plies", "reset_mask", "x", 3]
        count = self.random.choice([0, 1, 1, 2])
        options = {self.random.choice(names): self.any() for _ in range(count)}
        return self.any() if self.random.random() < 0.2 else options

    def one(self, names):
        return {self.random.choice(names.split()): self.any()}

    def positions(self):
        made = list(running())
        made[self.random.randrange(3)] = self.rows()
        return self.random.choice([Positions(*made), Positions(*made), tuple(made), self.any()])


def running():
    keys = np.arange(ROWS).astype(np.uint64)
    return Positions(np.tile(START, (ROWS, 1)), np.zeros(ROWS, np.int32), keys)


def is_integer(value):
    if isinstance(value, np.ndarray):
        return value.shape == () and (value.dtype.kind in "iu" or is_integer(value.item()))
    others = bool | np.timedelta64
    return isinstance(value, int | np.integer) and not isinstance(value, others)


def are_integers(values, size):
    if isinstance(values, np.ndarray):
        return values.shape == (size,) and values.dtype.kind in "iu"
    return len(values) == size and all(is_integer(value) for value in values)


def refused(call, *allowed):
    """Whether a call is refused as it must be: in one printable line, in no time."""
    started = time.perf_counter()
    try:
        call()
    except allowed:
        return True
    except OwareError as error:
        assert str(error).isprintable() and len(str(error)) < 8000
        return True
    finally:
        assert time.perf_counter() - started < 30
    return False


class Puppet:
    """An opponent and an agent that answers what it is told to."""

    name = "puppet"

    def __init__(self):
        self.answer = None

    def __call__(self, positions):
        return random_opponent(positions) if self.answer is None else self.answer[0]

    def decide(self, positions):
        return self.answer[0]


def aec(source):
    make = source.random.choice([oware_v0.env, oware_v0.raw_env])
    refused(lambda: make(**source.one("render_mode rules observation mask_in reward")))
    env, value = make(mask_in=source.random.choice(["obs", "info"])), source.any()
    env.reset(seed=1)
    if refused(lambda: env.step(value), AssertionError):
        assert env.game_state == State.initial()
    else:
        assert is_integer(value)
    refused(lambda: env.reset(seed=1, options=source.options()))
    env.reset(seed=1)
    refused(lambda: env.observe(value))
    assert refused(lambda: env.reset(seed=value)) or value is None or is_integer(value)


def single(source):
    names = "opponent seat rules observation reward render_mode"
    refused(lambda: OwareSingleAgentEnv(**source.one(names)))
    puppet, value, rows = Puppet(), source.any(), source.rows(1)
    env = OwareSingleAgentEnv(puppet)
    env.reset(seed=1)
    if refused(lambda: env.step(value)):
        assert env.game_state == State.initial()
    else:
        assert is_integer(value)
    refused(lambda: env.reset(seed=1, options=source.options()))
    env.reset(seed=1)
    puppet.answer = [rows]
    if refused(lambda: env.step(0)):
        assert env.game_state == State.initial()
    else:
        assert are_integers(rows, 1)
    puppet.answer = None
    assert refused(lambda: env.reset(seed=value)) or value is None or is_integer(value)


def vector(source):
    names = "num_envs opponent seat rules seed observation reward autoreset_mode render_mode"
    asked = {"num_envs": 2, **source.one(names + " max_episode_steps")}
    refused(lambda: OwareVectorEnv(**asked))
    puppet, rows, mode = Puppet(), source.rows(), source.random.choice(list(AutoresetMode))
    env = OwareVectorEnv(ROWS, puppet, autoreset_mode=mode)
    env.reset(seed=1)
    before = [env.state(row) for row in range(ROWS)]
    for answer, call in ((None, lambda: env.step(rows)), ([rows], lambda: env.step([0, 1, 2]))):
        puppet.answer = answer
        if refused(call):
            assert [env.state(row) for row in range(ROWS)] == before
        else:
            assert are_integers(rows, ROWS)
            puppet.answer = None
            env.reset(seed=1)
    puppet.answer = None
    value = source.any()
    assert refused(lambda: env.state(value)) or is_integer(value)
    refused(lambda: env.reset(seed=rows))
    refused(lambda: env.reset(seed=1, options=source.options()))


def arrays(source):
    refused(lambda: Batch(**{"size": 2, **source.one("size rules seed")}))
    batch, games = Batch(ROWS), Lockstep(running(), np.ones(ROWS, np.bool_))
    rows, value = source.rows(), source.any()
    for call in (lambda: batch.step(rows), lambda: games.play(rows)):
        assert refused(call) or are_integers(rows, ROWS)
    for call in (lambda: batch.state(value), lambda: games.state(value)):
        assert refused(call) or is_integer(value)
    for call in (
        lambda: batch.legal_mask(value),
        lambda: batch.observe(value),
        lambda: batch.observe("counts", value),
        lambda: games.stop(rows, value),
        lambda: games.stop(np.arange(games.running) == 0, rows),
        lambda: Lockstep(running(), rows),
        lambda: observation_size(value),
    ):
        refused(call)


def positions(source):
    given = source.positions()
    refused(lambda: checked_positions(given))
    refused(lambda: Lockstep(given, np.ones(ROWS, np.bool_)))
    refused(lambda: Scripted("greedy", Rules()).decide(given))
    refused(lambda: as_positions(*(source.rows() for _ in range(3))))
    count = source.random.choice([perft, perft_split])
    board, value = source.random.choice([START, source.any()]), source.any()
    refused(lambda: count(board, 2, value))
    if not is_integer(value) or not 9 < value <= 1000:
        refused(lambda: count(board, value))


def players(source):
    puppet, rows, value = Puppet(), source.rows(1), source.any()
    numbers = np.ones((1, 6), np.float32), np.zeros(1, np.float32)
    answers = (Decisions(rows, *numbers), Decisions([2], rows, numbers[1]), value)
    for puppet.answer in ([answer] for answer in answers):
        if not refused(lambda: agents.choose(puppet, State.initial())):
            assert are_integers(puppet.answer[0].moves, 1)
        refused(lambda: consult(puppet, State.initial()))
        refused(lambda: agents.as_opponent(puppet)(running()))
    greedy = agents.make("greedy")
    for call in (
        lambda: agents.choose(value, State.initial()),
        lambda: agents.choose(greedy, value),
        lambda: agents.as_opponent(value),
        lambda: FunctionAgent(
            **{"function": len, "name": "x", **source.one("function name rules")}
        ),
    ):
        refused(call)
    assert refused(lambda: agents.choose(greedy, State.initial(), value)) or is_integer(value)
    rows = source.rows()
    agent = FunctionAgent(lambda observations, masks: rows, "f")
    assert refused(lambda: agent.decide(running())) or are_integers(rows, ROWS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*render_mode")
@pytest.mark.parametrize("kind", [aec, single, vector, arrays, positions, players])
def test_malformed_calls_are_refused_in_one_line_and_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(gymnasium.logger, "min_level", 50)
    for seed in range(CALLS):
        try:
            kind(Source(seed))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
