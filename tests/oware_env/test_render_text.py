"""The board painted for a terminal: counts, badges, the way of the last move, nothing too wide."""

import re

import pytest

from oware_env import render
from oware_env.state import State

STYLED = re.compile(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m")
FIRST, PITCH = 13, 6  # where the columns of the houses are


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def lines_of(state):
    return plain(render.painted(state.scene())).splitlines()


def styled(state, style):
    """Everything the picture shows in a style, as one text without spaces."""
    found = STYLED.findall(render.painted(state.scene()))
    return "".join(text.strip() for codes, text in found if style in codes)


def column(letter):
    house = render.LETTERS.index(letter)
    return FIRST + PITCH * (house if house < 6 else 11 - house)


def test_counts_and_letters_stand_in_columns_and_stores_at_the_ends():
    state = State.parse("1-2-3-4-5-12-0-1-2-3-4-5-3-3-N")
    north_letters, _, north, stores, _, south, _, south_letters, status = lines_of(state)
    for letter, count in zip(render.LETTERS, state.houses, strict=True):
        row, names = (south, south_letters) if letter.isupper() else (north, north_letters)
        assert row[column(letter) - 1 : column(letter) + 1].strip() == str(count)
        assert names[column(letter)] == letter
    assert stores.split() == ["3", "3"]
    assert north_letters.split()[0] == "North" and south_letters.split()[-1] == "South"
    assert status == "North to move, ply 0; legal b c d e f"


def test_badges_mark_who_moves_and_the_legal_houses():
    badge = "48;5;25"
    assert styled(State.initial(), badge) == "ABCDEFSouth"
    assert styled(State.parse("1-0-0-0-0-1-0-0-0-0-0-0-23-23-S"), badge) == "FSouth"
    assert styled(State.initial().play("C"), badge) == "Northfedcba"
    over = State.parse("0-0-0-0-0-1-1-1-0-0-0-0-25-20-N")
    assert styled(over, badge) == ""
    assert lines_of(over)[-1] == "South wins 25-20 (majority), ply 0"


def way(state):
    """The two lines between the rows, without the stores."""
    lines = lines_of(state)
    return [line[8:49].rstrip() for line in lines[3:5]]


def test_the_way_goes_round_the_right_end_to_an_arrow():
    upper, lower = way(State.initial().play("C"))
    assert upper == " " * 35 + "▲──╮"
    assert lower == " " * 17 + "○─────•─────•─────•──╯"


def test_the_way_goes_round_the_left_end():
    upper, lower = way(State.initial().play("A").play("f"))
    assert upper == "  ╭──○"
    assert lower == "  ╰──•─────•─────•─────▼"


def test_a_lap_goes_all_round_with_the_number_of_seeds_each_house_got():
    upper, lower = way(State.parse("1-1-1-1-1-23-4-4-4-4-4-0-0-0-S").play("F"))
    assert upper == "  ╭──" + "2─────" * 5 + "▲──╮"
    assert lower == "  ╰──" + "2─────" * 5 + "○──╯"


def test_no_way_is_shown_before_the_first_move():
    assert way(State.initial()) == ["", ""]


@pytest.mark.parametrize(
    ("state", "captured", "spared"),
    [
        (State.parse("0-0-0-0-0-2-1-2-4-4-4-4-13-14-S").play("F"), "00", ""),
        (State.parse("0-0-0-0-0-6-1-1-1-1-1-1-18-18-S").play("F"), "", "222222"),
    ],
)
def test_captured_and_spared_houses_have_colours_of_their_own(state, captured, spared):
    assert styled(state, "48;5;227") == captured
    assert styled(state, "48;5;214") == spared


def test_the_board_is_a_rectangle_that_fits_into_a_terminal(random_game):
    for state in random_game(3):
        lines = lines_of(state)
        assert {len(line) for line in lines[1:7]} == {57}
        assert max(map(len, lines)) < 80


def test_plain_colours_mark_what_a_void_slam_spared():
    gift = State.parse("0-0-0-0-0-6-1-1-1-1-1-1-18-18-S").play("F")
    assert render.ansi(gift.scene(), colour=True).count("\x1b[33;1m") == 12
    assert "\x1b" not in render.ansi(gift.scene())
