"""Where the time of a run went: ``oware-train ... --profile``.

Read from the run's metrics, so any run can be looked at. Workers and driver are apart: a worker
plays units and now and then an evaluation; the driver learns, waits for the next unit, and keeps
the books. Speed in the network is set against the fastest product that this machine does.
"""

import statistics
import time
from pathlib import Path
from typing import NamedTuple

import torch

from agents.neural import bfloat16
from agents.neural.network import operations
from train.config import Config
from train.metrics import read_log

PEAK_SIZE = 512  # rows and columns of the matrices that the peak is measured with
PEAK_ROUNDS = 15


class Profile(NamedTuple):
    """Seconds of a run, and what was done in them."""

    wall: float  # from the start of the budget to the last unit
    workers: int  # processes that play; 0: the driver plays
    network: float  # summed over workers: in the network, turning positions into inputs included
    tree: float  # the rest of the units: the search tree, the games, the samples
    learner: float  # the driver: learning from units
    waiting: float  # the driver: for the next unit
    evaluations: float  # positions judged by the network in self-play
    simulations: float
    driver_memory: float  # MB, the greatest; NaN where the system does not tell
    worker_memory: float  # MB, of one worker

    @property
    def playing(self) -> float:
        """Seconds of workers that went into units."""
        return self.network + self.tree


def read_profile(run: Path, config: Config) -> Profile:
    """Add up the metrics of a run that was not interrupted. Raises OwareError without any."""
    units = [line for line in read_log(run) if "time/unit" in line]

    def total(name: str) -> float:
        """The sum of a figure over all units."""
        return float(sum(unit.get(f"time/{name}", 0.0) for unit in units))

    def greatest(name: str) -> float:
        """The greatest of a figure of all units, NaN when it is nowhere."""
        return max((unit.get(name, float("nan")) for unit in units), default=float("nan"))

    return Profile(
        wall=60 * max((unit["total/minutes"] for unit in units), default=0.0),
        workers=config.workers,
        network=total("network"),
        tree=total("unit") - total("network"),
        learner=total("learner"),
        waiting=total("waiting") - (0.0 if config.workers else total("unit")),
        evaluations=total("evaluations"),
        simulations=sum(
            unit["speed/simulations_per_second"] * unit["time/unit"]
            for unit in units
            if "speed/simulations_per_second" in unit
        ),
        driver_memory=greatest("memory/driver"),
        worker_memory=greatest("memory/worker"),
    )


def peak_operations() -> float:
    """Floating-point operations a second of one thread, by products of square matrices.

    Of the numbers that the network is judged with on the CPU: bfloat16 where there are products
    of them, else float32.
    """
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if bfloat16.AVAILABLE else torch.float32
    a, b = torch.rand(2, PEAK_SIZE, PEAK_SIZE).to(dtype)
    rates = []
    for _ in range(PEAK_ROUNDS):
        started = time.perf_counter()
        torch.mm(a, b)
        rates.append(2 * PEAK_SIZE**3 / (time.perf_counter() - started))
    return statistics.median(rates)


def profile_text(profile: Profile, config: Config, peak: float) -> str:
    """The profile in words and percent."""
    wall = max(profile.wall, 1e-9)
    lines = [f"Where {wall:,.0f} seconds went:"]
    if profile.workers:
        capacity = profile.workers * wall
        lines.append(f"  {profile.workers} workers: {_shares(_worker_parts(profile), capacity)}")
        driver = {"learner": profile.learner, "waiting": profile.waiting}
    else:
        driver = _worker_parts(profile) | {"learner": profile.learner}
    lines.append(f"  driver: {_shares(driver, wall)}")
    lines.append(
        f"  {profile.simulations / wall:,.0f} simulations a second in all, "
        f"{profile.evaluations / wall:,.0f} judged by the network"
    )
    if profile.network > 0:
        reached = profile.evaluations * operations(config.network) / profile.network
        lines.append(
            f"  in the network {reached / 1e9:.1f} GFLOP/s a core, {reached / peak:.0%} of the "
            f"{peak / 1e9:.1f} that this machine does now"
        )
    lines.append(
        f"  memory at most: driver {profile.driver_memory:,.0f} MB, "
        f"a worker {profile.worker_memory:,.0f} MB"
    )
    return "\n".join(lines)


def _worker_parts(profile: Profile) -> dict[str, float]:
    return {"network": profile.network, "tree": profile.tree}


def _shares(parts: dict[str, float], whole: float) -> str:
    """``"network 60 %, tree 25 %, other 15 %"``; other is idle, evaluations, checkpoints."""
    shares = parts | {"other": max(0.0, whole - sum(parts.values()))}
    return ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in shares.items())
