"""The curves of a run, drawn from what it logged: for its page, and while it is trained."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from agents import plots
from train.metrics import MINUTES, Rows, series
from train.run import INTERVAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOSSES, CERTAINTY = "How far the network is from its targets", "How sure the search is"
RESULT_KEPT = "Result kept in endgames"
# What belongs into one plot: title -> names of figures and what they are called, label of the axis.
CURVES = {
    LOSSES: (
        {"loss/policy": "policy", "loss/result": "result"},
        "cross-entropy, nats",
    ),
    "How games of self-play go": (
        {
            "selfplay/draw_rate": "draws",
            "selfplay/limit_share": "ended by the move limit",
            "selfplay/first_player_score": "first player's score",
        },
        "share",
    ),
    "How long they are": ({"selfplay/game_length": "mean length"}, "plies"),
    CERTAINTY: (
        {"selfplay/policy_entropy": "entropy", "selfplay/search_surprise": "surprise of the prior"},
        "nats",
    ),
    "Seeds given away in endgames": (
        {"endgames/regret": "policy", "endgames/search_regret": "with search"},
        "seeds a move",
    ),
    RESULT_KEPT: (
        {"endgames/accuracy": "policy", "endgames/search_accuracy": "with search"},
        "share of moves",
    ),
}


def opponents(rows: Rows) -> list[str]:
    """Whom a run was tested against while it learned, in alphabetical order."""
    prefix = f"{INTERVAL[0]}/"
    return sorted(
        {name.removeprefix(prefix) for row in rows for name in row if name.startswith(prefix)}
    )


def draw_strength(axes: "Axes", rows: Rows) -> bool:
    """Draw the score against each opponent over the minutes, with 95 % intervals.

    False when the run met none yet.
    """
    met = opponents(rows)
    for number, opponent in enumerate(met):
        score, low, high = (series(rows, f"{name}/{opponent}") for name in INTERVAL)
        values = np.stack([low.values, score.values, high.values], axis=1)
        plots.intervals(axes, score.places.tolist(), values, opponent, number)
    axes.axhline(0.5, color=plots.FAINT, linestyle="--", linewidth=1)
    axes.set(xlabel="minutes", ylabel="score", ylim=(-0.02, 1.02))
    if met:
        axes.legend(loc="lower right")
    return bool(met)


def draw_curves(axes: "Axes", rows: Rows, names: Mapping[str, str], label: str) -> bool:
    """Draw figures over the minutes, smoothed; ``names`` says what each is called.

    False when the run logged none of them yet.
    """
    is_empty = True
    for number, (name, called) in enumerate(names.items()):
        if any(name in row for row in rows):
            minutes, values = series(rows, name, MINUTES)
            smoothed = plots.smooth(values.tolist()).tolist()
            plots.curve(axes, minutes.tolist(), [smoothed], called, number)
            is_empty = False
    axes.set(xlabel="minutes", ylabel=label)
    if not is_empty:
        axes.legend()
    return not is_empty
