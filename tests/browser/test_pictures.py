"""Board pictures in a real browser: light and dark, and words that fit into their marks."""

import pytest

from oware_env.render_shapes import PAGE
from oware_env.render_themes import DARK
from oware_env.state import State

STATE = State.parse("1-0-2-1-0-1-0-2-0-1-0-1-20-19-S")
BOUNDS = ([3, -128, -1, -15, -128, -3], [3, -128, -1, -11, -128, 2])
FILL = "(element) => getComputedStyle(element).fill"
FITS = """(label) => {
    const mark = label.ownerSVGElement.querySelector(
        `[data-part="${label.dataset.part.replace('proved', 'verdict')}"]`);
    const [inner, outer] = [label.getBBox(), mark.getBBox()];
    return inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height + 3;
}"""


def rgb(colour):
    """``"#1E1A16"`` as a browser says it."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.fixture
def page_of_three(tmp_path):
    """A page with a picture of each theme, and a square that is none of them."""
    themes = ("light", "dark", "auto")
    pictures = "".join(f'<div id="{theme}">{STATE.svg(theme=theme)}</div>' for theme in themes)
    square = f'<svg id="other"><rect width="9" height="9" fill="{PAGE}"/></svg>'
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><title>three</title>{pictures}{square}", encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_only_a_picture_that_adapts_follows_the_reader_and_no_style_leaks(
    look_at, page_of_three, scheme
):
    page = look_at(page_of_three, scheme=scheme).page
    light, dark = rgb(PAGE), rgb(DARK[PAGE])
    expected = {"light": light, "dark": dark, "auto": light if scheme == "light" else dark}
    for theme, colour in expected.items():
        assert page.locator(f'#{theme} [data-part="page"]').evaluate(FILL) == colour
        wood = page.locator(f'#{theme} [data-part="board"]').evaluate(FILL)
        assert wood == rgb("#7B4B2A")
    assert page.locator("#other rect").evaluate(FILL) == light


def test_a_picture_is_as_wide_as_a_narrow_screen_lets_it(look_at, page_of_three):
    page = look_at(page_of_three, width=390).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#light svg").bounding_box()
    assert box["width"] > 350 and box["height"] == pytest.approx(box["width"] * 474 / 972, rel=0.02)


def test_every_verdict_fits_into_its_mark(look_at, tmp_path):
    path = tmp_path / "marks.html"
    picture = STATE.svg(verdicts=BOUNDS)
    path.write_text(f"<!doctype html><title>marks</title>{picture}", encoding="utf-8")
    labels = look_at(path).page.locator('[data-part^="proved"]').all()
    assert len(labels) == 5
    for label in labels:
        assert label.evaluate(FITS), label.text_content()
