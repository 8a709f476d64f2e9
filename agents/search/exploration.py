"""How far a search looks beyond the moves it knows to be good: PUCT's parameters, and more.

The bonus of a move is ``scale * prior / (1 + its simulations)``. Its scale grows with the square
root of a node's simulations (Silver et al. 2018, supplement), and may grow by their logarithm as
well, as in the pseudocode of that supplement and in KataGo. A move not tried yet counts as the
node's mean, or as less where much of the policy has been tried (lc0 and KataGo: first-play
urgency).
"""

from numbers import Real
from typing import NamedTuple

import numpy as np

from oware_env.errors import OwareError, shown
from oware_env.kernel import kernel

_MOST = 1e9  # of a parameter
GROWS_FROM = 100.0  # simulations from which the logarithm counts


class Exploration(NamedTuple):
    """The parameters; the numbers are at least 0."""

    constant: float = 1.25
    """Of the bonus: as in AlphaZero's supplement; noisy values want it."""
    growth: float = 0.0
    """By how much of itself the constant grows with ``log(1 + simulations / GROWS_FROM)``."""
    reduction: float = 0.0
    """What a move not tried is thought to be worse than the mean once all others are tried."""
    transpositions: bool = False
    """Whether a position that several orders of moves lead to is explored once, as one node."""


def as_exploration(given: float | Exploration) -> Exploration:
    """The parameters as kernels take them; a number is the constant alone. Raises OwareError."""
    whole = given if isinstance(given, Exploration) else Exploration(given)
    *numbers, transpositions = whole
    for name, value in zip(Exploration._fields, numbers, strict=False):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not (is_number and 0.0 <= value <= _MOST):
            what = "exploration" if name == "constant" else f"{name} of exploration"
            raise OwareError(f"{what} must be a number of at least 0, not {shown(value)}")
    return Exploration._make([*map(np.float32, numbers), bool(transpositions)])


@kernel(inner=True)
def bonus_scale(exploration, count):
    """The scale of the bonuses at a node seen ``count`` times, float32."""
    scale = exploration.constant * np.sqrt(count)
    if exploration.growth > 0.0:
        grown = np.log(np.float32(1.0) + count / np.float32(GROWS_FROM))
        scale *= np.float32(1.0) + exploration.growth * grown
    return scale
