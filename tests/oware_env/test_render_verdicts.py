"""Marks of what is proved of each move: what they say, where they stand, how they differ."""

import runpy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from agents.tablebase import probe
from agents.tablebase.report import verdict as in_words
from oware_env import render
from oware_env.errors import OwareError
from oware_env.positions import as_positions
from oware_env.render_verdicts import NO_MOVE, Verdict, best, mark, read_verdicts
from oware_env.state import State

SOUTH = State.parse("1-0-2-1-0-1-0-2-0-1-0-1-20-19-S")  # South's store is one ahead
NORTH = State.parse("0-2-0-1-0-1-1-0-2-1-0-1-19-20-N")  # the same board turned
BOUNDS = ([3, NO_MOVE, -1, -5, NO_MOVE, -3], [3, NO_MOVE, -1, -3, NO_MOVE, 2])
SAID = ["W +4", None, "D", "L -4..-2", None, "?"]


def labels(picture, what):
    """The elements of an SVG that show ``what``, by the house or seat they belong to."""
    elements = [(element.get("data-part", ""), element) for element in ElementTree.XML(picture)]
    return {part.split()[1]: found for part, found in elements if part.startswith(what)}


@pytest.mark.parametrize(
    ("state", "houses", "seat"), [(SOUTH, "ABCDEF", "South"), (NORTH, "abcdef", "North")]
)
def test_each_move_of_the_mover_is_marked_on_its_house_and_the_best_on_its_store(
    state, houses, seat
):
    found = labels(state.svg(verdicts=BOUNDS), "proved")
    said = {house: words for house, words in zip(houses, SAID, strict=True) if words}
    assert {place: label.text for place, label in found.items()} == {**said, seat: "W +4"}
    for house in said:
        x, y = render.centre(render.LETTERS.index(house))
        assert float(found[house].get("x")) == x
        assert 30 < abs(float(found[house].get("y")) - y) < 60
    named = labels(state.svg(), "name")[seat]
    assert found[seat].get("x") == named.get("x")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (4, 4, "W +4"),
        (1, 9, "W +1..+9"),
        (0, 0, "D"),
        (-12, -12, "L -12"),
        (-3, -1, "L -3..-1"),
        (0, 2, "?"),
        (-2, 0, "?"),
        (-5, 5, "?"),
    ],
)
def test_a_mark_says_what_is_sure_and_agrees_with_the_tables_own_words(low, high, text):
    assert Verdict(low, high).text == text
    words = {"W": "won", "D": "drawn", "L": "lost", "?": "open"}
    assert in_words(0, low, high).startswith(words[text[0]])


def test_the_position_is_worth_its_best_move():
    assert best([Verdict(-4, 2), None, Verdict(-1, -1)]) == Verdict(-1, 2)
    assert best([None] * 6) is None


def test_the_four_kinds_differ_in_colour_and_a_win_from_a_loss_in_form():
    kinds = [Verdict(4, 4), Verdict(0, 0), Verdict(-4, -4), Verdict(-4, 4)]
    boxes = [mark(kind, (0.0, 0.0), "A")[1] for kind in kinds]
    assert len({box.fill for box in boxes}) == 4
    assert boxes[0].radius != boxes[2].radius


def test_the_widest_marks_of_neighbours_do_not_touch():
    widest = mark(Verdict(-20, -11), (0.0, 0.0), "A")[0]
    assert widest.size[0] < render.centre(1)[0] - render.centre(0)[0]


def test_the_words_for_those_who_cannot_see_it_name_every_verdict():
    title = ElementTree.XML(SOUTH.svg(verdicts=BOUNDS)).get("aria-label")
    assert title.endswith("South to move; proved: A W +4, C D, D L -4..-2, F ?")


def test_verdicts_leave_the_rest_of_the_picture_and_its_size_as_they_were():
    plain, marked = SOUTH.svg().splitlines(), SOUTH.svg(verdicts=BOUNDS).splitlines()
    assert marked[1 : len(plain) - 1] == plain[1:-1]
    pixels = render.rgb_array(SOUTH.scene(), verdicts=BOUNDS)
    assert pixels.shape == render.rgb_array(SOUTH.scene()).shape
    x, y = render.centre(0)
    assert (pixels[int(y) + 30 : int(y) + 60, int(x) - 20 : int(x) + 20] == (0, 105, 77)).any()


def test_bounds_are_taken_as_a_table_gives_them():
    assert NO_MOVE == probe.NO_MARGIN
    table = probe.open_table(8)
    position = as_positions(SOUTH.board[None], np.array([0]), np.zeros(1))
    lows, highs = table.move_bounds(position, 400)
    low, _ = table.bounds(position, 400)
    verdicts = read_verdicts((lows[0], highs[0]), 1)
    assert [one is not None for one in verdicts] == [house > 0 for house in SOUTH.houses[:6]]
    assert best(verdicts).low == 1 + low[0]


def test_the_picture_of_the_documentation_is_drawn_by_this_version():
    folder = Path(__file__).resolve().parents[2] / "docs/pictures"
    drawn = runpy.run_path(str(folder / "draw_judged.py"))["draw"]() + "\n"
    stored = (folder / "judged.svg").read_text(encoding="utf-8")
    assert stored == drawn, "run docs/pictures/draw_judged.py"


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (([1, 2], [1, 2]), r"verdicts are \(low, high\), six whole numbers each, not"),
        ([0] * 6, "six whole numbers each"),
        (([0.5] * 6, [0.5] * 6), "six whole numbers each"),
        (([3] * 6, [2] * 6), "from -48 to 48, low first: 3, 2"),
        (([NO_MOVE] * 6, [0] * 6), "low first: -128, 0"),
    ],
)
def test_what_are_no_bounds_is_refused(bounds, message):
    with pytest.raises(OwareError, match=message):
        SOUTH.svg(verdicts=bounds)
