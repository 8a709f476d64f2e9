"""The results written down in docs/experiments, as numbers to draw."""

import re
from pathlib import Path

import numpy as np

from oware_env.errors import OwareError

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "experiments"
# | what differs | score % [low, high] | ...; bold where the interval excludes one half
_ROW = re.compile(r"^\| *([^|]+?) *\| *\**([\d.]+) % \[([\d.]+), ([\d.]+)\]\** *\|", re.MULTILINE)


def experiment_scores(number: str, folder: Path = FOLDER) -> dict[str, np.ndarray]:
    """Scores against A of an experiment, such as ``"0002"``: what differs -> its interval.

    Intervals are float64[3], shares of points: lower bound, score, upper bound. Raises OwareError
    when there is no such experiment, or none of its tables has scores in its second column.
    """
    found = sorted(folder.glob(f"{number}-*.md"))
    if not found:
        raise OwareError(f"there is no experiment {number!r} in {folder}")
    rows = _ROW.findall(found[0].read_text(encoding="utf-8"))
    if not rows:
        raise OwareError(f"{found[0].name} has no table of scores with intervals")
    return {name: np.array([low, score, high], float) / 100 for name, score, low, high in rows}
