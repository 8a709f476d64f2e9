"""Options of the five commands, in this process, up to the point where the work would begin.

Accepted, every option that was given has the value that its words say, the last of two equal ones;
words are the agents, files and folders that they name. Free are ``-`` and ``_`` in a name, and
``--name=value`` for ``--name value``.
"""

import random
import shutil
from collections.abc import Callable, Sequence
from contextlib import chdir
from typing import Any, NamedTuple

from agents import tablebase_command
from agents.arena import command as tournament_command
from agents.arena import grading, tournament
from agents.neural.evaluator import check_device
from agents.play import command as play_command
from agents.play.session import Session
from agents.roster import make, parse_spec
from agents.settings import Command, parse_command
from agents.tablebase import build, files, probe
from oware_env.errors import OwareError
from tests.fuzz import commands
from tests.fuzz.commands import Reached, remembered, replaced
from tests.fuzz.documents import mutate_words
from tests.fuzz.samples import GAMES, TABLE_SEEDS, Workplace
from tests.fuzz.settings_files import leaves
from tests.fuzz.texts import means
from train import command as train_command
from train import compare as compare_command
from train import evaluate, export, release, report_page

_VALUES = ("7", "0", "64", "1.5", "true", "None", "random", "cpu", "meta", "cuda", "both", "out")


def work_begins(*given: Any, **named: Any) -> Any:
    """In the place of what a command does once its options are read."""
    raise Reached(given)


def nothing(*_: Any, **__: Any) -> None:
    """In the place of what writes or takes long beside the work."""


def _no_table(*_: Any, **__: Any) -> None:
    raise OwareError("no table is built here")


def _checked_training(config: Any, folder: Any, started: float) -> Any:
    train_command._check(config)
    raise Reached(config)


def _checked_comparison(arms: Any, settings: Any) -> None:
    """What is checked before a comparison, but for its table and its kernels."""
    for opponent in settings.ladder:
        make(opponent, arms[0].config.rules)
    for arm in arms:
        check_device(arm.config.device)


class Kind(NamedTuple):
    """A command: what it does, valid words, and where its work begins."""

    action: Callable[[Sequence[str]], None]
    samples: tuple[str, ...]
    module: Any  # where it reads its options
    places: tuple[tuple[Any, str, Any], ...]


_PROBE = "0-0-0-0-1-1-1-0-0-0-0-0-22-23-S"
KINDS = {
    "train": Kind(
        train_command.train,
        (
            "tiny.toml",
            "tiny.toml --seed 7 --budget.games 64 --network small",
            "tiny.toml --selfplay.noise=0.5 --evaluation.at-end random greedy --replay.no-keep",
            "tiny.toml --learning.batch 32 --device cpu --checkpoint_minutes 1.5 --profile",
            "--algorithm ppo --ppo.clip 0.1 --name x --workers 0 --budget.minutes 2",
            "--resume runs/tiny --budget.games 96",
            "--resume tiny",
            "replay tiny 1",
            "replay runs/tiny 3",
            "report tiny",
            "export tiny --last 10 --output out.npz --table 4",
            "release tiny out",
        ),
        train_command,
        (
            (train_command, "_train", _checked_training),
            (report_page, "write_report", work_begins),
            (evaluate, "final_tournament", nothing),
            (export, "export_dataset", work_begins),
            (release, "release", work_begins),
        ),
    ),
    "compare": Kind(
        compare_command.compare,
        (
            "tiny.toml other.toml --seeds 2 --minutes 0.5",
            "tiny.toml other.toml --ladder random greedy --games 16 --table 4 --first-seed 3",
            "other.toml tiny.toml --output out --workers 0 --simulations 8 --positions 20",
        ),
        compare_command,
        (
            (compare_command, "_prepare", _checked_comparison),
            (compare_command, "_claimed", work_begins),
        ),
    ),
    "tournament": Kind(
        tournament_command.run,
        (
            "random greedy --games 16 --seed 5",
            "random greedy alphabeta:depth=2 --format gauntlet --anchor greedy --workers 0",
            "runs/tiny:sims=2 random --sprt --elo1 30 --error 0.1 --output out",
            "played",
            "played --report out.html",
            "cup.toml --games 8",
        ),
        tournament_command,
        (
            (tournament_command, "_play", work_begins),
            (tournament_command, "_write_page", nothing),
        ),
    ),
    "play": Kind(
        play_command.run,
        (
            "greedy --seat north --seed 4",
            "random greedy --pause 0.5 --max-plies 100",
            "strategist --position 4-4-4-4-4-4-4-4-4-4-4-4-0-0-S --seat both",
            "careful --load game.ogn",
            "runs/tiny --device cpu",
        ),
        play_command,
        ((Session, "run", work_begins),),
    ),
    "tablebase": Kind(
        tablebase_command.run,
        (
            "build --seeds 4 --first 10 --max-plies 30 --folder tables",
            f"probe {_PROBE} --seeds {TABLE_SEEDS} --max-plies 30 --folder tables",
            f"probe {_PROBE} --ply 3 --seeds {TABLE_SEEDS} --max-plies=30 --folder tables",
            f"grade greedy runs/tiny --simulations 0 2 --seeds {TABLE_SEEDS} --folder tables",
            f"grade random --games 4 --seeds {TABLE_SEEDS} --folder tables --no-calibration",
        ),
        tablebase_command,
        (
            (build, "build_table", work_begins),
            (probe, "build_missing", _no_table),
            (grading, "grade_agent", work_begins),
            (files, "prepare_place", nothing),
        ),
    ),
}


