"""Draws the learning curves of runs: the score against each opponent, seeds thin, median thick.

    python docs/pictures/draw_ppo_curve.py runs/ppo-quick runs/ppo-quick-2 runs/ppo-quick-3

Writes ppo-curve.svg beside itself and prints the numbers as a table for docs/ppo.md.
"""

import json
import statistics
from pathlib import Path

import tyro

OPPONENTS = {"greedy": "#0072b2", "careful": "#d55e00"}  # told apart by colour-blind readers too


def read_curve(run: Path, opponent: str) -> list[tuple[float, float]]:
    """(minutes, score) of each evaluation of a run against an opponent."""
    lines = (json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    key = f"evaluation/{opponent}"
    return [(line["total/minutes"], line[key]) for line in lines if key in line]


def draw(curves: dict[str, list[list[tuple[float, float]]]], path: Path) -> None:
    """Write the picture as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "oware"  # equal numbers, equal file
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for opponent, runs in curves.items():
        color = OPPONENTS[opponent]
        for run in runs:
            axes.plot(*zip(*run, strict=True), color=color, alpha=0.35, linewidth=1)
        middle = [
            tuple(statistics.median(values) for values in zip(*points, strict=True))
            for points in zip(*runs, strict=True)
        ]
        axes.plot(*zip(*middle, strict=True), color=color, marker="o", label=f"against {opponent}")
    axes.set(xlabel="minutes of training", ylabel="score", ylim=(0, 1), xlim=(0, None))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main(runs: tuple[Path, ...], /) -> None:
    """Draw the curves of ``runs``, run folders of one configuration with different seeds."""
    curves = {opponent: [read_curve(run, opponent) for run in runs] for opponent in OPPONENTS}
    draw(curves, Path(__file__).with_name("ppo-curve.svg"))
    by_time = (zip(*runs, strict=True) for runs in curves.values())
    for points in zip(*by_time, strict=True):
        minutes = statistics.median(minute for minute, _ in points[0])
        scores = (", ".join(f"{score:.1%}" for _, score in opponent) for opponent in points)
        print(f"| {minutes:.1f} | {' | '.join(scores)} |")


if __name__ == "__main__":
    tyro.cli(main)
