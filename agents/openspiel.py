"""OpenSpiel both ways: its Python tree search as an agent here, our agents as bots on its game.

Imported only where it is asked for: it needs the package open_spiel. OpenSpiel's ``oware`` is
our game with one more ending: a position that repeats since the last capture stops it, and each
side takes its own row. It has no move limit.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from agents.base import Agent, checked_agent, checked_moves
from oware_env.errors import OwareError, seed_number, shown, whole_number
from oware_env.positions import (
    DRAW_ROLLOUT,
    Decisions,
    Positions,
    checked_positions,
    game_key,
    random_bits,
)
from oware_env.rules import SEEDS, Rules, require_abapa
from oware_env.state import State

try:
    import pyspiel
    from open_spiel.python.algorithms import mcts
except ImportError as error:
    raise OwareError(
        f"playing with OpenSpiel needs its package: pip install open_spiel ({error})"
    ) from None

# The board our game is played on.
PARAMETERS = {"num_houses_per_player": 6, "num_seeds_per_house": 4}
UCT = 2.0  # exploration constant of UCT, as in OpenSpiel's own example (mcts_example.py)


class SearchedState:
    """A :class:`State` in the words that OpenSpiel's search uses, changed in place as theirs are.

    South is player 0, North player 1.
    """

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def clone(self) -> "SearchedState":
        """An independent copy: the state inside is immutable, so both may hold it."""
        return SearchedState(self._state)

    def apply_action(self, action: int) -> None:
        """Play a move 0-5 of the side to move; raises IllegalMove."""
        self._state = self._state.play(action)

    def legal_actions(self, player: int | None = None) -> tuple[int, ...]:
        """The moves of ``player`` (left out: of the side to move), none when it is not its turn."""
        if player is None or player == self.current_player():
            return self._state.legal_moves
        return ()

    def current_player(self) -> int:
        """0 for South, 1 for North; OpenSpiel's number for "nobody" when the game is over."""
        if self._state.is_over:
            return int(pyspiel.PlayerId.TERMINAL)
        return 0 if self._state.south_to_move else 1

    def is_terminal(self) -> bool:
        """Whether the game has ended."""
        return self._state.is_over

    def is_chance_node(self) -> bool:
        """Never: there is no chance in Oware."""
        return False

    def returns(self) -> list[float]:
        """1, 0 or -1 for South and for North; zeros while the game runs."""
        outcome = self._state.outcome
        if outcome is None or outcome.winner is None:
            return [0.0, 0.0]
        return [1.0, -1.0] if outcome.winner == "south" else [-1.0, 1.0]


