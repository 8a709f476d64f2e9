"""How a tree search plays matches: by number or time, with trees kept between moves, by bounds.

:class:`Mcts` is the agent; docs/match_play.md says what its parameters are worth.
"""

import time as clock
from typing import NamedTuple

import numpy as np

from agents.base import Evaluator
from agents.policy import draw_moves
from agents.search.confidence import highest_bounds
from agents.search.exploration import Exploration
from agents.search.kept_trees import MOST_KEPT, Kept, KeptTrees
from agents.search.mcts import MOST_SIMULATIONS, Search
from agents.tablebase.probe import TableArrays
from oware_env.errors import OwareError, shown
from oware_env.positions import Decisions, Positions, checked_positions
from oware_env.rules import Rules

# How a move is chosen; the first is usual: it scored 58 % (docs/match_play.md).
CHOICES = ("lcb", "visits")


def _digits(number: float) -> str:
    """The fewest digits that read back as this very number, without an exponent."""
    if not isinstance(number, int | float):
        return shown(number)
    return np.format_float_positional(number, trim="-")


class MatchPlay(NamedTuple):
    """How a tree search plays. ``str()`` gives the parameters of a spec."""

    sims: int | None = None  # simulations a move; exactly one of this and the next is given
    time: float | None = None  # seconds a move and position
    reuse: bool = False  # keep the trees from move to move
    choice: str = CHOICES[0]  # of the move; see Mcts

    def __str__(self) -> str:
        limit = f"sims={self.sims}" if self.time is None else f"time={_digits(self.time)}"
        kept = ",reuse=yes" if self.reuse else ""
        return limit + kept + (f",choice={self.choice}" if self.choice != CHOICES[0] else "")


class Mcts:
    """The agent: search, then the move with the highest lower confidence bound (``confidence.py``).

    With ``choice="visits"`` it is the most visited move. Ties are broken at random from the
    game's key.

    With a ``time`` each position gets so many seconds of its own, one position after another, as
    from alpha-beta: what an agent finds does not depend on how many games are played side by side,
    but nothing is gained from batches either. A position where there is no choice takes less, and
    the simulations of the search are the limit of its memory.

    With ``reuse`` the agent keeps its trees from move to move, **by key**: a position found below
    the tree of its key, at most two plies on, starts with the part of the tree that is left, up to
    as many nodes as a search makes. Simulations are counted as without: a move costs the same and
    knows more. Decisions then depend on the calls before. Games that did not come in the last two
    calls are forgotten, and each call keeps at most MOST_KEPT nodes, shared out evenly.
    """

    def __init__(
        self,
        search: Search,
        name: str,
        *,
        time: float | None = None,
        reuse: bool = False,
        choice: str = CHOICES[0],
    ) -> None:
        """Raises OwareError when ``time`` is no number above 0 or ``choice`` is unknown."""
        is_number = isinstance(time, int | float) and not isinstance(time, bool)
        if time is not None and not (is_number and 0 < time < np.inf):
            raise OwareError(f"a search's time must be a number of seconds above 0, not {time!r}")
        if choice not in CHOICES:
            raise OwareError(f"choice must be one of {', '.join(CHOICES)}, not {choice!r}")
        self.search = search
        self.name = name
        self.time = time
        self.choice = choice
        self._known = KeptTrees() if reuse else None

    def decide(self, positions: Positions) -> Decisions:
        """Moves, policy = share of visits, value = mean value of the root."""
        positions = checked_positions(positions)
        games = len(positions.plies)
        policy, values = np.empty((games, 6), np.float32), np.empty(games, np.float32)
        answers = Decisions(np.empty(games, np.int8), policy, values)
        kept: list[Kept] = []
        together = games if self.time is None else 1
        for start in range(0, games, together or 1):
            part = slice(start, start + together)
            asked = Positions(*(array[part] for array in positions))
            for whole, found in zip(answers, self._search(asked), strict=True):
                whole[part] = found
            if self._known is not None:
                kept.append(self.search.pack(asked.keys, MOST_KEPT // games))
        if self._known is not None:
            self._known.add_call(kept)
        return answers

    def _search(self, positions: Positions) -> Decisions:
        """Search positions together and choose."""
        keys, search = positions.keys, self.search
        deadline = clock.perf_counter() + (self.time or 0.0)
        search.begin(positions, self._known)
        if self.time is None:
            search.grow(keys, search.simulations)
        else:
            search.grow_until(keys, deadline)
        visits, values, _ = search.read(len(keys))
        if self.choice == "lcb":
            moves = highest_bounds(search.bounds(visits), visits, keys, positions.plies)
        else:
            most = (visits == visits.max(axis=1, keepdims=True)).astype(np.int32)
            moves = draw_moves(most, keys, positions.plies, np.ones(len(most)))
        policy = visits / visits.sum(axis=1, keepdims=True, dtype=np.float32)
        return Decisions(moves, policy.astype(np.float32), values)


def match_player(
    evaluator: Evaluator,
    rules: Rules,
    play: MatchPlay,
    *,
    exploration: float | Exploration = Exploration(),
    table: TableArrays | None = None,
) -> Mcts:
    """The agent that searches with an evaluator as ``play`` says, named after it.

    Raises OwareError when not exactly one of ``sims`` and ``time`` is given, or a value is wrong.
    """
    if not isinstance(play, MatchPlay):
        raise OwareError(
            f"how to play is a MatchPlay such as MatchPlay(sims=64), not {shown(play)}"
        )
    sims, time, reuse, choice = play
    if (sims is None) == (time is None):
        raise OwareError(
            f"a tree search needs exactly one of sims and time, such as sims=64 or time=0.1, "
            f"not sims={shown(sims)} and time={shown(time)}"
        )
    simulations = MOST_SIMULATIONS if sims is None else sims
    search = Search(evaluator, rules, simulations=simulations, exploration=exploration, table=table)
    return Mcts(search, str(play), time=time, reuse=reuse, choice=choice)
