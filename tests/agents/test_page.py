"""Pages: whole, alone, and safe whatever names stand in them."""

import re
from xml.etree import ElementTree

import pytest

from agents import plots
from agents.page import Section, game, page, plot, table, write_page
from oware_env.errors import OwareError
from oware_env.records import GameRecord
from oware_env.replay import Replay


@pytest.fixture
def drawn():
    with plots.style():
        figure, axes = plots.figure()
        plots.shares(axes[0, 0], {"majority": 0.4})
        return plot(figure, "how games <end>", 7)


def test_text_is_escaped_everywhere():
    nasty = "<script>alert(1)</script>"
    text = page(nasty, nasty, [Section(nasty, table([nasty], [[nasty]]), nasty)])
    assert nasty not in text and text.count("&lt;script&gt;") == 7  # the title stands twice


def test_a_plot_is_inline_well_formed_and_takes_the_ink_of_the_page(drawn):
    svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", drawn, re.DOTALL)[0])
    assert svg.get("aria-label") == "how games <end>"
    assert svg.get("width") is None and svg.get("viewBox")
    assert "var(--ink)" in drawn and plots.INK.lower() not in drawn.lower()
    assert "40.0 %" in drawn and "<figcaption>how games &lt;end&gt;</figcaption>" in drawn


def test_ids_of_plots_never_clash_and_references_lead_somewhere(drawn):
    ids = re.findall(r'\bid="([^"]*)"', drawn)
    assert ids and all(name.startswith("plot7-") for name in ids)
    used = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', drawn)
    assert used and {a or b for a, b in used} <= set(ids)


def test_nothing_comes_from_outside(drawn):
    replay = game(Replay(GameRecord.from_moves("FfE")), "a game")
    text = page("T", "L", [Section("S", drawn + replay)])
    text = re.sub(r"http://www\.w3\.org/[^ \"&]*", "", text)  # names of vocabularies
    assert not re.search(r"https?://|@import|<link|src=\"", text)


def test_a_game_is_folded_and_whole():
    replay = Replay(GameRecord.from_moves("FfE"))
    text = game(replay, "a game")
    assert text.startswith("<details><summary>a game</summary><iframe")
    assert "&lt;!doctype html&gt;" in text


def test_writing_where_nothing_can_be_written_is_one_line(tmp_path):
    assert write_page("x", tmp_path / "a.html").read_text() == "x"
    with pytest.raises(OwareError, match="cannot be written"):
        write_page("x", tmp_path / "none" / "a.html")
