"""What a checkpoint's state.json must say: read, compared with its digest, and checked key by key.

Whoever can edit a file can compute its digest anew. What passes here can be used without further
checks of its types.
"""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from oware_env.errors import OwareError, shown
from oware_env.files import check_seal, parse_json, read_bytes
from oware_env.rules import Rules

STATE = "state.json"
MOST = 2**63 - 1  # of a count
_STEM = re.compile(r"[A-Za-z0-9_-]{1,100}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class CheckpointState(dict[str, Any]):
    """A checked state.json. Asking it for a key that is missing raises OwareError."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.path = path

    def __missing__(self, key: str) -> NoReturn:
        raise OwareError(f"{self.path} does not say its {key!r}: another program wrote it")


def parse_state(folder: Path, ours: Mapping[str, Any]) -> CheckpointState:
    """The state of a checkpoint folder. Raises OwareError that names the file and the key.

    ``ours``: keys that tell versions, with the value that this program reads.
    """
    path = folder / STATE
    try:
        document = parse_json(read_bytes(path))
    except ValueError:  # OwareError is one
        raise OwareError(f"{folder} is not a checkpoint: it holds no readable {STATE}") from None
    if not isinstance(document, dict) or "files" not in document:
        raise OwareError(f"{folder} is not a checkpoint: its {STATE} lists no files")
    for name, value in ours.items():
        if document.get(name) != value:
            raise OwareError(
                f"checkpoint {folder} has {name} {shown(document.get(name))}, this program "
                f"reads {value}: another version wrote it"
            )
    try:
        check_seal(document, path)
    except RecursionError:
        raise OwareError(f"{path} is damaged: it is nested too deep") from None
    for name, (is_sound, words) in _KEYS.items():
        if name in document and not is_sound(document[name]):
            raise OwareError(f"{path}: {name} must be {words}, not {shown(document[name])}")
    return CheckpointState(path, document)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _is_rules(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= set(Rules._fields):
        return False
    choices = {name: value[name] for name in value if name != "max_plies"}
    plies = value.get("max_plies", 1)
    return (
        type(plies) is int
        and 1 <= plies < 2**31
        and all(type(choice) is int and choice in (0, 1) for choice in choices.values())
    )


def _is_files(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _STEM.fullmatch(stem) and isinstance(digest, str) and _DIGEST.fullmatch(digest)
        for stem, digest in value.items()
    )


def _is_shards(value: Any) -> bool:
    """Whether it tells of rows on the disk: how many, from where on, and checksums of files."""
    if not isinstance(value, dict) or not isinstance(value.get("checksums"), dict):
        return False
    return (
        _is_count(value.get("rows"))
        and _is_count(value.get("first"))
        and value["first"] <= value["rows"]
        and all(
            re.fullmatch(r"[0-9]{1,9}", number) and type(crc) is int and 0 <= crc < 2**32
            for number, crc in value["checksums"].items()
        )
    )


def _is_games(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {*value} == {"results", "moves"}
        and all(map(_is_shards, value.values()))
    )


_COUNT = _is_count, f"a whole number from 0 to {MOST}"
_WORDS = (lambda value: value is None or isinstance(value, str)), "text"
_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "files": (_is_files, "names of files with their digests"),
    "rules": (_is_rules, "a section of rules, each a whole number in its range"),
    "network": ((lambda value: isinstance(value, str)), "the name of a network"),
    "config": ((lambda value: isinstance(value, dict)), "a section"),
    "seed": ((lambda value: type(value) is int and 0 <= value < 2**64), "a whole number"),
    "commit": _WORDS,
    "torch": _WORDS,
    "machine": _WORDS,
    "minutes": (_is_time, "a number of minutes"),
    "steps": _COUNT,
    "units": _COUNT,
    "games": _COUNT,
    "positions": _COUNT,
    "evaluations": _COUNT,
    "checkpoints": _COUNT,
    "pool_spacing": ((lambda value: _is_count(value) and value > 0), "a whole number above 0"),
    "replay": (_is_shards, "what there is of the replay files"),
    "games_kept": (_is_games, "what there is of the files of games"),
}
