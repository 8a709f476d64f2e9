"""The arms of a comparison: two configurations, and their runs side by side in one folder."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from agents.settings import Settings, checked, read_settings
from oware_env.errors import OwareError
from oware_env.files import is_there, parse_json, read_text, remove_folder, write_whole
from train.algorithms import algorithm_of
from train.config import Budget, Config

DONE = "trained.json"  # in the folder of a run that used up its minutes


class CompareSettings(Settings):
    """How two configurations are compared."""

    seeds: int = Field(3, ge=1, le=100)
    """Runs of each: one says little, since another seed gives another strength."""
    minutes: float = Field(5.0, gt=0)
    """Minutes of training of every run."""
    games: int = Field(200, ge=2, le=1_000_000, multiple_of=2)
    """Paired games of every match of a seed."""
    simulations: int = Field(64, ge=1, le=100_000)
    """Search simulations of both in the matches."""
    ladder: tuple[str, ...] = (
        "alphabeta:depth=4,evaluation=material",
        "alphabeta:depth=8,evaluation=material",
    )
    """Opponents that both play as well."""
    table: int = Field(8, ge=1, le=24)
    """Endgames that both are graded on: a table of so many seeds."""
    positions: int = Field(300, ge=1, le=1_000_000)
    """Uniform positions of each number of seeds, and games of each against itself."""
    first_seed: int = Field(0, ge=0, lt=2**53 - 100)
    """Seed of the first run of each; the others follow."""
    workers: int = Field(2, ge=0, le=1024)
    """Worker processes of the matches."""
    output: str | None = None
    """Folder for runs and results, runs/compare-A-B when left out."""


class Arm(NamedTuple):
    """One side of a comparison."""

    label: str  # "A" or "B"
    name: str  # the stem of its file
    config: Config


def read_arms(files: Sequence[Path], settings: CompareSettings) -> tuple[Arm, Arm]:
    """Both sides, with the comparison's budget and no evaluation of their own."""
    overrides = {
        "budget": budget(settings).model_dump(),
        "evaluation.times": 0,
        "evaluation.at_end": (),
    }
    a, b = (
        Arm(label, file.stem, read_settings(Config, file, overrides))
        for label, file in zip("AB", files, strict=True)
    )
    if a.config.model_copy(update={"name": b.config.name}) == b.config:
        raise OwareError(f"{files[0]} and {files[1]} say the same: there is nothing to compare")
    if a.config.max_plies != b.config.max_plies:
        raise OwareError(
            f"A plays with at most {a.config.max_plies} plies and B with {b.config.max_plies}: "
            "two games cannot be compared"
        )
    return a, b


def budget(settings: CompareSettings) -> Budget:
    """What every run of a comparison may use up."""
    return Budget(minutes=settings.minutes)


def run_folder(arm: Arm, seed: int, folder: Path) -> Path:
    """Where the run of an arm with a seed lies."""
    return folder / f"{arm.label}-{seed}"


def train_arm(arm: Arm, seed: int, folder: Path) -> None:
    """Train one run of a comparison to its end; one that is finished already is left alone.

    An unfinished one is begun again: a run in two parts is not like one in one part.
    """
    from train.training import open_training

    path = run_folder(arm, seed, folder)
    if is_there(path / DONE):
        return
    remove_folder(path)
    config = arm.config.model_copy(update={"name": path.name, "seed": seed})
    print(f"training {arm.label} ({arm.name}), seed {seed} ...", flush=True)
    with open_training(algorithm_of(config), config, None, time.monotonic(), folder) as training:
        training.train()
        figures = {"games": training.games, "steps": training.algorithm.learner.steps}
        figures["positions"] = training.algorithm.positions
    if training.stop is not None:
        raise training.stop
    if not training.units:
        raise OwareError(
            f"nothing was learned in {config.budget.minutes:g} minutes: give more --minutes"
        )
    write_whole(path / DONE, json.dumps(figures))


class Trained(Settings):
    """What a run of a comparison learned from."""

    games: int = Field(ge=1)
    """Games."""
    steps: int = Field(ge=1)
    """Optimiser steps."""
    positions: int = Field(ge=1)
    """Positions."""


def read_trained(path: Path) -> dict[str, float]:
    """What the run in a folder learned from. Raises OwareError when the file does not say."""
    done = path / DONE
    try:
        document = parse_json(read_text(done))
    except ValueError as error:
        raise OwareError(f"{done} cannot be read: {error}; delete {path} to train it") from None
    return checked(Trained, document, str(done)).model_dump()
