"""The picture of a bad move says what the table proves of it."""

import re
from xml.etree import ElementTree

import pytest

import agents
from agents.arena.grading import Sample, grade_agent
from agents.arena.worst_picture import BETTER, PLAYED, caption, worst_svg
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase
from oware_env.state import State

RINGS = {"played ": PLAYED, "better ": BETTER}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Tablebase(build_table(6, folder=tmp_path_factory.mktemp("table")))


@pytest.fixture(scope="module")
def worst(table):
    sample = Sample(uniform=120, games=4, decisions=10)
    return grade_agent(agents.make("random"), table, sample).worst


def parts_of(svg):
    """{part: elements} of a picture."""
    found = {}
    for element in ElementTree.fromstring(svg):
        found.setdefault(element.get("data-part"), []).append(element)
    return found


def proved(picture):
    """{letter: final lead} of the marks on the houses of a picture; a draw has none."""
    found = {}
    for name, elements in picture.items():
        if name and re.fullmatch("proved [A-F]", name):
            words = elements[0].text
            found[name[-1]] = 0 if words == "D" else int(re.fullmatch(r"[WL] ([+-]\d+)", words)[1])
    return found


def test_the_marks_differ_by_the_seeds_that_were_given_away(worst, table):
    assert len(worst) > 10
    for one in worst:
        leads = proved(parts_of(worst_svg(one, table)))
        assert set(leads) == set(State.parse(one.position, ply=one.ply).legal_letters)
        best = {leads[letter] for letter in one.better.split()}
        assert best == {max(leads.values())}
        assert best.pop() - leads[one.move] == one.regret > 0


def test_what_was_played_and_what_is_better_have_rings_of_their_own(worst, table):
    for one in worst:
        parts = parts_of(worst_svg(one, table))
        rings = {name: part for name, part in parts.items() if name and name[:7] in RINGS}
        assert set(rings) == {f"played {one.move}", *(f"better {a}" for a in one.better.split())}
        for name, (ring,) in rings.items():
            assert ring.get("stroke") == RINGS[name[:7]]
            assert (ring.get("stroke-dasharray") is not None) == name.startswith("played")


def test_the_line_on_top_says_it_in_words(worst, table):
    one = worst[0]._replace(move="D", better="A C", regret=1)
    assert caption(one) == "plays D, gives 1 seed away; best: A or C"
    assert "gives 7 seeds away" in caption(one._replace(regret=7))
    (line,) = parts_of(worst_svg(worst[0], table))["caption"]
    assert line.text == caption(worst[0])
