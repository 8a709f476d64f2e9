import copy
import pickle

import numpy as np
import pytest

from oware_env.errors import OwareError
from oware_env.notation import START, Placement
from oware_env.rules import AWARI, Rules, initial_board
from oware_env.state import IllegalMove, State

OVER = "0-0-0-0-0-0-0-0-0-5-0-0-25-18-N"
UNFED = "1-0-0-2-0-1-0-0-0-0-0-0-22-22-S"  # only F feeds


def refusal(function, *arguments, **options):
    """The one line that ``function`` refuses its arguments with."""
    with pytest.raises(OwareError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def illegal(state, move, play=State.play):
    with pytest.raises(IllegalMove) as caught:
        play(state, move)
    return caught.value


def test_a_game_starts_with_four_seeds_in_each_house_and_south_to_move():
    state = State.initial()
    assert state.houses == (4,) * 12
    assert state.stores == (0, 0)
    assert state.south_to_move and state.ply == 0 and state.rules == Rules()
    assert state.legal_moves == (0, 1, 2, 3, 4, 5)
    assert state.legal_letters == tuple("ABCDEF")
    assert not state.is_over and state.outcome is None
    assert state == State.parse(START)
    assert repr(state) == f"State.parse('{START}', ply=0)"


@pytest.mark.parametrize(
    "move", [2, "C", np.int8(2), np.int64(2), np.uint8(2), np.arange(6)[2], np.str_("C")]
)
def test_a_move_may_be_any_integer_or_a_letter(move):
    after = State.initial().play(move)
    assert after.to_text() == "4-4-0-5-5-5-5-4-4-4-4-4-0-0-N"
    assert after.ply == 1
    assert State.initial().explain(move).letter == "C"


def test_north_plays_small_letters():
    state = State.initial().play("F")
    assert state.legal_letters == tuple("abcdef")
    assert state.play("f") == state.play(5)


@pytest.mark.parametrize(
    ("text", "move", "why"),
    [
        (START, "a", "'a' is not South's house: South plays A-F"),
        pytest.param(START, 10**5000, "a move is 0-5", id="very many digits"),
        (START, np.zeros((3, 3)), "a move is an integer 0-5 or a house letter"),
        (START, "F" * 100_000, "is not a move: South plays one letter A-F"),
        (START, "F\n", "'F\\n' is not a move"),
        (START, np.bool_(True), "a move is an integer 0-5 or a house letter"),
        (START, b"F", "a move is an integer 0-5 or a house letter"),
        (START, "G", "'G' is not a move: South plays one letter A-F"),
        (START, "", "'' is not a move"),
        (START, 6, "a move is 0-5"),
        (START, -1, "a move is 0-5"),
        (START, 10**30, "a move is 0-5"),
        (START, np.int8(-1), "a move is 0-5"),
        (START, 2.0, "a move is an integer 0-5 or a house letter"),
        (START, None, "a move is an integer 0-5 or a house letter"),
        (START, True, "a move is an integer 0-5 or a house letter"),
        (UNFED, "B", "house B is empty"),
        (UNFED, 0, "must be fed: house A holds 1 and needs 6 to reach the other side"),
        (UNFED, "D", "must be fed: house D holds 2 and needs 3 to reach the other side"),
        (OVER, "d", "the game is over (majority)"),
    ],
)
def test_a_move_not_offered_is_refused_with_its_reason(text, move, why):
    state = State.parse(text)
    error = illegal(state, move)
    assert why in error.why
    assert error.position == text
    assert error.legal_moves == state.legal_letters
    message = str(error)
    assert "\n" not in message
    assert message.startswith("illegal move ") and text in message and error.why in message
    assert len(message) < 400
    assert message.endswith("legal moves: " + (" ".join(state.legal_letters) or "none"))
    assert state == State.parse(text)


def test_an_unreadable_move_cannot_be_explained_either():
    for move in ("g", "a", 6, None):
        assert illegal(State.initial(), move, State.explain).position == START


def test_an_illegal_move_survives_pickling():
    error = illegal(State.parse(UNFED), "A")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is IllegalMove
    assert str(copied) == str(error)
    for name in ("position", "move", "legal_moves", "why"):
        assert getattr(copied, name) == getattr(error, name)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("4-4-4-4-4-4-4-4-4-4-4-3-0-0-S", {}, "holds 47 seeds, it must hold 48"),
        ("0-0-0-0-0-0-4-0-0-0-0-0-22-22-S", {}, "South is to move and owns no seed"),
        (START, {"ply": -1}, "ply must be between 0 and max_plies 400, not -1"),
        (START, {"ply": 401}, "ply must be between 0 and max_plies 400, not 401"),
        (START, {"ply": 9, "rules": Rules(max_plies=8)}, "max_plies 8, not 9"),
        (START, {"ply": 1.0}, "ply must be a whole number, not 1.0"),
        (START, {"ply": True}, "ply must be a whole number, not True"),
        (START, {"ply": "3"}, "ply must be a whole number, not '3'"),
        (START, {"rules": AWARI}, "games are played under abapa, not awari"),
        (START, {"rules": Rules(max_plies=0)}, "max_plies must be between 1 and"),
        (START, {"ply": 10**5000}, "max_plies 400, not int of very many digits"),
        (START, {"ply": np.float32(3)}, "ply must be a whole number"),
        (START, {"rules": Rules(max_plies=10**5000)}, "not int of very many digits"),
        (START, {"rules": Rules(max_plies=400.0)}, "max_plies must be a whole number, not 400.0"),
        (START, {"rules": Rules(max_plies=True)}, "max_plies must be a whole number, not True"),
        (START, {"rules": Rules(400, False)}, "slam must be a whole number, not False"),
        (START, {"rules": Rules(400, 0, 0.0)}, "feeding must be a whole number, not 0.0"),
        (START, {"rules": Rules(400, 0, 0, 10**5000)}, "games are played under abapa, not variant"),
        (START, {"rules": (400, 0, 0, 0, 0)}, "rules must be a Rules value"),
        (START, {"rules": None}, "rules must be a Rules value"),
    ],
)
def test_a_position_that_cannot_stand_is_refused(text, options, message):
    assert message in refusal(State.parse, text, **options)