class OpenSpielMcts:
    """The agent: OpenSpiel's ``mcts.MCTSBot`` with random rollouts, searching our rules.

    The peer's own Python code does the searching, one position after another: a batch costs as
    much as its positions one by one, some tenths of a second each.
    """

    def __init__(self, rules: Rules = Rules(), *, sims: int = 1000, uct: float | None = None):
        """``uct`` is 2 when left out. Raises OwareError for fewer than two simulations."""
        if isinstance(sims, bool) or not isinstance(sims, int) or sims < 2:
            raise OwareError(
                f"OpenSpiel's search needs at least 2 simulations a move, not {shown(sims)}"
            )
        uct = UCT if uct is None else uct
        if isinstance(uct, bool) or not isinstance(uct, int | float) or not 0 <= uct < math.inf:
            raise OwareError(f"uct must be a finite number of at least 0, not {shown(uct)}")
        self.rules = require_abapa(rules)
        self.sims = whole_number("the simulations of OpenSpiel's search", sims)
        self.uct = uct
        self.name = f"openspiel-mcts:sims={sims}"
        # The bot reads from it what kind of game it plays: turns, and results -1, 0, 1 at the end.
        self._game = pyspiel.load_game("oware")

    def decide(self, positions: Positions) -> Decisions:
        """The bot's moves in B running positions; policy = share of visits, value = the root's.

        A proven win is played whatever its visits. Raises OwareError when a position is over.
        """
        positions = checked_positions(positions)
        count = len(positions.plies)
        moves, values = np.empty(count, np.int8), np.empty(count, np.float32)
        policy = np.zeros((count, 6), np.float32)
        for row in range(count):
            root = self._search(Positions(*(array[row] for array in positions)))
            moves[row] = root.best_child().action
            for child in root.children:
                policy[row, child.action] = child.explore_count
            mean = root.total_reward / root.explore_count
            values[row] = mean if root.outcome is None else root.outcome[root.player]
        return Decisions(moves, policy / policy.sum(axis=1, keepdims=True), values)

    def _search(self, position: Positions) -> Any:
        """The searched root (a ``mcts.SearchNode``) of one position, its mover as South."""
        ply = int(position.plies)
        state = State.from_board(position.boards, True, self.rules, ply)
        if state.is_over:
            raise OwareError(f"the game is over in {state.to_text()}: there is nothing to search")
        # With Python's generator the search takes a quarter of the time that it takes with
        # NumPy's, which is slow to choose one move; choice and shuffle are all the bot asks of it.
        draws = random.Random(int(random_bits(position.keys, ply, DRAW_ROLLOUT, 0)))
        rollouts = mcts.RandomRolloutEvaluator(1, draws)
        bot = mcts.MCTSBot(self._game, self.uct, self.sims, rollouts, random_state=draws)
        return bot.mcts_search(SearchedState(state))


class OwareBot(pyspiel.Bot):
    """One of our agents as a bot on OpenSpiel's ``oware``, for either seat.

    It knows the game by the state alone, so it may be asked in any order. Equal seeds play equal
    games; every restart begins another one.
    """

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self.agent = checked_agent(agent)
        self._seed = np.uint64(seed_number("seed", seed))
        self._game = 0

    def restart(self) -> None:
        """Begin another game: its random numbers are its own."""
        self._game += 1

    def restart_at(self, state: pyspiel.State) -> None:
        """Begin another game, from ``state``."""
        self._game += 1

    def provides_policy(self) -> bool:
        """Yes: see :meth:`step_with_policy`."""
        return True

    def step(self, state: pyspiel.State) -> int:
        """The agent's action in a running state; see :meth:`step_with_policy` for errors."""
        return self.step_with_policy(state)[1]

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """((action, chance) of every legal action, the chosen action).

        Raises OwareError for another game than oware with 6 houses and 4 seeds, a game that is
        over, or an agent that answers with an illegal move.
        """
        board = board_of(state)
        # Every position counts as ply 0: there is no move limit that the agent should see coming.
        # The key holds the ply instead, so that no two draws of a game are the same.
        key = game_key(np.uint64(game_key(self._seed, self._game)), state.move_number())
        positions = Positions(board[None], np.zeros(1, np.int32), np.array([key], np.uint64))
        decisions = self.agent.decide(positions)
        action = int(checked_moves(self.agent.name, decisions, 1)[0])
        legal = state.legal_actions()
        if action not in legal:
            raise OwareError(
                f"agent {self.agent.name}: illegal move {action} in {board.tolist()}; "
                f"legal moves: {legal}"
            )
        return [(move, float(decisions.policy[0, move])) for move in legal], action


def board_of(state: pyspiel.State) -> np.ndarray:
    """A running state of OpenSpiel's ``oware`` as our board, int8[14] in the mover's view.

    Actions are numbered as ours are. Raises OwareError for another game or one that is over.
    """
    game = state.get_game()
    if game.get_type().short_name != "oware" or game.get_parameters() != PARAMETERS:
        raise OwareError(f"the game must be oware with 6 houses and 4 seeds each, not {game}")
    if state.is_terminal():
        seen = state.observation_string(0)
        raise OwareError(f"the game is over, there is nothing to choose: {seen}")
    # Houses A-F, a-f, then both stores, each divided by all seeds; the same for either player.
    counts = [round(SEEDS * share) for share in state.observation_tensor()]
    if state.current_player() == 1:
        counts = [*counts[6:12], *counts[:6], counts[13], counts[12]]
    return np.array(counts, np.int8)


