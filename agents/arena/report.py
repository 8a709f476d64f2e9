"""Report: a tournament as tables for a terminal of 80 columns, and as JSON and CSV."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agents.arena.match import MatchResult
from agents.arena.sprt import verdict_text
from agents.arena.tournament import TournamentResult
from oware_env.files import write_whole
from oware_env.rules import MOVE_LIMIT

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 80
_COLUMNS_OF_CROSS_TABLE = 10
NOTE = (
    "Elo by Bradley-Terry with one virtual draw a pairing; 95 % intervals over resampled opening "
    "pairs; > and < mark bounds (no point was scored on one side)."
)


class Standing(NamedTuple):
    """One agent's row. ``elo`` is relative to the anchor; see ratings.Ratings for ``bound``."""

    rank: int
    agent: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    elo: float
    elo_low: float
    elo_high: float
    bound: str
    first_player_score: float
    move_limit_share: float
    distinct_games: int


class PairingRow(NamedTuple):
    """One pairing's row; counts and scores are A's, with the score's 95 % interval."""

    a: str
    b: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    score_low: float
    score_high: float
    first_player_score: float
    move_limit_share: float
    distinct_games: int


def standings(result: TournamentResult) -> list[Standing]:
    """All agents, the highest Elo first."""
    order = np.argsort(-result.ratings.elo, kind="stable")
    return [_standing(result, int(agent), rank) for rank, agent in enumerate(order, start=1)]


def pairing_rows(result: TournamentResult) -> list[PairingRow]:
    """All pairings in the order they were played."""
    return [
        PairingRow(
            match.a,
            match.b,
            len(match.points),
            *match.wins_draws_losses,
            match.score,
            *match.interval,
            match.south_score,
            match.limit_share,
            match.distinct_games,
        )
        for match in result.matches
    ]


def totals(matches: tuple[MatchResult, ...]) -> dict[str, Any]:
    """Games, first player's score, share ended by the move limit, distinct games: of them all."""
    games = sum(len(match.points) for match in matches)
    south = sum(match.south_score * len(match.points) for match in matches)
    ended = sum(int((match.games.reasons == MOVE_LIMIT).sum()) for match in matches)
    return {
        "games": games,
        "first_player_score": south / games,
        "move_limit_share": ended / games,
        "distinct_games": _distinct(matches),
    }


def text_report(result: TournamentResult) -> str:
    """Standings, cross table and notes as plain text, 80 columns wide.

    A gauntlet has one line a match, however long, in place of the cross table.
    """
    from rich.console import Console

    text = io.StringIO()
    # In a notebook rich would otherwise show the table instead of writing it.
    # Names are shown as they are: brackets and colons in them mean nothing.
    console = Console(
        file=text,
        width=WIDTH,
        color_system=None,
        force_jupyter=False,
        markup=False,
        emoji=False,
    )
    rows, whole = standings(result), totals(result.matches)
    anchor = result.settings.agents[result.ratings.anchor]
    console.print(_standings_table(rows, anchor))
    if result.settings.format == "gauntlet":  # a cross table would be empty but for one row
        console.print("", *map(str, result.matches), sep="\n", soft_wrap=True)
    else:
        for start in range(0, len(rows), _COLUMNS_OF_CROSS_TABLE):
            columns = slice(start, start + _COLUMNS_OF_CROSS_TABLE)
            console.print(_cross_table(result, rows, columns))
    console.print(
        f"\nThe first player scored {whole['first_player_score']:.1%}; the move limit ended "
        f"{whole['move_limit_share']:.1%} of the games; {whole['distinct_games']:,} of "
        f"{whole['games']:,} games are distinct.\n{NOTE}"
    )
    if result.verdict is not None:
        a, b = result.settings.agents
        elos = (result.settings.elo0, result.settings.elo1)
        console.print("", verdict_text(result.verdict, (a, b), elos), sep="\n")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def write_report(result: TournamentResult, folder: Path) -> None:
    """Write ``table.json`` (everything), ``table.csv`` (agents), ``pairings.csv`` and a text.

    Raises OwareError when the disk does not take them.
    """
    rows, pairings = standings(result), pairing_rows(result)
    everything = {
        "settings": result.settings.model_dump(mode="json", exclude={"workers", "output"}),
        "anchor": result.settings.agents[result.ratings.anchor],
        "note": NOTE,
        "totals": totals(result.matches),
        "sprt": None if result.verdict is None else result.verdict._asdict(),
        "agents": [row._asdict() for row in rows],
        "pairings": [row._asdict() for row in pairings],
    }
    write_whole(folder / "table.json", json.dumps(everything, indent=2) + "\n")
    write_whole(folder / "table.csv", _csv(Standing._fields, rows))
    write_whole(folder / "pairings.csv", _csv(PairingRow._fields, pairings))
    write_whole(folder / "table.txt", text_report(result))


