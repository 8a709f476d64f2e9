"""Pictures of boards: what the SVG, the pixels, the text and the window show."""

import re
import sys
from collections import Counter
from math import dist
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oware_env import render
from oware_env.errors import OwareError
from oware_env.render_shapes import Disc, Line
from oware_env.state import State

CHAIN = State.parse("0-0-0-0-0-2-1-2-4-4-4-4-13-14-S").play("F")  # takes b and a
LAP = State.parse("1-1-1-1-1-23-4-4-4-4-4-0-0-0-S", ply=7).play("F")
BOARDS = {
    "start": State.initial(),
    "chain": CHAIN,
    "lap": LAP,
    "crowded": State.parse("1-0-0-0-0-46-1-0-0-0-0-0-0-0-S"),
    "over": State.parse("0-0-0-0-0-1-1-1-0-0-0-0-25-20-N"),
    "empty": State.parse("0-0-0-0-0-0-0-0-0-0-0-0-24-24-N"),
}


def parts(picture: str) -> dict[str, list[ElementTree.Element]]:
    """The elements of an SVG by what they show; parsing also proves it well-formed."""
    found: dict[str, list[ElementTree.Element]] = {}
    for element in ElementTree.fromstring(picture).iter():
        found.setdefault(element.get("data-part", ""), []).append(element)
    return found


def letters(picture: str, what: str) -> str:
    return "".join(sorted(part.split()[1] for part in parts(picture) if part.startswith(what)))


@pytest.mark.parametrize("name", BOARDS)
def test_svg_shows_every_count_letter_and_seed(name):
    state = BOARDS[name]
    found = parts(state.svg())
    for letter, count in zip(render.LETTERS, state.houses, strict=True):
        assert found[f"count {letter}"][0].text == str(count)
        assert found[f"letter {letter}"][0].text == letter
        assert len(found.get(f"seed {letter}", [])) == count
    for seat, count in zip(("South", "North"), state.stores, strict=True):
        assert found[f"count {seat}"][0].text == str(count)
        assert len(found.get(f"seed {seat}", [])) == count
    assert sum(len(found[part]) for part in found if part.startswith("seed")) == 48


@pytest.mark.parametrize("name", BOARDS)
def test_svg_marks_exactly_the_legal_houses(name):
    state = BOARDS[name]
    assert letters(state.svg(), "legal") == "".join(state.legal_letters)


def test_legal_houses_can_be_left_out():
    assert letters(render.svg(State.initial().scene(show_legal=False)), "legal") == ""


def test_svg_marks_the_captured_houses_and_the_way_of_the_last_move():
    picture = CHAIN.svg()
    assert letters(picture, "captured") == "ab"
    assert letters(picture, "sown") == "ab"
    assert letters(picture, "origin") == "F"
    assert letters(picture, "landing") == "b"
    assert parts(picture)["played"][0].text == "F sowed 2, captured b a · ply 1"


def test_svg_marks_the_houses_that_a_void_slam_spared():
    gift = State.parse("0-0-0-0-0-6-1-1-1-1-1-1-18-18-S").play("F")
    picture = gift.svg()
    assert letters(picture, "spared") == "abcdef" and letters(picture, "captured") == ""
    assert parts(picture)["played"][0].text == "F sowed 6, void slam · ply 1"
    assert letters(CHAIN.svg(), "spared") == ""


def test_a_lap_draws_the_whole_round_and_how_many_seeds_each_house_got():
    picture = LAP.svg()
    assert letters(picture, "sown") == "ABCDEabcdef"  # F, the origin, is skipped
    assert letters(picture, "landing") == "a"
    numbers = Counter(element.text for element in parts(picture)[""] if element.text in ("2", "3"))
    assert numbers == {"2": 10, "3": 1}


def test_the_trail_follows_the_board_against_the_clock():
    south = State.initial().play("E").scene()
    shapes, _ = render.compose(south)
    (line,) = [shape for shape in shapes if isinstance(shape, Line) and shape.part]
    right = render.centre(5)[0]
    assert line.points[0] == render.centre(4)  # out of E, to the right past F, back to c
    assert max(x for x, _ in line.points) > right
    assert line.points[-1][0] == render.centre(8)[0]
    around = [point for point in line.points if point[0] > right]
    assert around[0][1] > around[-1][1]  # upwards on the right-hand side


def test_svg_says_whose_turn_it_is_and_how_the_game_ended():
    assert parts(State.initial().svg())["status"][0].text == "South to move"
    assert parts(State.initial().play("A").svg())["status"][0].text == "North to move"
    assert parts(BOARDS["over"].svg())["status"][0].text == "South wins 25-20 (majority)"
    assert parts(BOARDS["empty"].svg())["status"][0].text == "Draw 24-24 (no feeding move)"


