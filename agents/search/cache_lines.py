"""Memory in whole cache lines: what is read together is fetched together."""

import numpy as np

LINE = 64  # bytes


def cache_lines(count: int) -> np.ndarray:
    """``count`` lines of zeros, int32[count, 16], that begin where a line of the cache does."""
    memory = np.zeros(count * LINE // 4 + LINE // 4, np.int32)
    skip = -(memory.ctypes.data // 4) % (LINE // 4)
    return memory[skip : skip + count * LINE // 4].reshape(count, LINE // 4)
