"""``oware-train``: train an agent from a TOML file, then measure it in a tournament."""

import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from agents.console import Stopped, run_command
from agents.settings import (
    Settings,
    Switch,
    nearest,
    parse_command,
)
from oware_env.errors import OwareError
from train.algorithms import algorithm_of
from train.config import HARMLESS, Budget, Config, differences

if TYPE_CHECKING:
    from agents.arena.tournament import TournamentResult
    from train.training import Training

SIGPIPE = 13  # the signal of a process whose output nobody reads

DESCRIPTION = """Train an Oware agent by self-play, from nothing, then play it against a ladder.

oware-train configs/alphazero-quick.toml
oware-train configs/ppo-quick.toml
oware-train configs/alphazero-quick.toml --budget.minutes 2 --seed 7
oware-train --resume runs/quick
oware-train replay runs/quick 17                    print a game that was learned from
oware-train report runs/quick                       write its report.html again
oware-train export runs/quick                       its positions as a data set for NumPy
oware-train release runs/quick my-agent             a folder with all it needs to play, to share
"""
OPTIONS = {
    "resume": "go on with the run of this folder",
    "checkpoint": "with --resume: go on from this one, such as step-00000040, not the newest",
    "profile": Switch("say at the end where the time went"),
}


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(train))


def train(arguments: Sequence[str]) -> None:
    """Read the command line, train, and print the final table."""
    actions = {"replay": _replay, "report": _report, "export": _export, "release": _release}
    if arguments and arguments[0] in actions:
        actions[arguments[0]](arguments[1:])
        return
    if arguments and not arguments[0].startswith("-") and not arguments[0].endswith(".toml"):
        raise OwareError(f"unexpected argument {arguments[0]!r}{nearest(arguments[0], actions)}")
    started = time.monotonic()
    arguments = with_one_budget(arguments)
    command = parse_command(Config, arguments, description=DESCRIPTION, options=OPTIONS)
    if "resume" in command.options:
        from train.run import run_path

        if command.config is not None:
            raise OwareError("--resume takes the run's own config.toml: give no other file")
        folder = run_path(command.options["resume"])
        chosen = _chosen(folder, command.options.get("checkpoint"))
        config = _resumed(arguments, folder, chosen)
        if chosen is not None:
            _set_aside(folder, chosen)
    elif "checkpoint" in command.options:
        raise OwareError("--checkpoint says where --resume goes on: give --resume RUN as well")
    else:
        config, folder = command.settings, None
    path = _train(config, folder, started)
    if "profile" in command.options:
        _show_profile(path, config)
    result = _show_final_table(path, config) if config.evaluation.at_end else None
    if config.evaluation.report:
        from train.report_page import write_report

        print(f"the run as a page: {write_report(path, config, result)}")
    print(_what_next(path, config))


def _replay(words: Sequence[str]) -> None:
    """Print a game of a run, move by move, and last as OGN text."""
    from train.games import game_text, kept_game
    from train.run import run_config, run_path

    if len(words) != 2:
        raise OwareError(
            "give a run and the number of a game, such as: oware-train replay quick 17"
        )
    path = run_path(words[0])
    if not re.fullmatch("[0-9]{1,18}", words[1]):
        raise OwareError(f"the number of a game is a whole number from 0, not {words[1]!r:.80}")
    print(game_text(kept_game(path, int(words[1]), run_config(path))))


def _report(words: Sequence[str]) -> None:
    """Write the page of a run again."""
    from train.evaluate import finished_tournament
    from train.report_page import write_report
    from train.run import run_config, run_path

    if len(words) != 1:
        raise OwareError("give one run, such as: oware-train report quick")
    path = run_path(words[0])
    config = run_config(path)
    print(write_report(path, config, finished_tournament(path)))


class ExportSettings(Settings):
    """What to export, and where to."""

    run: tuple[str, ...] = ()
    """The run: its folder, or its name in runs/."""
    output: str | None = None
    """File to write, instead of dataset.npz in the run's folder."""
    table: int | None = Field(None, ge=1, le=24)
    """Seeds of the table that gives exact labels; that of the run when left out, if it had one."""
    last: int | None = Field(None, ge=1, lt=2**53)
    """So many of the newest positions; all when left out."""


def _export(words: Sequence[str]) -> None:
    """Write the positions of a run as a data set, and say what is in it."""
    settings: ExportSettings = parse_command(
        ExportSettings,
        words,
        description="oware-train export RUN: the positions of a run as NPZ (docs/dataset.md)",
        positional="run",
    ).settings
    from train.export import export_dataset
    from train.run import run_path

    if len(settings.run) != 1:
        raise OwareError("give one run, such as: oware-train export quick --last 100000")
    output = None if settings.output is None else Path(settings.output)
    print(export_dataset(run_path(settings.run[0]), output, settings.table, settings.last))


def _release(words: Sequence[str]) -> None:
    """Write what plays of a run as a folder of its own."""
    from train.release import release
    from train.run import run_path

    if len(words) != 2:
        raise OwareError("give a run and a new folder, such as: oware-train release quick my-agent")
    print(release(run_path(words[0]), Path(words[1])))


def with_one_budget(arguments: Sequence[str]) -> list[str]:
    """A budget on the command line takes the place of the file's, also one of another kind."""
    kinds = {f"--budget.{name}" for name in Budget.model_fields}
    given = {word.partition("=")[0] for word in arguments} & kinds
    unset = sorted(kinds - given) if given else []
    return [*arguments, *(word for kind in unset for word in (kind, "None"))]


