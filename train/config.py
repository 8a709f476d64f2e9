"""Every default of a training run, as one frozen model; TOML files hold only differences."""

from typing import Literal

from pydantic import Field, model_validator

from agents.settings import Settings
from oware_env.errors import OwareError
from oware_env.rules import Rules

MOST = 2**53  # of anything that is counted: JSON and floats hold it exactly


class Budget(Settings):
    """How long to train: exactly one of the three."""

    minutes: float | None = Field(None, gt=0)
    """Wall-clock minutes from the start of the command to the end of learning."""
    games: int | None = Field(None, ge=1, lt=MOST)
    """Self-play games."""
    steps: int | None = Field(None, ge=1, lt=MOST)
    """Optimiser steps."""

    @model_validator(mode="after")
    def _one_of_three(self) -> "Budget":
        given = [name for name in ("minutes", "games", "steps") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of minutes, games and steps, not {' and '.join(given)}")
        return self


class SelfPlay(Settings):
    """How games are made. A unit is a fixed group of games run in lock-step."""

    games: int = Field(128, ge=1, le=65536)
    """Games of one unit. Small units bring new weights into play sooner."""
    simulations: int = Field(32, ge=1, le=100_000)
    """Search simulations a move."""
    exploration: float = Field(0.7, gt=0)
    """The constant of PUCT."""
    noise: float = Field(0.25, ge=0, le=1)
    """Share of Dirichlet(1) noise in the root priors."""
    opening_plies: int = Field(6, ge=0, le=40)
    """A game starts with 0 to this many random plies."""
    temperature_plies: int = Field(30, ge=0, lt=MOST)
    """Plies during which moves are drawn in proportion to their visits."""
    late_exponent: float = Field(3.0, gt=0)
    """Afterwards they are drawn in proportion to visits to this power."""
    search_plies: int = Field(200, ge=1, lt=MOST)
    """Later plies are played by the raw policy and give no policy target: long games loop."""
    lag: int = Field(4, ge=1, le=64)
    """Unit k is played with the weights learned from units up to k - lag."""
    endgames: Literal["none", "adjudicate", "search", "both"] = "both"
    """What a table of endgames does: end games that it decides, serve the search, or both."""
    table: int = Field(10, ge=1, le=24)
    """Seeds of that table; one of up to 10 is built when it is missing."""
    played_on: float = Field(0.1, ge=0, le=1)
    """Share of games that are played on although the table decides them."""
    lessons: int = Field(1, ge=0, le=100)
    """How often the policy plays out a game that was ended, to learn from it; 0 is never."""
    rescore: bool = True
    """Correct the value targets of finished games by what the table proves."""

    @model_validator(mode="after")
    def _nothing_is_given_in_vain(self) -> "SelfPlay":
        """Refuse a value that the mode would not read."""
        unread = {
            "none": ("table", "played_on", "lessons", "rescore"),
            "search": ("played_on", "lessons"),
        }
        for name in unread.get(self.endgames, ()):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} is not read when endgames is {self.endgames!r}")
        return self


class Learning(Settings):
    """The optimiser and its targets."""

    batch: int = Field(1024, ge=1, le=1 << 20)
    """Samples a step."""
    samples_per_position: float = Field(2.0, gt=0, le=10_000)
    """Samples drawn for each new position: sets the number of steps."""
    learning_rate: float = Field(4e-3, gt=0)
    """Peak learning rate of AdamW, after a short warm-up."""
    final_rate: float = Field(0.05, ge=0, le=1)
    """Share of it left at the end of the cosine over the budget."""
    warmup_steps: int = Field(100, ge=0, lt=MOST)
    """Steps over which the rate rises from zero."""
    weight_decay: float = Field(1e-4, ge=0)
    """Decoupled weight decay."""
    gradient_clip: float = Field(1.0, gt=0)
    """Largest norm of a gradient."""
    average: float = Field(0.99, ge=0, lt=1)
    """Decay of the averaged weights, which are the ones that play."""
    margin_weight: float = Field(0.25, ge=0)
    """Weight of the full-margin loss beside policy and result."""
    value_mix: float = Field(0.0, ge=0, le=1)
    """Share of the search's value in the result target; the game's result is the rest."""


class Ppo(Settings):
    """PPO: how much to trust a unit of games, and the past selves it is played against."""

    epochs: int = Field(2, ge=1, le=100)
    """Times that each sample is learned from."""
    clip: float = Field(0.2, gt=0)
    """How far the chance of a move may move away from that it was played with: 0.2 is 20 %."""
    target_kl: float = Field(0.03, gt=0)
    """No further epoch once the policy is this far, in nats, from the one that played."""
    trace: float = Field(0.8, ge=0, le=1)
    """Lambda of the advantages: 0 trusts the value of the next position, 1 the game's result."""
    entropy_weight: float = Field(0.05, ge=0)
    """Weight of the bonus for an open mind."""
    value_weight: float = Field(0.5, ge=0)
    """Weight of the result loss, and of the margin loss in it, beside the policy's."""
    pool_share: float = Field(0.25, ge=0, le=1)
    """Share of a unit's games against a past self; in the others both sides learn."""
    pool_size: int = Field(24, ge=1, le=1000)
    """Past selves that are kept, evenly spread over the run."""
    pool_units: int = Field(10, ge=1, lt=MOST)
    """Units between two of them at first; twice as many whenever the pool is full."""


