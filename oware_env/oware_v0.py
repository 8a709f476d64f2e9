"""Oware (Abapa) as a PettingZoo AEC environment: ``env()`` and ``raw_env``.

| | |
|---|---|
| agents | ``player_0`` (always South), ``player_1`` (North) |
| actions | ``Discrete(6)``: the mover's houses in sowing order |
| observation | ``Box(0, 1, (15,), float32)``, or ``(171,)`` with ``observation="onehot"`` |
| mask | ``int8[6]``, all zero for the side not to move and at the end |
| rewards | on the last step, for both: 1 / 0 / -1, or the score difference / 48 |
| ends | ``terminations`` only: majority, no feeding move, or the move limit of the rules |

An observation is seen by its agent, whoever is to move: 0-5 own houses, 6-11 the opponent's, 12
own store, 13 the opponent's (each / 48), 14 plies left / max_plies; ``"onehot"`` adds 13 count
classes for each of the 12 houses. ``mask_in="obs"`` gives ``{"observation", "action_mask"}``,
``"info"`` the plain array with the mask in ``infos[agent]["action_mask"]``, ``"both"`` both.

Reset options: ``position`` (text, see notation.py), ``ply`` it stands at, ``random_plies``
(uniformly random moves, keyed by the seed). South stays ``player_0`` when North is to move. A
position that is over already ends the game at once: both agents are terminated with their
rewards, and each takes its dead step.

``state()`` is the whole game for a centralised critic, float32[16] or [172] in ``state_space``:
what ``player_0`` observes, then 1 when South is to move, else 0. ``game_state`` is the position as
a :class:`~oware_env.state.State`.

Version history: v0, first version (encoding version 0). ``state`` was what ``game_state`` is now;
rules, observations and rewards are the same.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

from oware_env.encoding import MASKS, observation_size
from oware_env.episode import (
    RENDER_MODES,
    REWARDS,
    Display,
    Openings,
    as_house,
    observe,
    one_of,
    rewards,
)
from oware_env.errors import OwareError, shown
from oware_env.rules import HOUSES, Rules, require_abapa
from oware_env.state import IllegalMove, State

__all__ = ["env", "raw_env"]

SOUTH, NORTH = AGENTS = ("player_0", "player_1")
_OTHER = {SOUTH: NORTH, NORTH: SOUTH}
_IS_SOUTH = {SOUTH: True, NORTH: False}


def env(
    render_mode: str | None = None,
    rules: Rules = Rules(),
    *,
    observation: str = "counts",
    mask_in: str = "obs",
    reward: str = "result",
) -> AECEnv:
    """The environment in PettingZoo's standard wrappers: what most users want.

    An illegal move ends the game: -1 for the mover, 0 for the other, the board unchanged.
    Arguments as for :class:`raw_env`.
    """
    wrapped: AECEnv = raw_env(
        render_mode, rules, observation=observation, mask_in=mask_in, reward=reward
    )
    wrapped = TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = _HousesOnly(wrapped)
    return OrderEnforcingWrapper(wrapped)


class _HousesOnly(AssertOutOfBoundsWrapper):
    """PettingZoo's check of actions, which takes True for house 1: ``Discrete`` counts it as 1."""

    def step(self, action: int | None) -> None:
        """Play an action of the action space; raises AssertionError for another, as PettingZoo."""
        if type(action) is not int and action is not None:
            assert as_house(action) is not None, "action is not in action space"
        super().step(action)


