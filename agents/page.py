"""Reports as one HTML page each: plots, tables and games, and nothing from outside.

A page is a title, a line below it, and sections; :func:`plot`, :func:`table` and :func:`game` make
what stands in them. Light and dark follow the reader's setting, and a narrow screen scrolls tables
inside their section.
"""

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.plots import BLUE, FAINT, INK
from oware_env.files import write_whole
from oware_env.replay import Replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NUMBER = re.compile(r"[-+<>? ]*\d|\(|$")  # a cell in brackets says why there is none
POINTS = 72  # an inch; one of the drawing is at least one pixel of the page
GROWTH = 1.4  # and at most so many


class Section(NamedTuple):
    """One part of a page."""

    title: str
    content: str  # HTML
    note: str = ""  # what to know when reading it


def page(title: str, lead: str, sections: Iterable[Section]) -> str:
    """The whole page; title, lead and the sections' titles and notes are plain text."""
    template = files("agents").joinpath("page.html").read_text(encoding="utf-8")
    parts = [
        f"<section><h2>{escape(part.title)}</h2>{part.content}"
        + (f'<p class="note">{escape(part.note)}</p>' if part.note else "")
        + "</section>"
        for part in sections
    ]
    return template % {"title": escape(title), "lead": escape(lead), "sections": "\n".join(parts)}


def write_page(text: str, path: str | Path) -> Path:
    """Write a page to a file; raises OwareError in one line when that cannot be done."""
    write_whole(path, text)
    return Path(path)


def plot(drawn: "Figure", caption: str, number: int) -> str:
    """A matplotlib figure as inline SVG; ``number`` keeps the plots of a page apart.

    Its ink follows the page's, so it reads on light and dark. It grows and shrinks with the page
    as long as its text can be read; on a narrower page it scrolls.
    """
    text = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # would name a site
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts draw it
        drawn.savefig(text, format="svg", transparent=True, metadata=nothing)
    svg = text.getvalue()
    svg = re.sub(r"<[^>]*>", lambda tag: _of_page(tag[0], number), svg[svg.index("<svg") :])
    end = svg.index(">")
    # A width of its own would not change with the page.
    tag = re.sub(r' (width|height)="[^"]*"', "", svg[:end])
    least = drawn.get_figwidth() * POINTS
    size = f"min-width:{least:.0f}px;max-width:{GROWTH * least:.0f}px"
    label = escape(caption, quote=True)
    svg = f'{tag} role="img" aria-label="{label}" style="{size}"{svg[end:]}'
    return (
        f'<figure><div class="wide">{svg}</div><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _of_page(tag: str, number: int) -> str:
    """A tag of a plot with names of its own and the colours of the page; texts stay as they are."""
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>plot{number}-", tag)
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (BLUE, "accent")):
        tag = re.sub(colour, f"var(--{name})", tag, flags=re.IGNORECASE)
    return tag


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text; columns that hold nothing but numbers are set to the right."""
    lines = [list(row) for row in rows]
    right = [all(map(NUMBER.match, column)) for column in zip(*lines, strict=True)]
    marks = [' class="number"' if is_number else "" for is_number in right or [False] * len(titles)]

    def line(kind: str, cells: Sequence[str]) -> str:
        """One row of cells of a kind."""
        return "".join(
            f"<{kind}{mark}>{escape(cell)}</{kind}>"
            for mark, cell in zip(marks, cells, strict=True)
        )

    head, body = line("th", titles), "".join(f"<tr>{line('td', cells)}</tr>" for cells in lines)
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def game(replay: Replay, title: str) -> str:
    """A game to step through, folded until it is asked for."""
    content = escape(replay.html(), quote=True)
    return (
        f"<details><summary>{escape(title)}</summary>"
        f'<iframe loading="lazy" title="{escape(title, quote=True)}" srcdoc="{content}"></iframe>'
        "</details>"
    )
