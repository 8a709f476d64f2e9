"""The table: ``python -m benchmarks``. A mark that is missed is shown as missed, not an error."""

import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.aec import aec_loop
from benchmarks.batch import batch_steps
from benchmarks.endgames import endgames
from benchmarks.figure import Figure, show
from benchmarks.random_play import random_play
from benchmarks.search import lockstep_search
from benchmarks.selfplay import selfplay
from benchmarks.state import state_play
from benchmarks.vector import vector_steps

PACKAGES = ("numpy", "numba", "torch", "pettingzoo", "open_spiel")


def commit() -> str:
    """The commit of the checkout, marked when files differ from it; empty without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    root = Path(__file__).resolve().parent
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return found.stdout.strip()


def processor() -> str:
    """The processor's name, as far as the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def origin() -> str:
    """Machine, commit and versions, for whoever quotes the table."""
    import os

    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    machine = f"{processor()}, {os.cpu_count()} cores, {platform.system()}"
    return (
        f"{machine}; one process, one thread where no cores are named\n"
        f"commit {commit() or 'unknown'}; Python {platform.python_version()}, {versions}"
    )


def table(figures: list[Figure]) -> Table:
    """All figures as one table."""
    shown = Table(box=box.SIMPLE_HEAD, title="Speed, measured now")
    for name in ("what", "ours", "peer", "ratio", "mark", "reached"):
        shown.add_column(name, justify="left" if name in ("what", "peer") else "right")
    for figure in figures:
        peer = figure.peer
        if figure.peer_value is not None:
            peer += f": {show(figure.peer_value, figure.unit)}"
        ratio = "" if figure.ratio is None else show(figure.ratio, "x")
        reached = "[green]yes[/]" if figure.is_reached else "[red]NO[/]"
        ours = show(figure.ours, figure.unit)
        shown.add_row(figure.what, ours, peer, ratio, str(figure.mark), reached)
    return shown


def main() -> int:
    """Measure all rows and print the table; returns the exit code."""
    started = time.perf_counter()
    progress = Console(stderr=True)
    figures: list[Figure] = []
    with progress.status("Measuring ..."):
        for measure in (random_play, batch_steps, vector_steps, aec_loop, state_play):
            figures.append(measure())
        figures += lockstep_search()
        figures += selfplay()
        figures += endgames()
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    console.print(table(figures))
    console.print(origin(), highlight=False)
    console.print(f"{time.perf_counter() - started:.0f} s", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
