"""The decorator of every compiled kernel, with a cache that notices every edit.

Numba's file cache keys a kernel by the source file it stands in, so an edit of ``rules.py`` does
not reach a cached search kernel that calls the rules (Numba documentation, "Caching
limitations"). Here the cache folder itself is named after the text of all kernel files of the
project: one edited kernel, and every kernel compiles anew. Where no folder can be had, kernels are
compiled in memory, in each process again, which is said once. Bottom layer beside ``files``.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

from oware_env.errors import OwareError
from oware_env.files import Lock, printable

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("oware_env", "agents", "train")
_COMPILED = (b"@kernel", b"@intrinsic")  # what is compiled, or is part of what is
_DAYS_KEPT = 7.0


def kernel_files(root: Path = _ROOT) -> list[Path]:
    """Every source file of the packages that holds a kernel or a part of one, sorted by path."""
    files = (path for package in _PACKAGES for path in (root / package).rglob("*.py"))
    # An editor's lock is a link that ends in .py and leads nowhere.
    there = (path for path in files if path.is_file())
    return sorted(path for path in there if any(mark in path.read_bytes() for mark in _COMPILED))


def source_key(root: Path = _ROOT) -> str:
    """Sixteen hex digits naming the exact text of all kernel files below ``root``."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in kernel_files(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _cache_bases() -> Iterator[Path]:
    """Where the keyed caches may lie: Numba's own setting, else beside this file or at home."""
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR).absolute()
        return
    beside = Path(__file__).resolve().parent / "__pycache__"
    if os.access(beside if beside.is_dir() else beside.parent, os.W_OK):
        yield beside
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if configured.is_absolute():  # the specification has others ignored
        yield configured / "oware"
        return
    with suppress(RuntimeError):  # there is no home
        if Path.home().is_absolute():
            yield Path.home() / ".cache" / "oware"


def _open_cache() -> Path | None:
    """The keyed folder of this source text, ready to be written; None where there can be none.

    Drops the folders of other texts that nobody used for a week.
    """
    refusal = "there is no home folder"
    for base in _cache_bases():
        folder = base / f"kernels-{source_key()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
            refusal = f"{folder}: {getattr(error, 'strerror', None) or error}"
            continue
        _drop_old(base)
        return folder
    _say_uncached(refusal)
    return None


def _drop_old(base: Path) -> None:
    """Delete the keyed folders of ``base`` unused for a week; other processes may do so too."""
    oldest = time.time() - _DAYS_KEPT * 86400
    with suppress(OSError):
        for folder in base.glob("kernels-*"):
            with suppress(OSError):
                if folder.stat().st_mtime < oldest:
                    shutil.rmtree(folder, ignore_errors=True)


_has_said = False


def _say_uncached(refusal: str) -> None:
    """Tell on standard error, once, that kernels are not kept; worker processes leave it to us."""
    global _has_said
    multiprocessing = sys.modules.get("multiprocessing.process")
    is_worker = multiprocessing is not None and multiprocessing.parent_process() is not None
    if _has_said or is_worker or numba.config.DISABLE_JIT or sys.stderr is None:
        return
    _has_said = True
    with suppress(OSError, ValueError):
        print(
            f"note: compiled kernels cannot be kept ({printable(refusal)}), so every start takes "
            "half a minute more; set NUMBA_CACHE_DIR to a folder that can be written",
            file=sys.stderr,
        )


CACHE = _open_cache()
_marks: set[str] = set()


def is_uncompiled() -> bool:
    """Whether no kernel of this source text is in the cache: the first calls take half a minute."""
    with suppress(OSError):
        return CACHE is None or not any(CACHE.rglob("*.nbi"))
    return True


def is_marked(name: str) -> bool:
    """Whether ``name`` was marked for this source text, here or by a process with this cache."""
    return name in _marks or (CACHE is not None and os.path.exists(CACHE / name))


def mark(name: str) -> None:
    """Note that something is done for this source text, such as compiling what training needs."""
    _marks.add(name)
    if CACHE is not None:
        with suppress(OSError):  # then other processes do it again
            CACHE.mkdir(parents=True, exist_ok=True)
            (CACHE / name).touch()


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel. What cannot be read is compiled anew, and never fails a call."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None, as for a file that was cut short or may not be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            with suppress(Exception):
                self.flush()  # or saving would read it again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, where the disk takes it.

        One process at a time: Numba numbers the files by what it finds in the index, so two that
        write at once would give two kernels the same file.
        """
        folder = Path(self.cache_path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with Lock(folder, "kernel cache", wait=True, is_quiet=True):
                super().save_overload(sig, data)
        except (OSError, EOFError, OwareError) as error:
            self.disable()
            _say_uncached(f"{self.cache_path}: {getattr(error, 'strerror', None) or error}")


def _keep(compiled: Any, function: Callable[..., Any]) -> None:
    """Give a compiled function the keyed cache; Numba itself would look for other places too."""
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        cache = _KernelCache(function)
        if Path(cache.cache_path).parent == CACHE:
            compiled._cache = cache
            return
        refusal = f"{CACHE} cannot be written"
    except (RuntimeError, OSError) as error:
        refusal = str(error)
    finally:
        numba.config.CACHE_DIR = configured
    _say_uncached(refusal)


def kernel(
    function: Callable[..., Any] | None = None, *, reorders_sums: bool = False, inner: bool = False
) -> Any:
    """Compile ``function`` with Numba on first call, kept in the keyed cache between processes.

    Kernels divide like numpy (no ZeroDivisionError) and release the interpreter lock. One that
    ``reorders_sums`` may add and multiply floats in another order, as vector units like it: for
    networks, whose last bits mean nothing; NaN and infinities keep their meaning. An ``inner`` one
    makes no array and returns none: it works on what its callers hold, so it is compiled into them
    and counts no references to arrays, which would cost it more than its work
    (docs/decisions/0017). With ``NUMBA_DISABLE_JIT=1`` the plain Python function comes back, all
    the way down. One that calls itself is compiled anew in each process: read from a cache it
    crashes where the types of its arguments change on the way down (numba/numba#6061).
    """
    if function is None:
        return partial(kernel, reorders_sums=reorders_sums, inner=inner)
    fastmath = {"reassoc", "contract", "nsz", "arcp"} if reorders_sums else False
    cache = function.__name__ not in function.__code__.co_names
    # Said of every kernel: what is not said, a kernel takes over from the one that calls it first.
    options: dict[str, Any] = {"forceinline": inner, "_nrt": not inner}
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath, **options)(function)
    if cache and CACHE is not None and compiled is not function:
        _keep(compiled, function)
    return compiled
