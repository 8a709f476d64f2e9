"""Shared by the training tests: a tiny configuration and one finished run of it."""

from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from agents.console import run_command
from agents.neural.checkpoint import read_state, read_tensors
from agents.settings import read_settings
from train.command import train
from train.config import Config

# Six units of eight short games, the last plies of each by the raw policy.
TINY = {
    "network": "tiny",
    "workers": 0,
    "max_plies": 40,
    "budget.games": 48,
    "selfplay.games": 8,
    "selfplay.endgames": "none",
    "selfplay.simulations": 3,
    "selfplay.lag": 3,
    "selfplay.search_plies": 30,
    "selfplay.temperature_plies": 10,
    "learning.batch": 64,
    "replay.least": 500,
    "evaluation.during": ("random",),
    "evaluation.at_end": (),
    "evaluation.times": 2,
    "evaluation.games_during": 4,
    "evaluation.games_at_end": 4,
    "evaluation.simulations": 2,
    "evaluation.report": False,  # test_report_page writes one
}

# Six units of eight short games, half of them against a past self.
TINY_PPO = {
    **{key: value for key, value in TINY.items() if not key.startswith(("selfplay.", "replay."))},
    "algorithm": "ppo",
    "selfplay.games": 8,
    "selfplay.lag": 2,
    "evaluation.simulations": 0,
    "ppo.epochs": 2,
    "ppo.pool_share": 0.5,
    "ppo.pool_units": 1,
    "ppo.pool_size": 3,
}


def _builder(settings: Mapping[str, Any]) -> Callable[..., Config]:
    def build(differences: Mapping[str, Any] = MappingProxyType({})) -> Config:
        values = {**settings, **differences}
        if any(key.startswith("budget.") for key in differences):
            values = {k: v for k, v in values.items() if k != "budget.games" or k in differences}
        return read_settings(Config, None, values)

    return build


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Config]:
    """A function (differences by dotted key) -> the tiny configuration with them."""
    return _builder(TINY)


@pytest.fixture(scope="session")
def tiny_ppo() -> Callable[..., Config]:
    """The same for PPO."""
    return _builder(TINY_PPO)


@pytest.fixture(scope="session")
def newest() -> Callable[[Path], Path]:
    """A function (run folder) -> its newest checkpoint."""
    return lambda run: max((run / "checkpoints").glob("step-*"))


@pytest.fixture(scope="session")
def same_result(newest: Callable[[Path], Path]) -> Callable[[Path, Path], bool]:
    """A function (run, run) -> whether they ended with the same everything, bit by bit."""

    def compare(first: Path, second: Path) -> bool:
        folders = newest(first), newest(second)
        states = [read_state(folder) for folder in folders]
        passing = {"minutes", "checkpoints", "config", "files", "digest", "commit", "log"}
        if any(states[0][name] != states[1][name] for name in states[0].keys() - passing):
            return False
        for stem in states[0]["files"].keys() - {"in_flight"}:
            ours, theirs = (read_tensors(folder, stem) for folder in folders)
            if ours.keys() != theirs.keys() or not all((ours[k] == theirs[k]).all() for k in ours):
                return False
        return True

    return compare


@pytest.fixture(scope="session")
def run_in() -> Callable[..., int]:
    """A function (folder, *words) -> exit code of ``oware-train`` run there in this process."""

    def run(folder: Path, *words: str) -> int:
        with chdir(folder):
            return run_command(train, words)

    return run


@pytest.fixture(scope="session")
def tiny_toml(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[..., Config]) -> str:
    """Path of the tiny configuration as a TOML file."""
    from train.run import config_text

    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(config_text(tiny({"name": "tiny"})))
    return str(path)


@pytest.fixture(scope="session")
def ppo_toml(tmp_path_factory: pytest.TempPathFactory, tiny_ppo: Callable[..., Config]) -> str:
    """Path of the tiny PPO configuration as a TOML file."""
    from train.run import config_text

    path = tmp_path_factory.mktemp("ppo-config") / "tiny.toml"
    path.write_text(config_text(tiny_ppo({"name": "tiny"})))
    return str(path)


@pytest.fixture(scope="session")
def finished(
    tmp_path_factory: pytest.TempPathFactory, tiny_toml: str, run_in: Callable[..., int]
) -> Path:
    """The folder of the tiny run, trained to its end with a final table. Not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    assert run_in(folder, tiny_toml, "--evaluation.at-end", "random", "greedy") == 0
    return folder / "runs" / "tiny"