class raw_env(AECEnv):
    """The bare environment: an illegal move raises IllegalMove and changes nothing.

    ``observation``: ``"counts"`` or ``"onehot"``. ``mask_in``: ``"obs"``, ``"info"`` or
    ``"both"``. ``reward``: ``"result"`` or ``"margin"``. Raises OwareError for other values and
    for rules that are not abapa. Copies and pickles, in the middle of a game too, are
    independent and equal.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "name": "oware_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        rules: Rules = Rules(),
        *,
        observation: str = "counts",
        mask_in: str = "obs",
        reward: str = "result",
    ) -> None:
        super().__init__()
        self.rules = require_abapa(rules)
        self._display = Display(render_mode)
        self.render_mode = render_mode
        self._size = observation_size(observation)
        self._reward = one_of("reward", reward, REWARDS)
        self._mask_in_obs = one_of("mask_in", mask_in, ("obs", "info", "both")) != "info"
        self._mask_in_info = mask_in != "obs"
        self._follows_each_ply = self._mask_in_info or render_mode == "human"
        self._openings = Openings(rules)
        self._state = State.initial(rules)
        self.possible_agents = list(AGENTS)
        self.agents = list(AGENTS)
        self.observation_spaces = {agent: self._observation_space() for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(HOUSES) for agent in AGENTS}
        self.state_space = spaces.Box(0.0, 1.0, (self._size + 1,), np.float32)

    def _observation_space(self) -> spaces.Space:
        box = spaces.Box(0.0, 1.0, (self._size,), np.float32)
        if not self._mask_in_obs:
            return box
        mask = spaces.Box(0, 1, (HOUSES,), np.int8)
        return spaces.Dict({"observation": box, "action_mask": mask})

    @property
    def game_state(self) -> State:
        """The position as a :class:`State`: text, picture, legal moves, outcome."""
        return self._state

    def state(self) -> np.ndarray:
        """The whole game for a centralised critic, a fresh float32[size + 1] at any time.

        What South (``player_0``) observes, then 1 when South is to move, else 0.
        """
        seen = np.empty(self._size + 1, np.float32)
        seen[:-1] = observe(self._state, True, self._size)
        seen[-1] = self._state.south_to_move
        return seen

    def observation_space(self, agent: str) -> spaces.Space:
        """The observation space of an agent, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """The action space of an agent, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a game; the module's text lists the options. Raises OwareError for bad ones."""
        self._state, _ = next(self._openings.starts(seed, options))
        self.agents = list(AGENTS)
        self.agent_selection = SOUTH if self._state.south_to_move else NORTH
        self._skip_agent_selection = (
            None  # left over when the last game's dead steps were not taken
        )
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self._after_change()

    def step(self, action: int | None) -> None:
        """Play a house 0-5 for ``agent_selection``, or None as the dead step of a finished agent.

        Raises IllegalMove for a move that is not offered; nothing has changed then.
        """
        agent = self.agent_selection
        if self.terminations.get(agent, True) or self.truncations[agent]:
            if not self.agents:
                raise OwareError("the game is over and both agents are done: call reset()")
            self._was_dead_step(action)
            return
        if type(action) is not int:
            action = self._number(action)
        self._state = self._state.play(action)
        self.agent_selection = _OTHER[agent]
        # No agent has a reward before the last step, so there is nothing to clear or add up.
        if self._follows_each_ply or self._state.is_over:
            self._after_change()

    def _number(self, action: Any) -> int:
        """An action as an int; raises IllegalMove for what is none, a house's letter included."""
        number, state = as_house(action), self._state
        if number is not None:
            return number
        why = "an action is a whole number 0-5"
        raise IllegalMove(state.to_text(), action, state.legal_letters, why)

    def _after_change(self) -> None:
        """Settle a finished game, offer the moves in the infos, refresh the window."""
        if self._state.is_over:
            self.rewards = dict(zip(AGENTS, rewards(self._state, self._reward), strict=True))
            self._accumulate_rewards()
            self.terminations = dict.fromkeys(AGENTS, True)
        if self._mask_in_info:
            self._offer_in_infos()
        if self.render_mode == "human":
            self._display.draw(self._state)

    def _offer_in_infos(self) -> None:
        self.infos = {agent: {"action_mask": self._mask(agent)} for agent in self.agents}

    def _deads_step_first(self) -> str:
        """Called by TerminateIllegalWrapper when it ends a game: no move is offered any more."""
        if self._mask_in_info:
            self._offer_in_infos()
        return super()._deads_step_first()

    def _mask(self, agent: str) -> np.ndarray:
        """A fresh int8[6]: what the agent may play now."""
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            return MASKS[self._state._status].copy()
        return MASKS[0].copy()

    def observe(self, agent: str) -> Any:
        """What an agent sees now, its own side first: fresh arrays, valid at any time."""
        try:
            south = _IS_SOUTH[agent]
        except (KeyError, TypeError):
            who = shown(agent)
            raise OwareError(f"there is no agent {who}: they are {SOUTH} and {NORTH}") from None
        observation = observe(self._state, south, self._size)
        if self._mask_in_obs:
            return {"observation": observation, "action_mask": self._mask(agent)}
        return observation

    def render(self) -> str | np.ndarray | None:
        """The board as text, as uint8[H, W, 3], or in a window (None), by the render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: give one to env() or raw_env()")
            return None
        return self._display.draw(self._state)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._display.close()
