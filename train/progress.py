"""What a training run shows while it trains: a bar on a terminal, plain lines elsewhere."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

SECONDS_BETWEEN_LINES = 20.0


class Progress:
    """Shows the share of the budget, time left, what was learned, and each evaluation."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._line_at = time.monotonic()
        self._first: tuple[float, float] | None = None  # clock and share at the first unit
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=1.0, text="waiting for the first games")

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, share: float, summary: str) -> None:
        """Show a unit that was learned: ``share`` of the budget is used, ``summary`` says what."""
        text = f"{min(share, 1.0):4.0%}  {self._left(share)} left  {summary}"
        self._bar.update(self._task, completed=min(share, 1.0), text=text)
        now = time.monotonic()
        if not self.console.is_terminal and now - self._line_at >= SECONDS_BETWEEN_LINES:
            self._line_at = now
            print(text, flush=True, file=sys.stdout)

    def show_line(self, text: str) -> None:
        """Show a line that stays: what an evaluation found, or an alarm."""
        if self.console.is_terminal:
            self.console.print(text)  # above the bar
        else:
            print(text, flush=True)

    def _left(self, share: float) -> str:
        """Time to the end of the budget at the pace since the first unit, ``m:ss``."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, share
        start, first_share = self._first
        if share <= first_share:
            return "-:--"
        left = int((now - start) / (share - first_share) * max(0.0, 1.0 - share))
        return f"{left // 60}:{left % 60:02d}"