def test_north_lies_above_from_right_to_left_and_south_below():
    found = parts(State.initial().svg())
    x = {letter: float(found[f"letter {letter}"][0].get("x")) for letter in render.LETTERS}
    y = {letter: float(found[f"letter {letter}"][0].get("y")) for letter in render.LETTERS}
    assert sorted("ABCDEF", key=x.get) == list("ABCDEF")
    assert sorted("abcdef", key=x.get) == list("fedcba")
    assert all(x[upper] == x[lower] for upper, lower in zip("ABCDEF", "fedcba", strict=True))
    assert max(y[letter] for letter in "abcdef") < min(y[letter] for letter in "ABCDEF")
    stores = {seat: float(found[f"count {seat}"][0].get("x")) for seat in ("South", "North")}
    assert stores["North"] < min(x.values()) and stores["South"] > max(x.values())


def test_svg_stands_alone_and_never_clashes_with_another():
    for state in BOARDS.values():
        picture = state.svg()
        assert state._repr_svg_() == picture == state.svg()
        for word in ("<script", "<style", " id=", "class=", "href", "url("):
            assert word not in picture


@pytest.mark.parametrize("south", [True, False], ids=["south", "north"])
def test_bars_show_the_policy_by_house_and_the_value_of_the_mover(south):
    state = State.parse("0-0-1-0-2-0-1-0-2-0-0-1-21-20-" + ("S" if south else "N"))
    policy = [0.75, 0.0, 0.2, 0.0, 0.001, 0.0]
    found = parts(render.svg(state.scene(), policy, -0.5))
    heights = {}
    for house, share in zip("ABCDEF" if south else "abcdef", policy, strict=True):
        bars = found.get(f"share {house}", [])
        assert len(bars) == (share > 0)
        for bar in bars:
            heights[share] = float(bar.get("height"))
            middle = float(bar.get("x")) + float(bar.get("width")) / 2
            assert middle == render.centre(render.LETTERS.index(house))[0]
    assert heights[0.75] == pytest.approx(heights[0.2] * 0.75 / 0.2)
    assert 1 < heights[0.001] < heights[0.2]
    words = [found[f"number {house}"][0].text for house in ("ACE" if south else "ace")]
    assert words == ["75%", "20%", "<1%"]
    assert found["value number"][0].text == "-0.50"
    (bar,) = found["value"]
    seat = found[f"name {'South' if south else 'North'}"][0]
    assert float(bar.get("x")) + float(bar.get("width")) / 2 == float(seat.get("x"))
    assert float(bar.get("height")) == pytest.approx(heights[0.75] / 3)  # half of its lower half


def test_a_value_above_zero_goes_up_and_one_below_goes_down():
    tops = []
    for value in (0.5, -0.5):
        (bar,) = parts(render.svg(State.initial().scene(), value=value))["value"]
        tops.append((float(bar.get("y")), float(bar.get("height"))))
    assert tops[0][0] + tops[0][1] == tops[1][0] and tops[0][1] == tops[1][1] > 20


def test_without_a_policy_or_value_the_picture_is_as_it_was():
    scene = State.initial().scene()
    assert render.svg(scene) == render.svg(scene, None, float("nan"))
    assert (render.rgb_array(scene) == render.rgb_array(scene, value=float("nan"))).all()
    picture = render.rgb_array(scene, np.full(6, 1 / 6, np.float32), 0.0)
    assert picture.shape == (render.HEIGHT + render.PANEL, render.WIDTH, 3)
    assert (picture[: render.HEIGHT - 20] == render.rgb_array(scene)[: render.HEIGHT - 20]).all()
    assert (picture[render.HEIGHT :] != picture[-30, 5]).any()


@pytest.mark.parametrize(
    ("policy", "value", "message"),
    [
        ([0.5, 0.5], None, r"a policy is six shares from 0 to 1, not \[0.5, 0.5\]"),
        ([2.0, 0, 0, 0, 0, -1.0], None, "a policy is six shares from 0 to 1"),
        ([np.nan] * 6, None, "a policy is six shares from 0 to 1"),
        (None, 3.0, "a value lies between -1 and 1 for the mover, not 3.0"),
    ],
)
def test_what_is_no_policy_or_value_is_refused(policy, value, message):
    with pytest.raises(OwareError, match=message):
        render.svg(State.initial().scene(), policy, value)


