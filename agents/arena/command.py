"""The command ``oware-tournament``: play a tournament, print its table, say where the files are."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agents.roster import describe_roster
from agents.settings import parse_command, run_command
from oware_env.errors import OwareError

if TYPE_CHECKING:
    from agents.arena.tournament import TournamentResult, TournamentSettings

_USAGE = """\
usage: oware-tournament SPEC SPEC ... [--option value ...]
       oware-tournament CONFIG.toml [--option value ...]

Play a tournament between agents and print its table with Elo ratings and intervals.
--report FILE.html writes it as a page as well, with plots and games to step through."""


def main() -> int:
    """Entry point; returns the exit code."""
    return run_command(run)


def run(arguments: Sequence[str]) -> None:
    """Run the command on ``arguments``; raises :class:`OwareError` for a mistake in them."""
    from agents.arena.tournament import TournamentSettings

    description = f"{_USAGE}\n\nAgents (SPEC):\n{describe_roster()}"
    command = parse_command(
        TournamentSettings,
        arguments,
        description=description,
        positional="agents",
        options={"report": "write a page with plots and games to this file"},
    )
    settings, report = command.settings, command.options.get("report")
    if report is not None and not Path(report).absolute().parent.is_dir():
        raise OwareError(f"--report {report}: there is no folder {Path(report).parent}")
    if settings.output is None:
        name = f"tournament-{datetime.now():%Y%m%d-%H%M%S}"
        settings = settings.model_copy(update={"output": str(Path("runs") / name)})
    try:
        result = _play(settings)
    except KeyboardInterrupt:
        print(
            f"\nThe finished games are kept: the same command with --output {settings.output} "
            "goes on.",
            file=sys.stderr,
        )
        raise
    print(result)
    print(f"Games and tables are in {settings.output}: games.jsonl, table.csv, table.json, ...")
    if report is not None:
        from agents.arena.report_page import tournament_page
        from agents.page import write_page

        print(f"The page is {write_page(tournament_page(result), report)}")


def _play(settings: "TournamentSettings") -> "TournamentResult":
    """Play it behind a progress bar."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from agents.arena.tournament import run_tournament

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("Playing", total=None)

        def show(done: int, total: int) -> None:
            """Move the bar."""
            progress.update(task, completed=done, total=total)

        return run_tournament(settings, show)


if __name__ == "__main__":
    sys.exit(main())
