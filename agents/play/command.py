"""The command ``oware-play``: a game against an agent, or between two, in the terminal."""

import io
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from pydantic import Field, model_validator

from agents.console import run_command
from agents.roster import describe_roster, make, parse_spec
from agents.settings import Settings, parse_command
from oware_env.rules import Rules

if TYPE_CHECKING:
    from agents.play.players import Players
    from oware_env.records import GameRecord

_USAGE = """\
usage: oware-play [SPEC] [--option value ...]
       oware-play SPEC SPEC [--option value ...]

Play Oware against an agent, or watch two agents (the first is South). The prompt
takes a house letter or a command; help lists them."""


class PlaySettings(Settings):
    """Who plays, and from where."""

    agents: tuple[str, ...] = ("strategist",)
    """Spec of the agent, such as strategist, alphabeta:depth=8 or runs/NAME; two are watched."""
    seat: Literal["south", "north", "both", "none"] = "south"
    """Your seat; both: the agent only gives hints; none: it plays itself, as two agents do."""
    position: str | None = None
    """Position to start from, such as 4-4-4-4-4-4-4-4-4-4-4-4-0-0-S."""
    load: str | None = None
    """OGN file of a game to go on with."""
    max_plies: int | None = Field(None, ge=1, le=2**31 - 1)
    """Move limit of the rules, in plies; 400 when left out."""
    seed: int | None = Field(None, ge=0, le=2**64 - 1)
    """Seed of the agents; when left out, each game is another one."""
    pause: float = Field(1.0, ge=0, le=3600)
    """Seconds between the moves of a game you watch on a screen."""
    device: str = "cpu"
    """Device of neural agents."""

    @model_validator(mode="after")
    def _consistent(self) -> "PlaySettings":
        for spec in self.agents:
            parse_spec(spec)
        if len(self.agents) not in (1, 2):
            raise ValueError(f"a game has one agent or two, not {len(self.agents)}")
        if len(self.agents) == 2 and "seat" in self.model_fields_set and self.seat != "none":
            raise ValueError(f"two agents play each other: seat must be none, not {self.seat!r}")
        for name in ("position", "max_plies"):
            if self.load is not None and getattr(self, name) is not None:
                raise ValueError(f"a loaded game brings its own {name}: give load or {name}")
        return self


def main() -> int:
    """Entry point; returns the exit code."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # what is no text is refused as no command
    return run_command(run)


def run(
    arguments: Sequence[str], source: TextIO | None = None, output: TextIO | None = None
) -> None:
    """Run the command on ``arguments``; raises :class:`OwareError` for a mistake in them.

    The streams are those of the process unless given.
    """
    description = f"{_USAGE}\n\nAgents (SPEC):\n{describe_roster()}"
    settings = parse_command(
        PlaySettings, arguments, description=description, positional="agents"
    ).settings
    from agents.play.game import Game
    from agents.play.session import Session
    from agents.play.terminal import Terminal

    record = _start(settings)
    players = _seat_players(settings, record.rules)
    terminal = Terminal(source or sys.stdin, output or sys.stdout)
    Session(Game(record), players, terminal).run()


def _start(settings: PlaySettings) -> "GameRecord":
    """The game as it stands before the first move at the prompt."""
    from agents.play.game import load_game
    from oware_env.records import GameRecord
    from oware_env.state import State

    if settings.load is not None:
        return load_game(Path(settings.load))
    rules = Rules() if settings.max_plies is None else Rules(max_plies=settings.max_plies)
    start = State.initial(rules)
    if settings.position is not None:
        start = State.parse(settings.position, rules)
    return GameRecord.from_moves((), start, tags={"Date": f"{date.today():%Y.%m.%d}"})


def _seat_players(settings: PlaySettings, rules: Rules) -> "Players":
    """Make the agents and give them their seats; a person's seat stays empty."""
    from secrets import randbits

    from agents.play.players import Players

    made = [make(spec, rules, settings.device) for spec in settings.agents]
    first, last = made[0], made[-1]
    seat = settings.seat if len(made) == 1 else "none"
    return Players(
        south=None if seat in ("south", "both") else first,
        north=None if seat in ("north", "both") else last,
        adviser=first,
        seed=randbits(32) if settings.seed is None else settings.seed,
        pause=settings.pause,
    )


if __name__ == "__main__":
    sys.exit(main())