def test_text_from_outside_is_escaped():
    scene = State.initial().scene()._replace(result='<b>"&')
    assert parts(render.svg(scene))["status"][0].text == '<b>"&'


@given(st.integers(0, 48))
@settings(deadline=None)
def test_seeds_of_a_house_lie_inside_it_and_apart(seeds):
    places, radius = render.seed_places((0.0, 0.0), seeds)
    assert len(places) == seeds
    assert all(dist((0, 0), place) + radius <= render.PIT for place in places)
    for number, place in enumerate(places):
        assert all(dist(place, other) >= 2 * radius for other in places[:number])
    assert render.seed_places((0.0, 0.0), seeds) == (places, radius)


def test_no_shape_leaves_the_picture():
    for state in BOARDS.values():
        for disc in render.compose(state.scene())[0]:
            if isinstance(disc, Disc):
                (x, y), reach = disc.centre, disc.radius + disc.width
                assert reach <= x <= render.WIDTH - reach and reach <= y <= render.HEIGHT - reach


def test_pixels_have_the_promised_shape_and_tell_boards_apart():
    pictures = [render.rgb_array(state.scene()) for state in BOARDS.values()]
    for picture in pictures:
        assert picture.dtype == np.uint8 and picture.shape == (render.HEIGHT, render.WIDTH, 3)
        assert picture.flags.writeable
    for number, picture in enumerate(pictures):
        assert all((picture != other).any() for other in pictures[:number])
    assert (render.rgb_array(BOARDS["lap"].scene()) == pictures[list(BOARDS).index("lap")]).all()


def test_pixels_lie_where_the_svg_puts_them():
    picture = render.rgb_array(State.parse("1-0-0-0-0-0-47-0-0-0-0-0-0-0-S").scene())
    x, y = render.centre(0)
    assert picture[int(y), int(x)].min() > 180  # the only seed of A is light
    x, y = render.centre(1)
    assert picture[int(y), int(x)].max() < 90  # B is an empty, dark hollow


def test_text_shows_the_board_the_turn_and_the_last_move():
    assert str(State.initial()).splitlines() == [
        "              f   e   d   c   b   a",
        " North  0 |   4   4   4   4   4   4 |",
        "          |   4   4   4   4   4   4 | 0 South",
        "              A   B   C   D   E   F",
        "South to move, ply 0; legal A B C D E F",
    ]
    assert str(CHAIN).splitlines()[1:3] == [
        " North 14 |   4   4   4   4   0   0 |",
        "          |   0   0   0   0   0   0 | 18 South",
    ]
    assert str(CHAIN).splitlines()[-1] == "last move: F sowed 2, captured b a"
    assert "South wins 25-20 (majority), ply 0" in str(BOARDS["over"])


def test_coloured_text_is_the_plain_text_with_marks():
    plain, coloured = render.ansi(CHAIN.scene()), render.ansi(CHAIN.scene(), colour=True)
    assert "\x1b[93;1m   0\x1b[0m" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


@pytest.fixture
def dummy_screen(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def test_window_shows_the_pixels_of_a_scene(dummy_screen):
    import pygame

    window = render.Window()
    for state in (State.initial(), CHAIN):
        window.show(state.scene())
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        assert (shown == render.rgb_array(state.scene())).all()
    window.close()
    window.close()
    assert not pygame.display.get_init()


def test_a_window_closed_by_its_viewer_stays_closed(dummy_screen):
    import pygame

    window = render.Window()
    window.show(State.initial().scene())
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(CHAIN.scene())
    assert not pygame.display.get_init()
    window.show(CHAIN.scene())
    assert not pygame.display.get_init()


def test_a_missing_pygame_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(OwareError) as caught:
        render.Window()
    needed = 'a window needs pygame-ce: install it with pip install -e ".[human]"'
    assert str(caught.value) == needed


def test_pixels_mark_the_houses_that_a_void_slam_spared():
    orange = (0xE6, 0x9F, 0x00)
    gift = State.parse("0-0-0-0-0-6-1-1-1-1-1-1-18-18-S").play("F").scene()
    picture = render.rgb_array(gift)
    marked = (np.abs(picture.astype(int) - orange) < 40).all(axis=2)
    for house in range(12):
        x, y = (round(place) for place in render.centre(house))
        around = marked[y - render.PIT - 12 : y + render.PIT + 12, x - 46 : x + 46]
        assert (around.sum() > 200) == (house >= 6)
    assert not (np.abs(render.rgb_array(gift._replace(spared=())) - orange) < 40).all(axis=2).any()
