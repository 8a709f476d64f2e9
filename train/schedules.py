"""What changes over a run: a function of the configuration and of the share of the budget used up.

A unit is given that share when it is asked for (train.selfplay.SelfPlayUnit), so that whoever plays
it, and whenever, finds the same.
"""

from train.config import SelfPlay


def simulations_at(settings: SelfPlay, progress: float) -> int:
    """Simulations a move of a unit that was asked for at ``progress``, 0-1, of the budget.

    With ``first_simulations`` they rise from there by equal factors in equal shares of the budget:
    while the network knows little, many games teach it more than deep searches of few. Method:
    progressive simulation (Wu et al. 2024, "MiniZero").
    """
    first, last = settings.first_simulations, settings.simulations
    if first is None:
        return last
    return round(first * (last / first) ** min(1.0, progress))
