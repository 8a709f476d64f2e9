"""Light and dark pictures: what changes, what does not, and that no style leaks out of one."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from oware_env import render
from oware_env.errors import OwareError
from oware_env.render_themes import ADAPTS, DARK
from oware_env.state import State

STATE = State.parse("0-0-0-0-0-4-2-1-2-1-5-0-12-21-S").play("F")
POLICY, VALUE = [0, 0, 0, 0, 1.0, 0], -0.4


def drawn(theme):
    return STATE.svg(POLICY, VALUE, theme=theme)


def luminance(colour):
    """Relative luminance of "#RRGGBB" after WCAG 2."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_light_is_the_default_and_knows_no_style_sheet():
    assert STATE.svg(POLICY, VALUE) == drawn("light")
    assert "<style" not in drawn("light") and "<style" not in drawn("dark")


def test_dark_is_the_same_picture_in_other_colours():
    expected = drawn("light")
    for light, dark in DARK.items():
        assert light in expected
        expected = expected.replace(light, dark)
    assert drawn("dark") == expected


def test_text_beside_the_board_is_easy_to_read_in_the_dark():
    page, *inks = (DARK[colour] for colour in list(DARK)[:3])
    for ink in inks:
        assert (luminance(ink) + 0.05) / (luminance(page) + 0.05) >= 4.5


def test_auto_is_the_light_picture_and_a_style_sheet_that_names_only_itself():
    auto = drawn("auto").splitlines()
    style = auto.pop(1)
    assert auto[0].replace(f' class="{ADAPTS}"', "") == drawn("light").splitlines()[0]
    assert auto[1:] == drawn("light").splitlines()[1:]
    assert ElementTree.XML(drawn("auto")).get("class") == ADAPTS
    inner = re.fullmatch(r"<style>@media \(prefers-color-scheme:dark\)\{(.*)\}</style>", style)[1]
    rules = re.findall(r"([^{}]+)\{([^{}]+)\}", inner)
    assert len(rules) == 2 * len(DARK)
    assert all(selector.startswith(f".{ADAPTS} [") for selector, _ in rules)
    assert {value.partition(":")[2] for _, value in rules} == set(DARK.values())


def test_pixels_come_in_light_and_dark():
    light = render.rgb_array(STATE.scene(), POLICY, VALUE)
    dark = render.rgb_array(STATE.scene(), POLICY, VALUE, theme="dark")
    assert light.shape == dark.shape
    assert (light[0, 0] == 255).all() and (dark[0, 0] == (0x1E, 0x1A, 0x16)).all()
    x, y = render.centre(3)
    assert (light[int(y), int(x)] == dark[int(y), int(x)]).all()  # the board is wood in both


def test_pixels_that_should_adapt_and_unknown_themes_are_refused():
    with pytest.raises(OwareError, match="their theme is 'light' or 'dark'"):
        render.rgb_array(STATE.scene(), theme="auto")
    for draw in (render.svg, render.rgb_array):
        with pytest.raises(OwareError, match="no theme 'drak': known are 'light', 'dark', 'auto'"):
            draw(STATE.scene(), theme="drak")
