"""The command ``oware-tournament``: play a tournament, print its table, say where the files are."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agents.console import run_command
from agents.roster import describe_roster
from agents.settings import Command, Settings, parse_command
from oware_env.errors import OwareError
from oware_env.files import is_file, is_folder, new_folder

if TYPE_CHECKING:
    from agents.arena.tournament import TournamentResult, TournamentSettings

_USAGE = """\
usage: oware-tournament SPEC SPEC ... [--option value ...]
       oware-tournament CONFIG.toml [--option value ...]
       oware-tournament FOLDER [--report FILE.html]

Play a tournament between agents and print its table with Elo ratings and intervals.
--report FILE.html writes it as a page as well, with plots and games to step through.
FOLDER, of a finished tournament: print its table again, play nothing."""
_REPORT = {"report": "write a page with plots and games to this file"}


class _Kept(Settings):
    """A tournament that was played before."""

    folder: tuple[str, ...]
    """Its folder."""


def main() -> int:
    """Entry point; returns the exit code."""
    return run_command(run)


def run(arguments: Sequence[str]) -> None:
    """Run the command on ``arguments``; raises :class:`OwareError` for a mistake in them."""
    from agents.arena.journal import ABOUT, has_games
    from agents.arena.tournament import TournamentSettings

    if arguments and is_file(Path(arguments[0]) / ABOUT):
        _show_again(arguments)
        return
    description = f"{_USAGE}\n\nAgents (SPEC):\n{describe_roster()}"
    command = parse_command(
        TournamentSettings,
        arguments,
        description=description,
        positional="agents",
        options=_REPORT,
    )
    settings, report = command.settings, _report_path(command)
    made = None
    if settings.output is None:
        name = f"tournament-{datetime.now():%Y%m%d-%H%M%S}"
        made = new_folder(Path("runs"), name)  # of this process alone
        settings = settings.model_copy(update={"output": str(made)})
    try:
        result = _play(settings)
    except KeyboardInterrupt:
        if has_games(Path(settings.output or "")):
            print(
                f"\nThe finished games are kept: the same command with --output {settings.output} "
                "goes on.",
                file=sys.stderr,
            )
        raise
    finally:
        if made is not None:
            with suppress(OSError):  # it holds games
                made.rmdir()
    print(result)
    print(f"Games and tables are in {settings.output}: games.jsonl, table.csv, table.json, ...")
    _write_page(result, report)


def _show_again(arguments: Sequence[str]) -> None:
    """Print the table of a finished tournament, and write its page on request."""
    from agents.arena.tournament import read_tournament

    command = parse_command(
        _Kept, arguments, description=_USAGE, positional="folder", options=_REPORT
    )
    report = _report_path(command)
    if len(command.settings.folder) != 1:
        raise OwareError(f"{arguments[0]} is a tournament, not an agent: give it alone")
    result = read_tournament(Path(command.settings.folder[0]))
    print(result)
    _write_page(result, report)


def _report_path(command: Command) -> Path | None:
    """Where the page goes. Raises OwareError, before anything is played, when it cannot."""
    if "report" not in command.options:
        return None
    path = Path(command.options["report"])
    if not is_folder(path.absolute().parent):
        raise OwareError(f"--report {path}: there is no folder {path.parent}")
    return path


def _write_page(result: "TournamentResult", path: Path | None) -> None:
    """Write the page and say where it is."""
    if path is not None:
        from agents.arena.report_page import tournament_page
        from agents.page import write_page

        print(f"The page is {write_page(tournament_page(result), path)}")


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
    from oware_env.kernel import is_uncompiled

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
        first = "Compiling, once for each version" if is_uncompiled() else "Playing"
        task = progress.add_task(first, total=None)

        def show(done: int, total: int) -> None:
            """Move the bar."""
            description = "Playing" if done else first
            progress.update(task, completed=done, total=total, description=description)

        return run_tournament(settings, show)


if __name__ == "__main__":
    sys.exit(main())
