"""AlphaZero: self-play with search, and a network that learns what the search found.

Workers play units of games with the averaged weights; the learner puts their positions into the
replay window and takes a number of steps fixed by how many there are. The loop around it is in
:mod:`train.training`. Method: Silver et al. 2018; no gating, as in KataGo.
"""

from pathlib import Path
from typing import Any, final

from torch import Tensor

from train.config import Config
from train.endgames import open_mode_table
from train.learner import LOSSES, Learner
from train.replay import ReplayWindow
from train.selfplay import Played, play_unit
from train.training import train_new_run


def run_training(config: Config) -> Path:
    """Train a new run from Python, until its budget is used up, and return its folder.

    The folder is runs/NAME below the current one. Interrupting it (in a notebook: the stop button)
    keeps what was learned so far. OwareError when the configuration is another algorithm's.
    """
    return train_new_run(AlphaZero, config)


@final
class AlphaZero:
    """What AlphaZero plays and learns (see :class:`train.protocol.Algorithm`)."""

    play = staticmethod(play_unit)

    def __init__(self, config: Config) -> None:
        """Raises OwareError when the table of endgames that is asked for does not exist.

        Opened here, before there is a run or a worker, a small one is built here, and once.
        """
        self.config = config.require_algorithm("alphazero")
        open_mode_table(config)
        self.learner = Learner(config)
        self.positions = 0

    def open(self, folder: Path) -> None:
        """Keep the replay window in ``folder``/replay, empty at first."""
        self.window = ReplayWindow(self.config.replay, folder / "replay")

    def unit_weights(self, number: int) -> bytes:
        """The averaged weights, whatever the unit's number."""
        return self.learner.playing_weights()

    def learn(self, played: Played, progress: float, most_steps: int) -> dict[str, float]:
        """Take one unit: its positions into the window, then the steps they are worth."""
        self.window.add(played.samples)
        self.positions = self.window.total
        settings = self.config.learning
        steps = max(1, round(len(played.samples) * settings.samples_per_position / settings.batch))
        learned = self.learner.learn(self.window, min(steps, most_steps), progress)
        return unit_figures(played, learned) | {"window/positions": len(self.window)}

    def summary(self, figures: dict[str, float]) -> str:
        """Speed and losses in a few words."""
        return (
            f"{figures['speed/simulations_per_second'] / 1000:,.0f}k sims/s a worker"
            f"  loss {figures['loss/policy']:.2f} + {figures['loss/result']:.2f}"
        )

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """None: the positions learned from lie in files of their own."""
        return {}

    def state(self) -> dict[str, Any]:
        """How much of the replay files there is, and their checksums."""
        return {"replay": self.window.state()}

    def restore(self, folder: Path, state: dict[str, Any]) -> None:
        """Go on with the replay window of a checkpoint; OwareError when it is damaged."""
        self.window.restore(state["replay"])

    def close(self) -> None:
        """Close the replay files."""
        self.window.close()


def unit_figures(played: Played, learned: dict[str, float]) -> dict[str, float]:
    """What is logged of a unit: games, search, learning and where the time went."""
    figures = dict(played.figures)
    seconds, network_seconds = figures["seconds"], figures["network_seconds"]
    return {
        **{f"loss/{name}": learned[name] for name in (*LOSSES, "total")},
        "learner/gradient_norm": learned["gradient_norm"],
        "learner/learning_rate": learned["learning_rate"],
        **{
            f"selfplay/{name}": figures[name]
            for name in (
                "game_length",
                "limit_share",
                "draw_rate",
                "first_player_score",
                "policy_entropy",
                "search_surprise",
                "adjudicated",
                "rescored",
                "lessons",
                "cache_hits",
            )
        },
        "selfplay/evaluations_per_position": figures["evaluations"] / figures["positions"],
        "memory/worker": figures["memory"],
        "time/unit": seconds,
        "time/network": network_seconds,
        "time/evaluations": figures["evaluations"],
        "speed/games_per_second": figures["games"] / seconds,
        "speed/simulations_per_second": figures["simulations"] / seconds,
        "speed/network_share": network_seconds / seconds,
        "speed/tree_share": 1.0 - network_seconds / seconds,
    }