def _resumed(arguments: Sequence[str], path: Path, chosen: Path | None) -> Config:
    """The configuration of a run that goes on, with the harmless options changed."""
    from train.run import CONFIG, run_config

    before = run_config(path, chosen)
    rest = [str(path / CONFIG), *arguments]
    after: Config = parse_command(Config, rest, description=DESCRIPTION, options=OPTIONS).settings
    for key, (was, now) in differences(before, after).items():
        if not key.startswith(HARMLESS):
            raise OwareError(
                f"{key} was {was!r} when the run began and cannot become {now!r}: "
                "start a new run for that"
            )
    return after


def _chosen(run: Path, name: str | None) -> Path | None:
    """The checkpoint of a run that is named, when it is whole; None when none is named."""
    if name is None:
        return None
    from agents.neural.checkpoint import check_whole, checkpoints

    found = {folder.name: folder for folder in checkpoints(run)}
    if name not in found:
        raise OwareError(f"{run} has no checkpoint {name!r}{nearest(name, found)}")
    check_whole(found[name])
    return found[name]


def _set_aside(run: Path, chosen: Path) -> None:
    """Rename the checkpoints of a run that are newer than this one, so that it is the newest."""
    from agents.neural.checkpoint import checkpoints
    from oware_env.files import Lock, said

    with Lock(run, "run"):
        found = checkpoints(run)
        for newer in found[found.index(chosen) + 1 :]:
            aside = newer.with_name(f"aside-{newer.name}")
            with said(newer, "cannot be set aside"):
                newer.rename(aside)
            print(f"{newer} is set aside as {aside.name}", flush=True)


def _train(config: Config, folder: Path | None, started: float) -> Path:
    """Train a new run, or the run in ``folder`` from its newest checkpoint; its folder."""
    from train.compilation import compile_kernels
    from train.training import open_training

    _check(config)
    kind = algorithm_of(config)
    seconds = compile_kernels(kind, config)
    started += seconds
    if seconds:
        print(f"compiled the kernels in {seconds:.0f} s (once for each version of the code)")
    with open_training(kind, config, folder, started) as training:
        path = training.run.path
        print(f"training {path} for {budget_text(config)}; seed {config.seed}", flush=True)
        try:
            training.train()
        except (OwareError, MemoryError) as error:
            if not training.is_kept:
                raise
            memory = "out of memory: " if isinstance(error, MemoryError) else ""
            raise OwareError(f"{memory}{error}{_how_to_go_on(training)}") from None
        except BaseException as error:
            print(f"stopped{_how_to_go_on(training)}", file=sys.stderr)
            if isinstance(error, SystemExit | BrokenPipeError):  # nobody reads the output
                raise Stopped(SIGPIPE) from None
            raise
    print(
        f"learned from {training.games:,} games ({training.algorithm.positions:,} positions) "
        f"in {training.minutes:.1f} minutes and {training.algorithm.learner.steps:,} steps"
    )
    if training.stop is not None:
        torn = " while learning from a unit, which is learned again" if training.is_torn else ""
        print(f"stopped{torn}{_how_to_go_on(training)}", flush=True)
        raise training.stop
    return path


def _how_to_go_on(training: "Training") -> str:
    """How a run that was stopped goes on, if anything was kept of it."""
    if training.is_kept:
        return f"; go on with: oware-train --resume {shlex.quote(str(training.run.path))}"
    return " before the first games were learned from: there is nothing to go on with"


def _show_profile(path: Path, config: Config) -> None:
    """Print where the time of a run went."""
    from train.profile import peak_operations, profile_text, read_profile

    print(profile_text(read_profile(path, config), config, peak_operations()))


def _show_final_table(path: Path, config: Config) -> "TournamentResult":
    """Play, print and return the final tournament of a run."""
    from train.evaluate import final_tournament

    begun, simulations = time.monotonic(), config.evaluation.simulations
    how = f"{simulations} simulations a move" if simulations else "the policy alone, no search"
    print(f"\nThe final tournament, {how}:")
    result = final_tournament(path, config)
    print(result)
    print(f"(played in {time.monotonic() - begun:.0f} s; the games are in {path}/results)")
    return result


def _check(config: Config) -> None:
    """Refuse before training what would only come to light in the middle or at the end of it."""
    from agents.neural.evaluator import check_device
    from agents.roster import make

    budget_text(config)
    check_device(config.device)
    cores = os.cpu_count() or 1
    if config.workers > cores:
        print(
            f"note: more workers ({config.workers}) than cores ({cores}) are slower together",
            file=sys.stderr,
        )
    for opponent in (*config.evaluation.during, *config.evaluation.at_end):
        make(opponent, config.rules, config.device)


def budget_text(config: Config) -> str:
    """The budget in words: ``"5 minutes"``."""
    for name in ("minutes", "games", "steps"):
        amount = getattr(config.budget, name)
        if amount is not None:
            return f"{amount:g} {name}"
    raise OwareError(f"the budget is empty{nearest('minutes', ('minutes', 'games', 'steps'))}")


def _what_next(path: Path, config: Config) -> str:
    from train.evaluate import agent_spec

    agent = agent_spec(path, config)
    return f"""
What next:
  oware-play {agent}                       play against it
  oware-tournament {agent} strategist alphabeta:depth=10
  tensorboard --logdir {path.parent}       its curves
  oware-train --resume {path} --budget.minutes {3 * (config.budget.minutes or 5):g}"""


if __name__ == "__main__":
    main()