def test_awari_is_refused_wherever_a_state_is_made():
    placement = Placement((4,) * 12, (0, 0), True)
    for make, arguments in (
        (State.initial, ()),
        (State.parse, (START,)),
        (State.from_placement, (placement,)),
        (State.from_board, (initial_board(), True)),
    ):
        message = refusal(make, *arguments, rules=AWARI)
        assert message.startswith("games are played under abapa, not awari (at most 400 plies)")


@pytest.mark.parametrize(
    ("board", "message"),
    [
        (np.full(13, 4), "a board must be 14 integers, not int64 of shape (13,)"),
        (np.full((2, 14), 4), "not int64 of shape (2, 14)"),
        (np.full(14, 4.5), "a board must be 14 integers, not float64 of shape (14,)"),
        ([4.0] * 12 + [0, 0], "a number of seeds must be a whole number, not 4.0"),
        ([True] * 14, "a number of seeds must be a whole number, not True"),
        (np.ones(14, bool), "a board must be 14 integers, not bool of shape (14,)"),
        ([[4, 4], [4]], "a number of seeds must be a whole number, not [4, 4]"),
        ([10**30] * 14, "a board must be 14 integers, not object of shape (14,)"),
        (None, "a board must be 14 integers, not None"),
        (7, "a board must be 14 integers, not 7"),
        ([4] * 14, "holds 56 seeds"),
        ([-1, *[4] * 11, 5, 0], "holds a negative number of seeds"),
        ([300, *[0] * 12, -252], "holds a negative number of seeds"),
        ([0] * 6 + [4] * 6 + [24, 0], "South is to move and owns no seed"),
    ],
)
def test_a_board_that_cannot_stand_is_refused(board, message):
    assert message in refusal(State.from_board, board, True)


def test_a_board_is_seen_by_the_side_to_move():
    board = [*range(6), *[5] * 6, 2, 1]
    south, north = State.from_board(board, True), State.from_board(board, False)
    assert south.houses == (*range(6), *[5] * 6) and south.stores == (2, 1)
    assert north.houses == (*[5] * 6, *range(6)) and north.stores == (1, 2)
    assert south.board.tolist() == north.board.tolist() == board
    assert south.board.dtype == np.int8


