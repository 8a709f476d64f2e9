"""Reading lines and writing text: a real terminal, a pipe or a test's streams.

Everything that depends on being a terminal is decided here: colour, line editing, the passing
notice while an agent thinks, pauses between the moves of a watched game.
"""

import os
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from oware_env.files import printable

_COLUMNS = 79  # one less than 80: some terminals wrap after the last column


class Terminal:
    """Two text streams, with colour where a person sees it."""

    def __init__(self, source: TextIO, output: TextIO) -> None:
        self._source = source
        self._output = output
        self.is_screen = output.isatty()
        # https://no-color.org: any value but an empty one switches colour off.
        refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.colour = self.is_screen and not refused
        encoding = (output.encoding or "utf-8").lower().replace("-", "")
        self.paints = self.colour and encoding == "utf8"  # whether boards and lines can be drawn
        self._edits = self.is_screen and source is sys.stdin and source.isatty()
        if self._edits:
            with suppress(ImportError):  # not on every platform
                import readline  # noqa: F401  # input() then edits lines and keeps a history

    def paint(self, text: str, style: str) -> str:
        """The text in an ANSI style such as "32;1" where colours are shown."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and text else text

    def say(self, text: str = "") -> None:
        """Write text that is laid out already, and a newline."""
        print(text, file=self._output, flush=True)

    def tell(self, text: str, speaker: str = "") -> None:
        """Write a paragraph, wrapped to the width of a page; further lines are indented.

        What a terminal would obey in it is written out.
        """
        head = printable(f"{speaker}: ") if speaker else ""
        page = textwrap.fill(
            head + printable(" ".join(text.splitlines())),
            _COLUMNS,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,  # a path stays whole, to be copied
        )
        if page.startswith(head):
            page = self.paint(head, "1") + page.removeprefix(head)
        self.say(page)

    def ask(self, prompt: str) -> str | None:
        """The next line, stripped, or None at the end of the input."""
        if self._edits:
            try:
                return input(prompt).strip()
            except EOFError:
                self.say()
                return None
        print(prompt, end="", file=self._output, flush=True)
        line = self._source.readline()
        if not line or not self._source.isatty():  # nobody typed it: a log reads well all the same
            self.say(printable(line.strip()))
        return line.strip() if line else None

    @contextmanager
    def notice(self, text: str) -> Iterator[None]:
        """Show ``text`` on a screen for as long as the block takes, then wipe it out."""
        text = printable(text)
        if self.is_screen:
            print(text, end="", file=self._output, flush=True)
        try:
            yield
        finally:
            if self.is_screen:
                print("\r" + " " * len(text) + "\r", end="", file=self._output, flush=True)

    def pause(self, seconds: float) -> None:
        """Give a person time to look; nothing waits where no screen is."""
        if self.is_screen:
            time.sleep(seconds)