def _standing(result: TournamentResult, agent: int, rank: int) -> Standing:
    name, ratings = result.settings.agents[agent], result.ratings
    own = tuple(match for match in result.matches if name in (match.a, match.b))
    points = np.concatenate(
        [match.points if match.a == name else 1 - match.points for match in own]
    )
    whole = totals(own)
    return Standing(
        rank=rank,
        agent=name,
        games=len(points),
        wins=int((points == 1).sum()),
        draws=int((points == 0.5).sum()),
        losses=int((points == 0).sum()),
        score=float(points.mean()),
        elo=float(ratings.elo[agent]),
        elo_low=float(ratings.low[agent]),
        elo_high=float(ratings.high[agent]),
        bound=ratings.bounds[agent],
        first_player_score=whole["first_player_score"],
        move_limit_share=whole["move_limit_share"],
        distinct_games=whole["distinct_games"],
    )


def _distinct(matches: tuple[MatchResult, ...]) -> int:
    """Games that differ from all others in some move."""
    return len(
        {
            moves[:plies].tobytes()
            for match in matches
            for moves, plies in zip(match.games.moves, match.games.plies, strict=True)
        }
    )


def _standings_table(rows: list[Standing], anchor: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for title in ("#", "agent", "games", "W/D/L", "score", "Elo", "95 %"):
        table.add_column(
            title,
            justify="left" if title == "agent" else "right",
            overflow="fold",
            max_width=26 if title == "agent" else None,
        )
    for row in rows:
        elo, interval = elo_text(row, row.agent == anchor)
        counts = f"{row.wins}/{row.draws}/{row.losses}"
        table.add_row(
            str(row.rank), row.agent, str(row.games), counts, f"{row.score:.1%}", elo, interval
        )
    return table


def elo_text(row: Standing, is_anchor: bool) -> tuple[str, str]:
    """Elo and its interval as text; a bound has no interval."""
    if is_anchor:
        return "0", "(anchor)"
    signs = {"": "", "above": "> ", "below": "< ", "unknown": "? "}
    interval = f"{row.elo_low:+.0f} .. {row.elo_high:+.0f}"
    return f"{signs[row.bound]}{row.elo:+.0f}", "" if row.bound else interval


def _cross_table(result: TournamentResult, rows: list[Standing], columns: slice) -> "Table":
    """The score in percent of each row's agent against those of some columns."""
    from rich.table import Table

    scores = {(match.a, match.b): match.score for match in result.matches}
    scores |= {(b, a): 1 - score for (a, b), score in scores.items()}
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        header_style="bold",
        title="\nscore in % against",
        title_justify="left",
    )
    table.add_column("#", justify="right")
    table.add_column("agent", overflow="fold", max_width=22)
    for other in rows[columns]:
        table.add_column(str(other.rank), justify="right", min_width=4)
    for row in rows:
        found = [scores.get((row.agent, other.agent)) for other in rows[columns]]
        cells = ["-" if score is None else _percent(score) for score in found]
        table.add_row(str(row.rank), row.agent, *cells)
    return table


def _percent(score: float) -> str:
    """Percent with one decimal; whole at 0 and 100, which only exact scores show."""
    return f"{100 * score:.0f}" if score in (0.0, 1.0) else f"{100 * score:.1f}"


def _csv(fields: tuple[str, ...], rows: list[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(rows)
    return text.getvalue()
