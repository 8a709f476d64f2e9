"""What the environments share: how an episode starts, is observed, rewarded and drawn.

Knows neither PettingZoo nor Gymnasium. An episode's key is a hash of (seed, number of the
episode since that seed), so an opening drawn at random does not depend on who drew it.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from oware_env import render
from oware_env.encoding import encode_sides
from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.lockstep import play_randomly
from oware_env.notation import START
from oware_env.positions import DRAW_MOVE, Positions, game_key, pick_move, random_bits
from oware_env.rules import SEEDS, Rules, legal_moves
from oware_env.state import State

RENDER_MODES = ("human", "ansi", "rgb_array")
REWARDS = ("result", "margin")
OPTIONS = ("position", "ply", "random_plies")
_OPENING_TRIES = 100


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """Return ``value`` when it is one of ``choices``, else raise OwareError naming the argument."""
    if value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices[:-1])
    raise OwareError(f"{name} must be {listed} or {choices[-1]!r}, not {value!r}")


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
    if reward == "margin":
        return (south - north) / SEEDS, (north - south) / SEEDS
    return float(np.sign(south - north)), float(np.sign(north - south))


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
        for _ in range(_OPENING_TRIES):
            key = self._next_key()
            state = play_random_plies(start, random_plies, key)
            if not state.is_over:
                yield state, key
        raise OwareError(
            f"option 'random_plies' {random_plies} ended {_OPENING_TRIES} games from "
            f"{start.to_text()} before the first turn: use fewer"
        )

    def _reseed(self, seed: int | None) -> None:
        if seed is not None:
            self._seed = np.uint64(whole_number("seed", seed) & (2**64 - 1))
            self._episode = 0
        elif self._seed is None:
            self._seed = np.random.SeedSequence().generate_state(1, np.uint64)[0]

    def _next_key(self) -> np.uint64:
        key = np.uint64(game_key(self._seed, self._episode))
        self._episode += 1
        return key


def read_options(options: Mapping[str, Any] | None, rules: Rules) -> tuple[State, int]:
    """The state and the number of random plies that reset options ask for; raises OwareError."""
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise OwareError(f"reset options must be a dict such as {{'ply': 0}}, not {options!r}")
    for key in options:
        # PettingZoo's api_test gives every environment {"options": 1}.
        if key not in (*OPTIONS, "options"):
            close = get_close_matches(str(key), OPTIONS, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise OwareError(f"unknown reset option {key!r}: known are {', '.join(OPTIONS)}{meant}")
    state = State.parse(options.get("position", START), rules, options.get("ply", 0))
    return state, whole_number("option 'random_plies'", options.get("random_plies", 0))


def whole_number(name: str, value: Any) -> int:
    """Return ``value`` as an int of at least 0, else raise OwareError naming it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise OwareError(f"{name} must be a whole number of at least 0, not {value!r}")
    return int(value)


def play_random_plies(state: State, plies: int, key: np.uint64) -> State:
    """The state after up to ``plies`` uniformly random moves; fewer when the game ends."""
    moves = np.full(plies, -1, np.int8)
    play_randomly(state.board, state.ply, moves, key, state.rules.max_plies)
    for move in moves[moves >= 0]:
        state = state.play(int(move))
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
