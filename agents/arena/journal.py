"""Journal: a tournament's folder on disk, written so that a kill at any moment loses no line.

``tournament.json`` says what is played and by what; ``games.jsonl`` gets one line a finished
unit, synced before the next. A last line that a kill tore is dropped and its unit played again.
Every line carries a checksum, and its games are played again by the rules as it is read, so
neither a flipped bit nor an edited game is taken. One process at a time writes there.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.arena.match import Games, MatchUnit
from agents.arena.openings import random_openings
from agents.roster import identity
from agents.settings import Settings
from oware_env.errors import OwareError
from oware_env.files import (
    LOCK,
    Lock,
    check_seal,
    is_file,
    is_folder,
    is_there,
    parse_json,
    read_bytes,
    read_text,
    said,
    seal,
    write_whole,
)
from oware_env.game_arrays import GameArrays, replay
from oware_env.rules import REASONS, Rules, describe_rules, initial_board

ABOUT, GAMES = "tournament.json", "games.jsonl"  # files of a tournament's folder
_FREE = {"workers", "output"}  # settings that decide no game
_SPELLED = {"agents", "anchor"}  # settings that may name the same network by another path
_UPPER, _LOWER = ord("A"), ord("a")
_DIGITS = 16  # of a line's checksum


class About(NamedTuple):
    """What a tournament's folder is for."""

    settings: dict[str, Any]
    identities: tuple[str, ...]  # of its agents


