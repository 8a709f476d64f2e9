"""The picture of a bad move says what the table proves of it."""

import re
from xml.etree import ElementTree

import pytest

import agents
from agents.arena.grading import Sample, grade_agent
from agents.arena.worst_picture import BETTER, OTHER, PLAYED, caption, verdicts_of, worst_svg
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase
from oware_env.state import State


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


def lead(words):
    """The final lead of a proved verdict; a draw has none."""
    return 0 if words == "drawn" else int(re.fullmatch(r"(won|lost) by ([+-]\d+)", words)[2])


def test_the_verdicts_differ_by_the_seeds_that_were_given_away(worst, table):
    assert len(worst) > 10
    for one in worst:
        ends = verdicts_of(State.parse(one.position, ply=one.ply), table)
        best = {lead(ends[letter]) for letter in one.better.split()}
        assert len(best) == 1
        assert best.pop() - lead(ends[one.move]) == one.regret > 0


def test_every_legal_move_has_a_sign_in_the_colour_of_what_it_is(worst, table):
    for one in worst[:5]:
        state = State.parse(one.position, ply=one.ply)
        parts = parts_of(worst_svg(one, table))
        fills = {
            name.removeprefix("sign "): elements[0].get("fill")
            for name, elements in parts.items()
            if name and name.startswith("sign ")
        }
        assert set(fills) == set(state.legal_letters)
        for letter, fill in fills.items():
            is_better = letter in one.better.split()
            assert fill == (PLAYED if letter == one.move else BETTER if is_better else OTHER)
        assert f"played {one.move}" in parts and f"better {one.better[0]}" in parts
        said = " by ".join(element.text for element in parts[f"verdict {one.move}"])
        assert said == verdicts_of(state, table)[one.move]


def test_the_line_on_top_says_it_in_words(worst, table):
    one = worst[0]._replace(move="D", better="A C", regret=1)
    assert caption(one) == "plays D, gives 1 seed away; best: A or C"
    assert "gives 7 seeds away" in caption(one._replace(regret=7))
    (line,) = parts_of(worst_svg(worst[0], table))["caption"]
    assert line.text == caption(worst[0])
