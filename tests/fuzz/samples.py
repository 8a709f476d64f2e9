"""The valid samples that hostile inputs are made of: a run, a tournament, a table, files of games.

Made once in a folder and found there again, so that the processes of a fuzzing session share them.
What tells of the clock in them is set to fixed values: the same number gives the same input.
"""

import io
import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cached_property
from pathlib import Path

from agents.settings import read_settings
from oware_env.files import DIGEST, digest_of
from oware_env.records import GameRecord, save_games

TINY = {  # two units of two short games
    "name": "tiny",
    "network": "tiny",
    "workers": 0,
    "max_plies": 24,
    "checkpoint_minutes": 1000.0,
    "checkpoints_kept": 1,
    "budget.games": 4,
    "selfplay.games": 2,
    "selfplay.endgames": "none",
    "selfplay.simulations": 2,
    "selfplay.lag": 2,
    "selfplay.search_plies": 6,
    "selfplay.temperature_plies": 4,
    "learning.batch": 8,
    "replay.least": 100,
    "evaluation.during": ("random",),
    "evaluation.at_end": ("random",),
    "evaluation.times": 0,
    "evaluation.games_at_end": 2,
    "evaluation.simulations": 2,
    "evaluation.report": False,
}
TABLE_SEEDS = 4
GAMES = (  # whole and broken off, from the start and from positions, with and without tags
    GameRecord.from_moves("FfEcCc", tags={"South": "Ama", "North": 'Kofi \\ "K"'}),
    GameRecord.from_moves("DdEfAaBb", tags={"Event": "Tour"}),
    GameRecord.from_moves("b", "1-0-0-0-0-0-0-1-0-0-0-0-24-22-N", ply=7),
    GameRecord.from_moves("F", "0-0-0-0-0-1-2-0-0-0-0-0-22-23-S"),
    GameRecord.from_moves(""),
)


class Workplace:
    """The samples of one session, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """The samples lie in ``folder``, scratch files of this process beside them."""
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        os.environ["OWARE_TABLES"] = str(self.folder / "tables")

    def scratch(self, name: str) -> Path:
        """A new empty folder for a target's files."""
        path = self.folder / "scratch" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        """The sample of this name; a half made one is made again."""
        path, part = self.folder / name, self.folder / f"part-{name}"
        if not path.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                make(part)
            part.rename(path)
        return path

    @cached_property
    def run(self) -> Path:
        """The folder of a finished training run, below a folder ``runs`` and a working folder."""
        return self._made("training", _train) / "runs" / "tiny"

    @cached_property
    def tournament(self) -> Path:
        """The folder of a finished tournament."""
        return self._made("tournament", _play) / "played"

    @cached_property
    def table(self) -> Path:
        """The file of a table of few seeds."""
        return self._made("table", _build) / f"abapa-{TABLE_SEEDS}.safetensors"

    @cached_property
    def games(self) -> Path:
        """An NPZ file of a few games."""
        return self._made("games", _save) / "games.npz"


def _train(folder: Path) -> None:
    from agents.console import run_command
    from train.command import train
    from train.config import Config
    from train.run import config_text

    (folder / "tiny.toml").write_text(config_text(read_settings(Config, None, TINY)))
    with chdir(folder):
        assert run_command(train, ["tiny.toml"]) == 0
    run = folder / "runs" / "tiny"
    shutil.rmtree(run / "events")
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(_still(row))}\n" for row in rows))
    log = (run / "metrics.jsonl").read_bytes()
    for path in run.glob("checkpoints/*/state.json"):
        _forget(path, log={"bytes": len(log), "crc32": zlib.crc32(log)})
    for path in run.glob("results/*/tournament.json"):
        _forget(path)


def _forget(path: Path, **changes: object) -> None:
    """Take clock and commit out of a document, and give it the checksum that belongs to it."""
    document = json.loads(path.read_text()) | changes
    for box in (document, document.get("versions", {})):
        box |= {key: one for key, one in (("minutes", 0.5), ("commit", "0" * 12)) if key in box}
    if DIGEST in document:
        document[DIGEST] = digest_of(document)
    path.write_text(json.dumps(document, indent=2))


def _still(row: dict[str, object]) -> dict[str, object]:
    """A logged line with one time in all places of the clock."""
    clocks = ("time", "speed/", "memory/", "total/minutes")
    return {key: 0.5 if key.startswith(clocks) else value for key, value in row.items()}


def _play(folder: Path) -> None:
    from agents.arena.tournament import TournamentSettings, run_tournament

    field = ("random", "greedy", "careful")
    run_tournament(
        TournamentSettings(
            agents=field,
            games=4,
            unit_openings=1,
            opening_plies=2,
            max_plies=16,
            workers=0,
            output=str(folder / "played"),
        )
    )
    _forget(folder / "played" / "tournament.json")


def _build(folder: Path) -> None:
    from agents.tablebase.build import build_table
    from oware_env.rules import Rules

    build_table(TABLE_SEEDS, Rules(max_plies=30), plies=(10, 30), folder=folder)


def _save(folder: Path) -> None:
    save_games(folder / "games.npz", GAMES)
