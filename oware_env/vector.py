"""Oware (Abapa) as a Gymnasium vector environment: N learners' rows, one batched opponent.

Row i plays the very episodes of OwareSingleAgentEnv reset with seed + i, in compiled loops.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from oware_env.batch import fill_masks, first_illegal, one_integer_each
from oware_env.encoding import encode_observations, observation_size
from oware_env.episode import (
    OPENING_TRIES,
    OPTIONS,
    REWARDS,
    SEATS,
    Display,
    Opponent,
    ask,
    checked_opponent,
    no_first_turn,
    one_of,
    opening_plies,
    read_options,
)
from oware_env.episode_rows import (
    EpisodeRows,
    chosen,
    copied,
    learners_boards,
    open_rows,
    over,
    play_actions,
    play_at,
    read_mask,
    read_seeds,
    reward_rows,
    rows_to_answer,
    unopened_rows,
)
from oware_env.errors import OwareError, shown, whole_number
from oware_env.rules import HOUSES, Rules, require_abapa
from oware_env.state import IllegalMove, State

RENDER_MODES = ("ansi", "rgb_array")
MOST_STEPS = 2**31 - 1  # of an episode, as many as plies
MOST_ENVS = 2**20  # rows: what one step holds in some GB, with the longest observation


class OwareVectorEnv(gymnasium.vector.VectorEnv):
    """``num_envs`` learners against ``opponent``, stepped together; random moves when none given.

    ``seat``, ``observation`` and ``reward`` are those of :class:`OwareSingleAgentEnv`, and so is
    every row: with ``seed`` (of the constructor or of :meth:`reset`) row i plays the episodes of
    that environment reset with ``seed + i``. The opponent is asked once for all rows where it is
    to move. An action that is not legal ends its row's episode with -1; one outside 0-5, or an
    illegal move of the opponent, raises OwareError naming the row, and no row has moved.

    Masks are int8[N, 6] in ``infos["action_mask"]``, bool in :meth:`action_masks`: all zero where
    the episode is over. ``autoreset_mode`` is one of Gymnasium's: in ``NEXT_STEP`` the step after
    an episode's end starts the next one (the action is ignored, the reward 0), in ``SAME_STEP``
    the ending step does and has the end in ``infos["final_obs"]`` and ``infos["final_info"]``, in
    ``DISABLED`` the caller does with ``reset(options={"reset_mask": bool[N]})``. After
    ``max_episode_steps`` steps of its learner, if given, an episode is truncated, as
    ``gymnasium.wrappers.TimeLimit`` does with the single environment; its mask then still holds
    the moves of the position. What is returned is never written to again. Render modes:
    ``"ansi"`` and ``"rgb_array"``, a frame for each row.

    Version history: v0, first version (encoding version 0).
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 (Gymnasium)

    def __init__(
        self,
        num_envs: int,
        opponent: Opponent | None = None,
        seat: str = "south",
        rules: Rules = Rules(),
        seed: int | Sequence[int | None] | None = None,
        *,
        observation: str = "counts",
        reward: str = "result",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, least=1, most=MOST_ENVS)
        self.opponent = checked_opponent(opponent)
        self.seat = one_of("seat", seat, SEATS)
        self.rules = require_abapa(rules)
        self._size = observation_size(observation)
        self._by_margin = one_of("reward", reward, REWARDS) == "margin"
        self.max_episode_steps = (
            None
            if max_episode_steps is None
            else whole_number("max_episode_steps", max_episode_steps, 1, MOST_STEPS)
        )
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = (
            None if render_mode is None else one_of("render_mode", render_mode, RENDER_MODES)
        )
        self.single_observation_space = spaces.Box(0.0, 1.0, (self._size,), np.float32)
        self.single_action_space = spaces.Discrete(HOUSES)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        seeds = np.random.SeedSequence().generate_state(self.num_envs, np.uint64)
        if seed is not None:
            numbers, given = read_seeds(seed, self.num_envs)
            seeds = np.where(given, numbers, seeds)
        self._rows = unopened_rows(seeds, seat == "south")
        self._opening = read_options(None, rules)
        self._started = False

    @property
    def learner_is_south(self) -> np.ndarray:
        """Whether the learner has South's seat in each row's episode, bool[N]."""
        return self._rows.learner_is_south.copy()

    def state(self, row: int) -> State:
        """The position of one row as a :class:`State`."""
        return _state(self._rows, whole_number("row", row, most=self.num_envs - 1), self.rules)

    def action_masks(self) -> np.ndarray:
        """The learner's legal moves, bool[N, 6]; all False where the game is over."""
        return self._masks(self._rows).astype(np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every row, or in those of the option ``reset_mask`` bool[N].

        ``seed`` gives row i ``seed + i``, or a list each row its own (None: none). Options
        ``position``, ``ply`` and ``random_plies`` are also used by the automatic restarts that
        follow, until all rows are reset again; with ``reset_mask`` they hold for these starts.
        """
        opening = read_options(options, self.rules, (*OPTIONS, "reset_mask"))
        which = read_mask(options, self.num_envs)
        if not (self._started or which.all()):
            raise OwareError("the first reset() starts every row: leave out option 'reset_mask'")
        rows = copied(self._rows)
        if seed is not None:
            seeds, given = read_seeds(seed, self.num_envs)
            given &= which
            rows.seeds[given], rows.episodes[given] = seeds[given], 0
            rows.learner_is_south[given] = self.seat == "south"
        self._advance(rows, which, opening)
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._rows, self._started = rows, True
        if which.all():
            self._opening = opening
        return self._observe(rows), self._infos(rows, which)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play houses ``actions`` integers [N] and the replies.

        Returns observations float32[N, size], rewards float64[N], terminations and truncations
        bool[N] (all False without ``max_episode_steps``), and infos. When it raises, no row has
        moved.
        """
        waiting = over(self._rows)
        if self.max_episode_steps is not None:
            waiting |= self._truncated(self._rows)
        actions = self._checked(actions, ~waiting)
        rows = copied(self._rows)
        play_actions(rows, actions, ~waiting, self.rules.max_plies)
        self._advance(rows, waiting, self._opening)
        terminations, truncations = over(rows), self._truncated(rows)
        rewards = reward_rows(rows, self._by_margin)
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            ended = terminations | truncations
            if ended.any():
                infos = self._final(rows, ended)
                self._advance(rows, ended, self._opening)
        self._rows = rows
        infos |= self._infos(rows, np.ones(self.num_envs, np.bool_))
        return self._observe(rows), rewards, terminations, truncations, infos

    def _truncated(self, rows: EpisodeRows) -> np.ndarray:
        """Where the learner has made all the steps that an episode may have, a fresh bool[N]."""
        if self.max_episode_steps is None:
            return np.zeros(self.num_envs, np.bool_)
        return rows.steps >= self.max_episode_steps

    def render(self) -> Any:
        """A tuple with the board of every row, as text or uint8[H, W, 3] by the render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: give one to the constructor")
            return None
        display = Display(self.render_mode)
        return tuple(display.draw(self.state(row)) for row in range(self.num_envs))

    def _advance(self, rows: EpisodeRows, which: np.ndarray, opening: tuple[State, int]) -> None:
        """Start an episode in the rows ``which`` and let the opponent move wherever it is to.

        Rows where the opponent ends the game at once draw another opening, where it is random.
        """
        start, random_plies = opening
        plies = opening_plies(start, random_plies)
        tries = np.full(self.num_envs, OPENING_TRIES if random_plies else 1)
        if self.seat == "alternate":  # rows not yet opened are North's, so that South comes first
            rows.learner_is_south[which] ^= True
        while True:
            if which.any():
                position = start.board, start.ply, start.south_to_move, plies
                row = open_rows(rows, which, position, tries, self.rules.max_plies)
                if row >= 0:
                    raise OwareError(f"row {row}: {no_first_turn(start, random_plies)}")
            self._reply(rows)
            which = which & over(rows)
            if not which.any():
                return

    def _reply(self, rows: EpisodeRows) -> None:
        """The opponent's move in all rows where it is to move, asked for once."""
        places, positions = rows_to_answer(rows)
        if not len(places):
            return
        moves = ask(self.opponent, positions)
        index = first_illegal(rows.statuses[places], moves)
        if index >= 0:
            row = int(places[index])
            try:
                _state(rows, row, self.rules).play(moves[index])
            except IllegalMove as error:
                who = f"row {row}: opponent {shown(self.opponent)}"
                raise OwareError(f"{who}: {error}") from error
        play_at(rows, places, moves.astype(np.int8), self.rules.max_plies)

    def _checked(self, actions: np.ndarray, running: np.ndarray) -> np.ndarray:
        """The actions as int8[N]; raises OwareError naming the first row at fault."""
        if not self._started:
            raise OwareError("no episode has started: call reset() before step()")
        actions = one_integer_each("actions", actions, self.num_envs)
        if self.autoreset_mode == AutoresetMode.DISABLED and not running.all():
            raise OwareError(
                f"row {int(running.argmin())}: the episode is over: reset() it with option "
                "'reset_mask' before step()"
            )
        outside = running & ((actions < 0) | (actions >= HOUSES))
        if outside.any():
            row = int(outside.argmax())
            raise OwareError(f"row {row}: an action is 0-5, not {actions[row]}")
        return actions.astype(np.int8)

    def _observe(self, rows: EpisodeRows) -> np.ndarray:
        """The observations of the rows as their learners see them, float32[rows, size]."""
        out = np.empty((len(rows.plies), self._size), np.float32)
        encode_observations(learners_boards(rows), rows.plies, self.rules.max_plies, out)
        return out

    def _masks(self, rows: EpisodeRows) -> np.ndarray:
        masks = np.empty((len(rows.plies), HOUSES), np.int8)
        fill_masks(rows.statuses, masks)
        return masks

    def _infos(self, rows: EpisodeRows, which: np.ndarray) -> dict[str, Any]:
        """The masks of the rows ``which``, zero in the others, as Gymnasium batches infos."""
        masks = self._masks(rows)
        if not which.all():
            masks[~which] = 0
        return {"action_mask": masks, "_action_mask": which}

    def _final(self, rows: EpisodeRows, ended: np.ndarray) -> dict[str, Any]:
        """The ends of the rows ``ended``, as Gymnasium hands them over in SAME_STEP."""
        final = np.full(self.num_envs, None, object)
        seen = self._observe(chosen(rows, ended))
        final[ended] = np.fromiter(seen, object, len(seen))
        return {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": self._infos(rows, ended.copy()),
            "_final_info": ended.copy(),
        }


def _checked_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except Exception:  # whatever the enumeration makes of it
        raise OwareError(
            f"autoreset_mode must be a gymnasium.vector.AutoresetMode, not {shown(mode)}"
        ) from None


def _state(rows: EpisodeRows, row: int, rules: Rules) -> State:
    south_to_move = bool(rows.learner_to_move[row] == rows.learner_is_south[row])
    return State.from_board(rows.boards[row], south_to_move, rules, int(rows.plies[row]))
