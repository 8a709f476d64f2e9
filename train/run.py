"""The run folder: what a training run leaves on disk, and how it is found again.

config.toml    the resolved configuration, every value: trains the same run again
run.json       commit, versions, machine, seed
metrics.jsonl  one line a unit or evaluation
events/        the same for TensorBoard, with pictures and histograms
checkpoints/   step-00001234/: weights, optimiser, counters
replay/        the positions of the replay window (AlphaZero), in append-only files
games/         every game that was learned from: oware-train replay RUN NUMBER
results/       the final tournament
report.html    all this as a page
"""

import json
import math
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from agents.neural.checkpoint import CHECKPOINTS, STATE, newest_checkpoint, read_state
from oware_env.errors import OwareError
from train.config import Config

RUNS = Path("runs")
CONFIG = "config.toml"
METRICS = "metrics.jsonl"
PROVENANCE = "run.json"
EVENTS = "events"
INTERVAL = ("evaluation", "evaluation_low", "evaluation_high")  # names of a score's curves
LAYOUT = {
    "endgames": {
        "result kept": ["Multiline", ["endgames/.*accuracy"]],
        "seeds given away": ["Multiline", ["endgames/.*regret"]],
    },
    "learning": {
        "losses": ["Multiline", ["loss/.*"]],
        "gradient": ["Multiline", ["learner/gradient_norm"]],
    },
    "self-play": {
        "how games go": ["Multiline", ["selfplay/(limit_share|draw_rate|first_player_score)"]],
        "how sure the search is": ["Multiline", ["selfplay/(policy_entropy|search_surprise)"]],
        "length": ["Multiline", ["selfplay/game_length"]],
    },
    "speed": {"where the time goes": ["Multiline", ["speed/.*_share"]]},
}
PACKAGES = ("torch", "numpy", "numba", "gymnasium", "pettingzoo", "safetensors")


class RunFolder:
    """An open run folder. Made by :func:`create_run` or :func:`open_run`."""

    def __init__(self, path: Path, purge_step: int | None = None) -> None:
        """Open the logs; curves in the folder are hidden from ``purge_step`` on."""
        from torch.utils.tensorboard import SummaryWriter

        self.path = path
        self._metrics = (path / METRICS).open("a", encoding="utf-8")
        self._events = SummaryWriter(str(path / EVENTS), purge_step=purge_step)

    def log(self, step: int, figures: dict[str, Any]) -> None:
        """Append figures to metrics.jsonl and, the numbers among them, to TensorBoard."""
        line = json.dumps({"step": step, "time": time.time(), **figures})
        with _says_what_failed(self.path / METRICS):
            self._metrics.write(line + "\n")
            self._metrics.flush()
        with _says_what_failed(self.path / EVENTS):
            for name, value in figures.items():
                if isinstance(value, int | float):
                    self._events.add_scalar(name, value, step)
                elif isinstance(value, str):
                    self._events.add_text(name, value, step)

    def add_picture(self, step: int, name: str, picture: np.ndarray) -> None:
        """Show a picture uint8[H, W, 3] in TensorBoard."""
        with _says_what_failed(self.path / EVENTS):
            self._events.add_image(name, picture, step, dataformats="HWC")

    def add_histogram(self, step: int, name: str, counts: np.ndarray, edges: np.ndarray) -> None:
        """Show counts [N] of the bins between edges [N + 1] in TensorBoard."""
        middles = (edges[:-1] + edges[1:]) / 2
        with _says_what_failed(self.path / EVENTS):
            self._events.add_histogram_raw(
                name,
                min=edges[0],
                max=edges[-1],
                num=int(counts.sum()),
                sum=float(counts @ middles),
                sum_squares=float(counts @ middles**2),
                bucket_limits=edges[1:].tolist(),
                bucket_counts=counts.tolist(),
                global_step=step,
            )

    def lay_out(self, opponents: Sequence[str]) -> None:
        """Group the curves on TensorBoard's page "Custom Scalars"; scores with their intervals."""
        scores = {
            opponent: ["Margin", [f"{name}/{opponent}" for name in INTERVAL]]
            for opponent in opponents
        }
        with _says_what_failed(self.path / EVENTS):
            self._events.add_custom_scalars({"strength": scores} | LAYOUT)

    def checkpoint_folder(self, step: int) -> Path:
        """Where the checkpoint of an optimiser step goes."""
        return self.path / CHECKPOINTS / f"step-{step:08d}"

    def drop_old_checkpoints(self, newest: int, every: int) -> None:
        """Keep the ``newest`` checkpoints and ``every`` so-manyth (0: none); no unfinished ones."""
        folder = self.path / CHECKPOINTS
        complete = sorted(p for p in folder.glob("step-*") if (p / STATE).is_file())
        for old in complete[:-newest]:
            if not every or read_state(old)["checkpoints"] % every:
                shutil.rmtree(old, ignore_errors=True)
        for unfinished in folder.glob(".*.part"):
            shutil.rmtree(unfinished, ignore_errors=True)

    def close(self) -> None:
        """Close the log files. What could not be written has been reported by :meth:`log`."""
        for file in (self._metrics, self._events):
            with suppress(OSError):
                file.close()


