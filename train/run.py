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

One process at a time writes there; readers need no leave.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from agents.neural.checkpoint import (
    CHECKPOINTS,
    checkpoints,
    newest_checkpoint,
    read_state,
)
from agents.settings import Settings, checked, read_settings
from oware_env.errors import OwareError
from oware_env.files import (
    PART,
    Lock,
    is_file,
    is_there,
    new_folder,
    parse_json,
    read_bytes,
    read_text,
    said,
    write_whole,
)
from train.config import HARMLESS, Config, differences

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


class Logged(Settings):
    """What a checkpoint tells of metrics.jsonl: its length then, and a checksum."""

    bytes: int = Field(0, ge=0, lt=2**62)
    """Length."""
    crc32: int = 0
    """Checksum of so many bytes."""


class RunFolder:
    """An open run folder, with the right to write there. By :func:`create_run`, `open_run`."""

    def __init__(
        self, path: Path, lock: Lock, logged: Logged = Logged(), purge_step: int | None = None
    ) -> None:
        """Open the logs; curves in the folder are hidden from ``purge_step`` on."""
        from torch.utils.tensorboard import SummaryWriter

        self.path = path
        self._lock, self._logged = lock, logged
        self._hook_before = threading.excepthook
        threading.excepthook = self._thread_failed
        with said(path / METRICS, "cannot be written"):
            self._metrics = (path / METRICS).open("ab", buffering=0)
        try:
            with said(path / EVENTS, "cannot be written"):
                self._events = SummaryWriter(str(path / EVENTS), purge_step=purge_step)
        except BaseException:
            self._metrics.close()
            threading.excepthook = self._hook_before
            raise

    def _thread_failed(self, fault: threading.ExceptHookArgs) -> None:
        """Leave a fault of TensorBoard's thread to the next write, which raises it again."""
        if not type(fault.thread).__module__.startswith("tensorboard."):
            self._hook_before(fault)

    @property
    def is_there(self) -> bool:
        """Whether the folder is still in its place."""
        return is_file(self.path / CONFIG)

    def check(self) -> None:
        """Raise OwareError when the folder was deleted or moved away meanwhile."""
        if not self.is_there:
            raise OwareError(f"the run folder {self.path} is gone: it was deleted or moved")

    def log(self, step: int, figures: dict[str, Any]) -> None:
        """Append figures to metrics.jsonl and, the numbers among them, to TensorBoard."""
        self.check()
        line = json.dumps({"step": step, "time": time.time(), **figures}).encode() + b"\n"
        with said(self.path / METRICS, "cannot be written"):
            left = memoryview(line)
            while left:
                left = left[self._metrics.write(left) :]
        self._logged = Logged(
            bytes=self._logged.bytes + len(line), crc32=zlib.crc32(line, self._logged.crc32)
        )
        with said(self.path / EVENTS, "cannot be written"):
            for name, value in figures.items():
                if isinstance(value, int | float):
                    self._events.add_scalar(name, value, step)
                elif isinstance(value, str):
                    self._events.add_text(name, value, step)

    def logged(self) -> dict[str, int]:
        """How much was logged, for a checkpoint; it is on the disk when this returns."""
        with said(self.path / METRICS, "cannot be written"):
            os.fsync(self._metrics.fileno())
        return self._logged.model_dump()

    def add_picture(self, step: int, name: str, picture: np.ndarray) -> None:
        """Show a picture uint8[H, W, 3] in TensorBoard."""
        with said(self.path / EVENTS, "cannot be written"):
            self._events.add_image(name, picture, step, dataformats="HWC")

    def add_histogram(self, step: int, name: str, counts: np.ndarray, edges: np.ndarray) -> None:
        """Show counts [N] of the bins between edges [N + 1] in TensorBoard."""
        middles = (edges[:-1] + edges[1:]) / 2
        with said(self.path / EVENTS, "cannot be written"):
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
        with said(self.path / EVENTS, "cannot be written"):
            self._events.add_custom_scalars({"strength": scores} | LAYOUT)

    def checkpoint_folder(self, step: int) -> Path:
        """Where the checkpoint of an optimiser step goes."""
        return self.path / CHECKPOINTS / f"step-{step:08d}"

    def drop_old_checkpoints(self, newest: int, every: int) -> None:
        """Keep the ``newest`` checkpoints and ``every`` so-manyth (0: none); no unfinished ones."""
        for old in checkpoints(self.path)[:-newest]:
            with suppress(OwareError):  # a damaged one is no reason to stop
                if not every or read_state(old)["checkpoints"] % every:
                    shutil.rmtree(old, ignore_errors=True)
        for unfinished in (self.path / CHECKPOINTS).glob(f".*{PART}"):
            shutil.rmtree(unfinished, ignore_errors=True)

    def close(self) -> None:
        """Close the log files. What could not be written has been reported by :meth:`log`."""
        for file in (self._metrics, self._events):
            with suppress(OSError):
                file.close()
        threading.excepthook = self._hook_before
        self._lock.release()


