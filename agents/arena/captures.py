"""How games went, move by move: who harvested how many seeds, and when."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from agents.arena.match import Games, MatchResult
from oware_env.batch import play_rows
from oware_env.rules import BOARD, MOVER_STORE, OPPONENT_STORE, initial_board

_NO_LIMIT = 2**31 - 1  # games that are over are not asked how they ended


class PlayedMoves(NamedTuple):
    """One row for each move of some games; ``pandas.DataFrame(moves._asdict())`` is a table."""

    agent: np.ndarray  # str[M], who moved
    opponent: np.ndarray  # str[M]
    game: np.ndarray  # int64[M], number of the game among all those given
    ply: np.ndarray  # int64[M], from 0
    south: np.ndarray  # bool[M], whether South moved
    seeds: np.ndarray  # int8[M], harvested by the move


def captures(games: Games) -> np.ndarray:
    """Seeds that each move of G games harvested, int8[G, L]; 0 after a game's end.

    All games are played again side by side, ply by ply.
    """
    count, longest = games.moves.shape
    found = np.zeros((count, longest), np.int8)
    boards = np.tile(initial_board(), (count, 1)).reshape(count, BOARD)
    for ply in range(longest):
        rows = (games.plies > ply).nonzero()[0]
        after, plies = boards[rows], np.full(len(rows), ply, np.int32)
        play_rows(after, plies, games.moves[rows, ply], _NO_LIMIT, np.empty(len(rows), np.int16))
        # The board has been turned: who was to move is the opponent now.
        found[rows, ply] = after[:, OPPONENT_STORE] - boards[rows, MOVER_STORE]
        boards[rows] = after
    return found


def played_moves(matches: Sequence[MatchResult]) -> PlayedMoves:
    """Every move of some matches, the random ones of their openings included."""
    parts, first = [], 0
    for match in matches:
        parts.append(_moves_of(match, first))
        first += len(match.games.plies)
    return PlayedMoves(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _moves_of(match: MatchResult, first: int) -> PlayedMoves:
    """The moves of one match, whose games are numbered from ``first``."""
    games = match.games
    plies = np.arange(games.moves.shape[1])
    game, ply = (plies < games.plies[:, None]).nonzero()
    south = ply % 2 == 0
    a_moved = games.a_is_south[game] == south
    names = np.array([match.b, match.a])
    return PlayedMoves(
        agent=names[a_moved.astype(np.int64)],
        opponent=names[1 - a_moved.astype(np.int64)],
        game=first + game,
        ply=ply,
        south=south,
        seeds=captures(games)[game, ply],
    )


def south_pair_scores(match: MatchResult) -> np.ndarray:
    """What the first player scored in each opening of a match, float64[K].

    The two games of an opening count together, as one observation: see
    :func:`agents.arena.ratings.score_interval`.
    """
    points = np.where(match.games.a_is_south, match.points, 1 - match.points)
    return points.reshape(-1, 2).mean(axis=1)
