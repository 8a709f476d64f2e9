"""A tournament as a page: ratings, tables, how games went, and some of them to step through."""

from collections.abc import Iterator

import numpy as np

from agents import plots
from agents.arena.match import MatchResult
from agents.arena.report import NOTE, Standing, elo_text, pairing_rows, standings, totals
from agents.arena.tournament import TournamentResult
from agents.page import Section, game, page, plot, table
from oware_env.records import GameRecord
from oware_env.replay import Replay
from oware_env.rules import REASONS

SAMPLE_GAMES = 3


def tournament_page(result: TournamentResult) -> str:
    """The page of a finished tournament."""
    settings, whole = result.settings, totals(result.matches)
    lead = (
        f"{whole['games']:,} paired games, {settings.games:,} a pairing, from openings of up to "
        f"{settings.opening_plies} random plies; seed {settings.seed}; {whole['distinct_games']:,} "
        "games are distinct."
    )
    return page("Tournament", lead, tournament_sections(result))


def tournament_sections(result: TournamentResult) -> Iterator[Section]:
    """Ratings, cross table, how games went, and sample games: parts of a page."""
    rows = standings(result)
    yield Section("Ratings", _ratings(rows, result), NOTE)
    if result.settings.format == "gauntlet":  # a cross table would be empty but for one row
        yield Section("Matches", _matches(result))
    else:
        yield Section(
            "Cross table",
            _cross_table(result, rows),
            "Score in percent of a row's agent against a column's; columns are numbered as rows.",
        )
    yield Section("How games went", _games(result))
    yield Section("Games to step through", "".join(_samples(result)))


def _ratings(rows: list[Standing], result: TournamentResult) -> str:
    anchor = result.settings.agents[result.ratings.anchor]
    with plots.style():
        drawn, axes = plots.figure(size=(6.5, 0.9 + 0.36 * len(rows)))
        plots.ratings(axes[0, 0], [_rating(row) for row in rows])
        picture = plot(drawn, f"Elo relative to {anchor}, with 95 % intervals", 1)
    cells = [
        (
            str(row.rank),
            row.agent,
            f"{row.games:,}",
            f"{row.wins}/{row.draws}/{row.losses}",
            f"{row.score:.1%}",
            *elo_text(row, row.agent == anchor),
        )
        for row in rows
    ]
    return picture + table(("#", "agent", "games", "W/D/L", "score", "Elo", "95 %"), cells)


def _rating(row: Standing) -> plots.Rating:
    """A row to draw; what is only a bound has no interval."""
    low, high = (row.elo, row.elo) if row.bound else (row.elo_low, row.elo_high)
    return plots.Rating(row.agent, row.elo, low, high)


def _cross_table(result: TournamentResult, rows: list[Standing]) -> str:
    places = {row.agent: number for number, row in enumerate(rows)}
    scores = np.full((len(rows), len(rows)), np.nan)
    for match in result.matches:
        a, b = places[match.a], places[match.b]
        scores[a, b], scores[b, a] = match.score, 1 - match.score
    with plots.style():
        drawn, axes = plots.figure(size=(6.5, 0.9 + 0.34 * len(rows)))
        plots.cross_table(axes[0, 0], [row.agent for row in rows], scores)
        return plot(drawn, "Scores of every pairing in percent", 2)


def _matches(result: TournamentResult) -> str:
    """Each match of a gauntlet with its interval."""
    cells = [
        (
            row.a,
            row.b,
            f"{row.score:.1%}",
            f"{row.score_low:.1%} .. {row.score_high:.1%}",
            f"{row.wins}/{row.draws}/{row.losses}",
        )
        for row in pairing_rows(result)
    ]
    return table(("agent", "against", "score", "95 %", "W/D/L"), cells)


def _games(result: TournamentResult) -> str:
    """Lengths, endings, and what the first player scored in each pairing."""
    plies = np.concatenate([match.games.plies for match in result.matches])
    reasons = np.concatenate([match.games.reasons for match in result.matches])
    endings = {
        REASONS[code].replace("_", " "): float((reasons == code).mean())
        for code in np.unique(reasons)
    }
    edges = [match.south_score for match in result.matches]
    drawings = (
        ("How long games are", lambda axes: plots.lengths(axes, plies)),
        ("How they ended", lambda axes: plots.shares(axes, endings)),
        ("What the first player scored in each pairing", lambda axes: plots.edge(axes, edges)),
    )
    found = []
    for number, (caption, draw) in enumerate(drawings, 3):
        with plots.style():
            drawn, axes = plots.figure(size=(3.6, 2.6))
            draw(axes[0, 0])
            found.append(plot(drawn, caption, number))
    return f'<div class="plots">{"".join(found)}</div>'


def _samples(result: TournamentResult) -> Iterator[str]:
    """A game of the first pairings each: one of usual length."""
    for match in result.matches[:SAMPLE_GAMES]:
        number = int(np.argsort(match.games.plies, kind="stable")[len(match.games.plies) // 2])
        record = game_record(match, number, result)
        seats = record.tags["South"], record.tags["North"]
        yield game(Replay(record), f"{seats[0]} (South) – {seats[1]} (North)")


def game_record(match: MatchResult, number: int, result: TournamentResult) -> GameRecord:
    """One game of a match as a record, with the names of its players."""
    games = match.games
    names = (match.a, match.b) if games.a_is_south[number] else (match.b, match.a)
    moves = games.moves[number, : games.plies[number]].tolist()
    tags = {"South": names[0], "North": names[1]}
    return GameRecord.from_moves(moves, rules=result.settings.rules, tags=tags)