def create_run(config: Config, parent: Path = RUNS) -> RunFolder:
    """A new folder runs/NAME (NAME-2, NAME-3 ... when taken) holding config and provenance."""
    path = new_folder(parent, config.name, "run folder")
    lock = Lock(path, "run")
    write_whole(path / CONFIG, config_text(config))
    write_whole(path / PROVENANCE, json.dumps(provenance(config.seed), indent=2))
    run = RunFolder(path, lock)
    run.lay_out(config.evaluation.during)
    return run


def open_run(path: Path) -> RunFolder:
    """The folder of a run that goes on from its newest checkpoint.

    What was logged after the checkpoint is dropped: it will be played and logged again. Raises
    OwareError when it is no run, when another process is writing there, or when metrics.jsonl is
    not what the run logged.
    """
    if not is_file(path / CONFIG):
        raise OwareError(f"{path} is not the folder of a run: it holds no {CONFIG}")
    checkpoint = newest_checkpoint(path)
    lock = Lock(path, "run")
    try:
        state = read_state(checkpoint)
        logged = checked(Logged, state.get("log", {}), f"checkpoint {checkpoint}")
        return RunFolder(path, lock, _forget_after(path / METRICS, logged), state["steps"] + 1)
    except BaseException:
        lock.release()
        raise


def _forget_after(metrics: Path, logged: Logged) -> Logged:
    """Cut off what was logged after a checkpoint; how much there is then.

    A log that is not there begins anew, and that is said.
    """
    if not is_there(metrics):
        print(f"note: {metrics} is gone: curves begin here", file=sys.stderr)
        return Logged()
    content = read_bytes(metrics)[: logged.bytes]
    if len(content) < logged.bytes or zlib.crc32(content) != logged.crc32:
        raise OwareError(
            f"{metrics} is damaged: its first {logged.bytes:,} bytes are not those that were "
            "logged; move it away to go on without the curves so far"
        )
    with said(metrics, "cannot be cut to what the checkpoint tells of"):
        os.truncate(metrics, logged.bytes)
    return logged


def run_config(path: Path, checkpoint: Path | None = None) -> Config:
    """The configuration that the run in a folder was trained with.

    ``checkpoint``: the one to compare it with, the newest when left out. Raises OwareError when it
    is no run, or when its config.toml was changed where that would change what was trained.
    """
    if not is_file(path / CONFIG):
        raise OwareError(f"{path} is not the folder of a run: it holds no {CONFIG}")
    config = read_settings(Config, path / CONFIG)
    if not checkpoints(path):
        return config
    checkpoint = checkpoint or newest_checkpoint(path)
    trained = checked(Config, read_state(checkpoint).get("config"), f"checkpoint {checkpoint}")
    for key, (now, was) in differences(config, trained).items():
        if not key.startswith(HARMLESS):
            raise OwareError(
                f"{path / CONFIG} says {key} = {now!r}, and the run was trained with {was!r}: "
                "put that back"
            )
    return config


def run_path(text: str) -> Path:
    """A run folder given as text; a bare name is looked for in runs/ too."""
    path = Path(text)
    return RUNS / path if len(path.parts) == 1 and not is_there(path) else path


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
    with suppress(ValueError):  # an OwareError is one
        made = parse_json(read_text(run / PROVENANCE))
        if isinstance(made, dict) and isinstance(made.get("machine"), str):
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
    # JSON's finite numbers, strings, booleans and flat lists are TOML's as well.
    given = {name: value for name, value in values.items() if value is not None}
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in given.items()]
