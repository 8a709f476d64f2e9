"""The stream of units: in order, always ``lag`` in flight, weights fixed by the unit's number."""

from collections import deque
from functools import partial

import pytest

import train.stream
from oware_env.errors import OwareError
from train.evaluate import Evaluated, GradedEndgames
from train.selfplay import SelfPlayUnit
from train.stream import (
    UnitStream,
    pack_evaluations,
    pack_units,
    unpack_evaluations,
    unpack_units,
)


class _Backwards:
    """An executor whose newest unit is done first."""

    def __init__(self):
        self.queue = deque()
        self.tickets = 0

    def submit(self, function, unit):
        self.queue.append((self.tickets, function, unit))
        self.tickets += 1
        return self.tickets - 1

    def wait_any(self):
        ticket, function, unit = self.queue.pop()
        return ticket, function(unit)


@pytest.fixture
def executor(monkeypatch):
    """Matches come back as their opponent, endgames as nothing."""
    monkeypatch.setattr(train.stream, "grade_unit", lambda unit: GradedEndgames(*[0.0] * 4))
    monkeypatch.setattr(
        train.stream,
        "evaluate_unit",
        lambda unit: Evaluated(f"{unit.opponent} {unit.weights!r}", 0.5, 0.4, 0.6, 4),
    )
    return _Backwards()


def _play(unit):
    """A unit comes back as its number and weights."""
    return unit.number, unit.weights


def _unit(config, learned, number):
    """Weights are named after the units learned."""
    return SelfPlayUnit(b"%d" % learned, config, number)


def _learn(stream, count, first=0):
    """Take ``count`` units as the training loop does; weights are named after the units learned."""
    found = []
    for handed_out in range(first, first + count):
        stream.fill(handed_out, partial(_unit, stream.config, handed_out))
        found.append(stream.wait())
        stream.hand_out()
    return found


def test_units_come_in_order_with_weights_fixed_by_their_number(tiny, executor):
    stream = UnitStream(executor, tiny({"selfplay.lag": 3}), _play, print)
    found = _learn(stream, 8)
    numbers, weights = zip(*found, strict=True)
    assert numbers == (*range(8),)
    # Unit k knows units up to k - 3: the first three are played by untrained weights.
    assert weights == (b"0", b"0", b"0", b"1", b"2", b"3", b"4", b"5")


def test_lag_units_are_in_flight_while_one_is_waited_for(tiny, executor):
    stream = UnitStream(executor, tiny({"selfplay.lag": 4}), _play, print)
    _learn(stream, 5)
    stream.fill(5, partial(_unit, stream.config, 5))
    assert [unit.number for unit in stream.in_flight] == [5, 6, 7, 8]
    stream.wait()
    assert [unit.number for unit in stream.in_flight] == [5, 6, 7, 8], "5 is not learned yet"
    stream.hand_out()
    assert [unit.number for unit in stream.in_flight] == [6, 7, 8]


def test_weights_are_only_packed_when_a_unit_is_missing(tiny, executor):
    stream = UnitStream(executor, tiny({"selfplay.lag": 2}), _play, print)
    stream.fill(0, partial(_unit, stream.config, 0))
    stream.fill(0, lambda number: pytest.fail("nothing is missing"))


def test_a_stream_restored_in_the_middle_goes_on_like_the_first(tiny, executor):
    config = tiny({"selfplay.lag": 3})
    first = UnitStream(executor, config, _play, print)
    _learn(first, 4)
    saved = list(first.in_flight)
    second = UnitStream(_Backwards(), config, _play, print)
    for unit in saved:
        second.ask(unit)
    assert _learn(first, 6, first=4) == _learn(second, 6, first=4)


def test_evaluations_are_passed_on_and_never_taken_for_units(tiny, executor):
    seen = []
    config = tiny({"selfplay.lag": 2, "evaluation.during": ("random", "greedy")})
    stream = UnitStream(executor, config, _play, seen.append)
    _learn(stream, 2)
    stream.evaluate(b"2")
    found = _learn(stream, 3, first=2)
    assert [unit[0] for unit in found] == [2, 3, 4]
    matches = [found for found in seen if isinstance(found, Evaluated)]
    assert sorted(match.opponent for match in matches) == ["greedy b'2'", "random b'2'"]
    assert len(seen) == 3, "the endgames too"


def test_units_in_flight_are_packed_with_all_that_they_were_given(tiny):
    config = tiny()
    units = [SelfPlayUnit(b"nine", config, 9), SelfPlayUnit(b"ten", config, 10)]
    assert unpack_units(pack_units(units), config, 9) == units
    with pytest.raises(OwareError, match="not those from unit 8 on"):
        unpack_units(pack_units(units), config, 8)


def test_evaluations_not_done_yet_are_packed_with_all_that_they_were_given(tiny, executor):
    config = tiny({"evaluation.during": ("random", "greedy")})
    stream = UnitStream(executor, config, _play, print)
    stream.evaluate(b"one")
    stream.evaluate(b"two")
    units = list(stream.evaluations.values())
    tensors, pending = pack_evaluations(units)
    assert len(tensors) == 2 and pending == [["random", "greedy", None]] * 2
    told = tuple(map(tuple, pending))
    assert unpack_evaluations(tensors, told, config) == units
    with pytest.raises(OwareError, match="2 evaluations are kept, 1 are told of"):
        unpack_evaluations(tensors, told[:1], config)
