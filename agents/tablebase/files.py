"""Table files: one safetensors file each, which says what it is and notices a flipped byte.

Written beside its place, flushed and renamed, so a table that exists is complete. Read through a
memory map: processes share it. Tables lie in the user's cache folder, see :func:`tables_folder`.
"""

import glob
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.tablebase.checks import check_rules, check_seeds
from oware_env.errors import OwareError, shown
from oware_env.files import PART, is_folder, parse_json, part_of, said
from oware_env.rules import AWARI, Rules, describe_rules

FORMAT = 2
TABLES = "OWARE_TABLES"  # names the folder of the tables
_MOST_HEADER = 1 << 20  # bytes
_MOST_ENTRIES = 1 << 40  # along an axis of an array
_NO_DIGEST = b"0" * 64  # stands in the digest's place while it is taken
_STALE_SECONDS = 3600.0  # a file takes seconds to write: what is older was left by a kill
_TYPES = {"I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64}


class Contents(NamedTuple):
    """What a file holds."""

    arrays: dict[str, np.ndarray]  # read-only, mapped from the file
    facts: dict[str, Any]  # numbers and text that say what the arrays are


def tables_folder() -> Path:
    """The folder of the tables: $OWARE_TABLES, or oware/tables in the user's cache folder.

    Raises OwareError when the user has no home.
    """
    if given := os.environ.get(TABLES):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache):  # others are to be ignored (XDG Base Directory Specification)
        return Path(cache) / "oware" / "tables"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise OwareError(f"there is no home folder for tables: set {TABLES} to a folder")
    return Path(home) / ".cache" / "oware" / "tables"


def table_path(seeds: int, rules: Rules = Rules(), folder: Path | None = None) -> Path:
    """Where the table of up to so many seeds under these rules lies. Raises OwareError."""
    seeds, rules = check_seeds(seeds), check_rules(rules)
    names = {Rules()[1:]: "abapa", AWARI[1:]: "awari"}
    if rules[1:] not in names:
        raise OwareError(f"tables are made for abapa and awari, not {describe_rules(rules)}")
    return Path(folder or tables_folder()) / f"{names[rules[1:]]}-{seeds}.safetensors"


def prepare_place(path: Path, remedy: str = "") -> None:
    """Make the folder of ``path``, clear what killed writers left there, and try to write.

    Raises OwareError when the folder is no use, with a ``remedy`` such as ``"; set ..."``.
    """
    if not path.name or is_folder(path):
        raise OwareError(f"{path} could not be written: it is a folder, not a file")
    scratch = part_of(path)
    with said(path, "could not be written", remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left_over in path.parent.glob(f".{glob.escape(path.stem)}.*{PART}"):
            with suppress(FileNotFoundError):  # another process clears as well
                if time.time() - left_over.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(left_over)
        scratch.mkdir(exist_ok=True)
        scratch.rmdir()


def write_contents(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """Write a complete file, or none: raises OwareError when the disk does not take it."""
    from safetensors.numpy import save_file

    text = json.dumps({"format": FORMAT, **facts, "digest": _NO_DIGEST.decode()})
    scratch = part_of(path)  # a folder, since safetensors puts files of other names beside its own
    try:
        scratch.mkdir(exist_ok=True)
        save_file(dict(arrays), scratch / "contents", {"facts": text})
        digest = _digest(scratch / "contents", _NO_DIGEST)
        with (scratch / "contents").open("r+b") as file:
            file.seek(file.read(_MOST_HEADER).index(_NO_DIGEST))
            file.write(digest)
            file.flush()
            os.fsync(file.fileno())
        (scratch / "contents").replace(path)
        scratch.rmdir()
    except Exception as error:
        shutil.rmtree(scratch, ignore_errors=True)
        reason = getattr(error, "strerror", None) or error
        raise OwareError(f"{path} could not be written: {reason}") from None


def read_contents(path: Path) -> Contents:
    """Map a file into memory and check it, byte for byte. Raises OwareError when it is damaged."""
    try:
        with said(path, "cannot be read"):
            return _checked_contents(path)
    except OwareError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise OwareError(f"{path} is not a table, or it was cut off: delete it and build") from None


def _checked_contents(path: Path) -> Contents:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = parse_json(file.read(min(size, _MOST_HEADER)))
        length = os.fstat(file.fileno()).st_size - 8 - size
    facts = parse_json(header.pop("__metadata__")["facts"])
    if facts["format"] != FORMAT:
        raise OwareError(
            f"{path} has format {shown(facts['format'])}, this program reads {FORMAT}: "
            "delete it and build"
        )
    _check_places(header, length)
    if _digest(path, facts["digest"].encode()) != facts["digest"].encode():
        raise OwareError(f"{path} is damaged: its bytes are not those that were written")
    return Contents({name: _mapped(path, 8 + size, header[name]) for name in header}, facts)


def _check_places(header: dict[str, Any], length: int) -> None:
    """ValueError unless the arrays lie one behind another in the ``length`` bytes of the data."""
    places = []
    for entry in header.values():
        (begin, end), shape = entry["data_offsets"], entry["shape"]
        size = np.dtype(_TYPES[entry["dtype"]]).itemsize
        numbers = [begin, end, *shape]
        if not all(type(n) is int and 0 <= n <= _MOST_ENTRIES for n in numbers):
            raise ValueError("no sizes")
        if end - begin != size * math.prod(shape) or begin % size:
            raise ValueError("another size")
        places.append((begin, end))
    reached = 0
    for begin, end in sorted(places):
        if begin != reached:
            raise ValueError("a gap, or the same bytes twice")
        reached = end
    if reached != length:
        raise ValueError("cut off, or something behind")


def _digest(path: Path, digest: bytes) -> bytes:
    """Digest of every byte of a file, in hex, with zeros in the place of its own ``digest``."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        found.update(file.read(_MOST_HEADER).replace(digest, _NO_DIGEST, 1))
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest().encode()


def _mapped(path: Path, offset: int, entry: dict[str, Any]) -> np.ndarray:
    """One array of the file, read-only; its place has been checked."""
    begin, _ = entry["data_offsets"]
    kind, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
    return np.memmap(path, kind, "r", offset + begin, shape)
