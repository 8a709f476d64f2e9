"""The page of a game: every ply's picture, nothing from outside, and text that cannot break out."""

import html
import json
import re
from xml.etree import ElementTree

import pytest

from oware_env.errors import OwareError
from oware_env.records import GameRecord
from oware_env.replay import Replay
from oware_env.state import State

GAME = GameRecord.from_moves("FfEcCc", tags={"South": "Ama", "North": "Kofi"})


def data_of(page):
    text = re.search(r'<script type="application/json" id="game">(.*?)</script>', page, re.DOTALL)
    return json.loads(text[1])


def pictures(page):
    game = data_of(page)
    return [{game["shapes"][number] for number in frame} for frame in game["frames"]]


def test_every_ply_shows_the_shapes_of_its_own_picture():
    shown = pictures(Replay(GAME).html())
    states = list(GAME.states())
    assert len(shown) == len(states) == 7
    for shapes, state in zip(shown, states, strict=True):
        lines = state.svg().splitlines()
        assert shapes == set(lines[1:-1])


def test_a_shape_stands_in_the_page_once():
    game = data_of(Replay(GAME).html())
    assert len(set(game["shapes"])) == len(game["shapes"])
    assert sum(len(frame) for frame in game["frames"]) > 2 * len(game["shapes"])


def test_moves_words_and_result():
    page = Replay(GAME).html()
    game = data_of(page)
    assert game["letters"] == list("FfEcCc")
    assert game["said"][0].startswith("Start, 4-4-4")
    assert (
        game["said"][1]
        == "1. F sows 4 seeds over a, b, c, d. The last seed makes 5 in d. Captures nothing."
    )
    assert "<title>Ama – Kofi</title>" in page and "not finished, 6 moves" in page
    won = GameRecord.from_moves("F", "0-0-0-0-0-1-1-0-0-5-0-0-23-18-S")
    assert "South wins 25-18 (majority)" in Replay(won).html()


def test_the_page_needs_nothing_from_outside_and_is_well_formed():
    page = Replay(GAME, values=[0.1] * 7).html()
    assert not re.search(
        r"(src|href)=|url\(|@import|https?:", page.replace("http://www.w3.org/2000/svg", "")
    )
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_names_cannot_break_out_of_the_page():
    nasty = "</script><script>alert(1)</script>"
    page = Replay(GameRecord.from_moves("F", tags={"South": nasty})).html()
    assert nasty not in page and "&lt;/script&gt;" in page


def test_policies_and_values_are_bars_and_a_curve_for_south():
    policies = [[0.5, 0.5, 0, 0, 0, 0], None, None, None, None, None, None]
    page = Replay(GAME, policies, [0.5, 0.5, None, float("nan"), 0.0, 0.0, -1.0]).html()
    game = data_of(page)
    first = "".join(game["shapes"][number] for number in game["frames"][0])
    assert 'data-part="share A"' in first and "50%" in first
    points = re.search(r'<polyline points="([^"]*)"', re.search(r'<svg class="values".*', page)[0])[
        1
    ]
    # South moves first: North's +0.5 at ply 1 is bad for South.
    assert points.split()[:2] == ["0.00,11.00", "16.67,29.00"] and len(points.split()) == 5


def test_too_few_values_are_one_line():
    with pytest.raises(OwareError, match="a game of 6 moves needs 7 values, not 6"):
        Replay(GAME, values=[0.0] * 6)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    replay = Replay(GAME)
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" style="[^"]*" title="[^"]*"></iframe>', replay._repr_html_()
    )
    assert html.unescape(frame[1]) == replay.html()


def test_saving(tmp_path):
    path = Replay(GAME).save(tmp_path / "game.html")
    assert path.read_text(encoding="utf-8") == Replay(GAME).html()
    with pytest.raises(OwareError, match="cannot be written"):
        Replay(GAME).save(tmp_path / "none" / "game.html")


def test_a_game_without_a_move_is_a_page_too():
    page = Replay(GameRecord(start=State.initial().to_text())).html()
    assert len(data_of(page)["frames"]) == 1 and 'max="0"' in page


def test_verdicts_are_marks_on_the_houses_and_said():
    few = GameRecord.from_moves("F", "1-0-0-0-0-1-1-0-0-0-0-0-23-22-S")
    nothing = -128
    proved = ([-1, *[nothing] * 4, 0], [-1, *[nothing] * 4, 0])
    page = Replay(few, verdicts=[proved, None]).html()
    game = data_of(page)
    first, last = ("".join(game["shapes"][n] for n in frame) for frame in game["frames"])
    assert ">D</text>" in first and ">W +1</text>" in first and 'data-part="verdict A"' in first
    assert "verdict" not in last
    assert game["said"][0].endswith(" Proved: A D, F W +1.") and "Proved" not in game["said"][1]
    assert pictures(page)[0] == set(State.parse(few.start).svg(verdicts=proved).splitlines()[1:-1])


@pytest.mark.parametrize(
    ("thoughts", "message"),
    [
        ({"verdicts": [None] * 8}, "needs 7 verdicts, not 8"),
        ({"verdicts": 3}, "verdicts are one for each state, not 3"),
        ({"verdicts": [3] + [None] * 6}, "verdicts are .low, high., six whole numbers each, not 3"),
        ({"verdicts": [([0] * 5, [0] * 5)] + [None] * 6}, "six whole numbers each"),
        ({"verdicts": [([0.5] * 6, [1] * 6)] + [None] * 6}, "six whole numbers each"),
        ({"policies": ["FfEcCc"] + [None] * 6}, "a policy is six shares from 0 to 1, not 'FfEcCc'"),
        ({"policies": [[None] * 6] + [None] * 6}, "a policy is six shares"),
        ({"policies": [5] + [None] * 6}, "a policy is six shares from 0 to 1, not 5"),
        (
            {"values": ["won"] + [None] * 6},
            "a value lies between -1 and 1 for the mover, not 'won'",
        ),
        ({"values": 0.5}, "values are one for each state, not 0.5"),
    ],
)
def test_thoughts_that_cannot_be_are_one_line(thoughts, message):
    with pytest.raises(OwareError, match=message):
        Replay(GAME, **thoughts).html()


def test_a_result_that_only_the_source_knows_is_said():
    page = Replay(GAME.with_result("26-22")).html()
    assert "not finished, 6 moves; its source says 26-22" in page


@pytest.mark.parametrize("name", ["", ".", "a\0b", "a" * 300])
def test_a_name_that_cannot_be_is_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OwareError, match="cannot be written"):
        Replay(GAME).save(name)
    assert list(tmp_path.iterdir()) == []