class Journal:
    """The finished units of a tournament: in memory and, when a folder is given, on disk."""

    def __init__(self, folder: Path | None, settings: Settings, units: Sequence[MatchUnit]) -> None:
        """``units``: all of the tournament, by their numbers."""
        self.games: dict[int, Games] = {}
        self._folder, self._settings, self._units = folder, settings, units
        self._file: FileIO | None = None
        self._lock: Lock | None = None
        self._is_new = self._is_folder_new = False

    def __enter__(self) -> "Journal":
        """Open or make the folder; raises :class:`OwareError` when it holds something else."""
        if self._folder is not None:
            try:
                self._open(self._folder)
            except BaseException:
                self._close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _open(self, folder: Path) -> None:
        """Take the folder for this tournament and read its games."""
        asked = about(self._settings)
        _check_free(folder)
        self._is_new, self._is_folder_new = not is_file(folder / ABOUT), not is_folder(folder)
        with disk_faults(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(folder, "tournament")
        _claim(folder, asked)
        with disk_faults(folder):
            path = folder / GAMES
            self._file = FileIO(path, "r+" if path.exists() else "x+")
            content = self._file.readall()
            end = content.rfind(b"\n") + 1  # what follows is torn
            self.games = _read_lines(path, content[:end], self._units)
            self._file.seek(end)
            self._file.truncate()

    def _close(self) -> None:
        """Let others write there; what was made in vain goes."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock is not None and self._folder is not None:
            is_vain = self._is_new and not has_games(self._folder)
            for name in (ABOUT, GAMES) if is_vain else ():
                with suppress(OSError):
                    (self._folder / name).unlink()
            self._lock.release()
            self._lock = None
            if is_vain and self._is_folder_new:
                with suppress(OSError):
                    self._folder.rmdir()

    def append(self, unit: int, games: Games) -> None:
        """Add a finished unit; it is on disk when this returns."""
        if self._file is not None and self._folder is not None:
            left = memoryview(_line(unit, games) + b"\n")
            with disk_faults(self._folder):
                while left:
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
        self.games[unit] = games


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """A fault of the disk as one line; the lines written before stay."""
    remedy = "; what is there is kept, run the same command again to go on"
    with said("cannot write", f"the tournament to {folder}", remedy):
        yield


def has_games(folder: Path) -> bool:
    """Whether a tournament has come to its first finished games, as the disk tells."""
    path = folder / GAMES
    return is_file(path) and path.stat().st_size > 0


def about(settings: Settings) -> About:
    """What a tournament is, as its folder says it. Raises OwareError for a network not there."""
    asked = settings.model_dump(mode="json", exclude=_FREE)
    return About(asked, tuple(identity(agent) for agent in asked["agents"]))


def read_about(folder: Path) -> About:
    """What the tournament in a folder is. Raises OwareError when the folder does not say."""
    path = folder / ABOUT
    try:
        found = parse_json(read_text(path))
        settings, identities = dict(found["settings"]), found["identities"]
        if not all(isinstance(one, str) for one in identities):
            raise TypeError
        if len(identities) != len(settings["agents"]):
            raise ValueError
    except (ValueError, KeyError, TypeError):  # an OwareError is a ValueError
        raise OwareError(f"{path} does not describe a tournament: name another folder") from None
    check_seal(found, path)
    return About(settings, tuple(identities))


def is_for(folder: Path, settings: Settings) -> bool:
    """Whether the tournament in a folder is the one with these settings."""
    return is_file(folder / ABOUT) and _difference(read_about(folder), about(settings)) is None


def read_games(folder: Path, units: Sequence[MatchUnit]) -> dict[int, Games]:
    """The finished units in a folder, by number; nothing is changed there.

    Raises OwareError naming the first line that is not what was written.
    """
    path = folder / GAMES
    if not is_there(path):
        return {}
    content = read_bytes(path)
    return _read_lines(path, content[: content.rfind(b"\n") + 1], units)


def _check_free(folder: Path) -> None:
    """Raise when a folder is one of something else."""
    if is_file(folder / ABOUT) or not is_there(folder):
        return
    with said(folder, "cannot be read"):
        if not is_folder(folder) or any(path.name != LOCK for path in folder.iterdir()):
            raise OwareError(f"{folder} is not empty and holds no tournament: name another folder")


def _claim(folder: Path, asked: About) -> None:
    """Write what the folder is for, or check that it is for the same."""
    path = folder / ABOUT
    if not is_there(path):
        rules = Rules(max_plies=asked.settings["max_plies"])
        document = {
            **asked._asdict(),
            "rules": [describe_rules(rules), *rules],
            "versions": versions(),
        }
        write_whole(path, json.dumps(seal(document), indent=2) + "\n")
        return
    difference = _difference(read_about(folder), asked)
    if difference is not None:
        raise OwareError(f"{folder} {difference}")


def _difference(there: About, asked: About) -> str | None:
    """What tells two tournaments apart; None when they are the same, however it is spelled."""
    for key, value in asked.settings.items():
        if key in _SPELLED and there.identities == asked.identities and _same_anchor(there, asked):
            continue
        if there.settings.get(key) != value:
            return (
                f"holds another tournament: {key} is {_brief(there.settings.get(key))} there and "
                f"{_brief(value)} here; use the same settings or another folder"
            )
    for agent, before, now in zip(
        asked.settings["agents"], there.identities, asked.identities, strict=True
    ):
        if before != now:
            return (
                f"holds games of another {agent}: it has changed since the tournament began; "
                "name another folder"
            )
    return None


def _same_anchor(there: About, asked: About) -> bool:
    """Whether the anchors of two tournaments are the same agent."""
    places = [
        one.settings["agents"].index(one.settings["anchor"])
        if one.settings.get("anchor") in one.settings["agents"]
        else None
        for one in (there, asked)
    ]
    return places[0] == places[1]


def _brief(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def versions() -> dict[str, str]:
    """Versions of what decides the games, and the commit where there is one."""
    found = {name: version(name) for name in ("oware-env", "numpy", "numba", "torch")}
    with suppress(OSError, subprocess.SubprocessError):
        git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        found["commit"] = subprocess.check_output(
            git, text=True, stderr=subprocess.DEVNULL, timeout=5
        ).strip()
    return found


def _line(unit: int, games: Games) -> bytes:
    """The line of a unit, with the checksum of all that stands before it."""
    content = json.dumps({"unit": unit, "games": _to_records(games)})[:-1].encode()
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    return content + f', "digest": "{digest}"}}'.encode()


def _read_lines(path: Path, content: bytes, units: Sequence[MatchUnit]) -> dict[int, Games]:
    """The units in whole lines, each exactly as it was written and possible by the rules."""
    found: dict[int, Games] = {}
    openings = None
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            entry = parse_json(line)
            unit, games = entry["unit"], _from_records(entry["games"])
            if type(unit) is not int or unit in found or not 0 <= unit < len(units):
                raise ValueError("it is no unit, or it stands twice")
            if _line(unit, games) != line:
                raise ValueError("its checksum is another")
            if openings is None:
                most, first = max(one.stop for one in units), units[0]
                openings = random_openings(most, first.opening_plies, first.seed, first.rules)
            _check_games(games, units[unit], openings.moves)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError):
            raise OwareError(
                f"{path} is damaged at line {number}: delete that line and its unit is played again"
            ) from None
        found[unit] = games
    return found


def _check_games(games: Games, unit: MatchUnit, openings: np.ndarray) -> None:
    """Play a unit's games again by the rules; ValueError when they cannot be its games."""
    numbers = np.repeat(np.arange(unit.start, unit.stop), 2)
    count, ply = len(numbers), unit.opening_plies
    if not np.array_equal(games.openings, numbers):
        raise ValueError("these are not the openings of the unit")
    if not np.array_equal(games.a_is_south, np.arange(count) % 2 == 0):
        raise ValueError("each opening is played from both seats, first as South")
    if not np.array_equal(games.moves[:, :ply], openings[numbers]):
        raise ValueError("the games do not begin with their openings")
    played = replay(
        GameArrays(
            boards=np.tile(initial_board(), (count, 1)),
            south_to_move=np.ones(count, np.bool_),
            plies=np.zeros(count, np.int32),
            moves=games.moves[np.arange(games.moves.shape[1]) < games.plies[:, None]],
            offsets=np.concatenate(([0], np.cumsum(games.plies, dtype=np.int64))),
            rules=unit.rules,
        )
    )
    if not (
        np.array_equal(played.scores, games.scores)
        and np.array_equal(played.reasons, games.reasons)
        and games.reasons.all()
    ):
        raise ValueError("the moves do not give these results")


def _to_records(games: Games) -> list[dict[str, Any]]:
    """The games of a unit as plain data, moves as house letters."""
    plies = np.arange(games.moves.shape[1])
    letters = (games.moves + np.where(plies % 2 == 0, _UPPER, _LOWER)).astype(np.uint8)
    return [
        {
            "opening": int(games.openings[game]),
            "a_is_south": bool(games.a_is_south[game]),
            "scores": games.scores[game].tolist(),
            "reason": REASONS[games.reasons[game]],
            "moves": letters[game, : games.plies[game]].tobytes().decode(),
        }
        for game in range(len(games.plies))
    ]


def _from_records(records: list[dict[str, Any]]) -> Games:
    """The games of a unit from plain data, exactly as they were."""
    plies = np.array([len(record["moves"]) for record in records], np.int32)
    moves = np.full((len(records), plies.max()), -1, np.int8)
    for game, record in enumerate(records):
        letters = np.frombuffer(record["moves"].encode("ascii"), np.uint8)
        moves[game, : plies[game]] = (letters & 31).astype(np.int8) - 1
    return Games(
        np.array([record["opening"] for record in records], np.int32),
        np.array([record["a_is_south"] for record in records], np.bool_),
        np.array([record["scores"] for record in records], np.int16),
        plies,
        np.array([REASONS.index(record["reason"]) for record in records], np.int8),
        moves,
    )
