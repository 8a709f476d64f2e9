"""What a run logged, read back: figures from metrics.jsonl, pictures from its TensorBoard events.

The figures stand in both. metrics.jsonl has them in full, a line a unit or evaluation, so that
``pandas.DataFrame(read_metrics(run))`` is the table of a run; the events have its pictures as well.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.settings import nearest
from oware_env.errors import OwareError
from oware_env.files import has_controls, is_there, parse_json
from train.run import EVENTS, METRICS

Rows = list[dict[str, Any]]
ALARM = "alarm"  # the one figure that is text
MINUTES = "total/minutes"  # in every line, of a unit or of an evaluation


class Series(NamedTuple):
    """One figure over the course of a run."""

    places: np.ndarray  # float64[T], minutes or whatever it is drawn over
    values: np.ndarray  # float64[T]


def read_log(run: Path, is_growing: bool = False) -> Rows:
    """All lines that a run logged, from the first to the last; none when it has just begun.

    Of a run that is being trained (``is_growing``) the last line may be half written: it is left
    out then. Raises OwareError when there is no log, or when it holds what no run logs.
    """
    try:
        text = (run / METRICS).read_text(encoding="utf-8")
    except OSError as error:
        if is_there(run / METRICS):
            raise OwareError(f"{run / METRICS} cannot be read: {error.strerror}") from None
        raise OwareError(f"{run} holds no {METRICS}: nothing was logged there") from None
    except UnicodeDecodeError:
        raise OwareError(f"{run / METRICS} is not what a run logs: it is no text") from None
    if is_growing:
        text = text[: text.rfind("\n") + 1]
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        row = _row(line)
        if row is None:
            raise OwareError(f"{run / METRICS}, line {number}: not what a run logs")
        rows.append(row)
    return rows


def _row(line: str) -> dict[str, Any] | None:
    """A line as figures by name: numbers, and an alarm in words. None when it is none."""
    try:
        row = parse_json(line)
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    sound = all(
        isinstance(value, str) and not has_controls(value)
        if name == ALARM
        else type(value) is float or (type(value) is int and -(2**63) <= value < 2**63)
        for name, value in row.items()
    )
    return row if sound else None


def read_metrics(run: Path) -> Rows:
    """All lines of a run that has learned something. Raises OwareError like :func:`read_log`."""
    rows = read_log(run)
    if not any("unit" in row for row in rows):
        raise OwareError(f"{run / METRICS} tells of no games: nothing was learned yet")
    return rows


def series(rows: Rows, name: str, along: str = MINUTES) -> Series:
    """One figure wherever it was logged, over another of the same lines, such as ``"step"``.

    Raises OwareError when no line has both.
    """
    found = [(row[along], row[name]) for row in rows if name in row and along in row]
    if not found:
        for word in (name, along):
            names = {key for row in rows for key in row}
            if word not in names:
                raise OwareError(f"the run logged no {word!r}{nearest(word, sorted(names))}")
        raise OwareError(f"the run never logged {name!r} and {along!r} together")
    places, values = zip(*found, strict=True)
    return Series(np.array(places, np.float64), np.array(values, np.float64))


def align(found: Sequence[Series]) -> tuple[np.ndarray, np.ndarray]:
    """Several runs' series at common places: (places float64[T], values float64[S, T]).

    The places are evenly spread over the part that all runs cover, as many as the shortest series
    has points; values between two points are interpolated. Raises OwareError when there is none.
    """
    if not found:
        raise OwareError("there is no series to align: give one of each run")
    first = max(one.places.min() for one in found)
    last = min(one.places.max() for one in found)
    if first > last:
        raise OwareError(f"the runs have no part in common: one ends at {last:g}, before {first:g}")
    places = np.linspace(first, last, min(len(one.places) for one in found))
    return places, np.stack([np.interp(places, one.places, one.values) for one in found])


def read_events(run: Path) -> Rows:
    """Every scalar in a run's TensorBoard events as ``{"tag", "step", "time", "value"}``.

    Raises OwareError when there are no events.
    """
    events = _events(run)
    return [
        {"tag": tag, "step": event.step, "time": event.wall_time, "value": event.value}
        for tag in events.Tags()["scalars"]
        for event in events.Scalars(tag)
    ]


def read_pictures(run: Path) -> dict[str, dict[int, bytes]]:
    """Every picture in a run's TensorBoard events: tag -> optimiser step -> PNG.

    Raises OwareError when there are no events.
    """
    events = _events(run)
    return {
        tag: {event.step: event.encoded_image_string for event in events.Images(tag)}
        for tag in events.Tags()["images"]
    }


def _events(run: Path) -> Any:
    """The events of a run, all of them, as TensorBoard reads them."""
    folder = run / EVENTS
    if not any(path.stat().st_size for path in folder.glob("events.out.tfevents.*")):
        raise OwareError(f"{run} holds no {EVENTS} of TensorBoard: nothing was logged there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # tensorboard's own imports
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0})  # 0: all
    events.Reload()
    return events
