"""The command ``oware-tablebase``: build exact endgames, ask about positions, grade agents."""

import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.console import run_command
from agents.settings import Settings, nearest, parse_command
from oware_env.errors import OwareError
from oware_env.files import printable

if TYPE_CHECKING:
    from agents.arena.grading import Report

MOST_PLIES = 10_000  # as agents.tablebase.checks has it, which takes a second to import
MOST_LEFT = 2**31 - 1  # of Rules
SIMULATIONS = (0, 1, 16, 64, 256)  # a trained run is graded at these, 0 the policy alone

_USAGE = """\
oware-tablebase build --seeds 12           solve every board with up to 12 seeds
oware-tablebase probe POSITION [--ply N]   what is proved of a position and of each move
oware-tablebase grade SPEC SPEC ...        how often an agent keeps the result, what it gives away

Tables lie in $OWARE_TABLES, or in oware/tables in your cache folder."""


class BuildSettings(Settings):
    """Which table to build."""

    seeds: int = Field(10, ge=1, le=24)
    """Most seeds on the board: 10 take seconds, 16 minutes, each further one half as long again."""
    first: int = Field(100, ge=0, le=MOST_PLIES)
    """Fewest plies left for which the bounds are proved."""
    max_plies: int = Field(400, ge=1, le=MOST_PLIES)
    """Most plies left: the move limit of the games."""
    folder: str | None = None
    """Folder of the table, instead of the usual one."""


class ProbeSettings(Settings):
    """Which position to ask about."""

    position: tuple[str, ...] = ()
    """Position string, such as 0-0-0-0-1-1-2-0-0-0-0-5-22-17-S."""
    ply: int = Field(0, ge=0, le=MOST_LEFT)
    """Ply it stands at, of which the plies left follow."""
    max_plies: int = Field(400, ge=1, le=MOST_LEFT)
    """Move limit of the game."""
    seeds: int | None = Field(None, ge=1, le=24)
    """Table to ask; the smallest that holds the position when left out."""
    folder: str | None = None
    """Folder of the table, instead of the usual one."""


class GradeSettings(Settings):
    """Whom to grade, and on what."""

    agents: tuple[str, ...] = ()
    """Specs of the agents, such as strategist, runs/NAME or runs/NAME:sims=64."""
    simulations: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """For specs that leave sims open, 0 being the policy alone; for a run 0 1 16 64 256."""
    seeds: int = Field(8, ge=1, le=24)
    """Table to grade by; it must be built, unless it is of 10 seeds or fewer."""
    positions: int = Field(2000, ge=1, le=100_000)
    """Positions drawn uniformly of each number of seeds, up to 20 times as many if need be."""
    games: int = Field(200, ge=2, le=100_000, multiple_of=2)
    """Games of the agent against itself that are graded as well, up to 20 times as many."""
    decisions: int = Field(2000, ge=1, le=10_000_000)
    """Distinct decision positions wanted of each source: what need be means."""
    seed: int = Field(0, ge=0, le=2**63 - 1)
    """Seed of positions and games."""
    max_plies: int = Field(400, ge=1, le=MOST_PLIES)
    """Move limit of the games."""
    device: str = "cpu"
    """Device of neural agents."""
    worst: int = Field(3, ge=0, le=10)
    """Worst moves shown of each agent and source; the file has ten."""
    calibration: bool = False
    """Show predicted values against proved results as well; the file has them anyway."""
    output: str | None = None
    """JSON file for all grades and the worst moves."""
    folder: str | None = None
    """Folder of the table, instead of the usual one."""


def main() -> int:
    """Entry point; returns the exit code."""
    return run_command(run)


def run(arguments: Sequence[str]) -> None:
    """Run the command on ``arguments``; raises :class:`OwareError` for a mistake in them."""
    actions = {"build": _build, "probe": _probe, "grade": _grade}
    if not arguments or arguments[0] in ("--help", "-h"):
        print(_USAGE)
        return
    if arguments[0] not in actions:
        raise OwareError(f"there is no {arguments[0]!r}{nearest(arguments[0], actions)}")
    actions[arguments[0]](arguments[1:])