class Replay(Settings):
    """The window of positions that samples are drawn from."""

    least: int = Field(30_000, ge=1, lt=MOST)
    """Positions the window always holds, when there are as many."""
    growth: float = Field(0.4, ge=0, le=1)
    """Share of all further positions by which it grows."""
    most: int = Field(3_000_000, ge=1, lt=MOST)
    """Positions it never exceeds."""
    keep: bool = False
    """Keep also the positions that have left it, on the disk: 71 bytes each, for an export."""


class Evaluation(Settings):
    """Matches against fixed opponents, during the run and at its end."""

    during: tuple[str, ...] = ("alphabeta:depth=4,evaluation=material",)
    """Opponents during the run."""
    at_end: tuple[str, ...] = (
        "random",
        "greedy",
        "careful",
        "alphabeta:depth=4,evaluation=material",
        "alphabeta:depth=8,evaluation=material",
    )
    """Opponents of the final table."""
    times: int = Field(6, ge=0, le=10_000)
    """Evaluations during the run, evenly spaced over the budget; those due at once are one."""
    games_during: int = Field(64, ge=2, le=1_000_000, multiple_of=2)
    """Paired games against each opponent during the run."""
    games_at_end: int = Field(200, ge=2, le=1_000_000, multiple_of=2)
    """Paired games of every pairing of the final table."""
    simulations: int = Field(64, ge=0, le=100_000)
    """Search simulations of the trained agent; 0 for the policy alone."""
    opening_plies: int = Field(6, ge=0, le=40)
    """Random plies of each opening."""
    report: bool = True
    """Write the run as a page at its end: report.html in its folder."""


class Config(Settings):
    """A training run. ``seed`` and the rest of this decide every game (see the design's law 4)."""

    algorithm: Literal["alphazero", "ppo"] = "alphazero"
    """How to learn: alphazero searches, ppo plays by the policy alone."""
    name: str = Field("run", max_length=200, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")
    """Name of the run: its folder is runs/NAME."""
    seed: int = Field(0, ge=0, lt=MOST)
    """Seed of everything random in the run."""
    max_plies: int = Field(400, ge=1, lt=2**31)
    """Move limit of the rules."""
    workers: int = Field(2, ge=0, le=1024)
    """Worker processes; 0 plays in the learner's own process."""
    device: str = "cpu"
    """Torch device of learner and self-play, such as cpu or cuda."""
    network: Literal["tiny", "small", "medium", "deep", "large"] = "small"
    """Network size: tiny 64x2, small 128x2, medium 128x4, deep 128x8, large 256x6."""
    checkpoint_minutes: float = Field(2.0, gt=0)
    """Minutes between checkpoints."""
    checkpoints_kept: int = Field(2, ge=1, lt=MOST)
    """Newest checkpoints that are kept."""
    checkpoints_kept_every: int = Field(0, ge=0, lt=MOST)
    """Every so-manyth checkpoint is kept as well; 0 for none."""
    budget: Budget = Budget(minutes=5.0)
    """How long to train."""
    selfplay: SelfPlay = SelfPlay()
    """How games are made."""
    learning: Learning = Learning()
    """The optimiser and its targets."""
    replay: Replay = Replay()
    """The window of positions (AlphaZero)."""
    ppo: Ppo = Ppo()
    """How PPO learns."""
    evaluation: Evaluation = Evaluation()
    """Matches against fixed opponents."""

    @property
    def rules(self) -> Rules:
        """The rules that games are played under."""
        return Rules(max_plies=self.max_plies)

    def require_algorithm(self, algorithm: str) -> "Config":
        """Return this when it is for ``algorithm``, else raise OwareError."""
        if self.algorithm != algorithm:
            raise OwareError(
                f"algorithm is {self.algorithm!r}: train with train.{self.algorithm}.run_training, "
                f"or set algorithm to {algorithm!r}"
            )
        return self

    @model_validator(mode="after")
    def _nothing_is_given_in_vain(self) -> "Config":
        """Refuse a value that the algorithm would not read."""
        others = next(name for name in ONLY_READ_BY if name != self.algorithm)
        for section, names in ONLY_READ_BY[others].items():
            given, default = getattr(self, section), type(self).model_fields[section].default
            for name in names:
                if getattr(given, name) != getattr(default, name):
                    raise ValueError(
                        f"{section}.{name} is read by {others} only, and algorithm is "
                        f"{self.algorithm!r}"
                    )
        return self


# What one of the two algorithms does not read: a value given there would do nothing, silently.
ONLY_READ_BY = {
    "alphazero": {
        "selfplay": (
            "simulations",
            "exploration",
            "noise",
            "temperature_plies",
            "late_exponent",
            "search_plies",
            "endgames",
            "table",
            "played_on",
            "lessons",
            "rescore",
        ),
        "learning": ("samples_per_position", "value_mix"),
        "replay": tuple(Replay.model_fields),
    },
    "ppo": {"ppo": tuple(Ppo.model_fields)},
}

# What may differ when a run goes on: it decides how much is done, not what.
HARMLESS = ("budget.", "evaluation.", "workers", "checkpoint", "device", "replay.keep")


def differences(before: Config, after: Config) -> dict[str, tuple[object, object]]:
    """The dotted keys in which two configurations differ, with both values."""
    first, second = _flat(before.model_dump()), _flat(after.model_dump())
    return {key: (first[key], second[key]) for key in first if first[key] != second[key]}


def _flat(document: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
