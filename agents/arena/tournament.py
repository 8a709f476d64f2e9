"""Tournament: every pairing of a round robin or a gauntlet, over worker processes, resumable.

The work is cut into units fixed by the settings; a finished unit is one line on disk. What is
missing after an interruption is exactly the units without a line, so a resumed tournament gives
the same table as one that ran through.
"""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator, model_validator

from agents.arena.journal import Journal
from agents.arena.match import Games, MatchResult, MatchUnit, pair_count, play_unit
from agents.arena.ratings import Pairing, Ratings, rate
from agents.roster import is_path, parse_spec
from agents.settings import Settings, nearest
from agents.workers import open_executor
from oware_env.errors import OwareError
from oware_env.rules import Rules


class TournamentSettings(Settings):
    """What is played. All but the number of workers and the output folder decides the games."""

    agents: tuple[str, ...]
    """Specs of the players, such as random, alphabeta:depth=6 or runs/NAME:sims=64."""
    format: Literal["round-robin", "gauntlet"] = "round-robin"
    """Everyone against everyone, or the first agent against each other one."""
    games: int = Field(200, ge=2)
    """Games of each pairing: an even number, each opening is played from both seats."""
    opening_plies: int = Field(6, ge=0)
    """Random plies before the agents take over."""
    seed: int = Field(0, ge=0)
    """Seed of the openings and of all agents."""
    max_plies: int = Field(400, ge=1, le=2**31 - 1)
    """Move limit of the rules, in plies."""
    anchor: str | None = None
    """Agent whose Elo is 0; the middle rung when left out."""
    unit_openings: int = Field(16, ge=1)
    """Openings played together as one unit of work."""
    device: str = "cpu"
    """Device of neural agents."""
    workers: int = Field(2, ge=0, le=1024)
    """Worker processes; 0 plays in this process."""
    output: str | None = None
    """Folder for games and tables; an interrupted tournament found there goes on."""

    @field_validator("agents")
    @classmethod
    def _known(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        specs = [parse_spec(agent) for agent in agents]
        for spec in specs:
            if is_path(spec.name) and not Path(spec.name).exists():
                raise OwareError(f"agent {str(spec)!r}: there is no folder {spec.name}")
        names = [str(spec) for spec in specs]
        if len(names) < 2:
            raise OwareError(f"a tournament needs at least two agents, not {len(names)}")
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise OwareError(f"agent {min(twice)!r} is given twice")
        return tuple(names)

    @model_validator(mode="after")
    def _consistent(self) -> "TournamentSettings":
        pair_count(self.games)
        if self.anchor is not None and str(parse_spec(self.anchor)) not in self.agents:
            raise OwareError(
                f"anchor {self.anchor!r} does not play{nearest(self.anchor, self.agents)}"
            )
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
    with Journal(folder, settings) as journal:
        missing = [number for number in range(len(units)) if number not in journal.games]

        def tell() -> None:
            """Say how many games are finished."""
            if progress is not None:
                progress(sum(len(games.plies) for games in journal.games.values()), total)

        tell()
        if missing:
            with open_executor(min(settings.workers, len(missing))) as executor:
                for index, games in executor.run(play_unit, [units[n] for n in missing]):
                    journal.append(missing[index], games)
                    tell()
        result = _result(settings, [journal.games[number] for number in range(len(units))])
        if folder is not None:
            from agents.arena.report import write_report

            write_report(result, folder)
    return result


def list_units(settings: TournamentSettings) -> list[MatchUnit]:
    """All units of a tournament; a unit's number is its place here."""
    pairs, step = settings.games // 2, settings.unit_openings
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
        )
        for a, b in settings.pairings
        for start in range(0, pairs, step)
    ]


def _result(settings: TournamentSettings, units: list[Games]) -> TournamentResult:
    """Put the units of each pairing together and rate the agents."""
    each = len(units) // len(settings.pairings)
    matches = tuple(
        MatchResult(settings.agents[a], settings.agents[b], _joined(units[k * each :][:each]))
        for k, (a, b) in enumerate(settings.pairings)
    )
    pairings = [
        Pairing(a, b, match.pair_scores)
        for (a, b), match in zip(settings.pairings, matches, strict=True)
    ]
    anchor = settings.agents.index(str(parse_spec(settings.anchor))) if settings.anchor else None
    ratings = rate(len(settings.agents), pairings, anchor, seed=settings.seed)
    return TournamentResult(settings, matches, ratings)


def _joined(units: list[Games]) -> Games:
    """Several units of a pairing as one, in order."""
    longest = max(games.moves.shape[1] for games in units)
    padded = [
        np.pad(games.moves, ((0, 0), (0, longest - games.moves.shape[1])), constant_values=-1)
        for games in units
    ]
    columns = list(zip(*units, strict=True))[:-1]
    return Games._make([*map(np.concatenate, columns), np.concatenate(padded)])
