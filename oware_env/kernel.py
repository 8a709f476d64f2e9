"""The decorator of every compiled kernel, with a cache that notices every edit.

Numba's file cache keys a kernel by the source file it stands in, so an edit of ``rules.py`` does
not reach a cached search kernel that calls the rules (Numba documentation, "Caching
limitations"). Here the cache folder itself is named after the text of all kernel files of the
project: one edited kernel, and every kernel compiles anew. Bottom layer; imports nothing of ours.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("oware_env", "agents", "train")
_COMPILED = (b"@kernel", b"@intrinsic")  # what is compiled, or is part of what is
_DAYS_KEPT = 7.0


def kernel_files(root: Path = _ROOT) -> list[Path]:
    """Every source file of the packages that holds a kernel or a part of one, sorted by path."""
    files = (path for package in _PACKAGES for path in (root / package).rglob("*.py"))
    return sorted(path for path in files if any(mark in path.read_bytes() for mark in _COMPILED))


def source_key(root: Path = _ROOT) -> str:
    """Sixteen hex digits naming the exact text of all kernel files below ``root``."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in kernel_files(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _cache_base() -> Path:
    """The folder that holds the keyed caches: Numba's own setting, else beside this file."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    beside = Path(__file__).resolve().parent / "__pycache__"
    if os.access(beside if beside.is_dir() else beside.parent, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "oware"


def _open_cache() -> Path:
    """Make the keyed folder of this source text and drop those unused for a week."""
    folder = _cache_base() / f"kernels-{source_key()}"
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    oldest = time.time() - _DAYS_KEPT * 86400
    for other in folder.parent.glob("kernels-*"):
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)
    return folder


CACHE = _open_cache()


def is_uncompiled() -> bool:
    """Whether no kernel of this source text is in the cache: the first calls take half a minute."""
    return not any(CACHE.rglob("*.nbi"))


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
    configured = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        compile_ = numba.njit(
            cache=cache, nogil=True, error_model="numpy", fastmath=fastmath, **options
        )
        return compile_(function)
    finally:
        numba.config.CACHE_DIR = configured
