"""The board in a notebook, driven by its buttons without a browser."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import agents
from agents.play.game import load_game
from agents.play.notebook import play
from oware_env.errors import OwareError
from oware_env.positions import Decisions
from oware_env.rules import Rules
from oware_env.state import State

FEED = "1-0-0-0-0-1-0-0-0-0-0-0-23-23-S"  # only F reaches the empty North
WINNING = "0-0-0-0-0-2-0-1-4-4-4-4-23-6-S"  # F captures two from b, which wins
ENDGAME = "0-1-1-1-1-1-0-2-0-0-0-1-20-20-S"


class Broken:
    """An agent that fails, or plays what it is told."""

    name = "broken"

    def __init__(self, move=None):
        self.move = move

    def decide(self, positions):
        if self.move is None:
            raise ValueError("no <weights>\nat all")
        row = np.eye(6, dtype=np.float32)[[self.move]]
        return Decisions(np.array([self.move], np.int8), row, np.array([np.nan], np.float32))


def letters(board):
    return "".join(button.description for button in board.parts.houses)


def open_letters(board):
    return tuple(button.description for button in board.parts.houses if not button.disabled)


def press(board, letter):
    (button,) = [button for button in board.parts.houses if button.description == letter]
    assert not button.disabled
    button.click()


def words(board):
    """The lines below the board as plain text."""
    lines = re.findall(r"<p[^>]*>(.*?)</p>", board.parts.words.value)
    return [re.sub(r"</?b>", "", line) for line in lines]


@pytest.mark.parametrize("seat", ["south", "north"])
def test_a_whole_game_is_played_against_the_agents_own_moves(seat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board, agent = play("careful", seat=seat, seed=7), agents.make("careful")
    state = State.initial()
    while not state.is_over:
        if state.south_to_move == (seat == "south"):
            assert board.state == state
            assert set(open_letters(board)) == set(state.legal_letters)
            press(board, state.legal_letters[0])
            state = state.play(state.legal_moves[0])
        else:
            state = state.play(agents.choose(agent, state, 7))
    assert board.state == state and open_letters(board) == ()
    south, north = state.outcome.scores
    assert words(board)[-1].startswith("The end: ")
    assert f"South {south} - North {north}" in words(board)[-1]
    board.parts.save.click()
    assert words(board)[0] == "Saved: game.ogn"
    record = load_game(tmp_path / "game.ogn")
    assert list(record.states())[-1] == state and record.moves == board.record().moves
    assert record.tags[seat.capitalize()] == "human" and "careful" in record.tags.values()


def test_only_legal_houses_can_be_pressed_and_the_others_say_why():
    board = play("careful", start=State.parse(FEED))
    assert letters(board) == "ABCDEF" and open_letters(board) == ("F",)
    tips = [button.tooltip for button in board.parts.houses]
    assert tips[0] == State.parse(FEED).explain("A").why_not
    assert tips[1] == "house B is empty" and tips[5] == "sow from F"


def test_the_buttons_stand_in_the_order_of_the_houses_of_the_side_to_move():
    board = play("careful", seat="both")
    assert letters(board) == "ABCDEF"
    press(board, "C")
    assert letters(board) == "fedcba"
    press(board, "f")
    assert board.state == State.initial().play("C").play("f")
    assert words(board) == [f"North: {State.initial().play('C').explain('f')}"]


def test_a_move_and_its_answer_are_told_and_the_picture_is_of_the_position_now():
    board = play("careful", seed=7)
    press(board, "C")
    after = State.initial().play("C")
    answer = agents.choose(agents.make("careful"), after, 7)
    told = [f"You: {State.initial().explain('C')}", f"careful: {after.explain(answer)}"]
    assert words(board) == told
    assert board.parts.picture.value == after.play(answer).svg()


def test_undo_takes_back_to_your_last_turn():
    board = play("careful", seed=7)
    assert board.parts.undo.disabled
    press(board, "C")
    board.parts.undo.click()
    assert board.state == State.initial() and board.parts.undo.disabled and words(board) == []
    north = play("careful", seat="north")
    opened = north.state
    north.parts.undo.click()
    assert words(north) == ["Not done: there is no earlier turn of yours to take back to"]
    assert north.state == opened


def test_a_finished_game_is_taken_back_and_goes_on():
    board = play("careful", start=State.parse(WINNING))
    press(board, "F")
    assert "You win, South 25 - North 6: 25 seeds or more win at once." in words(board)[-1]
    assert board.parts.hint.disabled
    board.parts.undo.click()
    assert board.state.to_text() == WINNING and open_letters(board) == ("F",)


def test_a_hint_is_drawn_into_the_board_with_what_is_proved_and_goes_with_the_next_move():
    board = play("alphabeta:depth=4", start=State.parse(ENDGAME), seed=7)
    assert "share" not in board.parts.picture.value
    board.parts.hint.click()
    move = agents.choose(agents.make("alphabeta:depth=4"), board.state, 7)
    report = board.state.explain(move)
    shown = {part.get("data-part") for part in ElementTree.XML(board.parts.picture.value)}
    proved = {f"proved {place}" for place in (*board.state.legal_letters, "South")}
    assert proved | {f"share {report.letter}", "value number"} <= shown
    (line,) = words(board)
    assert line.startswith(f"Hint: alphabeta:depth=4 would play {report.letter} (value ")
    assert line.endswith(str(report))
    press(board, report.letter)
    assert "share" not in board.parts.picture.value


def test_a_hint_of_an_agent_without_a_value_on_a_full_board():
    board = play("careful", seed=7)
    board.parts.hint.click()
    picture = board.parts.picture.value
    assert 'data-part="share' in picture and "value" not in picture and "proved" not in picture


def test_a_new_game_begins_at_the_start_with_another_seed():
    board = play("random", seat="north", start=State.initial(Rules(max_plies=50)), seed=7)
    opened = set()
    for _ in range(8):
        opened.add(board.state)
        press(board, open_letters(board)[0])
        board.parts.new.click()
        assert board.state.ply == 1 and board.state.rules.max_plies == 50
    assert len(opened) > 1


def test_nothing_can_be_pressed_while_an_agent_thinks():
    seen = []

    class Watching(Broken):
        def decide(self, positions):
            parts = board.parts
            buttons = [*parts.houses, parts.hint, parts.undo, parts.new, parts.save]
            seen.append([button.disabled for button in buttons])
            seen.append(words(board))
            return super().decide(positions)

    board = play(Watching(0), seed=7)
    press(board, "C")
    assert seen[0] == [True] * 10
    assert seen[1][-1] == "broken is thinking ..." and seen[1][0].startswith("You: C sows 4")
    assert board.state.ply == 2 and len(open_letters(board)) == 5


def test_an_agent_that_fails_is_one_line_and_the_move_can_be_taken_back():
    board = play(Broken(), seed=7)
    press(board, "C")
    said = "Not done: broken could not move: ValueError: no &lt;weights&gt; at all"
    assert words(board) == [said]
    assert open_letters(board) == () and board.state.ply == 1
    board.parts.undo.click()
    assert board.state.ply == 0 and len(open_letters(board)) == 6
    board.parts.hint.click()
    assert words(board) == ["Not done: ValueError: no &lt;weights&gt; at all"]


def test_a_hint_that_cannot_be_drawn_is_one_line_and_the_game_goes_on():
    class Careless(Broken):
        def decide(self, positions):
            return super().decide(positions)._replace(value=np.array([7.0], np.float32))

    board = play(Careless(0), seed=7)
    board.parts.hint.click()
    assert words(board) == ["Not done: a value lies between -1 and 1 for the mover, not 7.0"]
    press(board, "C")
    assert board.state.ply == 2


def test_after_an_interrupt_the_move_can_be_taken_back():
    class Interrupted(Broken):
        def decide(self, positions):
            raise KeyboardInterrupt

    board = play(Interrupted(), seed=7)
    with pytest.raises(KeyboardInterrupt):
        press(board, "C")
    assert words(board) == [f"You: {State.initial().explain('C')}"]
    board.parts.undo.click()
    assert board.state.ply == 0 and len(open_letters(board)) == 6


def test_an_agents_illegal_move_and_a_failing_first_move_are_said():
    board = play(Broken(2), seat="north", start=State.parse(FEED))
    assert board.state.to_text() == FEED
    assert words(board)[0].startswith("Not done: broken could not move: illegal move 2 in 1-0-0-")


def test_a_file_that_stands_or_cannot_be_written_is_one_line(tmp_path):
    board = play("careful", seed=7)
    path = tmp_path / "game.ogn"
    path.write_text("precious")
    for name, said in (
        (str(path), f"{path} exists already: give another name"),
        (str(tmp_path / "none" / "game.ogn"), "No such file or directory"),
        ("", "no file is named: give a name such as game.ogn"),
    ):
        board.parts.file.value = name
        board.parts.save.click()
        (line,) = words(board)
        assert line.startswith("Not done: ") and said in line
    assert path.read_text() == "precious"


def test_a_notebook_without_widgets_shows_the_picture():
    board = play("careful", theme="dark")
    bundle = board._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == State.initial().svg(theme="dark")
    assert bundle["text/plain"] == "Board of South human, North careful, ply 0"
    assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agent": "carefull"}, "unknown agent 'carefull'"),
        ({"seat": "east"}, "a seat is 'south', 'north' or 'both', not 'east'"),
        ({"theme": "drak"}, "there is no theme 'drak'"),
    ],
)
def test_a_mistake_in_the_call_is_raised(arguments, message):
    with pytest.raises(OwareError, match=message):
        play(**arguments)


def test_missing_ipywidgets_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(OwareError) as caught:
        play("careful")
    assert str(caught.value) == (
        "a board to play in a notebook needs ipywidgets: "
        'install it with pip install -e ".[notebooks]"'
    )


def test_a_fast_double_click_sows_once_with_both_seats():
    board, games = play("careful", seat="both", seed=7), 0
    for _ in range(2000):
        if board.state.is_over:
            board.parts.new.click()
            games += 1
        before = board.state
        button = next(one for one in board.parts.houses if not one.disabled)
        expected = before.play(button.description)
        button.click()
        button.click()  # made before the browser drew the answer to the first
        assert board.state == expected
    assert games > 2


def test_a_fast_double_click_sows_once_against_an_agent():
    board = play("careful", seed=7)
    for ply in range(2, 42, 2):
        button = next(one for one in board.parts.houses if not one.disabled)
        for _ in range(3):
            button.click()
        assert board.state.ply == ply


def test_a_click_from_before_a_change_counts_for_no_button():
    board = play("careful", seat="both", seed=7)
    parts = board.parts
    for letter in ("C", "c", "D"):
        press(board, letter)
    house, undo, new = parts.houses[0], parts.undo, parts.new
    undo.click()
    for stale in (undo, house, new, undo):
        stale.click()
    assert board.state == State.initial().play("C").play("c")
    parts.undo.click()
    assert board.state.ply == 1


def test_the_buttons_shown_are_those_that_count():
    board = play("careful", seat="both", seed=7)
    for letter in ("C", "c"):
        press(board, letter)
        _, houses, others, _ = board.parts.whole.children
        assert list(houses.children) == board.parts.houses
        assert board.parts.undo in others.children and board.parts.file in others.children
