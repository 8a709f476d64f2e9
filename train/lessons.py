"""Lessons in endgames: what a table says of endgames that the network itself plays out.

Self-play ends a game once the table decides it, and where it is played on the search looks into the
table and hardly leaves the best line. So a network would never learn what to do after a mistake
of its own. Here the games that were ended go on by the policy alone, without a search, a few times
each, and every position with a choice becomes a sample: the policy target is the best moves, the
value is exact.

The method is DAgger (Ross, Gordon and Bagnell 2011) with the table as the expert.
"""

import numpy as np

from agents.base import Evaluator
from agents.policy import draw_moves
from agents.trained import PolicyAgent
from oware_env.encoding import network_input
from oware_env.lockstep import Lockstep
from oware_env.positions import Positions
from oware_env.rules import Rules
from train.endgames import Endgames, final_bounds
from train.samples import DRAW, UNKNOWN_MARGIN, Samples, join

MOST_PLIES = 60  # of a lesson: what goes on for longer goes round in circles
LEAST_CHANCE = 1e-6  # added to the chance of a best move, so that one always has some


class Lessons:
    """The lessons of the games of one unit; ``take`` them as games end, ``samples`` at last.

    Each game that ended is played out ``times`` times, with draws of its own.
    """

    def __init__(self, endgames: Endgames, evaluator: Evaluator, rules: Rules, times: int) -> None:
        self._endgames, self._rules, self._times = endgames, rules, times
        self._agent = PolicyAgent(evaluator, "lessons")
        self._begun: list[tuple[Positions, np.ndarray, np.ndarray]] = []

    def take(self, games: Lockstep, rows: np.ndarray) -> None:
        """Note where running games are about to be ended: ``rows`` bool[running]."""
        positions = Positions(*(array[rows].copy() for array in games.positions()))
        self._begun.append((positions, games.south_to_move[rows].copy(), games.games[rows].copy()))

    def samples(self, first_game: int) -> Samples | None:
        """The lessons, each position once; None when there are none."""
        if not self._begun:
            return None
        positions, south, numbers = zip(*self._begun, strict=True)
        columns = [np.concatenate(part) for part in (*zip(*positions, strict=True), south, numbers)]
        boards, plies, keys, is_south, origin = (
            np.repeat(column, self._times, axis=0) for column in columns
        )
        keys ^= np.arange(len(keys), dtype=np.uint64) % np.uint64(self._times)
        games = Lockstep(Positions(boards, plies, keys), is_south, self._rules)
        parts = []
        for _ in range(MOST_PLIES):
            if not games.running:
                break
            faced = games.positions()
            policies = self._agent.decide(faced).policy
            parts.append(self._lesson(faced, policies, origin[games.games] + first_game))
            moves = draw_moves(policies, faced.keys, faced.plies, np.ones(len(policies)))
            games.play(moves)
        return _each_once(join(parts))

    def _lesson(self, faced: Positions, policies: np.ndarray, games: np.ndarray) -> Samples:
        """Samples of the positions where some move gives seeds away."""
        rows, best = self._endgames.best_moves(faced)
        is_choice = ((policies[rows] > 0) & ~best).any(axis=1)
        rows, best = rows[is_choice], best[is_choice]
        chosen = Positions(*(array[rows] for array in faced))
        weights = best * (policies[rows] + LEAST_CHANCE)
        assert self._endgames.table is not None  # it ended these games
        bounds = final_bounds(self._endgames.table, chosen, self._rules.max_plies)
        ahead = chosen.boards[:, 12] - chosen.boards[:, 13]
        result = np.sign(bounds.least).astype(np.int8)
        is_exact = bounds.least == bounds.greatest
        return Samples(
            inputs=network_input(chosen.boards, chosen.plies, self._rules.max_plies),
            policies=(weights / weights.sum(axis=1, keepdims=True)).astype(np.float32),
            results=DRAW - result,
            margins=np.where(is_exact, bounds.least - ahead, UNKNOWN_MARGIN).astype(np.int8),
            values=result.astype(np.float32),
            plies=chosen.plies.copy(),
            games=games[rows].astype(np.int32),
        )


def _each_once(samples: Samples) -> Samples:
    """The first sample of every board."""
    boards = np.ascontiguousarray(samples.inputs[:, :14])
    _, first = np.unique(boards, axis=0, return_index=True)
    first.sort()
    return Samples(*(array[first] for array in samples))
