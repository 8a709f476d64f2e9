"""The replay page in a real browser: every ply's board, on and back, by button, key and slider."""

from itertools import pairwise

import pytest

from oware_env.render_shapes import LETTERS

SHOWN = """() => ({
    ply: Number(document.getElementById("ply").value),
    picture: document.getElementById("board").innerHTML,
    counts: Object.fromEntries([...document.querySelectorAll('#board [data-part^="count "]')].map(
        (count) => [count.dataset.part.slice(6), Number(count.textContent)])),
})"""


def counts_of(state):
    seats = dict(zip(("South", "North"), state.stores, strict=True))
    return dict(zip(LETTERS, state.houses, strict=True)) | seats


class Board:
    """The page of a game, and what it shows."""

    def __init__(self, page):
        self.page = page

    def press(self, control):
        self.page.locator(f"#{control}").click()

    def key(self, name):
        self.page.keyboard.press(name)

    @property
    def shown(self):
        """Ply, the board as it is drawn, and the counts in it, all of one moment."""
        return self.page.evaluate(SHOWN)

    @property
    def counts(self):
        return self.shown["counts"]

    @property
    def ply(self):
        return self.shown["ply"]

    @property
    def said(self):
        return self.page.locator("#said").inner_text()

    @property
    def enabled(self):
        names = ("start", "back", "on", "end")
        return [name for name in names if self.page.locator(f"#{name}").is_enabled()]


@pytest.fixture
def board(look_at, replay_page):
    return Board(look_at(replay_page).page)


@pytest.fixture
def states(record):
    return list(record.states())


def test_stepping_on_shows_every_position_and_stepping_back_the_same(board, states):
    pictures = []
    for ply, state in enumerate(states):
        shown = board.shown
        assert (shown["ply"], shown["counts"]) == (ply, counts_of(state))
        pictures.append(shown["picture"])
        board.press("on") if ply < 5 else board.key("ArrowRight")
    assert all(one != other for one, other in pairwise(pictures))
    for ply, picture in reversed(list(enumerate(pictures))):
        assert board.shown["picture"] == picture
        board.press("back") if 0 < ply < 5 else board.key("ArrowLeft")
    assert board.ply == 0, "there is nothing before the start"


def test_keys_do_what_buttons_do(board, states):
    board.key("ArrowRight")
    board.key("ArrowRight")
    assert board.counts == counts_of(states[2])
    board.key("ArrowLeft")
    assert board.counts == counts_of(states[1]) and board.said.startswith("1. ")
    board.key("End")
    assert board.counts == counts_of(states[-1]) and board.enabled == ["start", "back"]
    board.key("ArrowRight")
    assert board.ply == len(states) - 1
    board.key("Home")
    assert board.counts == counts_of(states[0]) and board.enabled == ["on", "end"]
    board.press("end")
    board.key("ArrowLeft")  # the button that was pressed takes no keys any more
    assert board.counts == counts_of(states[-2])
    board.press("back")
    board.press("start")
    assert board.ply == 0


def test_a_key_that_is_the_browsers_own_is_left_to_it(board):
    board.key("ArrowRight")
    board.key("Control+ArrowRight")
    board.key("Alt+ArrowRight")
    assert board.ply == 1


def test_the_slider_and_the_list_of_moves_lead_anywhere(board, states):
    board.page.locator("#ply").fill("5")
    assert board.counts == counts_of(states[5])
    board.page.locator("#ply").press("ArrowRight")
    assert board.counts == counts_of(states[6])
    moves = board.page.locator("#moves button")
    assert moves.count() == len(states) - 1
    moves.nth(2).click()
    assert board.counts == counts_of(states[3])
    assert board.page.locator("#moves [aria-current]").all_inner_texts() == [
        moves.nth(2).inner_text()
    ]


def test_it_plays_to_the_end_and_begins_again(board, states):
    board.page.clock.install()
    moves = len(states) - 1
    board.press("play")
    board.page.clock.run_for(900 * 3)
    assert board.ply == 3
    board.press("play")
    board.page.clock.run_for(900 * 3)
    assert board.ply == 3, "it was stopped"
    board.press("play")
    board.page.clock.run_for(900 * (moves + 2))
    assert board.ply == moves and board.counts == counts_of(states[-1])
    assert "▶" in board.page.locator("#play").inner_text()
    board.press("play")
    assert board.ply == 0
    board.page.clock.run_for(900)
    assert board.ply == 1


def test_the_space_bar_plays_and_a_step_stops_it(board):
    board.page.clock.install()
    board.key("Space")
    board.page.clock.run_for(1800)
    assert board.ply == 2
    board.key("ArrowLeft")
    board.page.clock.run_for(9000)
    assert board.ply == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_buttons_stay_where_they_are_whatever_is_said(look_at, replay_page, states, width):
    board = Board(look_at(replay_page, width).page)
    places = set()
    for _ in states:
        box = board.page.locator("#on").bounding_box()
        places.add((box["x"], box["y"]))
        board.key("ArrowRight")
    assert len(places) == 1
    assert box["width"] >= 40 and box["height"] >= 40, "large enough for a finger"


@pytest.mark.parametrize("page", ["replay_page", "judged_page"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_the_screen_and_can_be_read(request, look_at, page, scheme, width):
    shown = look_at(request.getfixturevalue(page), width, scheme).page
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
    needed, seen = shown.evaluate("measure.widths()")
    assert needed <= seen == width
    assert shown.evaluate("measure.broken()") == []
    faintest, smallest = shown.evaluate("[measure.faintest(), measure.smallest()]")
    assert faintest["size"] >= 4.5, faintest
    assert smallest["size"] >= 9, smallest


def test_words_beside_the_board_follow_light_and_dark(look_at, replay_page):
    fill = "(name) => getComputedStyle(document.querySelector(`[data-part='${name}']`)).fill"
    papers = set()
    for scheme in ("light", "dark"):
        page = look_at(replay_page, scheme=scheme).page
        page.keyboard.press("ArrowRight")
        paper, *inks = (page.evaluate(fill, part) for part in ("page", "status", "played"))
        assert paper == page.evaluate("measure.colours()[1]"), "no frame around the picture"
        for ink in inks:
            assert (
                page.evaluate("([ink, paper]) => measure.contrast(ink, paper)", [ink, paper]) > 4.5
            )
        papers.add(paper)
    assert len(papers) == 2


def test_thoughts_are_bars_and_a_curve_that_says_where_one_is(look_at, judged_page):
    page = look_at(judged_page).page
    assert page.locator("#board [data-part^='share ']").count() == 3
    assert page.locator("#board [data-part='value']").count() == 1
    points = page.locator(".values polyline").get_attribute("points").split()
    marks = []
    for _ in range(3):
        marks.append(page.locator("#now").bounding_box()["x"])
        page.keyboard.press("ArrowRight")
    assert marks[0] < marks[1] < marks[2]
    page.keyboard.press("End")
    assert page.locator("#board [data-part^='share ']").count() == 0, "nothing was thought there"
    assert len(points) == page.locator("#moves button").count()
