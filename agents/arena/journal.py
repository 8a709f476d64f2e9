"""Journal: a tournament's folder on disk, written so that a kill at any moment loses no line.

``tournament.json`` says what is played and by what; ``games.jsonl`` gets one line a finished
unit, synced before the next. A last line that a kill tore is dropped and its unit played again.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.match import Games
from agents.roster import network_folder, parse_spec
from agents.settings import Settings
from oware_env.errors import OwareError
from oware_env.rules import REASONS, Rules, describe_rules

ABOUT, GAMES = "tournament.json", "games.jsonl"  # files of a tournament's folder
_FREE = {"workers", "output"}  # settings that decide no game
_UPPER, _LOWER = ord("A"), ord("a")


class Journal:
    """The finished units of a tournament: in memory and, when a folder is given, on disk."""

    def __init__(self, folder: Path | None, settings: Settings) -> None:
        self.games: dict[int, Games] = {}
        self._folder = folder
        self._settings = settings
        self._file: FileIO | None = None

    def __enter__(self) -> "Journal":
        """Open or make the folder; raises :class:`OwareError` when it holds something else."""
        if self._folder is not None:
            with disk_faults(self._folder):
                _claim(self._folder, self._settings)
                self._file = _open_alone(self._folder / GAMES)
                try:
                    self._read(self._file)
                except BaseException:
                    self._file.close()
                    raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, unit: int, games: Games) -> None:
        """Add a finished unit; it is on disk when this returns."""
        if self._file is not None and self._folder is not None:
            line = json.dumps({"unit": unit, "games": _to_records(games)}) + "\n"
            left = memoryview(line.encode())
            with disk_faults(self._folder):
                while left:
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
        self.games[unit] = games

    def _read(self, file: FileIO) -> None:
        """Take in the lines on disk and cut off a torn last one."""
        whole, end, _ = file.readall().rpartition(b"\n")
        file.seek(len(whole) + len(end))
        file.truncate()
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                self.games[entry["unit"]] = _from_records(entry["games"])
            except (ValueError, KeyError, TypeError, IndexError):
                raise OwareError(
                    f"{file.name} is damaged at line {number}: "
                    "delete that line and its unit is played again"
                ) from None


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """A fault of the disk as one line; the lines written before stay."""
    try:
        yield
    except OSError as error:
        raise OwareError(
            f"cannot write the tournament to {folder}: {error.strerror}; what is there is kept, "
            "run the same command again to go on"
        ) from None


def _claim(folder: Path, settings: Settings) -> None:
    """Write what the folder is for, or check that it is for the same."""
    path = folder / ABOUT
    asked = settings.model_dump(mode="json", exclude=_FREE)
    networks = _fingerprints(asked["agents"])
    if not path.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OwareError(f"{folder} is not empty and holds no tournament: name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        rules = Rules(max_plies=asked["max_plies"])
        about = {
            "settings": asked,
            "networks": networks,
            "rules": [describe_rules(rules), *rules],
            "versions": versions(),
        }
        write_whole(path, json.dumps(about, indent=2) + "\n")
        return
    there, networks_there = read_about(folder)
    for key in asked:
        if there.get(key) != asked[key]:
            raise OwareError(
                f"{folder} holds another tournament: {key} is {_brief(there.get(key))} there and "
                f"{_brief(asked[key])} here; use the same settings or another folder"
            )
    for agent, fingerprint in networks.items():
        if networks_there.get(agent) != fingerprint:
            raise OwareError(
                f"{agent} has changed since the tournament in {folder} began: name another folder"
            )


def read_about(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings of the tournament in a folder and the digests of its networks, by agent.

    Raises OwareError when the folder does not say.
    """
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return dict(found["settings"]), dict(found["networks"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        raise OwareError(
            f"{folder / ABOUT} does not describe a tournament: name another folder"
        ) from None


def _brief(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _fingerprints(agents: list[str]) -> dict[str, str]:
    """A digest of the weights of every network that takes part."""
    found = {}
    for agent in agents:
        folder = network_folder(parse_spec(agent).name)
        if folder is not None:
            digest = hashlib.sha256()
            for weights in sorted(folder.rglob("ema.safetensors")):  # the ones that play
                digest.update(str(weights.relative_to(folder)).encode() + weights.read_bytes())
            found[agent] = digest.hexdigest()[:16]
    return found


def versions() -> dict[str, str]:
    """Versions of what decides the games, and the commit where there is one."""
    found = {name: version(name) for name in ("oware-env", "numpy", "numba", "torch")}
    with suppress(OSError, subprocess.SubprocessError):
        git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        found["commit"] = subprocess.check_output(
            git, text=True, stderr=subprocess.DEVNULL, timeout=5
        ).strip()
    return found


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there in full or not at all."""
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _open_alone(path: Path) -> FileIO:
    """Open the games for reading and appending, refusing a second tournament on them."""
    file = FileIO(path, "r+" if path.exists() else "x+")
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OwareError(f"another process is playing the tournament in {path.parent}") from None
    return file


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
        letters = np.frombuffer(record["moves"].encode(), np.uint8)
        moves[game, : plies[game]] = (letters & 31).astype(np.int8) - 1
    return Games(
        np.array([record["opening"] for record in records], np.int32),
        np.array([record["a_is_south"] for record in records], np.bool_),
        np.array([record["scores"] for record in records], np.int16),
        plies,
        np.array([REASONS.index(record["reason"]) for record in records], np.int8),
        moves,
    )
