"""Whether this machine has the memory for a build, asked before the work."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from oware_env.errors import OwareError

_TOLD = Path("/proc/meminfo")
_LIMITS = (  # of the container that a process runs in, whichever there is
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def check_room(what: str, size: int) -> None:
    """Raise OwareError when ``what`` takes more bytes of memory than this machine can give."""
    free = min(_limits(), default=size)
    if size > free:
        raise OwareError(
            f"{what} takes {size / 1e9:,.1f} GB of memory to build, and {free / 1e9:,.1f} GB are "
            "free here: ask for fewer seeds"
        )


def _limits() -> Iterator[int]:
    """All that is known of the bytes that can be had; nothing where the system tells nothing."""
    with suppress(OSError, ValueError, IndexError, KeyError):
        lines = (line.split() for line in _TOLD.read_text().splitlines())
        kilobytes = {words[0]: int(words[1]) for words in lines if len(words) > 1}
        yield 1024 * (kilobytes["MemAvailable:"] + kilobytes.get("SwapFree:", 0))
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # "max" where there is none
            yield int(path.read_text())
    with suppress(AttributeError, ValueError, OSError):  # Windows
        if not _TOLD.exists():
            yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
