"""Shards: rows of one kind in append-only files, read back through memory maps.

A run writes what it plays into files of equal numbers of rows, FOLDER/000000.rows and so on, and
never changes a row. A checkpoint notes how many rows there were and a checksum of each file, so a
run that goes on finds exactly the rows it had: what was appended after the checkpoint is cut off,
and a file that lost or changed a byte is refused. Whoever only reads takes the rows that the
checkpoint tells of, whatever lies behind them. Files of other names are left alone.
"""

import os
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydantic import Field

from agents.settings import Settings
from oware_env.errors import OwareError
from oware_env.files import is_file, said

ROWS_PER_FILE = 1 << 18
_SUFFIX = ".rows"
_DIGITS = 6


class ShardState(Settings):
    """What a checkpoint tells of rows."""

    rows: int = Field(ge=0, lt=2**62)
    """Rows ever appended."""
    first: int = Field(ge=0)
    """Row that the oldest file begins with."""
    checksums: dict[str, int]
    """CRC-32 of each file, by its number."""
    columns: tuple[str, ...] = ()
    """Names of the columns, where they may change from version to version."""


class Shards:
    """Rows of a structured dtype; row numbers count from the first row ever appended."""

    def __init__(self, folder: Path, kind: np.dtype, rows_per_file: int = ROWS_PER_FILE) -> None:
        """Start with no row, whatever lies in ``folder``; :meth:`restore` goes on instead."""
        self.folder, self.kind, self.rows_per_file = folder, kind, rows_per_file
        self.rows = 0  # ever appended
        self.first = 0  # row that the oldest file begins with; those before are gone
        self._checksums: dict[int, int] = {}  # by file number
        self._maps: dict[int, np.ndarray] = {}
        self._file: BinaryIO | None = None  # the newest, open for appending

    def append(self, rows: np.ndarray) -> None:
        """Put rows behind the others. Raises OwareError when the disk does not take them."""
        start = 0
        while start < len(rows):
            number, inside = divmod(self.rows, self.rows_per_file)
            part = rows[start : start + self.rows_per_file - inside]
            content = np.ascontiguousarray(part).tobytes()
            with said(self._path(number), "cannot be written"):
                file = self._opened(number, inside)
                file.write(content)
                file.flush()
            self._checksums[number] = zlib.crc32(content, self._checksums.get(number, 0))
            self._maps.pop(number, None)
            self.rows += len(part)
            start += len(part)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """A copy of the rows with these numbers, in their order; none may be before ``first``."""
        found = np.empty(len(numbers), self.kind)
        files = numbers // self.rows_per_file
        for file in np.unique(files):
            is_here = files == file
            found[is_here] = self._map(int(file))[numbers[is_here] % self.rows_per_file]
        return found

    def read(self, start: int, stop: int) -> np.ndarray:
        """A copy of the rows from ``start`` to before ``stop``."""
        return self.take(np.arange(start, stop))

    def drop_before(self, row: int) -> None:
        """Delete the files that hold only rows before this one."""
        oldest = min(row, self.rows) // self.rows_per_file
        for number, path in self._files():
            if number < oldest:
                self._maps.pop(number, None)
                self._checksums.pop(number, None)
                with said(path, "cannot be deleted"):
                    path.unlink(missing_ok=True)
        self.first = max(self.first, oldest * self.rows_per_file)

    def state(self, needed: int = 0) -> dict[str, Any]:
        """What :meth:`restore` needs, plain numbers; the rows are on the disk when it returns.

        Files with rows before ``needed`` alone are left out, so they may go before the next state.
        """
        if self._file is not None:
            with said(self._path(self.rows // self.rows_per_file), "cannot be written"):
                os.fsync(self._file.fileno())
        oldest = max(self.first, needed - needed % self.rows_per_file)
        checksums = {
            str(number): crc
            for number, crc in self._checksums.items()
            if number >= oldest // self.rows_per_file
        }
        return {"rows": self.rows, "first": oldest, "checksums": checksums}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the rows that :meth:`state` told of; later ones are cut off.

        Raises OwareError when a file is missing, too short, or not what was written.
        """
        self.look_at(state)
        for number, path in self._files():
            with said(path, "cannot be cut to what the checkpoint tells of"):
                if number * self.rows_per_file >= self.rows:
                    path.unlink()
                elif number in self._checksums:
                    os.truncate(path, self._size(number))

    def look_at(self, state: dict[str, Any]) -> None:
        """Read the rows that :meth:`state` told of, and change nothing; raises as above."""
        self.close()
        told = ShardState(**state)
        numbers = sorted(
            int(name) if re.fullmatch("[0-9]{1,18}", name) else -1 for name in told.checksums
        )
        self.rows, self.first = told.rows, told.first
        first_file = self.first // self.rows_per_file
        files = range(first_file, -(-self.rows // self.rows_per_file))
        fits = len(numbers) == len(files) and numbers == list(files)
        if not fits or self.first % self.rows_per_file:
            raise OwareError(
                f"{self.folder}: the checkpoint tells of rows {self.first:,} to {self.rows:,} in "
                f"{len(numbers)} files, which do not fit together"
            )
        self._checksums = {int(name): crc for name, crc in told.checksums.items()}
        for number, checksum in self._checksums.items():
            self._check(number, checksum)

    def close(self) -> None:
        """Close the newest file and the maps; appending opens it again."""
        self._maps.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _check(self, number: int, checksum: int) -> None:
        """Raise when a file does not begin with the rows it should hold."""
        path, size = self._path(number), self._size(number)
        content = b""
        if is_file(path):
            with said(path, "cannot be read"), path.open("rb") as file:
                content = file.read(size)
        if len(content) < size:
            held, rows = len(content) // self.kind.itemsize, size // self.kind.itemsize
            raise OwareError(f"{path} was cut off: it holds {held:,} of {rows:,} rows")
        if zlib.crc32(content) != checksum:
            raise OwareError(f"{path} is damaged: its bytes are not those that were written")

    def _rows_in(self, number: int) -> int:
        """Rows that a file should have."""
        return min(self.rows_per_file, self.rows - number * self.rows_per_file)

    def _size(self, number: int) -> int:
        """Bytes that a file should have."""
        return self._rows_in(number) * self.kind.itemsize

    def _files(self) -> list[tuple[int, Path]]:
        """The files of rows in the folder, by number; those of other names are not ours."""
        found = self.folder.glob("[0-9]" * _DIGITS + f"*{_SUFFIX}")
        return [
            (int(path.stem), path)
            for path in found
            if path.stem.isdecimal() and path == self._path(int(path.stem))
        ]

    def _opened(self, number: int, inside: int) -> BinaryIO:
        """The file of a number, ready to take its row ``inside``."""
        if self._file is None or not inside:
            if self._file is not None:
                os.fsync(self._file.fileno())
                self._file.close()
            if not self.rows:  # later it is there, or the run is gone
                self.folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path(number).open("ab" if inside else "wb")
        return self._file

    def _map(self, number: int) -> np.ndarray:
        """The rows of a file as they are now, without what a torn append left behind them."""
        if number not in self._maps:
            path, rows = self._path(number), self._rows_in(number)
            with said(path, "cannot be read"):
                self._maps[number] = np.memmap(path, self.kind, "r", shape=(rows,))
        return self._maps[number]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:0{_DIGITS}d}{_SUFFIX}"
