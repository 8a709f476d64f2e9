"""What the environments share: how an episode starts, is answered, observed, rewarded and drawn.

Knows neither PettingZoo nor Gymnasium. An episode's key is a hash of (seed, number of the
episode since that seed), so an opening drawn at random does not depend on who drew it.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from oware_env import render
from oware_env.encoding import encode_sides
from oware_env.errors import LARGEST, OwareError, as_integer, seed_number, shown, whole_number
from oware_env.kernel import kernel
from oware_env.lockstep import play_randomly
from oware_env.notation import START
from oware_env.positions import DRAW_MOVE, Positions, as_array, game_key, pick_move, random_bits
from oware_env.rules import SEEDS, Rules, legal_moves, status
from oware_env.state import State

Opponent = Callable[[Positions], np.ndarray]
"""Answers B running positions with B legal moves, integers 0-5."""

SEATS = ("south", "north", "alternate")
RENDER_MODES = ("human", "ansi", "rgb_array")
REWARDS = ("result", "margin")
OPTIONS = ("position", "ply", "random_plies")
ILLEGAL_REWARD = -1.0  # of a learner whose illegal action ended its episode
OPENING_TRIES = 100


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """Return ``value`` when it is one of ``choices``, else raise OwareError naming the argument."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices[:-1])
    raise OwareError(f"{name} must be {listed} or {choices[-1]!r}, not {shown(value)}")


def as_house(action: Any) -> int | None:
    """An action as an int when it is an integer, alone or in an array [], else None."""
    if isinstance(action, np.ndarray) and action.shape == ():
        action = action[()]
    return as_integer(action)


def observe(state: State, south: bool, size: int) -> np.ndarray:
    """The observation float32[size] of a state as the given seat sees it: its own side first."""
    out = np.empty(size, np.float32)
    own, other = state._mover, state._opponent  # packed: an array would cost a kernel call more
    if south != state._south:
        own, other = other, own
    encode_sides(own, other, state._ply, state._rules.max_plies, out)
    return out


def rewards(state: State, reward: str) -> tuple[float, float]:
    """The rewards (South, North) of a finished game.

    ``"result"``: 1 win, 0 draw, -1 loss. ``"margin"``: difference of the settled scores / 48.
    """
    outcome = state.outcome
    if outcome is None:
        raise ValueError(f"the game still runs in {state.to_text()}")
    south, north = outcome.scores
    by_margin = reward == "margin"
    return score_reward(south, north, by_margin), score_reward(north, south, by_margin)


@kernel
def score_reward(own, other, by_margin):
    """The reward of a side with settled total ``own``: 1, 0 or -1; or the margin / 48."""
    return (own - other) / SEEDS if by_margin else float(np.sign(own - other))


@kernel
def draw_opening(board, ply, moves, numbering, max_plies):
    """Play random moves in place until ``moves`` int8[K] is full and the game still runs.

    ``numbering`` is (seed, number of the next episode, how many may be tried). Returns the
    number of the first episode that suits, or -1.
    """
    seed, first, tries = numbering
    start = board.copy()
    for episode in range(first, first + tries):
        board[:] = start
        end = play_randomly(board, ply, moves, game_key(seed, episode), max_plies)
        if status(board, end, max_plies) < 64:
            return episode
    return -1


