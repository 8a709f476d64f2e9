"""Live curves: a figure in a notebook that follows a run while it is trained.

:func:`watch` reads what the run logs and needs nothing else of it, so it follows a run that this
notebook trains in the background as well as one that was started in a terminal.
"""

import io
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents import plots
from oware_env.errors import OwareError
from train.background import BackgroundRun
from train.curves import CERTAINTY, CURVES, LOSSES, RESULT_KEPT, draw_curves, draw_strength
from train.metrics import MINUTES, Rows, read_log
from train.run import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 110  # characters of a line above the figure
SIZE = (9.5, 6.2)  # inches


def watch(run: BackgroundRun | Path, seconds: float = 2.0, patience: float = 60.0) -> None:
    """Show the curves of a run, and draw them again every so many seconds while it is trained.

    Returns when the run is over; one in a folder, that another process trains, when it has logged
    nothing for ``patience`` seconds. The stop button ends the watching, not the training. Raises
    OwareError outside of a notebook, or when the folder holds no log.
    """
    folder = run.path if isinstance(run, BackgroundRun) else run
    goes_on = run.is_running if isinstance(run, BackgroundRun) else _logs_on(folder, patience)
    shown = -1
    place = _place_in_notebook()
    with suppress(KeyboardInterrupt):
        while True:
            is_last = not goes_on()  # asked first, so that the last lines are read as well
            rows = read_log(folder, is_growing=True)
            if len(rows) != shown:
                show = place.display if shown < 0 else place.update
                show(_image(draw_run(str(folder), rows)))
                shown = len(rows)
            if is_last:
                return
            time.sleep(seconds)


def draw_run(name: str, rows: Rows) -> "Figure":
    """The state of a run in four plots: strength, endgames, losses, and how sure the search is."""
    with plots.style():
        drawn, axes = plots.figure(2, 2, SIZE)
        drawn.suptitle(_headline(name, rows), x=0.01, ha="left", fontsize=10)
        end = max((row[MINUTES] for row in rows if MINUTES in row), default=1.0)
        strength, *others = axes.flat
        strength.set_title("Score in test matches")
        _say_when_empty(strength, draw_strength(strength, rows))
        for place, title in zip(others, (RESULT_KEPT, LOSSES, CERTAINTY), strict=True):
            place.set_title(title)
            _say_when_empty(place, draw_curves(place, rows, *CURVES[title]))
        for place in axes.flat:
            place.set_xlim(0, 1.03 * end)
    return drawn


def _headline(name: str, rows: Rows) -> str:
    """How far the run is, in a line, and the last alarm below it."""
    units = [row for row in rows if "unit" in row]
    if not units:
        return f"{name}: waiting for the first games"
    last = units[-1]
    text = (
        f"{name}: {last['total/games']:,} games, {last['total/positions']:,} positions, "
        f"{last['step']:,} steps in {last[MINUTES]:.1f} minutes"
    )
    alarms = [f"ALARM: {row['alarm']}" for row in rows if "alarm" in row]
    return "\n".join([text, *textwrap.wrap("".join(alarms[-1:]), WIDTH)])


def _say_when_empty(axes: Any, is_drawn: bool) -> None:
    if not is_drawn:
        place = {"ha": "center", "va": "center", "transform": axes.transAxes}
        axes.text(0.5, 0.6, "nothing yet", color=plots.FAINT, **place)


def _logs_on(folder: Path, patience: float) -> Callable[[], bool]:
    """Whether a run has logged something in the last ``patience`` seconds."""

    def logs_on() -> bool:
        """Whether its log has grown lately; a log that is gone has not."""
        try:
            return time.time() - (folder / METRICS).stat().st_mtime < patience
        except OSError:
            return False

    return logs_on


def _image(drawn: "Figure") -> Any:
    """A figure as what a notebook shows; matplotlib's own way needs its magic command first."""
    from IPython.display import Image

    picture = io.BytesIO()
    drawn.savefig(picture, format="png")
    return Image(picture.getvalue())


def _place_in_notebook() -> Any:
    """A place below the cell where one picture can take the place of another."""
    try:
        from IPython import get_ipython
        from IPython.display import DisplayHandle
    except ImportError:
        raise OwareError('live curves need a notebook: pip install -e ".[notebooks]"') from None
    if get_ipython() is None:
        raise OwareError("live curves need a notebook; a terminal has tensorboard --logdir runs")
    return DisplayHandle()
