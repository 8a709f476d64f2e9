"""Oware (Abapa) as a Gymnasium environment: one learner against a fixed opponent.

The learner sees the board from its own side whichever seat it has; the opponent's replies are
part of the environment. An opponent is any callable from Positions to moves int8[B].
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from oware_env.encoding import MASKS, observation_size
from oware_env.episode import (
    ILLEGAL_REWARD,
    RENDER_MODES,
    REWARDS,
    SEATS,
    Display,
    Openings,
    Opponent,
    as_house,
    ask,
    checked_opponent,
    no_first_turn,
    observe,
    one_of,
    rewards,
)
from oware_env.errors import OwareError, shown
from oware_env.positions import Positions
from oware_env.rules import HOUSES, Rules, require_abapa
from oware_env.state import IllegalMove, State


class OwareSingleAgentEnv(gymnasium.Env):
    """One learner against ``opponent``; uniformly random moves when none is given.

    ``seat``: ``"south"``, ``"north"``, or ``"alternate"``: South in the first episode and
    whenever a seed is given, else the other seat than before. Observations and rewards are
    those of :mod:`oware_env.oware_v0`, from the learner's side; the mask is ``action_masks()``
    and ``info["action_mask"]``. An illegal move of the learner ends the episode with -1, one of
    the opponent raises OwareError. Reset options: ``position``, ``ply``, ``random_plies``; a
    game that is over before the learner's first move is refused.

    Version history: v0, first version (encoding version 0).
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 (Gymnasium)

    def __init__(
        self,
        opponent: Opponent | None = None,
        seat: str = "south",
        rules: Rules = Rules(),
        *,
        observation: str = "counts",
        reward: str = "result",
        render_mode: str | None = None,
    ) -> None:
        self.opponent = checked_opponent(opponent)
        self.rules = require_abapa(rules)
        self.seat = one_of("seat", seat, SEATS)
        self._size = observation_size(observation)
        self._reward = one_of("reward", reward, REWARDS)
        self._display = Display(render_mode)
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (self._size,), np.float32)
        self.action_space = spaces.Discrete(HOUSES)
        self._openings = Openings(rules)
        self._key = np.uint64(0)
        self._state = State.initial(rules)
        self._south = seat == "north"  # so that "alternate" starts as South
        self._done = True

    @property
    def game_state(self) -> State:
        """The position as a :class:`State`: text, picture, legal moves, outcome."""
        return self._state

    @property
    def state(self) -> State:
        """The same as :attr:`game_state`, its name in this environment alone."""
        return self._state

    @property
    def learner_is_south(self) -> bool:
        """Whether the learner has South's seat in this episode."""
        return self._south

    def action_masks(self) -> np.ndarray:
        """The learner's legal moves, bool[6]; all False when the episode is over."""
        return self._mask().astype(np.bool_)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; the opponent has moved already when it moves first."""
        switch = self.seat == "alternate" and seed is None
        south = not self._south if switch else self.seat != "north"
        for start, key in self._openings.starts(seed, options):
            state = self._until_learner(start, south, key)
            if not state.is_over:
                super().reset(seed=None if seed is None else int(seed))  # numpy's integers too
                self._state, self._key, self._south, self._done = state, key, south, False
                self._show()
                return self._observation(), self._info()
        raise OwareError(no_first_turn(start, 0))

    def step(
        self, action: int | np.integer
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play house ``action`` 0-5 and the opponent's reply; ``truncated`` is always False."""
        if self._done:
            raise OwareError("the episode is over: call reset() before step()")
        house = as_house(action)
        if house is None or not 0 <= house < HOUSES:
            raise OwareError(f"an action is a whole number from 0 to 5, not {shown(action)}")
        reward = 0.0
        try:
            state = self._state.play(house)
        except IllegalMove:
            self._done, reward = True, ILLEGAL_REWARD
        else:
            self._state = self._until_learner(state, self._south, self._key)
            if self._state.is_over:
                self._done = True
                south, north = rewards(self._state, self._reward)
                reward = south if self._south else north
        self._show()
        return self._observation(), reward, self._done, False, self._info()

    def _until_learner(self, state: State, south: bool, key: np.uint64) -> State:
        """The state after the opponent's move, if it is the opponent's turn."""
        if state.is_over or state.south_to_move == south:
            return state
        plies, keys = np.array([state.ply], np.int32), np.array([key], np.uint64)
        move = ask(self.opponent, Positions(state.board[None], plies, keys))[0]
        try:
            return state.play(move)
        except IllegalMove as error:
            raise OwareError(f"opponent {shown(self.opponent)}: {error}") from error

    def _mask(self) -> np.ndarray:
        return MASKS[0 if self._done else self._state._status].copy()

    def _observation(self) -> np.ndarray:
        return observe(self._state, self._south, self._size)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._mask()}

    def _show(self) -> None:
        if self.render_mode == "human":
            self._display.draw(self._state)

    def render(self) -> Any:
        """The board as text, as uint8[H, W, 3], or in a window (None), by the render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: give one to the constructor")
            return None
        return self._display.draw(self._state)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._display.close()
