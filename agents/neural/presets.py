"""The sizes that networks come in, by name; apart from the network, for who does without torch."""

from typing import NamedTuple

from oware_env.encoding import FAR_SIZE, NETWORK_SIZE


class Size(NamedTuple):
    """What a preset stands for."""

    width: int
    depth: int  # blocks
    entries: int = NETWORK_SIZE  # of the input; FAR_SIZE for one that sees further


PRESETS = {
    "tiny": Size(64, 2),
    "small": Size(128, 2),
    "medium": Size(128, 4),
    "deep": Size(128, 8),
    "far": Size(128, 8, FAR_SIZE),
    "large": Size(256, 6),
}
