"""The grammar of Oware Game Notation: text into tags and words of games, each with its line.

Knows no rules and no moves; ``ogn_reader`` gives the words their meaning. The notation is that of
Auale: tag pairs in square brackets, then moves; comments (``{...}``, ``; ...``) and variations in
parentheses are skipped.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from oware_env.errors import OwareError, shown

RESULT = re.compile(r"\d+-\d+|1/2-1/2|\*", re.ASCII)
_SHOWN = 40  # characters of a move, a result or a position: none that means anything has more
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")  # a tab is harmless
_TAG_NAME = re.compile(r"\w+", re.ASCII)
_TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | ;[^\n]* | \{[^}]*\} )
  | \[ \s* (?P<name>\w+) \s+ "(?P<value>(?:[^"\\\n]|\\.)*)" \s* \]
  | (?P<bracket> [()] )
  | (?P<word> [^\s;{}()\[\]]+ )
    """,
    re.VERBOSE | re.ASCII,
)


class Word(NamedTuple):
    """A piece of text and the line (from 1) it stands in."""

    text: str
    line: int

    @property
    def shown(self) -> str:
        """The text for a message: short, and nothing in it that a terminal would obey."""
        brief = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + " ..."
        return brief if brief.isprintable() else repr(brief)


class OgnGame(NamedTuple):
    """One game as it is written."""

    line: int  # where it begins
    tags: dict[str, Word]  # values by name
    words: list[Word]  # move numbers, moves, result


def split_games(text: str) -> list[OgnGame]:
    """The games of a text, which may hold several. Raises :class:`OwareError` naming the line."""
    games: list[OgnGame] = []
    is_open = False  # the last game still takes tags or words
    for name, word in _tokens(text):
        if not is_open or (name and games[-1].words):
            games.append(OgnGame(word.line, {}, []))
        if name:
            if name in games[-1].tags:
                raise OwareError(f"line {word.line}: tag {shown(name)} stands twice in one game")
            if _CONTROL.search(word.text):
                raise OwareError(f"line {word.line}: tag {shown(name)} holds a control character")
            games[-1].tags[name] = word
        else:
            games[-1].words.append(word)
        is_open = bool(name) or not RESULT.fullmatch(word.text)
    return games


def _tokens(text: str) -> Iterator[tuple[str, Word]]:
    """(tag name, value) or ("", word) outside comments and variations, each with its line."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    line, place = 1, 0
    opened: list[int] = []  # lines of the variations that are open
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise OwareError(f"line {line}: {_complaint(text, place)}")
        bracket = match["bracket"]
        if bracket == "(":
            opened.append(line)
        elif bracket and not opened:
            raise OwareError(f"line {line}: ')' closes no variation")
        elif bracket:
            opened.pop()
        elif not opened and match["name"]:
            yield match["name"], Word(re.sub(r"\\(.)", r"\1", match["value"]), line)
        elif not opened and match["word"]:
            yield "", Word(match["word"], line)
        line += match[0].count("\n")
        place = match.end()
    if opened:
        raise OwareError(f"line {opened[0]}: a variation is opened by '(' and never closed")


def _complaint(text: str, place: int) -> str:
    if text[place] == "{":
        return "a comment is opened by '{' and never closed"
    if text[place] == "[":
        shown = text[place:].splitlines()[0][:60]
        return f'{shown!r} is no tag; a tag is written [Name "value"]'
    return f"{text[place]!r} closes nothing"


def check_tags(tags: Mapping[str, str]) -> None:
    """Raise :class:`OwareError` for a tag that cannot be written."""
    if not isinstance(tags, Mapping):
        raise OwareError(f"tags are texts by name, not {shown(tags)}")
    for name, value in tags.items():
        if not (isinstance(name, str) and _TAG_NAME.fullmatch(name)):
            raise OwareError(f"a tag's name is letters, digits and '_', not {shown(name)}")
        if not isinstance(value, str) or _CONTROL.search(value):
            raise OwareError(f"tag {shown(name)} must be one line of text, not {shown(value)}")


def join_game(tags: Mapping[str, str], words: Sequence[str]) -> str:
    """One game as text: the tags, an empty line, and the words in lines below 80 characters."""
    check_tags(tags)
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in tags.items()}
    lines = [f'[{name} "{value}"]' for name, value in quoted.items()]
    moves = textwrap.fill(" ".join(words), 79, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*lines, "", moves, ""])
