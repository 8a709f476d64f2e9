"""Hostile inputs of every kind: each is refused in one line or read as it stands, and in time.

A million of them with ``pytest -m slow`` (``make test-slow``), a few of each kind otherwise.
OWARE_FUZZ_SHARE=0.01 takes a hundredth of the million. ``python -m tests.fuzz KIND NUMBER`` shows
one input again.
"""

import os
from math import ceil

import pytest

from tests.fuzz.catalogue import APART, FOR_A_LOOK, LOOKED_AT, TARGETS
from tests.fuzz.samples import Workplace
from tests.fuzz.supervisor import supervise
from tests.fuzz.target import fuzz

A_MILLION = 1_000_000
SHARE = float(os.environ.get("OWARE_FUZZ_SHARE", "1"))


def each(targets):
    return pytest.mark.parametrize("target", targets, ids=lambda target: target.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of all samples and reports of this session."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture
def own_surroundings(monkeypatch):
    """What a workplace sets is as before afterwards."""
    monkeypatch.setenv("OWARE_TABLES", os.environ.get("OWARE_TABLES", ""))


@pytest.mark.slow
@each(TARGETS)
def test_hostile_inputs_are_refused_in_one_line_or_read_as_they_stand(target, folder, capsys):
    report = supervise(target, ceil(target.count * SHARE), folder)
    with capsys.disabled():
        print(f"\n{report}", end="")
    assert not report.findings, str(report)
    assert report.count == ceil(target.count * SHARE)


def test_a_full_run_is_a_million_inputs():
    assert sum(target.count for target in TARGETS) >= A_MILLION
    assert len({target.name for target in TARGETS}) == len(TARGETS)


@each(LOOKED_AT)
def test_a_few_inputs_of_every_kind(target, folder, own_surroundings):
    count = FOR_A_LOOK.get(target.name, 300)
    if target in APART:
        report = supervise(target, count, folder)
    else:
        report = fuzz(target(Workplace(folder / "samples")), range(count))
    assert not report.findings, str(report)
