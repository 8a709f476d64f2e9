"""Shards: rows of one kind in append-only files, read back through memory maps.

A run writes what it plays into files of equal numbers of rows, FOLDER/000000.rows and so on, and
never changes a row. A checkpoint notes how many rows there were and a checksum of each file, so a
run that goes on finds exactly the rows it had: what was appended after the checkpoint is cut off,
and a file that lost or changed a byte is refused.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from oware_env.errors import OwareError

ROWS_PER_FILE = 1 << 18
_SUFFIX = ".rows"


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
            with self._says_what_failed(number):
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
        for path in self.folder.glob(f"*{_SUFFIX}"):
            number = int(path.stem)
            if number < oldest:
                self._maps.pop(number, None)
                self._checksums.pop(number, None)
                path.unlink()
        self.first = max(self.first, oldest * self.rows_per_file)

    def state(self, needed: int = 0) -> dict[str, Any]:
        """What :meth:`restore` needs, plain numbers; the rows are on the disk when it returns.

        Files with rows before ``needed`` alone are left out, so they may go before the next state.
        """
        if self._file is not None:
            with self._says_what_failed(self.rows // self.rows_per_file):
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
        for path in self.folder.glob(f"*{_SUFFIX}"):
            if int(path.stem) * self.rows_per_file >= self.rows:
                path.unlink()
        for number in self._checksums:
            os.truncate(self._path(number), self._size(number))

    def look_at(self, state: dict[str, Any]) -> None:
        """Read the rows that :meth:`state` told of, and change nothing; raises as above."""
        self.close()
        self.rows, self.first = state["rows"], state["first"]
        self._checksums = {int(number): crc for number, crc in state["checksums"].items()}
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
        found = path.stat().st_size if path.exists() else 0
        if found < size:
            held, rows = found // self.kind.itemsize, size // self.kind.itemsize
            raise OwareError(f"{path} was cut off: it holds {held:,} of {rows:,} rows")
        if zlib.crc32(path.read_bytes()[:size]) != checksum:
            raise OwareError(f"{path} is damaged: its bytes are not those that were written")

    def _size(self, number: int) -> int:
        """Bytes that a file should have."""
        rows = min(self.rows_per_file, self.rows - number * self.rows_per_file)
        return rows * self.kind.itemsize

    def _opened(self, number: int, inside: int) -> BinaryIO:
        """The file of a number, ready to take its row ``inside``."""
        if self._file is None or not inside:
            if self._file is not None:
                os.fsync(self._file.fileno())
                self._file.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path(number).open("ab" if inside else "wb")
        return self._file

    def _map(self, number: int) -> np.ndarray:
        """The rows of a file as they are now."""
        if number not in self._maps:
            self._maps[number] = np.memmap(self._path(number), self.kind, "r")
        return self._maps[number]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}{_SUFFIX}"

    @contextmanager
    def _says_what_failed(self, number: int) -> Iterator[None]:
        """Turn the system's refusal to write into one line."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise OwareError(f"{self._path(number)} cannot be written: {reason}") from None