@contextmanager
def _says_what_failed(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into one line that names ``path``."""
    try:
        yield
    except OSError as error:
        raise OwareError(f"{path} cannot be written: {error.strerror or error}") from None


def create_run(config: Config, parent: Path = RUNS) -> RunFolder:
    """A new folder runs/NAME (NAME-2, NAME-3 ... when taken) holding config and provenance."""
    for number in range(1, 10_000):
        path = parent / (config.name if number == 1 else f"{config.name}-{number}")
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise OwareError(f"the run folder {path} cannot be made: {error.strerror}") from None
    documents = {
        CONFIG: config_text(config),
        PROVENANCE: json.dumps(provenance(config.seed), indent=2),
    }
    for name, text in documents.items():
        with _says_what_failed(path / name):
            (path / name).write_text(text, encoding="utf-8")
    run = RunFolder(path)
    run.lay_out(config.evaluation.during)
    return run


def open_run(path: Path) -> RunFolder:
    """The folder of a run that goes on from its newest checkpoint; OwareError when it is none.

    What was logged after the checkpoint is dropped: it will be played and logged again.
    """
    if not (path / CONFIG).is_file():
        raise OwareError(f"{path} is not the folder of a run: it holds no {CONFIG}")
    step = read_state(newest_checkpoint(path))["steps"]
    if (path / METRICS).exists():
        _forget_after(path / METRICS, step)
    return RunFolder(path, step + 1)


def run_path(text: str) -> Path:
    """A run folder given as text; a bare name is looked for in runs/ too."""
    path = Path(text)
    return RUNS / path if len(path.parts) == 1 and not path.exists() else path


def _forget_after(metrics: Path, step: int) -> None:
    """Cut off the lines beyond ``step``, and a last one that was torn."""
    size = 0
    for line in metrics.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n") or json.loads(line)["step"] > step:
            break
        size += len(line)
    os.truncate(metrics, size)


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


def read_provenance(run: Path) -> dict[str, Any]:
    """What :func:`provenance` noted as a run began. Raises OwareError when it cannot be read."""
    with suppress(OSError, ValueError):
        made = json.loads((run / PROVENANCE).read_text(encoding="utf-8"))
        if isinstance(made, dict):
            return made
    raise OwareError(f"{run / PROVENANCE} cannot be read: it says how the run began")


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
    return [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]


def _toml(value: Any) -> str:
    # JSON's numbers, strings, booleans and flat lists are TOML's as well; only infinity is not.
    return "inf" if value == math.inf else json.dumps(value, ensure_ascii=False)
