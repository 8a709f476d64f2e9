"""The arena: openings, matches, tournaments over worker processes, ratings, reports."""

from agents.arena.match import MatchResult, play_match
from agents.arena.tournament import TournamentResult, TournamentSettings, run_tournament

__all__ = [
    "MatchResult",
    "TournamentResult",
    "TournamentSettings",
    "play_match",
    "run_tournament",
]
