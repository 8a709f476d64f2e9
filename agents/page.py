"""Reports as one HTML page each: plots, tables and games, and nothing from outside.

A page is a title, a line below it, and sections; :func:`plot`, :func:`table` and :func:`game` make
what stands in them. Light and dark follow the reader's setting, and a narrow screen scrolls tables
inside their section.
"""

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.plots import FAINT, INK
from oware_env.errors import OwareError
from oware_env.replay import Replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OwareError(f"{path} cannot be written: {error.strerror or error}") from None
    return Path(path)


def plot(drawn: "Figure", caption: str, number: int) -> str:
    """A matplotlib figure as inline SVG; ``number`` keeps the plots of a page apart.

    Its ink follows the page's, so it reads on light and dark.
    """
    text = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # would name a site
    drawn.savefig(text, format="svg", transparent=True, metadata=nothing)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>plot{number}-", svg)
    for colour, name in ((INK, "ink"), (FAINT, "faint")):
        svg = re.sub(colour, f"var(--{name})", svg, flags=re.IGNORECASE)
    # A width of its own would not shrink with the page.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"(.*?) width="[^"]*"', r"\1\2", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(caption, quote=True)}"', 1)
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text; the second column is the one with names."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
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
