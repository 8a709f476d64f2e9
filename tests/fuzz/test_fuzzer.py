"""The fuzzer itself: it finds the faults it is there for, and finds them again."""

import os
import random
import signal

import pytest

from oware_env.errors import OwareError
from tests.fuzz import target
from tests.fuzz.documents import json_text, mutate_document
from tests.fuzz.engine import dice, mutate_bytes, mutate_text
from tests.fuzz.supervisor import supervise
from tests.fuzz.target import fuzz
from tests.fuzz.texts import Positions, means

FEW = range(200)


class Digits:
    """A kind of its own: numbers from 0 to 99."""

    name, count = "digits", 200

    def make(self, draw: random.Random) -> str:
        return mutate_text(draw, ["7", "42"])

    def read(self, given: str) -> int:
        if not (given.isascii() and given.isdigit() and given == str(int(given[:4]))):
            raise OwareError("no number from 0 to 99")
        return int(given)

    def changed(self, given: str, value: int) -> str | None:
        return None if given == str(value) else f"read otherwise: {value}"


def found(reader: object) -> set[str]:
    """The kinds of faults that are found in a reader."""
    return {one.kind for one in fuzz(reader, FEW).findings.values()}


def broken(read):
    """The reader of digits with another way to read."""
    reader = Digits()
    reader.read = read
    return reader


def test_a_right_reader_has_no_findings():
    report = fuzz(Digits(), FEW)
    assert not report.findings and report.accepted and report.refused
    assert report.count == len(FEW)


def test_an_exception_that_is_no_refusal_is_a_traceback():
    assert "traceback" in found(broken(lambda given: int(given, 8)))
    assert "traceback" in found(broken(lambda given: exec("raise SystemExit(1)")))


def test_a_reader_that_takes_more_than_it_says_is_a_silent_change():
    def lenient(given):
        try:
            return int(given)  # also "٣", " 8", "1_0"
        except ValueError:
            raise OwareError("no number") from None

    report = fuzz(broken(lenient), FEW)
    assert {one.kind for one in report.findings.values()} == {"silent change"}


def test_a_refusal_of_several_lines_or_of_thousands_of_characters_is_found():
    def refuse(text):
        def read(given):
            error = OwareError()
            error.args = (text,)  # which else is cut where it is made
            raise error

        return broken(read)

    assert found(refuse("first\nsecond")) == {"several lines"}
    assert found(refuse("x" * 2001)) == {"long message"}
    assert found(refuse("")) == {"empty message"}


def test_a_reader_that_never_ends_hangs(monkeypatch):
    monkeypatch.setattr(target, "SECONDS", 0.01)

    def endless(given):
        while given:
            pass
        return given

    report = fuzz(broken(endless), range(3))
    assert {one.kind for one in report.findings.values()} == {"hang"}


def test_a_reader_that_takes_all_memory_is_stopped():
    report = fuzz(broken(lambda given: bytes(1 << 36)), range(3))
    (finding,) = report.findings.values()
    assert finding.kind == "traceback" and finding.what.startswith("MemoryError")


def test_a_finding_is_made_again_by_its_number():
    reader = broken(lambda given: int(given, 8))
    (finding, *_) = fuzz(reader, FEW).findings.values()
    again = fuzz(reader, finding.numbers)
    assert sum(one.times for one in again.findings.values()) == len(finding.numbers)


class Deadly(Positions):
    """A reader that ends its process at an input, as compiled code can."""

    name, count = "deadly", 100

    def read(self, given):
        if given == self.make(dice(self.name, 7)):
            os.kill(os.getpid(), signal.SIGKILL)
        raise OwareError("no position")


def test_a_crash_is_a_finding_and_what_comes_behind_it_is_tried(tmp_path):
    report = supervise(Deadly, Deadly.count, tmp_path)
    (finding,) = report.findings.values()
    assert (finding.kind, finding.numbers) == ("death", [7])
    assert (report.count, report.refused) == (100, 99)


def test_equal_numbers_give_equal_inputs_and_others_others():
    texts = [mutate_text(dice("kind", number), ["FfEcCc"]) for number in range(50)]
    assert texts == [mutate_text(dice("kind", number), ["FfEcCc"]) for number in range(50)]
    assert len(set(texts)) > 30
    assert mutate_bytes(dice("kind", 3), b"abc") == mutate_bytes(dice("kind", 3), b"abc")


def test_a_changed_document_leaves_its_sample_alone():
    sample = {"a": [1, {"b": "c"}], "d": 2.5}
    before = json_text(sample)
    changed = {json_text(mutate_document(dice("kind", number), sample)) for number in range(200)}
    assert json_text(sample) == before
    assert len(changed) > 150


@pytest.mark.parametrize(
    ("token", "value", "is_said"),
    [
        ("8", 8, True),
        ("+8", 8, True),
        ("1_0", 10, False),
        (" 8", 8, False),
        ("８", 8, False),
        ("1e3", 1000.0, True),
        ("0.1", 0.1, True),
        ("true", True, True),
        ("1", 1, True),
        ("no", True, False),
        ("full", "full", True),
    ],
)
def test_what_a_token_says(token, value, is_said):
    assert means(token, value) is is_said
