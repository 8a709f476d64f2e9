"""How much memory a process has needed."""

import sys


def peak_memory() -> float:
    """The greatest memory of this process so far, in MB; NaN where the system does not tell.

    Pages of memory-mapped files count while they are in memory.
    """
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    greatest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return greatest / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, KB elsewhere
