import numpy as np
import pytest

from oware_env import notation
from oware_env.errors import OwareError
from oware_env.notation import START, Placement


def refusal(function, *arguments):
    """The one line that ``function`` refuses its arguments with."""
    with pytest.raises(OwareError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_start_reads_as_four_seeds_in_each_house():
    assert notation.parse_position(START) == Placement((4,) * 12, (0, 0), True)


def test_a_position_survives_text_and_back(random_game):
    for state in random_game(3):
        placement = notation.parse_position(state.to_text())
        assert placement == Placement(state.houses, state.stores, state.south_to_move)
        assert notation.format_position(*placement) == state.to_text()


def test_counts_of_any_integer_type_are_written_alike():
    counts = np.full(12, 4, np.int8)
    assert notation.format_position(counts, np.zeros(2, np.int64), True) == START


def test_surrounding_blanks_are_forgiven():
    assert notation.parse_position(f"  {START}\n") == notation.parse_position(START)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4-4-4-4-4-4-4-4-4-4-4-3-0-0-S", "holds 47 seeds, it must hold 48"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-1-0-S", "holds 49 seeds, it must hold 48"),
        ("4-4-4-4-x-4-4-4-4-4-4-4-0-0-S", "holds 'x' where a number of seeds belongs"),
        ("4-4-4-4-4.0-4-4-4-4-4-4-4-0-0-S", "holds '4.0' where a number"),
        ("4-4-4-4-٤-4-4-4-4-4-4-4-0-0-S", "where a number of seeds belongs"),
        ("4-4-4-4-04-4-4-4-4-4-4-4-0-0-S", "holds '04' where a number of seeds belongs"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-00-0-S", "holds '00' where a number of seeds belongs"),
        ("4-4-4-4-４-4-4-4-4-4-4-4-0-0-S", "where a number of seeds belongs"),
        ("4-4-4-4- 4-4-4-4-4-4-4-4-0-0-S", "holds ' 4' where a number of seeds belongs"),
        ("4-4-4-4-4\n-4-4-4-4-4-4-4-0-0-S", "where a number of seeds belongs"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0- S", "must end in S or N (the side to move), not ' S'"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-Ｓ", "must end in S or N"),
        ("4-4-4-4-²-4-4-4-4-4-4-4-0-0-S", "where a number of seeds belongs"),
        ("4-4-4-4-+4-4-4-4-4-4-4-4-0-0-S", "holds '+4' where a number of seeds belongs"),
        ("9" * 5000 + "-4-4-4-4-4-4-4-4-4-4-4-0-0-S", "where a number of seeds belongs"),
        ("4-4-4-4--4-4-4-4-4-4-4-4-4-4-S", "holds a negative number of seeds"),
        ("-4-4-4-4-4-4-4-4-4-4-4-4-4-4-S", "holds a negative number of seeds"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0--0-N", "holds a negative number of seeds"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0", "has 14 fields; it must have 15"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S-S", "has 16 fields; it must have 15"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-", "it must have 15"),
        ("4 4 4 4 4 4 4 4 4 4 4 4 0 0 S", "has 1 fields; it must have 15"),
        ("", "has 1 fields; it must have 15"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-s", "must end in S or N (the side to move), not 's'"),
        ("4-4-4-4-4-4-4-4-4-4-4-4-0-0-0", "must end in S or N (the side to move), not '0'"),
        ("0-0-0-0-0-0-4-0-0-0-0-0-22-22-S", "South is to move and owns no seed"),
        ("4-0-0-0-0-0-0-0-0-0-0-0-22-22-N", "North is to move and owns no seed"),
    ],
)
def test_a_wrong_position_is_refused_in_one_line(text, message):
    found = refusal(notation.parse_position, text)
    assert message in found
    assert repr(text)[:60] in found


@pytest.mark.parametrize("thing", [None, 48, [4] * 12, b"4-4"])
def test_a_position_that_is_no_text_is_refused(thing):
    assert "must be text" in refusal(notation.parse_position, thing)