class OpenSpielGames(NamedTuple):
    """G finished games on OpenSpiel's ``oware``; 2k and 2k + 1 are opening k from both seats."""

    points: np.ndarray  # float64[G], 1, 0.5 or 0 for the first bot
    repeated: np.ndarray  # bool[G], whether OpenSpiel's repetition rule ended the game
    plies: np.ndarray  # int32[G], length of the game, opening included

    @property
    def score(self) -> float:
        """(wins + draws / 2) / games."""
        return float(self.points.mean())

    @property
    def pair_scores(self) -> np.ndarray:
        """Mean points in each opening, float64[K]: the independent observations."""
        return self.points.reshape(-1, 2).mean(axis=1)

    @property
    def decided(self) -> tuple[int, int, int]:
        """Wins, draws and losses of the games that ended as they do under our rules."""
        return _wins_draws_losses(self.points[~self.repeated])

    @property
    def stopped(self) -> tuple[int, int, int]:
        """Wins, draws and losses of the games that the repetition rule ended early."""
        return _wins_draws_losses(self.points[self.repeated])

    def __str__(self) -> str:
        decided, stopped = ("+{} ={} -{}".format(*part) for part in (self.decided, self.stopped))
        return (
            f"{self.score:.1%} in {len(self.points)} paired games: {decided} to the end, "
            f"{stopped} stopped by OpenSpiel's repetition rule"
        )


def play_on_openspiel(
    bot: pyspiel.Bot, opponent: Callable[[int], pyspiel.Bot], openings: np.ndarray
) -> OpenSpielGames:
    """Play on OpenSpiel's ``oware`` from K openings (moves int8[K, plies]), each from both seats.

    ``opponent`` makes the other bot for its seat, 0 or 1, and is called once for each. The games
    are played by OpenSpiel's own ``evaluate_bots``. Raises OwareError when an opening is illegal
    or leaves no running game.
    """
    game, opponents = pyspiel.load_game("oware"), (opponent(0), opponent(1))
    points, repeated, plies = [], [], []
    for moves in openings.tolist():
        for seat in (0, 1):
            state = game.new_initial_state()
            for ply, move in enumerate(moves):
                if move not in state.legal_actions():
                    raise OwareError(f"opening {moves}: move {move} at ply {ply} is illegal")
                state.apply_action(move)
            if state.is_terminal():
                raise OwareError(f"opening {moves}: the game is over after it")
            bots = [bot, opponents[1]] if seat == 0 else [opponents[0], bot]
            points.append((1.0 + pyspiel.evaluate_bots(state, bots, 0)[seat]) / 2.0)
            repeated.append(ended_by_repetition(state.history()))
            plies.append(len(state.history()))
    return OpenSpielGames(np.array(points), np.array(repeated, np.bool_), np.array(plies, np.int32))


def ended_by_repetition(history: Sequence[int]) -> bool:
    """Whether a finished game of OpenSpiel's ``oware`` was ended by its repetition rule.

    The moves are played again under our rules. Raises OwareError when neither they nor a
    repeated position since the last capture end the game with its last move.
    """
    state, since_capture = State.initial(Rules(max_plies=len(history) + 1)), list[str]()
    for move in history:
        since_capture.append(state.to_text())
        after = state.play(move)
        if after.stores != state.stores:
            since_capture.clear()
        state = after
    if state.is_over:
        return False
    if state.to_text() in since_capture:
        return True
    raise OwareError(f"after {len(history)} plies the game still runs in {state.to_text()}")


def _wins_draws_losses(points: np.ndarray) -> tuple[int, int, int]:
    wins, draws, losses = (int((points == value).sum()) for value in (1.0, 0.5, 0.0))
    return wins, draws, losses
