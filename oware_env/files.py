"""Files: the one place that reads them, writes them whole, and lets one writer into a folder.

Whatever the system refuses becomes one :class:`OwareError` that names the file and the reason.
A file is written beside its place, flushed and renamed, so a reader sees all of it or the one that
was there before. Bottom layer beside ``errors``.
"""

import hashlib
import json
import os
import shutil
import sys
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from oware_env.errors import OwareError

LOCK = ".lock"  # in a folder with one writer at a time
DIGEST = "digest"  # key of a sealed document's own checksum
PART = ".part"  # ends the name of what is not complete yet
_LONGEST_NAME = 200  # characters of a name that one of 255 bytes is made of
_PID_DIGITS = 20
_LOCKED_BYTE = 1 << 30  # Windows locks a byte; this one lies behind what the lock file says


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there; False also for a name that the system cannot take."""
    return os.path.isfile(path)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is there; False also for a name that the system cannot take."""
    return os.path.isdir(path)


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether anything is there; False also for a name that the system cannot take."""
    return os.path.exists(path)


@contextmanager
def said(path: str | os.PathLike[str], what: str, remedy: str = "") -> Iterator[None]:
    """Turn the system's refusal into one line: ``path`` ``what``: reason, and then ``remedy``.

    ``what``: such as ``"cannot be written"``. A name with a null byte counts as a refusal.
    """
    try:
        yield
    except OSError as error:
        raise OwareError(f"{path} {what}: {error.strerror or error}{remedy}") from None
    except ValueError as error:
        if "null byte" not in str(error) and "null character" not in str(error):
            raise
        raise OwareError(f"{str(path)!r} {what}: a name holds no null{remedy}") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file. Raises OwareError when it cannot be read."""
    with said(path, "cannot be read"):
        return Path(path).read_bytes()


def read_text(path: str | os.PathLike[str], kind: str = "text file") -> str:
    """The text of a file in UTF-8. Raises OwareError that says it is no ``kind`` otherwise."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OwareError(f"{path} is no {kind}: line {line} is not text in UTF-8") from None


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, also for one nested too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview | str) -> None:
    """Write a file so that it is there in full or not at all, text in UTF-8.

    Raises OwareError, with what was there before untouched, when the disk does not take it.
    """
    if isinstance(content, str):
        try:
            content = content.encode("utf-8")
        except UnicodeEncodeError as error:
            letter = ascii(content[error.start])
            raise OwareError(f"{path} cannot be written: {letter} is no letter") from None
    with written_whole(path) as file:
        file.write(content)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, in the place of ``path`` once the block has ended without an error.

    Raises OwareError as :func:`write_whole` does.
    """
    path = Path(path)
    if not path.name or (is_there(path) and not is_file(path)):  # a rename would replace a device
        kind = "a folder" if is_folder(path) else "no regular file"
        raise OwareError(f"{path} cannot be written: it is {kind}")
    part = part_of(path)
    with said(path, "cannot be written"):
        try:
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            with suppress(OSError, ValueError):
                part.unlink()
            raise


def part_of(path: Path) -> Path:
    """The name beside ``path`` under which this thread writes it; a kill leaves that behind."""
    writer = f"{os.getpid()}-{threading.get_native_id()}"
    return path.with_name(f".{path.name[:_LONGEST_NAME]}.{writer}{PART}")


def flush_folder(folder: Path) -> None:
    """Ask the disk to keep a folder's names; a system that opens no folders keeps them itself."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # such as Windows
        return
    try:
        with suppress(OSError):  # a file system without it
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def new_folder(parent: Path, name: str, what: str = "folder") -> Path:
    """Make a folder parent/NAME, or NAME-2, NAME-3 ... where that is taken.

    Two processes never get the same one. Raises OwareError when none can be made; ``what`` it is,
    for the message.
    """
    for number in range(1, 10_000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        with said(f"the {what} {path}", "cannot be made"):
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                if is_there(path):
                    continue
                raise
            return path
    raise OwareError(f"{parent} holds 9,999 folders named {name}: give another name")


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """A JSON document with its own checksum, for :func:`check_seal`; it is as it is read back."""
    content = json.loads(json.dumps(document))
    return content | {DIGEST: digest_of(content)}


def check_seal(document: Any, source: str | os.PathLike[str]) -> dict[str, Any]:
    """The document, when it is as :func:`seal` made it. Raises OwareError naming ``source``."""
    if not isinstance(document, dict) or document.get(DIGEST) != digest_of(document):
        raise OwareError(f"{source} is damaged: it is not what was written")
    return document


def digest_of(document: dict[str, Any]) -> str:
    """SHA-256 of a JSON document but for its own checksum; spacing and order do not count."""
    content = {name: value for name, value in document.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Lock:
    """The right to write into a folder, held until :meth:`release` or the end of the process.

    The system holds it, so a killed process leaves none behind but an empty claim: the lock file,
    which the next one takes. Readers need none.
    """

    _file: BinaryIO | None = None

    def __init__(
        self,
        folder: Path,
        what: str,
        name: str = LOCK,
        wait: bool = False,
        is_quiet: bool = False,
    ) -> None:
        """Take it. Raises OwareError when another process has it, naming that process.

        ``what`` is being written, for the message: such as ``"run"``. With ``wait`` the other
        process is waited for. A file system without locks is said so on standard error, unless
        ``is_quiet``.
        """
        self.path = folder / name
        is_ours = True
        while not self._file or (is_ours and not self._is_current()):  # until it is not removed
            self._close()
            with said(self.path, "cannot be written"):
                self._file = self.path.open("ab+")
            try:
                is_ours = _lock(self._file, wait)
            except OSError as error:
                if is_quiet:
                    return
                print(
                    f"note: {folder} cannot be locked ({error.strerror}): see to it that no other "
                    "process writes there",
                    file=sys.stderr,
                )
                return
        if not is_ours:
            holder = self._holder()
            self._close()
            raise OwareError(
                f"another process{holder} is writing the {what} {folder}: wait for it or stop it"
            )
        with suppress(OSError):
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())
            self._file.flush()

    def _holder(self) -> str:
        """The process that has it, as far as the file says."""
        assert self._file is not None
        with suppress(OSError):
            self._file.seek(0)
            number = self._file.read(_PID_DIGITS)
            if number.isdigit():
                return f" ({number.decode()})"
        return ""

    def _is_current(self) -> bool:
        """Whether what is locked is the file that others will find."""
        assert self._file is not None
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def release(self) -> None:
        """Let others write, and leave no lock file behind; nothing when it was released before."""
        if self._file is not None:
            with suppress(OSError):
                self.path.unlink()
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock(file: BinaryIO, wait: bool) -> bool:
    """Whether the file is locked for this process now. OSError where the system has no locks."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file, wait)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(file: BinaryIO, wait: bool) -> bool:
    import msvcrt

    file.seek(_LOCKED_BYTE)
    while True:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            if wait:  # it gives up after ten seconds
                continue
            return False
        return True


def remove_folder(folder: Path) -> None:
    """Delete a folder with all that is in it, as far as the system lets us."""
    shutil.rmtree(folder, ignore_errors=True)


def printable(text: str) -> str:
    """The text with whatever a terminal would obey, or could not print, written out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def has_controls(text: str) -> bool:
    """Whether a text holds what a terminal would obey, or half a character."""
    return any(unicodedata.category(one) in ("Cc", "Cs") for one in text)