@pytest.mark.parametrize(
    "text",
    [
        "0-0-0-0-0-0-4-0-0-0-0-0-25-19-S",
        "0-0-0-0-0-0-4-0-0-0-0-0-19-25-S",
        "0-0-0-0-0-0-0-0-0-0-0-0-24-24-S",
        "0-0-0-0-0-0-0-0-0-0-0-0-24-24-N",
        "0-0-0-0-0-0-0-0-0-0-0-0-48-0-N",
        "48-0-0-0-0-0-0-0-0-0-0-0-0-0-S",
    ],
)
def test_finished_and_extreme_positions_are_accepted(text):
    assert notation.format_position(*notation.parse_position(text)) == text


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (Placement((4,) * 11, (4, 0), True), "12 houses and 2 stores, not 11 and 2"),
        (Placement((4,) * 12, (0,), True), "12 houses and 2 stores, not 12 and 1"),
        (Placement((-1, *(4,) * 11), (5, 0), True), "holds a negative number of seeds"),
        (Placement((4,) * 12, (1, -1), True), "holds a negative number of seeds"),
        (Placement((4,) * 12, (0, 1), True), "holds 49 seeds"),
        (Placement((4.5, 3.5, *(4,) * 10), (0, 0), True), "seeds must be a whole number, not 4.5"),
        (Placement((4.0,) * 12, (0, 0), True), "must be a whole number, not 4.0"),
        (Placement((4,) * 12, (False, 0), True), "must be a whole number, not False"),
        (Placement(("4",) * 12, (0, 0), True), "must be a whole number, not '4'"),
        (Placement("4" * 12, (0, 0), True), "must be a whole number, not '4'"),
        (Placement((10**5000, *(4,) * 11), (0, 0), True), "seeds, it must hold 48"),
        (Placement((4,) * 12, (0, 0), "N"), "True for South or False for North, not 'N'"),
        (Placement((4,) * 12, (0, 0), 1), "True for South or False for North, not 1"),
        (Placement(3, (0, 0), True), "a placement is (12 houses, 2 stores, whether South"),
        (None, "a placement is (12 houses, 2 stores, whether South is to move), not None"),
        ((1, 2), "a placement is (12 houses, 2 stores, whether South is to move), not (1, 2)"),
    ],
)
def test_a_placement_that_cannot_stand_is_refused(placement, message):
    assert message in refusal(notation.check_placement, placement)


@pytest.mark.parametrize("south", [True, False])
def test_each_move_has_a_letter_of_its_side(south):
    letters = [notation.move_letter(move, south) for move in range(6)]
    assert "".join(letters) == ("ABCDEF" if south else "abcdef")
    assert [notation.parse_move(letter, south) for letter in letters] == list(range(6))


@pytest.mark.parametrize(
    ("text", "south", "message"),
    [
        ("a", True, "'a' is not South's house: South plays A-F"),
        ("F", False, "'F' is not North's house: North plays a-f"),
        ("g", True, "'g' is not a move: South plays one letter A-F"),
        ("", True, "'' is not a move"),
        ("AB", True, "'AB' is not a move"),
        ("ab", False, "'ab' is not a move: North plays one letter a-f"),
        ("2", False, "'2' is not a move"),
        (2, False, "2 is not a move"),
        (None, True, "None is not a move"),
        (b"A", True, "b'A' is not a move"),
        ("A" * 1000, True, "A ... is not a move"),
        ("A", "S", "True for South or False for North, not 'S'"),
    ],
)
def test_a_wrong_letter_is_refused(text, south, message):
    assert message in refusal(notation.parse_move, text, south)


@pytest.mark.parametrize("south", [True, False])
def test_a_run_of_moves_survives_text_and_back(south):
    moves = [5, 5, 4, 2, 0, 1]
    text = notation.format_moves(moves, south)
    assert text == ("FfEcAb" if south else "fFeCaB")
    assert notation.parse_moves(text, south) == moves
    assert notation.parse_moves("", south) == []


def test_a_wrong_move_in_a_run_is_named_by_its_number():
    message = refusal(notation.parse_moves, "FfEC", True)
    assert message == "move 4: 'C' is not North's house: North plays a-f"


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (notation.move_letter, (6, True), "a move is 0-5, not 6"),
        (notation.move_letter, (-1, True), "a move is 0-5, not -1"),
        (notation.move_letter, (10**5000, True), "a move is 0-5, not int of very many digits"),
        (notation.move_letter, (2.0, True), "a move must be a whole number, not 2.0"),
        (notation.move_letter, (True, True), "a move must be a whole number, not True"),
        (notation.move_letter, (2, "N"), "True for South or False for North, not 'N'"),
        (notation.format_moves, ([2, 7], True), "a move is 0-5, not 7"),
        (notation.format_moves, ([2], None), "True for South or False for North, not None"),
        (notation.parse_moves, (5, True), "moves are a run of letters such as FfEc, not 5"),
        (notation.parse_moves, ("F", 1), "True for South or False for North, not 1"),
        (notation.format_position, ((4.5,) * 12, (0, 0), True), "a whole number, not 4.5"),
        (notation.format_position, ((4,) * 12, (0, 0), "N"), "True for South or False for North"),
    ],
)
def test_what_is_no_move_number_or_side_is_refused_both_ways(function, arguments, message):
    assert message in refusal(function, *arguments)