def _build(arguments: Sequence[str]) -> None:
    settings: BuildSettings = parse_command(
        BuildSettings, arguments, description=f"Build a table.\n\n{_USAGE}"
    ).settings
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn

    from agents.tablebase.build import build_table
    from agents.tablebase.index import count_boards
    from oware_env.rules import Rules

    print(f"solving {count_boards(settings.seeds):,} boards with up to {settings.seeds} seeds")
    begun, console = time.monotonic(), Console(stderr=True)
    with Progress(
        *Progress.get_default_columns()[:3],
        TimeRemainingColumn(),
        transient=True,
        console=console,
        disable=not console.is_terminal,  # it would leave an empty line
    ) as bar:
        task = bar.add_task("plies", total=settings.max_plies)
        path = build_table(
            settings.seeds,
            Rules(max_plies=settings.max_plies),
            plies=(settings.first, settings.max_plies),
            folder=None if settings.folder is None else Path(settings.folder),
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    size = path.stat().st_size / 1e6
    print(f"{printable(str(path))} ({size:,.1f} MB) in {time.monotonic() - begun:.1f} s")


def _probe(arguments: Sequence[str]) -> None:
    settings: ProbeSettings = parse_command(
        ProbeSettings, arguments, description=f"Ask a table.\n\n{_USAGE}", positional="position"
    ).settings
    from agents.tablebase.report import describe_position
    from oware_env.rules import Rules
    from oware_env.state import State

    if len(settings.position) != 1:
        raise OwareError(f"give one position, not {len(settings.position)}")
    state = State.parse(settings.position[0], Rules(max_plies=settings.max_plies), settings.ply)
    folder = None if settings.folder is None else Path(settings.folder)
    print(describe_position(state, settings.seeds, folder))


def _grade(arguments: Sequence[str]) -> None:
    settings: GradeSettings = parse_command(
        GradeSettings, arguments, description=f"Grade agents.\n\n{_USAGE}", positional="agents"
    ).settings
    from rich.console import Console
    from rich.text import Text

    from agents.arena.grading import Sample, grade_agent, training_table
    from agents.arena.grading_table import write_grades
    from agents.roster import make
    from agents.tablebase.files import prepare_place
    from agents.tablebase.probe import open_table
    from oware_env.rules import Rules

    if not settings.agents:
        raise OwareError("give the agents to grade, such as strategist or runs/NAME:sims=64")
    rules = Rules(max_plies=settings.max_plies)
    specs = _with_simulations(settings.agents, settings.simulations)
    made = [make(spec, rules, settings.device) for spec in specs]
    folder = None if settings.folder is None else Path(settings.folder)
    table = open_table(settings.seeds, folder=folder)
    output = None if settings.output is None else Path(settings.output)
    if output is not None:
        prepare_place(output)  # now, not after all the grading
    sample = Sample(settings.positions, settings.games, settings.seed, settings.decisions)
    reports = []
    with Console(stderr=True).status("") as status:
        for number, agent in enumerate(made, start=1):
            # As a Text: brackets in a name are no markup.
            status.update(Text(f"grading {agent.name} ({number} of {len(made)})"))
            reports.append(grade_agent(agent, table, sample, rules, training_table(agent.name)))
    _print_grades(reports, settings)
    if output is not None:
        write_grades(output, reports, settings.model_dump())
        print(f"all grades and the worst moves are in {printable(str(output))}")


def _with_simulations(specs: Iterable[str], simulations: Sequence[int]) -> list[str]:
    """The specs, each once; those that leave their simulations open once for each number."""
    from agents.roster import network_folder, parse_spec

    found: dict[str, None] = {}
    for spec in specs:
        parsed = parse_spec(spec)
        is_network = network_folder(parsed.name) is not None
        parameters = spec.strip().removeprefix(parsed.name)
        is_given = re.search(r"[:,]\s*(sims|time)\s*=", parameters)
        numbers = simulations or (SIMULATIONS if is_network else ())
        if is_given or "sims" not in parsed.values or not numbers:
            found[str(parsed)] = None
            continue
        for number in numbers if is_network else [number for number in numbers if number]:
            asked = parsed._replace(values=parsed.values | {"sims": number or None})
            found[str(asked)] = None
    return list(found)


def _print_grades(reports: "Sequence[Report]", settings: GradeSettings) -> None:
    """All tables, and below each what its figures mean."""
    from rich.console import Console

    from agents.arena import grading_table as tables

    console = Console(highlight=False, markup=False, emoji=False)  # names are shown as they are
    if not console.is_terminal:
        console.width = tables.WIDTH
    console.print(tables.grades_table(reports))
    print(tables.NOTE)
    for line in tables.notes(reports, settings.decisions):
        print(line)
    if settings.calibration:
        console.print("", tables.calibration_table(reports), sep="\n")
    if settings.worst and any(report.worst for report in reports):
        console.print("", tables.worst_table(reports, settings.worst), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
