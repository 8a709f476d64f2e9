"""Tournament: every pairing of a round robin or a gauntlet, over worker processes, resumable.

The work is cut into units fixed by the settings; a finished unit is one line on disk. What is
missing after an interruption is exactly the units without a line, so a resumed tournament gives
the same table as one that ran through.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from agents.arena.journal import Journal, read_about, read_games
from agents.arena.match import Games, MatchResult, MatchUnit, pair_count, play_unit
from agents.arena.openings import random_openings
from agents.arena.ratings import Pairing, Ratings, rate
from agents.arena.sprt import Verdict, judge
from agents.roster import identity, make, network_folder, parse_spec
from agents.settings import Settings, checked, nearest
from agents.workers import Executor, open_executor
from oware_env.errors import OwareError
from oware_env.files import is_there
from oware_env.rules import Rules

MOST_GAMES_OF_A_TEST = 20_000
PLAYED = "played"  # context of settings that are read back, not to be played


class TournamentSettings(Settings):
    """What is played. All but the number of workers and the output folder decides the games."""

    agents: tuple[str, ...]
    """Specs of the players, such as random, alphabeta:depth=6 or runs/NAME:sims=64."""
    format: Literal["round-robin", "gauntlet"] = "round-robin"
    """Everyone against everyone, or the first agent against each other one."""
    games: int = Field(200, ge=2, le=1_000_000)
    """Games of each pairing: an even number, each opening is played from both seats."""
    opening_plies: int = Field(6, ge=0, le=1000)
    """Random plies before the agents take over."""
    seed: int = Field(0, ge=0, lt=2**64)
    """Seed of the openings and of all agents."""
    max_plies: int = Field(400, ge=1, le=2**31 - 1)
    """Move limit of the rules, in plies."""
    sprt: bool = False
    """Test whether the first of two agents is stronger, and stop when it is known."""
    elo0: float = 0.0
    """Strength of the first over the second that counts as not stronger."""
    elo1: float = 20.0
    """Strength that counts as stronger: the closer the two, the more games it takes."""
    error: float = Field(0.05, gt=0, lt=0.5)
    """Chance of each of the two mistakes of the test."""
    anchor: str | None = None
    """Agent whose Elo is 0; the middle rung when left out."""
    unit_openings: int = Field(16, ge=1, le=65_536)
    """Openings played together as one unit of work."""
    device: str = "cpu"
    """Device of neural agents."""
    workers: int = Field(2, ge=0, le=1024)
    """Worker processes; 0 plays in this process."""
    output: str | None = None
    """Folder for games and tables; an interrupted tournament found there goes on."""

    @field_validator("agents")
    @classmethod
    def _known(cls, agents: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.context == PLAYED:  # networks may be gone or have moved
            return agents
        specs = [parse_spec(agent) for agent in agents]
        for spec in specs:
            folder = network_folder(spec.name)
            if folder is not None and not is_there(folder):
                raise OwareError(f"agent {str(spec)!r}: there is no folder {spec.name}")
        names = [str(spec) for spec in specs]
        if len(names) < 2:
            raise OwareError(f"a tournament needs at least two agents, not {len(names)}")
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise OwareError(f"agent {min(twice)!r} is given twice")
        return tuple(names)

    @field_validator("anchor")
    @classmethod
    def _normal(cls, anchor: str | None, info: ValidationInfo) -> str | None:
        return anchor if anchor is None or info.context == PLAYED else str(parse_spec(anchor))

    @model_validator(mode="before")
    @classmethod
    def _many_games_for_a_test(cls, data: Any) -> Any:
        """A test stops by itself: its number of games is only a limit."""
        if isinstance(data, dict) and data.get("sprt") is True and "games" not in data:
            return data | {"games": MOST_GAMES_OF_A_TEST}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> "TournamentSettings":
        pair_count(self.games)
        if self.anchor is not None and self.anchor not in self.agents:
            raise OwareError(
                f"anchor {self.anchor!r} does not play{nearest(self.anchor, self.agents)}"
            )
        if self.sprt and len(self.agents) != 2:
            raise OwareError(f"sprt compares two agents, not {len(self.agents)}")
        if not self.elo0 < self.elo1:
            raise OwareError(f"elo0 must be below elo1, not {self.elo0:g} and {self.elo1:g}")
        return self

    @property
    def rules(self) -> Rules:
        """The rules all games are played under."""
        return Rules(max_plies=self.max_plies)

    @property
    def pairings(self) -> list[tuple[int, int]]:
        """Who plays whom, as numbers of agents."""
        everyone = range(len(self.agents))
        if self.format == "gauntlet":
            return [(0, other) for other in everyone[1:]]
        return list(combinations(everyone, 2))


class TournamentResult(NamedTuple):
    """A finished tournament."""

    settings: TournamentSettings
    matches: tuple[MatchResult, ...]  # in the order of settings.pairings
    ratings: Ratings
    verdict: Verdict | None = None  # of a test with ``sprt``

    def __str__(self) -> str:
        from agents.arena.report import text_report

        return text_report(self)


def run_tournament(
    settings: TournamentSettings, progress: Callable[[int, int], None] | None = None
) -> TournamentResult:
    """Play what is missing of a tournament and rate its agents.

    ``progress(games done, games in all)`` is called at the start and after every unit. With
    ``settings.output`` games and tables are kept in that folder. Raises :class:`OwareError` when
    the folder holds another tournament.
    """
    units = list_units(settings)
    total = len(settings.pairings) * settings.games
    folder = Path(settings.output) if settings.output is not None else None
    _check(settings)
    with Journal(folder, settings, units) as journal:
        missing = [number for number in range(len(units)) if number not in journal.games]

        def tell() -> None:
            """Say how many games are finished."""
            if progress is not None:
                progress(sum(len(games.plies) for games in journal.games.values()), total)

        tell()
        if missing:
            with open_executor(min(settings.workers, len(missing))) as executor:
                for number, games in _play(settings, executor, units, journal.games):
                    journal.append(number, games)
                    tell()
        result = _result(settings, [journal.games[number] for number in sorted(journal.games)])
        if folder is not None:
            from agents.arena.report import write_report

            write_report(result, folder)
    return result


def _check(settings: TournamentSettings) -> None:
    """Refuse before anything is made what would only come to light when it is played."""
    rules = settings.rules
    random_openings(settings.games // 2, settings.opening_plies, settings.seed, rules)
    for agent in settings.agents:
        if network_folder(parse_spec(agent).name) is None:  # networks are large: workers make them
            make(agent, rules, settings.device)


def read_tournament(folder: Path) -> TournamentResult:
    """The finished tournament in a folder; nothing is played or changed there.

    Its networks may be gone or have moved. Raises OwareError when games are missing or are not
    what was written, or when a network that played has changed in its place.
    """
    found = read_about(folder)
    document = found.settings | {"output": str(folder)}
    settings = checked(TournamentSettings, document, str(folder), PLAYED)
    units = list_units(settings, found.identities)
    finished = read_games(folder, units)
    for agent, before in zip(settings.agents, found.identities, strict=True):
        if _is_changed(agent, before):
            raise OwareError(
                f"{folder} holds games of another {agent}: it has changed since the tournament "
                "began; name another folder"
            )
    is_known = settings.sprt and finished and _judge(settings, finished).decision != "undecided"
    if not finished or (len(finished) < len(units) and not is_known):
        played = sum(len(games.plies) for games in finished.values())
        raise OwareError(
            f"{folder} holds {played:,} of {len(settings.pairings) * settings.games:,} games: "
            f"the same tournament with --output {folder} plays the rest"
        )
    return _result(settings, [finished[number] for number in sorted(finished)])


def _is_changed(agent: str, before: str) -> bool:
    """Whether an agent is another one than it was; not when it is gone."""
    try:
        return identity(agent) != before
    except OwareError:
        return False


def _play(
    settings: TournamentSettings,
    executor: Executor,
    units: list[MatchUnit],
    finished: dict[int, Games],
) -> Iterator[tuple[int, Games]]:
    """Play the units that are not finished; (number, games) of each.

    A test asks after every unit, in their order, whether it knows: so it stops at the same unit
    whatever the number of workers.
    """
    missing = [number for number in range(len(units)) if number not in finished]
    wanted = [units[number] for number in missing]
    if not settings.sprt:
        for index, games in executor.run(play_unit, wanted):
            yield missing[index], games
        return
    results = executor.run_in_order(play_unit, wanted)
    for number in missing:
        if finished and _judge(settings, finished).decision != "undecided":
            return
        yield number, next(results)


def _judge(settings: TournamentSettings, finished: dict[int, Games]) -> Verdict:
    """The verdict of a test on the finished units."""
    games = _joined([finished[number] for number in sorted(finished)])
    scores = MatchResult(settings.agents[0], settings.agents[1], games).pair_scores
    return judge(scores, settings.elo0, settings.elo1, settings.error)


def list_units(
    settings: TournamentSettings, identities: tuple[str, ...] | None = None
) -> list[MatchUnit]:
    """All units of a tournament; a unit's number is its place here.

    ``identities``: of the agents, as they are now when left out. Raises OwareError for a network
    that is not there.
    """
    pairs, step = settings.games // 2, settings.unit_openings
    known = identities or tuple(identity(agent) for agent in settings.agents)
    return [
        MatchUnit(
            a=settings.agents[a],
            b=settings.agents[b],
            rules=settings.rules,
            seed=settings.seed,
            opening_plies=settings.opening_plies,
            start=start,
            stop=min(start + step, pairs),
            device=settings.device,
            identities=(known[a], known[b]),
        )
        for a, b in settings.pairings
        for start in range(0, pairs, step)
    ]


def _result(settings: TournamentSettings, units: list[Games]) -> TournamentResult:
    """Put the units of each pairing together and rate the agents."""
    each = len(units) // len(settings.pairings)  # a test has one pairing, maybe cut short
    matches = tuple(
        MatchResult(settings.agents[a], settings.agents[b], _joined(units[k * each :][:each]))
        for k, (a, b) in enumerate(settings.pairings)
    )
    pairings = [
        Pairing(a, b, match.pair_scores)
        for (a, b), match in zip(settings.pairings, matches, strict=True)
    ]
    anchor = settings.agents.index(settings.anchor) if settings.anchor else None
    ratings = rate(len(settings.agents), pairings, anchor, seed=settings.seed)
    verdict = _judge(settings, dict(enumerate(units))) if settings.sprt else None
    return TournamentResult(settings, matches, ratings, verdict)


def _joined(units: list[Games]) -> Games:
    """Several units of a pairing as one, in order."""
    longest = max(games.moves.shape[1] for games in units)
    padded = [
        np.pad(games.moves, ((0, 0), (0, longest - games.moves.shape[1])), constant_values=-1)
        for games in units
    ]
    columns = list(zip(*units, strict=True))[:-1]
    return Games._make([*map(np.concatenate, columns), np.concatenate(padded)])
