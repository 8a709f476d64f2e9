"""Sizes of the network by name, and which of them grows into which; needs no torch."""

from collections.abc import Mapping

from oware_env.errors import OwareError

PRESETS = {"tiny": (64, 2), "small": (128, 2), "medium": (128, 4), "large": (256, 6)}
"""Width and number of residual blocks."""


def grows_into(first: str, last: str) -> bool:
    """Whether a network of preset ``first`` can become ``last`` by more blocks of its width."""
    (width, depth), (last_width, last_depth) = PRESETS[first], PRESETS[last]
    return width == last_width and depth < last_depth


def require_growth(first: str, last: str) -> None:
    """Raise OwareError, naming the pairs that work, when ``first`` cannot grow into ``last``."""
    if not grows_into(first, last):
        pairs = [f"{a} to {b}" for a in PRESETS for b in PRESETS if grows_into(a, b)]
        raise OwareError(
            f"a {first} network cannot grow into a {last} one: only the number of blocks grows, "
            f"not the width; what works is {', '.join(pairs)}"
        )


def stage_of(shapes: Mapping[str, tuple[int, ...]], preset: str) -> str:
    """Which preset weights of these shapes are: one that grows into ``preset``, or that itself.

    ``shapes`` are those of a state_dict of :class:`agents.neural.network.Network`, by name. Weights
    of any other width or depth are ``preset``'s by what they claim, and do not fit it.
    """
    depth = len({name.split(".")[1] for name in shapes if name.startswith("blocks.")})
    size = (shapes.get("bias", (0,))[0], depth)
    stages = {PRESETS[name]: name for name in PRESETS if grows_into(name, preset)}
    return stages.get(size, preset)
