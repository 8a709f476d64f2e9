"""Reports: right numbers, readable at 80 columns."""

import csv
import json

import numpy as np
import pytest

from agents.arena import TournamentSettings
from agents.arena.match import Games, MatchResult
from agents.arena.ratings import Pairing, rate
from agents.arena.report import pairing_rows, standings, text_report, totals, write_report
from agents.arena.tournament import TournamentResult

NAMES = tuple(f"alphabeta:depth={depth},evaluation=material" for depth in range(1, 13))


def _match(a, b, margins, reason=1):
    """A match whose games end with these margins for A; every game differs from the others."""
    count = len(margins)
    south = np.where(np.arange(count) % 2 == 0, margins, -np.asarray(margins))
    scores = np.stack([24 + south, 24 - south], axis=1).astype(np.int16)
    names = np.full(count, NAMES.index(a) * 10 + NAMES.index(b), np.int8)
    moves = np.stack([names, np.arange(count, dtype=np.int8)], axis=1)
    games = Games(
        np.arange(count, dtype=np.int32) // 2,
        np.arange(count) % 2 == 0,
        scores,
        np.full(count, 2, np.int32),
        np.full(count, reason, np.int8),
        moves,
    )
    return MatchResult(a, b, games)


def _result(count, margins):
    settings = TournamentSettings(agents=NAMES[:count], games=len(margins))
    matches = tuple(_match(NAMES[a], NAMES[b], margins) for a, b in settings.pairings)
    pairings = [
        Pairing(a, b, match.pair_scores)
        for (a, b), match in zip(settings.pairings, matches, strict=True)
    ]
    ratings = rate(count, pairings, resamples=50)
    return TournamentResult(settings, matches, ratings)


def test_counts_add_up():
    result = _result(3, [4, 4, 4, 0, -2, -2])
    rows = {row.agent: row for row in standings(result)}
    first = rows[NAMES[0]]
    assert (first.games, first.wins, first.draws, first.losses) == (12, 6, 2, 4)
    assert first.score == pytest.approx(7 / 12)
    last = rows[NAMES[2]]
    assert (last.wins, last.draws, last.losses) == (4, 2, 6)
    assert [row.rank for row in standings(result)] == [1, 2, 3]
    assert standings(result)[0].agent == NAMES[0]
    row = pairing_rows(result)[0]
    assert (row.a, row.b, row.wins, row.draws, row.losses) == (NAMES[0], NAMES[1], 3, 1, 2)
    assert row.score_low < row.score < row.score_high
    whole = totals(result.matches)
    assert whole["games"] == 18 and whole["distinct_games"] == 18
    # A won as South in games 0 and 2, lost in 4; as North it won 1, drew 3 and lost 5.
    assert whole["first_player_score"] == pytest.approx((1 + 0 + 1 + 0.5 + 0 + 1) / 6)
    assert whole["move_limit_share"] == 0


def test_the_move_limit_and_repeated_games_show():
    match = _match(NAMES[0], NAMES[1], [2, 2, 2, 2], reason=3)
    match.games.moves[:] = match.games.moves[0]
    assert match.limit_share == 1.0 and match.distinct_games == 1


@pytest.mark.parametrize("count", [2, 10, 12])
def test_the_text_is_readable_at_80_columns(count):
    text = text_report(_result(count, [4, 4, -4, 0, 4, -2]))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["#", "agent", "games", "W/D/L", "score", "Elo", "95", "%"]
    assert f"{6 * (count - 1)}" in lines[1].split()
    assert "The first player scored" in text and "games are distinct" in text
    assert "…" not in text


def test_scores_of_all_or_nothing_are_shown_as_bounds():
    text = text_report(_result(3, [4, 4, 4, 4]))
    rows = [line for line in text.splitlines() if "depth" in line][:3]
    assert "> +" in rows[0] and "(anchor)" in rows[1] and "< -" in rows[2]
    assert ".." not in rows[0] + rows[2]


def test_files_hold_the_same_numbers(tmp_path):
    result = _result(3, [4, 4, 4, 0, -2, -2])
    write_report(result, tmp_path)
    everything = json.loads((tmp_path / "table.json").read_text())
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == [row["agent"] for row in everything["agents"]]
    assert float(rows[0]["elo"]) == everything["agents"][0]["elo"]
    assert everything["pairings"][0]["games"] == 6
    assert everything["anchor"] == NAMES[result.ratings.anchor]
    assert (tmp_path / "table.txt").read_text() == str(result) == text_report(result)
    with (tmp_path / "pairings.csv").open() as file:
        assert [row["a"] for row in csv.DictReader(file)] == [match.a for match in result.matches]
