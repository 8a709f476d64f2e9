"""The libraries with environments of their own are tested with the versions of all the others."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHY_APART = {"tianshou": "pandas", "rllib": "gymnasium"}  # the pins that do not go together
NEEDED = {"gymnasium", "numba", "numpy", "pettingzoo", "pytest", "torch"}


def pins(path):
    return dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), re.MULTILINE))


def test_every_environment_is_listed():
    assert {path.stem for path in (ROOT / "compat").glob("*.txt")} == set(WHY_APART)


@pytest.mark.parametrize("library", WHY_APART)
def test_the_versions_are_those_of_the_constraints_but_for_the_reason(library):
    own, ours = pins(ROOT / "compat" / f"{library}.txt"), pins(ROOT / "constraints.txt")
    shared = set(own) & set(ours)
    assert shared >= NEEDED
    assert {name for name in shared if own[name] != ours[name]} == {WHY_APART[library]}
