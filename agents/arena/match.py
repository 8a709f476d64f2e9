"""Match: all games between two agents in lock-step, each opening from both seats.

A match unit is a pure function of its fields: games are keyed by (seed, names, opening, seat), so
they do not depend on who else takes part, on the order of units or on the process.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from agents.arena.openings import Openings, random_openings
from agents.arena.ratings import score_interval
from agents.base import Agent, asked_moves
from agents.roster import identity, is_path, make, parse_spec
from oware_env.batch import first_illegal
from oware_env.errors import OwareError
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions, game_keys
from oware_env.rules import MOVE_LIMIT, Rules
from oware_env.state import IllegalMove

OPENING_PLIES = 6  # random plies of the openings of a match, unless it says otherwise


class Games(NamedTuple):
    """G finished games; games 2k and 2k + 1 are opening k with A as South, then as North."""

    openings: np.ndarray  # int32[G], number of the opening
    a_is_south: np.ndarray  # bool[G]
    scores: np.ndarray  # int16[G, 2], settled totals (South, North)
    plies: np.ndarray  # int32[G], length of the game, opening included
    reasons: np.ndarray  # int8[G], codes of rules.REASONS
    moves: np.ndarray  # int8[G, L], the whole game from the start position, -1 after its end


class MatchUnit(NamedTuple):
    """A share of a match: openings ``start`` .. ``stop - 1``, both seats."""

    a: str  # spec
    b: str
    rules: Rules
    seed: int
    opening_plies: int
    start: int
    stop: int
    device: str = "cpu"
    identities: tuple[str, ...] = ()  # of a and b, where they must not have changed


class MatchResult(NamedTuple):
    """All games of A against B; counts and scores are A's."""

    a: str
    b: str
    games: Games

    @property
    def points(self) -> np.ndarray:
        """A's points in each game, float64[G]: 1, 0.5 or 0."""
        scores = self.games.scores.astype(np.int32)
        margin = np.where(self.games.a_is_south, 1, -1) * (scores[:, 0] - scores[:, 1])
        return (np.sign(margin) + 1) / 2

    @property
    def pair_scores(self) -> np.ndarray:
        """A's mean points in each opening, float64[K]: the independent observations."""
        return self.points.reshape(-1, 2).mean(axis=1)

    @property
    def wins_draws_losses(self) -> tuple[int, int, int]:
        """How many games A won, drew and lost."""
        wins, draws, losses = (int((self.points == value).sum()) for value in (1.0, 0.5, 0.0))
        return wins, draws, losses

    @property
    def score(self) -> float:
        """(wins + draws / 2) / games."""
        return float(self.points.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score (see :func:`~agents.arena.ratings.score_interval`)."""
        return score_interval(self.pair_scores)

    @property
    def south_score(self) -> float:
        """What the first player scored, whoever it was."""
        return float(np.where(self.games.a_is_south, self.points, 1 - self.points).mean())

    @property
    def limit_share(self) -> float:
        """Share of games that the move limit ended."""
        return float((self.games.reasons == MOVE_LIMIT).mean())

    @property
    def distinct_games(self) -> int:
        """How many games differ from all others in some move."""
        return len(np.unique(self.games.moves, axis=0))

    def __str__(self) -> str:
        wins, draws, losses = self.wins_draws_losses
        low, high = self.interval
        return (
            f"{self.a} against {self.b}: {self.score:.1%} [{low:.1%}, {high:.1%}] in "
            f"{len(self.points)} paired games (+{wins} ={draws} -{losses})"
        )


def play_match(
    a: str | Agent, b: str | Agent, *, games: int = 200, seed: int = 0, rules: Rules = Rules()
) -> MatchResult:
    """Play ``games`` paired games (``games / 2`` openings of 6 random plies) in this process.

    A and B are specs or agents made under the same rules.
    """
    openings = random_openings(pair_count(games), OPENING_PLIES, seed, rules)
    return play_openings((a, b), openings, seed=seed, rules=rules)


def play_openings(
    pairing: tuple[str | Agent, str | Agent],
    openings: Openings,
    *,
    seed: int = 0,
    rules: Rules = Rules(),
) -> MatchResult:
    """Play every opening from both seats in this process, all games in lock-step."""
    first, second = (make(one, rules) if isinstance(one, str) else one for one in pairing)
    names = first.name, second.name
    keys = _keys(seed, names, 0, len(openings.boards))
    return MatchResult(*names, play_games((first, second), openings, keys, rules))


def play_unit(unit: MatchUnit) -> Games:
    """Play a unit; a pure function, for the executors of :mod:`agents.workers`.

    Raises :class:`OwareError` when a network is another one than the unit names.
    """
    for spec, wanted in zip((unit.a, unit.b), unit.identities, strict=False):
        if identity(spec) != wanted:
            raise OwareError(f"{spec} has changed since the tournament began")
    agents = (make(unit.a, unit.rules, unit.device), make(unit.b, unit.rules, unit.device))
    everything = random_openings(unit.stop, unit.opening_plies, unit.seed, unit.rules)
    openings = Openings(*(array[unit.start :] for array in everything))
    # A network in a folder is known by its weights, so that a moved one plays the same games.
    names = tuple(
        known if known and is_path(parse_spec(agent.name).name) else agent.name
        for agent, known in zip(agents, unit.identities or ("", ""), strict=True)
    )
    games = play_games(agents, openings, _keys(unit.seed, names, unit.start, unit.stop), unit.rules)
    return games._replace(openings=games.openings + np.int32(unit.start))


def pair_count(games: int) -> int:
    """Openings of a match of ``games`` paired games; raises when it is not even and positive."""
    if isinstance(games, bool) or not isinstance(games, int) or games < 2 or games % 2:
        raise OwareError(
            f"games must be an even number of at least 2 (each opening is played from both "
            f"seats), not {games!r}"
        )
    return games // 2


def play_games(
    agents: tuple[Agent, Agent], openings: Openings, keys: np.ndarray, rules: Rules
) -> Games:
    """Games of ``agents`` (A, B) from K openings, keys uint64[2K]: all games ply by ply together.

    Raises :class:`OwareError` naming the agent that answers with an illegal move.
    """
    count, ply = len(keys), openings.ply
    a_is_south = np.arange(count) % 2 == 0
    start = Positions(np.repeat(openings.boards, 2, axis=0), np.full(count, ply, np.int32), keys)
    games = Lockstep(start, np.full(count, ply % 2 == 0), rules)
    history = _longer(np.repeat(openings.moves, 2, axis=0))
    while games.running:
        if ply == history.shape[1]:
            history = _longer(history)
        a_moves = a_is_south[games.games] == games.south_to_move
        moves = np.empty(games.running, np.int8)
        for agent, is_to_move in zip(agents, (a_moves, ~a_moves), strict=True):
            if is_to_move.any():
                moves[is_to_move] = _decide(agent, games, is_to_move.nonzero()[0])
        history[games.games, ply] = moves
        games.play(moves)
        ply += 1
    numbers = np.arange(count, dtype=np.int32) // 2
    played = history[:, : games.lengths.max()]
    return Games(numbers, a_is_south, games.scores, games.lengths, games.reasons, played)


def _longer(history: np.ndarray) -> np.ndarray:
    """The moves so far with room for as many again, at least 256 plies."""
    room = np.full((len(history), max(256, history.shape[1])), -1, np.int8)
    return np.concatenate([history, room], axis=1)


def _decide(agent: Agent, games: Lockstep, rows: np.ndarray) -> np.ndarray:
    """The agent's moves in some rows of the running games, checked."""
    positions = Positions(*(array[rows] for array in games.positions()))
    moves = asked_moves(agent, positions)
    row = first_illegal(games.statuses[rows], moves)
    if row >= 0:
        try:
            games.state(rows[row]).play(int(moves[row]))
        except IllegalMove as error:
            raise OwareError(f"agent {agent.name}: {error}") from None
    return moves


def _keys(seed: int, names: tuple[str, ...], start: int, stop: int) -> np.ndarray:
    """The keys of a pairing's games of openings ``start`` .. ``stop - 1``: uint64."""
    digest = hashlib.sha256("\n".join([str(seed), *names]).encode()).digest()
    pairing = np.uint64(int.from_bytes(digest[:8], "little"))
    return game_keys(pairing, np.arange(2 * start, 2 * stop))