@pytest.mark.parametrize(
    ("text", "ply", "outcome"),
    [
        ("0-0-0-0-0-0-0-0-0-0-0-0-24-24-S", 0, (None, "no_feeding_move", (24, 24))),
        ("0-0-0-0-0-0-0-0-0-0-0-0-24-24-N", 9, (None, "no_feeding_move", (24, 24))),
        ("0-0-0-0-0-0-4-0-0-0-0-0-25-19-S", 0, ("south", "majority", (25, 19))),
        ("0-0-0-0-0-0-4-0-0-0-0-0-19-25-S", 0, ("north", "majority", (19, 25))),
        (OVER, 400, ("south", "majority", (25, 18))),
        ("3-2-0-0-0-0-0-0-0-0-0-0-22-21-S", 0, ("south", "no_feeding_move", (27, 21))),
        ("3-2-0-0-0-0-0-0-0-0-0-0-22-21-S", 400, ("south", "no_feeding_move", (27, 21))),
        ("0-0-0-0-0-0-1-1-0-0-0-0-24-22-N", 0, (None, "no_feeding_move", (24, 24))),
        ("1-0-2-2-0-0-0-0-0-0-0-1-21-21-S", 400, ("south", "move_limit", (26, 22))),
        (START, 400, (None, "move_limit", (24, 24))),
    ],
)
def test_a_finished_position_is_accepted_and_settled(text, ply, outcome):
    state = State.parse(text, ply=ply)
    assert state.is_over
    assert state.outcome == outcome
    assert state.legal_moves == () and state.legal_letters == ()
    assert state.to_text() == text  # houses and stores stay as the last move left them


def test_the_move_limit_ends_a_game_that_loops():
    state = State.parse("1-0-0-0-0-0-1-0-0-0-0-0-23-23-S", Rules(max_plies=12_000))
    seen = [state.to_text()]
    while not state.is_over:
        state = state.play(state.legal_moves[0])
        seen.append(state.to_text())
    assert seen[0] == seen[12] == seen[12_000]
    assert state.ply == 12_000
    assert state.outcome == (None, "move_limit", (24, 24))


def test_a_state_never_changes():
    state = State.initial()
    for name in ("houses", "stores", "ply", "south_to_move", "rules", "board", "outcome"):
        with pytest.raises(AttributeError):
            setattr(state, name, None)
    with pytest.raises(AttributeError):
        state.note = "new"
    board = state.board
    board[:] = 0
    state.play(0)
    assert state == State.initial()
    assert state.board.tolist() == initial_board().tolist()


def test_states_are_equal_when_position_ply_and_rules_are():
    state = State.parse(START, ply=2)
    assert state == State.parse(START, ply=2)
    assert hash(state) == hash(State.parse(START, ply=2))
    others = [
        State.parse(START, ply=3),
        State.parse(START, Rules(max_plies=399), ply=2),
        State.parse(START.replace("S", "N"), ply=2),
        State.parse("4-4-4-4-4-4-4-4-4-4-4-3-1-0-S", ply=2),
    ]
    assert len({state, *others}) == 5
    assert state != START and state != 0


def test_how_a_position_came_about_makes_no_difference(random_game):
    for state in random_game(4):
        assert State.parse(state.to_text(), ply=state.ply) == state


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_copy_is_equal_and_plays_on_alike(random_game, duplicate):
    for state in random_game(5)[::7]:
        copied = duplicate(state)
        assert copied == state and hash(copied) == hash(state)
        assert copied.legal_moves == state.legal_moves and copied.outcome == state.outcome
        assert copied.scene() == state.scene()
        if not state.is_over:
            assert copied.play(state.legal_moves[0]) == state.play(state.legal_moves[0])


def test_a_scene_shows_the_last_move():
    state = State.parse("0-0-0-0-0-3-1-2-1-4-0-0-18-19-S")
    assert state.scene().origin is None and state.scene().path == ()
    scene = state.play("F").scene()
    assert (scene.origin, scene.path, scene.captured) == (5, (6, 7, 8), (8, 7, 6))
    assert scene.legal == () and scene.result == "South wins 25-19 (majority)"
    assert State.parse(UNFED).scene().legal == (5,)
    assert State.parse(UNFED).scene(show_legal=False).legal == ()
    north = State.initial().play("A").play("f").scene()
    assert (north.origin, north.path) == (11, (0, 1, 2, 3))


@pytest.mark.parametrize("side", ["N", "S", 0, 1, None, 1.0])
def test_a_side_is_south_or_it_is_not(side):
    placement = Placement((4,) * 12, (0, 0), side)
    for make, arguments in (
        (State.from_placement, (placement,)),
        (State.from_board, (initial_board(), side)),
    ):
        assert "True for South or False for North" in refusal(make, *arguments)


def test_numbers_of_numpy_become_plain_ones():
    houses, stores = np.full(12, 4, np.int8), np.zeros(2, np.uint16)
    rules = Rules(np.int64(300))
    placement = Placement(houses, stores, np.bool_(False))
    state = State.from_placement(placement, rules, np.int32(3))
    assert state == State.parse(START[:-1] + "N", Rules(300), 3)
    assert [type(number) for number in (state.ply, *state.rules)] == [int] * 6
    assert type(state.south_to_move) is bool and repr(state).endswith("ply=3)")