class Openings:
    """The start states of successive episodes, keyed by (seed, number of the episode)."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._seed: np.uint64 | None = None
        self._episode = 0

    def starts(
        self, seed: int | None, options: Mapping[str, Any] | None
    ) -> Iterator[tuple[State, np.uint64]]:
        """Start states for one reset, each with the key of its game; take the first that suits.

        With ``random_plies`` there are many, all running; else one, which may be over. A seed
        starts the numbering of episodes anew; without one it goes on, from fresh entropy when
        there never was a seed. Options: ``position`` (text), ``ply`` it stands at, and
        ``random_plies``, uniformly random moves played from it. Raises OwareError.
        """
        start, random_plies = read_options(options, self._rules)
        self._reseed(seed)
        if not random_plies:
            yield start, self._next_key()
            return
        moves = np.empty(opening_plies(start, random_plies), np.int8)
        end = self._episode + OPENING_TRIES
        while self._episode < end:
            numbering = self._seed, self._episode, end - self._episode
            episode = draw_opening(start.board, start.ply, moves, numbering, start.rules.max_plies)
            if episode < 0:
                break
            self._episode = episode
            yield _played(start, moves), self._next_key()
        self._episode = end
        raise OwareError(no_first_turn(start, random_plies))

    def _reseed(self, seed: int | None) -> None:
        if seed is not None:
            self._seed = np.uint64(seed_number("seed", seed))
            self._episode = 0
        elif self._seed is None:
            self._seed = np.random.SeedSequence().generate_state(1, np.uint64)[0]

    def _next_key(self) -> np.uint64:
        key = np.uint64(game_key(self._seed, self._episode))
        self._episode += 1
        return key


def read_options(
    options: Mapping[str, Any] | None, rules: Rules, known: tuple[str, ...] = OPTIONS
) -> tuple[State, int]:
    """The state and the number of random plies that reset options ask for.

    Raises OwareError for a bad value, and for an option that is not among the ``known``.
    """
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise OwareError(f"reset options must be a dict such as {{'ply': 0}}, not {shown(options)}")
    for key in options:
        # PettingZoo's api_test gives every environment {"options": 1}.
        if key not in (*known, "options"):
            name = shown(key)
            close = get_close_matches(name.strip("'"), known, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise OwareError(f"unknown reset option {name}: known are {', '.join(known)}{meant}")
    ply = options.get("ply", 0)
    if isinstance(ply, int) and abs(ply) > LARGEST:  # too long to be shown
        raise OwareError(f"ply must be between 0 and max_plies {rules.max_plies}, not {shown(ply)}")
    state = State.parse(options.get("position", START), rules, ply)
    return state, whole_number("option 'random_plies'", options.get("random_plies", 0))


def opening_plies(start: State, random_plies: int) -> int:
    """How many random plies to play from a start: no more than there are until the move limit."""
    return min(random_plies, start.rules.max_plies - start.ply)


def no_first_turn(start: State, random_plies: int) -> str:
    """What to tell a user whose reset options leave the learner without a first move."""
    if not random_plies:
        return f"the game from {start.to_text()} is over before the learner's first move"
    return (
        f"option 'random_plies' {random_plies} ended {OPENING_TRIES} games from "
        f"{start.to_text()} before the first turn: use fewer"
    )


def _played(state: State, moves: np.ndarray) -> State:
    for move in moves.tolist():
        state = state.play(move)
    return state


@kernel
def _uniform_moves(boards, plies, keys):
    """A uniformly random legal move for every row, int8[B]."""
    moves = np.empty(len(plies), np.int8)
    for row in range(len(plies)):
        bits = random_bits(keys[row], plies[row], DRAW_MOVE, 0)
        moves[row] = pick_move(legal_moves(boards[row]), bits)
    return moves


def random_opponent(positions: Positions) -> np.ndarray:
    """The opponent used when none is given: uniformly random legal moves, int8[B]."""
    return _uniform_moves(*positions)


def checked_opponent(opponent: Opponent | None) -> Opponent:
    """The opponent, or the random one for None; raises OwareError when it cannot be called."""
    if opponent is not None and not callable(opponent):
        raise OwareError(
            "opponent must be a callable from Positions to moves, such as "
            f"agents.as_opponent(agent), not {shown(opponent)}"
        )
    return random_opponent if opponent is None else opponent


def ask(opponent: Opponent, positions: Positions) -> np.ndarray:
    """The opponent's answers to B positions: B integers, legal or not. Else raises OwareError."""
    count = len(positions.plies)
    answer = opponent(positions)
    if type(answer) is not np.ndarray or not answer.dtype.isnative:
        answer = as_array(f"the moves of opponent {shown(opponent)}", answer)
    if answer.shape != (count,):
        raise OwareError(
            f"opponent {shown(opponent)} answered {count} position{'s' * (count > 1)} with moves "
            f"of shape {answer.shape}; it must be ({count},)"
        )
    if answer.dtype.kind not in "iu":
        raise OwareError(
            f"opponent {shown(opponent)} answered with moves of type {answer.dtype}; "
            "they must be integers 0-5"
        )
    return answer


class Display:
    """Draws states in one render mode. Copies and pickles drop the window and open their own."""

    def __init__(self, mode: str | None) -> None:
        self.mode = None if mode is None else one_of("render_mode", mode, RENDER_MODES)
        self._window: render.Window | None = None

    def draw(self, state: State) -> str | np.ndarray | None:
        """The state as text, as uint8[H, W, 3], or shown in a window (None)."""
        scene = state.scene()
        if self.mode == "ansi":
            return render.ansi(scene)
        if self.mode == "rgb_array":
            return render.rgb_array(scene)
        if self._window is None:
            self._window = render.Window()
        self._window.show(scene)
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}