class Options:
    """Options of one command. Its subclasses name it."""

    name = ""
    kind = ""
    count = 0

    def __init__(self, workplace: Workplace) -> None:
        self._kind = KINDS[self.kind]
        self._place = workplace.scratch(self.name)
        self._samples = [sample.split(" ") for sample in self._kind.samples]
        self._others = tuple({word for words in self._samples for word in words}) + _VALUES
        self._prepare(workplace)
        for words in self._samples:
            self.read(words)

    def _prepare(self, workplace: Workplace) -> None:
        """Put what the valid words name into the folder that the command runs in."""
        place = self._place
        shutil.copytree(workplace.run, place / "runs" / "tiny")
        shutil.copytree(workplace.tournament, place / "played")
        shutil.copytree(workplace.table.parent, place / "tables")
        text = (workplace.run / "config.toml").read_text()
        (place / "tiny.toml").write_text(text)
        (place / "other.toml").write_text(text.replace("noise = 0.25", "noise = 0.5"))
        (place / "cup.toml").write_text('agents = ["random", "greedy"]\nseed = 3\n')
        (place / "game.ogn").write_text(GAMES[0].to_ogn())
        self._read: list[Command] = []
        self._rate = (tournament, "rate", remembered(tournament.rate))

    def make(self, draw: random.Random) -> list[str]:
        words = draw.choice(self._samples)
        return mutate_words(draw, words, self._others)

    def read(self, given: list[str]) -> tuple[Any, list[Command]]:
        self._read.clear()
        noted = (self._kind.module, "parse_command", self._parse)
        done: Any
        with chdir(self._place), replaced(*self._kind.places, noted, self._rate):
            try:
                done = commands.run(self._kind.action, given)
            except Reached as reached:
                done = reached.settings
        return done, list(self._read)

    def _parse(self, *given: Any, **named: Any) -> Command:
        """Note what the options are read as."""
        command = parse_command(*given, **named)
        self._read.append(command)
        return command

    def changed(self, given: list[str], value: tuple[Any, list[Command]]) -> str | None:
        if not value[1]:
            return None  # words alone, which are checked where they are used
        with chdir(self._place):  # what is a folder may be an agent
            return changed_options(given, value[1][-1])


def changed_options(words: list[str], command: Command) -> str | None:
    """What a command line says that its settings do not."""
    settings = dict(leaves(command.settings.model_dump()))
    given = dict(_options(words, settings))
    for key, tokens in given.items():
        if key in command.options:
            if tokens and command.options[key] not in (tokens[0], "True"):
                return f"another value: --{key} {tokens} is read as {command.options[key]!r}"
            continue
        if key not in settings:
            return f"an unknown option is taken: --{key}"
        if not _says(tokens, settings[key]):
            return f"another value: --{key} {tokens} is read as {settings[key]!r}"
    return _changed_words(words, settings, command)


def _options(words: list[str], settings: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Every option with the words that belong to it."""
    found: list[tuple[str, list[str]]] = []
    for place, word in enumerate(words):
        if not word.startswith("--") or word == "--help":
            continue
        name, equals, text = word[2:].partition("=")
        key, tokens = name.replace("-", "_"), [text] if equals else []
        section, dot, leaf = key.rpartition(".")
        if key not in settings and leaf.startswith("no_"):
            found.append((section + dot + leaf.removeprefix("no_"), ["false"]))
            continue
        is_switch = isinstance(settings.get(key), bool)
        is_list = isinstance(settings.get(key), tuple)
        for other in words[place + 1 :]:
            if other.startswith("--") or is_switch or (tokens and not is_list):
                break
            tokens.append(other)
        found.append((key, tokens or (["true"] if is_switch else [])))
    return found


def _says(tokens: list[str], value: Any) -> bool:
    """Whether the words of an option say its value."""
    if isinstance(value, tuple):
        return len(tokens) == len(value) and all(map(_means, tokens, value))
    return bool(tokens) and _means(tokens[0], value)


def _means(token: str, value: Any) -> bool:
    if value is None:
        return token == "None"
    return means(token, value)


def _changed_words(words: list[str], settings: dict[str, Any], command: Command) -> str | None:
    """Words that are agents must be the agents that play, in their order."""
    agents = settings.get("agents")
    if agents is None or any(word.startswith("--agents") for word in words):
        return None
    texts = [str(parse_spec(agent)) for agent in agents]
    named = [word for word in words if word in agents or _spec(word) in texts]
    if command.config is None and len(named) < len(agents) and agents != ("strategist",):
        return f"other agents: {agents} for {words}"
    return None


def _spec(word: str) -> str:
    try:
        return str(parse_spec(word))
    except (OwareError, OSError):
        return ""


class TrainOptions(Options):
    """oware-train and its actions."""

    name, kind, count = "train-options", "train", 20_000


class CompareOptions(Options):
    """oware-compare."""

    name, kind, count = "compare-options", "compare", 8_000


class TournamentOptions(Options):
    """oware-tournament, and folders of finished ones."""

    name, kind, count = "tournament-options", "tournament", 20_000


class PlayOptions(Options):
    """oware-play."""

    name, kind, count = "play-options", "play", 20_000


class TablebaseOptions(Options):
    """oware-tablebase build, probe and grade."""

    name, kind, count = "tablebase-options", "tablebase", 20_000
