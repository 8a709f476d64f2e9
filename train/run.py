"""The run folder: what a training run leaves on disk, and how it is found again.

config.toml    the resolved configuration, every value: trains the same run again
run.json       commit, versions, machine, seed
metrics.jsonl  one line a unit or evaluation
events/        the same for TensorBoard
checkpoints/   step-00001234/: weights, optimiser, replay window, counters
results/       the final tournament
"""

import json
import os
import platform
import shutil
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents.neural.agent import CHECKPOINTS
from agents.neural.checkpoint import STATE
from oware_env.errors import OwareError
from train.config import Config

RUNS = Path("runs")
CONFIG = "config.toml"
METRICS = "metrics.jsonl"
KEPT_CHECKPOINTS = 2
PACKAGES = ("torch", "numpy", "numba", "gymnasium", "pettingzoo", "safetensors")


class RunFolder:
    """An open run folder. Made by :func:`create_run` or :func:`open_run`."""

    def __init__(self, path: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.path = path
        self._metrics = (path / METRICS).open("a", encoding="utf-8")
        self._events = SummaryWriter(str(path / "events"))

    def log(self, step: int, figures: dict[str, Any]) -> None:
        """Append figures to metrics.jsonl and, the numbers among them, to TensorBoard."""
        self._metrics.write(json.dumps({"step": step, "time": time.time(), **figures}) + "\n")
        self._metrics.flush()
        for name, value in figures.items():
            if isinstance(value, int | float):
                self._events.add_scalar(name, value, step)

    def checkpoint_folder(self, step: int) -> Path:
        """Where the checkpoint of an optimiser step goes."""
        return self.path / CHECKPOINTS / f"step-{step:08d}"

    def drop_old_checkpoints(self) -> None:
        """Keep the newest checkpoints only, and no unfinished ones."""
        folder = self.path / CHECKPOINTS
        complete = sorted(p for p in folder.glob("step-*") if (p / STATE).is_file())
        for old in [*complete[:-KEPT_CHECKPOINTS], *folder.glob(".*.part")]:
            shutil.rmtree(old, ignore_errors=True)

    def close(self) -> None:
        """Close the log files."""
        self._metrics.close()
        self._events.close()


def create_run(config: Config) -> RunFolder:
    """A new folder runs/NAME (NAME-2, NAME-3 ... when taken) holding config and provenance."""
    for number in range(1, 10_000):
        path = RUNS / (config.name if number == 1 else f"{config.name}-{number}")
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise OwareError(f"the run folder {path} cannot be made: {error.strerror}") from None
    (path / CONFIG).write_text(config_text(config), encoding="utf-8")
    (path / "run.json").write_text(json.dumps(provenance(config.seed), indent=2), encoding="utf-8")
    return RunFolder(path)


def open_run(path: Path) -> RunFolder:
    """The folder of a run that goes on; raises OwareError when it is none."""
    if not (path / CONFIG).is_file():
        raise OwareError(f"{path} is not the folder of a run: it holds no {CONFIG}")
    return RunFolder(path)


def provenance(seed: int) -> dict[str, Any]:
    """What produced a result: commit, versions, machine and seed."""
    return {
        "seed": seed,
        "commit": commit(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores",
    }


def commit() -> str:
    """The checkout's commit, with ``+`` when files differ from it; ``unknown`` outside git."""
    root = Path(__file__).resolve().parent
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def config_text(config: Config) -> str:
    """The whole configuration as TOML; values that are not set are left out."""
    document = config.model_dump()
    sections = {name: value for name, value in document.items() if isinstance(value, dict)}
    plain = {name: value for name, value in document.items() if name not in sections}
    lines = _lines(plain)
    for name, values in sections.items():
        lines += ["", f"[{name}]", *_lines(values)]
    return "\n".join(lines) + "\n"


def _lines(values: dict[str, Any]) -> list[str]:
    # JSON's numbers, strings, booleans and flat lists are TOML's as well.
    return [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]
