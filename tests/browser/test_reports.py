"""Reports in a real browser: whole, alone, and readable in light and dark, wide and narrow."""

import io

import pytest
from PIL import Image

from agents import plots
from agents.page import Section, page, plot, table, write_page

WIDE, NARROW = 1280, 390
EACH_LOOK = pytest.mark.parametrize(
    ("width", "scheme"),
    [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")],
)


@pytest.fixture(params=["tournament_report", "run_report"])
def report(request):
    return request.getfixturevalue(request.param)


def coloured(figure):
    """Pixels of a figure in a strong colour, as only what is plotted has, not axes and words."""
    shown = Image.open(io.BytesIO(figure.screenshot())).convert("RGB").convert("HSV")
    return sum(
        count
        for count, (_, saturation, value) in shown.getcolors(shown.width * shown.height)
        if saturation > 120 and value > 80
    )


def unfold(opened):
    """Open every game of a report; the frames they stand in."""
    games = opened.page.locator("details")
    for number in range(games.count()):
        game = games.nth(number)
        game.locator("summary").click()
        game.locator("iframe").scroll_into_view_if_needed()
        game.frame_locator("iframe").locator("#on").wait_for()
    return opened.page.frames[1:]


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_every_figure_shows_what_was_plotted(report, look_at, width, scheme):
    opened = look_at(report, width, scheme)
    assert opened.page.evaluate("measure.broken()") == []
    figures = opened.page.locator("figure")
    assert figures.count() >= 5
    for number in range(figures.count()):
        figure = figures.nth(number)
        assert coloured(figure) > 40, figure.locator("figcaption").inner_text()


@EACH_LOOK
def test_text_can_be_read(report, look_at, width, scheme):
    shown = look_at(report, width, scheme).page
    faintest, smallest = shown.evaluate("[measure.faintest(), measure.smallest()]")
    assert faintest["size"] >= 4.5, faintest
    assert smallest["size"] >= 9, smallest


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_wider_than_the_screen(report, look_at, width):
    opened = look_at(report, width)
    for frame in [opened.page.main_frame, *unfold(opened)]:
        needed, seen = frame.evaluate("measure.widths()")
        assert needed <= seen <= width


def test_dark_is_dark_and_light_is_light(report, look_at):
    looks = {scheme: look_at(report, scheme=scheme).page for scheme in ("light", "dark")}
    light, dark = (page.evaluate("measure.colours()") for page in looks.values())
    assert light[0] != dark[0] and light[1] != dark[1]
    assert light == ["rgb(43, 33, 24)", "rgb(251, 246, 236)"]
    brightness = [sum(map(int, colour[4:-1].split(","))) for colour in dark]
    assert brightness[0] > 2 * brightness[1]


def test_games_can_be_stepped_through_and_nothing_is_asked_of_elsewhere(report, look_at):
    opened = look_at(report)
    frames = unfold(opened)
    assert len(frames) >= 3
    for frame in frames:
        start = frame.locator("#board").inner_html()
        frame.locator("#on").click()
        assert frame.locator("#board").inner_html() != start
        frame.locator("#back").click()
        assert frame.locator("#board").inner_html() == start
        assert frame.evaluate("measure.broken()") == []
    assert opened.faults == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_game_has_the_room_it_needs_and_no_more(report, look_at, width):
    opened = look_at(report, width)
    for frame in unfold(opened):
        frame.locator("#end").click()
        frame.wait_for_function("document.body.offsetHeight === innerHeight", timeout=3000)


def test_what_is_wrong_is_noticed(look_at, tmp_path):
    with plots.style():
        drawn, _ = plots.figure()
        empty = plot(drawn, "nothing", 1)
    words = "<p style='color:#999'>faint</p><svg><text font-size='5'>small</text></svg>"
    wide = table(["much"] * 60, []).replace('class="wide"', "")
    picture = "<img src='http://127.0.0.1:9/none.png'><script>throw Error('oh')</script>"
    sections = [Section("Wrong", empty + words + wide + picture)]
    opened = look_at(write_page(page("Wrong", "all", sections), tmp_path / "wrong.html"), NARROW)
    shown = opened.page
    assert coloured(shown.locator("figure")) == 0
    assert shown.evaluate("measure.faintest().text") == "faint"
    assert shown.evaluate("measure.faintest().size") < 4.5
    assert shown.evaluate("measure.smallest()") == {"size": 5, "text": "small"}
    assert len(shown.evaluate("measure.broken()")) == 2
    needed, seen = shown.evaluate("measure.widths()")
    assert needed > seen
    said = "\n".join(opened.faults)
    assert "asks http://127.0.0.1:9/none.png" in said and "script: oh" in said
    assert "failed: http://127.0.0.1:9/none.png" in said
    opened.faults.clear()
