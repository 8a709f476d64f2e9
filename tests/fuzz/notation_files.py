"""Games as OGN text and files: accepted, the moves, tags and numbers are those that were written.

Free are spaces, line ends, comments, variations, marks of a move (``+2``, ``!``, ``$1``), the case
of a move's letter and of a tag's name, and whether moves are numbered in pairs or one by one. The
words of a text are found here without the project's reader.
"""

import random
import re
from itertools import chain

from oware_env.notation import move_letter
from oware_env.records import GameRecord, load_ogn, read_ogn
from tests.fuzz.engine import mutate_bytes, mutate_text
from tests.fuzz.samples import GAMES, Workplace

_TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\\n]|\\.)*)"\s*\]', re.ASCII)
_WORD = re.compile(r"(?:(?P<number>[0-9]*)\.+)?(?P<rest>\S*)")
_MOVE = re.compile(r"(?P<house>[A-Fa-f])(?:\+[0-9]+)?[!?]*")
_NO_MOVE = re.compile(r"[0-9]+-[0-9]+|1/2-1/2|\*|\$[0-9]+|\.*")


def sample_texts() -> tuple[str, ...]:
    """Texts of one game and of several, ours and such as other programs write."""
    ours = tuple(game.to_ogn() for game in GAMES)
    return (
        *ours,
        ours[0] + "\n" + ours[1],
        '[Event "?"]\n\n1. F f 2. E (2. A a) c {a comment} 3. C ; the rest\n c *\n',
        '[MaxPlies "4"]\n[Ply "1"]\n1. F f 2. E 27-21',
    )


def _plain(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Tags and words of a text, without comments and variations."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    pieces = re.split(r'("(?:[^"\\\n]|\\.)*"\s*\])|(\{[^}]*\}|;[^\n]*)', text)
    text = "".join(
        piece if place % 3 < 2 else " " for place, piece in enumerate(pieces) if piece is not None
    )
    tags = [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in _TAG.findall(text)]
    text, depth, kept = _TAG.sub(" ", text), 0, []
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        kept.append(" " if depth or letter == ")" else letter)
    return tags, re.split(r"[ \t\n\r\f\v]+", "".join(kept).strip(" \t\n\r\f\v"))


def _moves(words: list[str]) -> tuple[str, list[tuple[int, int]]] | None:
    """House letters in lower case, and (moves before, move number) wherever one is written."""
    letters, numbers = [], []
    for word in words:
        found = _WORD.fullmatch(word)
        if found is None:
            return None
        if found["number"]:
            numbers.append((len(letters), int(found["number"])))
        move = _MOVE.fullmatch(found["rest"])
        if move:
            letters.append(move["house"].lower())
        elif not _NO_MOVE.fullmatch(found["rest"]):
            return None
    return "".join(letters), numbers


def changed_games(text: str, records: list[GameRecord]) -> str | None:
    """What of a text the records do not say, or say otherwise."""
    for record in records:
        again = GameRecord.from_ogn(record.to_ogn())
        if again != record:
            return f"not read back: {again!r} instead of {record!r}"
    tags, words = _plain(text)
    found = _moves(words)
    if found is None:
        return f"words that are no move are taken: {words}"
    houses = "".join(chain.from_iterable(map(_houses, records)))
    if found[0] != houses:
        return f"other moves: {found[0]} is read as {houses}"
    return _changed_game(tags, found[1], records[0]) if len(records) == 1 else None


def _houses(record: GameRecord) -> str:
    return "".join(move_letter(move, False) for move in record.moves)


def _changed_game(
    tags: list[tuple[str, str]], numbers: list[tuple[int, int]], record: GameRecord
) -> str | None:
    """The tags and move numbers of one game against its record."""
    north = record.start.endswith("N")
    ways = (  # pairs of moves, or moves one by one; North's first move may begin a pair
        {number - (before + north) // 2 for before, number in numbers},
        {number - before // 2 for before, number in numbers},
        {number - before for before, number in numbers},
    )
    if numbers and not any(len(firsts) == 1 and min(firsts) >= 1 for firsts in ways):
        return f"wrong move numbers are taken: {numbers}"
    decided = {"fen": record.start, "ply": record.ply, "maxplies": record.rules.max_plies}
    known = {name.lower(): value for name, value in record.tags.items()}
    for name, value in tags:  # their names in any case, as other programs write them
        key = name.lower()
        if key in decided:
            if value.strip() != str(decided[key]) and value != "?":
                return f"a tag that decides is read otherwise: {name} {value!r}"
        elif key not in ("variant", "result") and value != "?" and known.get(key) != value:
            return f"a tag is lost or changed: {name} {value!r} is {known.get(key)!r}"
    return None


class Ogn:
    """Texts in Oware Game Notation."""

    name, count = "ogn", 120_000

    def __init__(self, workplace: Workplace) -> None:
        self._samples = sample_texts()

    def make(self, draw: random.Random) -> str:
        return mutate_text(draw, self._samples)

    def read(self, given: str) -> list[GameRecord]:
        return read_ogn(given)

    def changed(self, given: str, value: list[GameRecord]) -> str | None:
        return changed_games(given, value)


class OgnFiles:
    """Files in OGN, as bytes."""

    name, count = "ogn-files", 10_000

    def __init__(self, workplace: Workplace) -> None:
        self._path = workplace.scratch(self.name) / "game.ogn"
        self._samples = [text.encode() for text in sample_texts()]

    def make(self, draw: random.Random) -> bytes:
        return mutate_bytes(draw, draw.choice(self._samples), draw.choice(self._samples))

    def read(self, given: bytes) -> list[GameRecord]:
        self._path.write_bytes(given)
        return load_ogn(self._path)

    def changed(self, given: bytes, value: list[GameRecord]) -> str | None:
        return changed_games(given.decode(), value)
