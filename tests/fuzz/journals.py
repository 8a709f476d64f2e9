"""Folders of tournaments: changed bytes and documents, and edits with the checksums that belong.

Changed: accepted only when settings and games are those that were played. Edited games with right
checksums: accepted only when they are games (their moves give their scores and reasons, their
openings and seats are those of their unit).
"""

import hashlib
import json
import random
import shutil
from typing import Any
from unittest.mock import patch

import numpy as np

from agents.arena import tournament
from agents.arena.journal import ABOUT, GAMES
from agents.arena.tournament import TournamentResult, TournamentSettings, read_tournament
from oware_env.files import DIGEST
from oware_env.records import GameRecord
from oware_env.rules import REASONS
from tests.fuzz.checkpoints import Files, sealed_text
from tests.fuzz.documents import json_text, mutate_document
from tests.fuzz.engine import mutate_bytes
from tests.fuzz.samples import Workplace

_DIGITS = 16  # of a line's checksum


def _unrated(*_: Any, **__: Any) -> None:
    """In the place of the ratings: they take a third of a second and read nothing."""


def line_text(entry: Any) -> bytes:
    """A line of games.jsonl with the checksum of what stands in it."""
    if not isinstance(entry, dict):
        return json_text(entry).encode("utf-8", "surrogatepass")
    text = json_text({key: one for key, one in entry.items() if key != DIGEST})[:-1]
    content = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    return content + f', "{DIGEST}": "{digest}"}}'.encode()


class Journals:
    """tournament.json and games.jsonl of a finished tournament, as its table is shown again."""

    name, count = "journals", 8_000

    def __init__(self, workplace: Workplace) -> None:
        self._whole = workplace.tournament
        self._folder = workplace.scratch(self.name) / "played"
        self._about_text = (self._whole / ABOUT).read_bytes()
        self._games_text = (self._whole / GAMES).read_bytes()
        self._about = json.loads(self._about_text)
        self._lines = [json.loads(line) for line in self._games_text.splitlines()]
        assert [line_text(line) for line in self._lines] == self._games_text.splitlines()
        self._result = self.read(({}, False))

    def make(self, draw: random.Random) -> tuple[Files, bool]:
        """(files that differ, whether they have the checksums that belong to them)."""
        match draw.randrange(6):
            case 0:
                return {ABOUT: mutate_bytes(draw, self._about_text, self._games_text)}, False
            case 1 | 2:
                return {GAMES: mutate_bytes(draw, self._games_text, self._about_text)}, False
            case 3:
                changed = mutate_document(draw, self._about, 2)
                return {ABOUT: sealed_text(changed)}, True
            case 4:
                lines = self._games_text.splitlines(keepends=True)
                draw.shuffle(lines)
                return {GAMES: b"".join(lines[: draw.choice((len(lines), 1, 3))])}, False
        lines = self._games_text.splitlines()
        place = draw.randrange(len(lines))
        changed = mutate_document(draw, self._lines[place], 2)
        lines[place] = line_text(changed)
        if draw.randrange(6) == 0:
            lines.append(lines[draw.randrange(len(lines))])
        content = b"".join(line + b"\n" for line in lines)
        return {GAMES: content}, True

    def read(self, given: tuple[Files, bool]) -> TournamentResult:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        files: Files = {ABOUT: self._about_text, GAMES: self._games_text} | given[0]
        for name, content in files.items():
            (self._folder / name).write_bytes(content or b"")
        with patch.object(tournament, "rate", _unrated):
            return read_tournament(self._folder)

    def changed(self, given: tuple[Files, bool], value: TournamentResult) -> str | None:
        settings = value.settings.model_copy(update={"output": None, "workers": 0})
        ours = self._result.settings.model_copy(update={"output": None, "workers": 0})
        if settings == ours and _same_matches(value, self._result):
            return None
        if not given[1]:
            return f"changed bytes are taken: {_difference(value, self._result)}"
        return _no_games(value, settings)


def _same_matches(one: TournamentResult, other: TournamentResult) -> bool:
    pairs = zip(one.matches, other.matches, strict=True)
    return all(
        (a.a, a.b) == (b.a, b.b) and all(map(np.array_equal, a.games, b.games)) for a, b in pairs
    )


def _difference(one: TournamentResult, other: TournamentResult) -> str:
    """What differs, in a few words."""
    for a, b in zip(one.matches, other.matches, strict=False):
        for name, found, ours in zip(a.games._fields, a.games, b.games, strict=True):
            if not np.array_equal(found, ours):
                return f"{name} of {a.a} against {a.b}"
    return "settings"


def _no_games(result: TournamentResult, settings: TournamentSettings) -> str | None:
    """What of a tournament is no game that could have been played in it."""
    pairs = np.arange(settings.games, dtype=np.int64)
    for match in result.matches:
        games = match.games
        if not np.array_equal(games.openings, pairs // 2):
            return f"openings that were not played: {games.openings.tolist()}"
        if not np.array_equal(games.a_is_south, pairs % 2 == 0):
            return f"seats that were not played: {games.a_is_south.tolist()}"
        for game, plies in enumerate(games.plies.tolist()):
            moves = games.moves[game, :plies].tolist()
            outcome = GameRecord.from_moves(moves, rules=settings.rules).outcome
            said = (tuple(games.scores[game].tolist()), REASONS[games.reasons[game]])
            if outcome is None or said != (outcome.scores, outcome.reason):
                return f"a result that the moves do not give: {said} for {outcome}"
    return None
