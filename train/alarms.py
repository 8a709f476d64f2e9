"""Alarms: what goes wrong in a run, said in plain words when the figures show it.

A training run can fail silently: the loss falls, and the player gets worse. Each alarm watches the
logged figures, is raised once, and names the setting to look at. Losses that are not finite stop
a run by themselves (:mod:`train.learner`).
"""

import math
from collections import deque
from collections.abc import Mapping
from typing import final

from train.run import INTERVAL

UNITS = 20  # that an alarm about self-play looks back on
LEAST_ENTROPY = 0.05  # nats: below, one move has all visits nearly everywhere
MOST_LIMIT_SHARE = 0.2  # games ended by the move limit, when they were half as many at first
NEARLY_NOTHING = 0.98  # share of the loss of a constant answer that is as bad as it

_WATCHED = ("selfplay/policy_entropy", "selfplay/limit_share", "selfplay/draw_rate", "loss/result")


@final
class Alarms:
    """Watches the figures of a run as they are logged."""

    def __init__(self) -> None:
        self._recent: dict[str, deque[float]] = {name: deque(maxlen=UNITS) for name in _WATCHED}
        self._units = 0
        self._first_limit_share = math.nan  # mean of the first UNITS units
        self._best: dict[str, tuple[float, float, float]] = {}  # opponent: score, low, high
        self._raised: set[str] = set()

    def note(self, figures: Mapping[str, float]) -> list[str]:
        """Take in the figures of a unit or an evaluation; the alarms they raise, mostly none."""
        found = {}
        if "loss/result" in figures:
            for name, recent in self._recent.items():
                if name in figures:
                    recent.append(figures[name])
            self._units += 1
            found = self._self_play()
        for name in figures:
            if name.startswith("evaluation/"):
                found |= self._evaluation(name.removeprefix("evaluation/"), figures)
        fresh = {kind: text for kind, text in found.items() if kind not in self._raised}
        self._raised |= fresh.keys()
        return list(fresh.values())

    def _mean(self, name: str) -> float:
        """Mean over the units looked back on; NaN before there are so many."""
        recent = self._recent[name]
        return sum(recent) / UNITS if len(recent) == UNITS else math.nan

    def _self_play(self) -> dict[str, str]:
        """Alarms about units, by kind."""
        entropy, limited = self._mean("selfplay/policy_entropy"), self._mean("selfplay/limit_share")
        if self._units == UNITS:
            self._first_limit_share = limited
        found = {}
        if entropy < LEAST_ENTROPY:
            found["policy"] = (
                f"the policy has collapsed: the search finds an entropy of {entropy:.3f} nats, "
                f"one move takes all; raise selfplay.noise or lower learning.learning_rate"
            )
        loss, constant = self._mean("loss/result"), self._constant_loss()
        if self._units > 2 * UNITS and loss > NEARLY_NOTHING * constant:
            found["value"] = (
                f"the value has learned nothing: its loss is {loss:.2f}, saying the same of every "
                f"position costs {constant:.2f}; lower learning.learning_rate"
            )
        if limited > max(MOST_LIMIT_SHARE, 2 * self._first_limit_share):
            found["limit"] = (
                f"games go round in circles: the move limit ends {limited:.0%} of them, at first "
                f"{self._first_limit_share:.0%}; tables of endgames help (selfplay.endgames)"
            )
        return found

    def _constant_loss(self) -> float:
        """What the best constant answer would lose, in nats: wins and losses are equally many."""
        draws = min(max(self._mean("selfplay/draw_rate"), 1e-9), 1 - 1e-9)
        if math.isnan(draws):
            return math.inf
        return -draws * math.log(draws) - (1 - draws) * math.log((1 - draws) / 2)

    def _evaluation(self, opponent: str, figures: Mapping[str, float]) -> dict[str, str]:
        """The alarm about a score that fell, by kind."""
        now = tuple(figures[f"{name}/{opponent}"] for name in INTERVAL)
        score, low, high = now
        best = self._best.get(opponent)
        if best is None or score >= best[0]:
            self._best[opponent] = (score, low, high)
            return {}
        if high >= best[1]:
            return {}
        text = (
            f"the player got worse: {score:.0%} [{low:.0%}, {high:.0%}] against {opponent}, it was "
            f"{best[0]:.0%} [{best[1]:.0%}, {best[2]:.0%}]; look at its curves before training on"
        )
        return {f"score against {opponent}": text}
