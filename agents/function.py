"""Any function from observation and mask to action as an agent: how policies made elsewhere play.

The function sees what the environments show: observations float32[B, size] of the side to move and
masks int8[B, 6]. Tests and how-tos bring policies of MaskablePPO and TorchRL into matches with it.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from oware_env.batch import fill_masks, fill_statuses, first_illegal
from oware_env.encoding import encode_observations, observation_size
from oware_env.errors import OwareError, shown
from oware_env.positions import Decisions, Positions, as_array, checked_positions
from oware_env.rules import Rules, require_abapa
from oware_env.state import IllegalMove, State


@final
class FunctionAgent:
    """Plays ``function(observations float32[B, size], masks int8[B, 6]) -> actions int[B]``.

    ``observation`` is the kind of the environments, ``"counts"`` (size 15) or ``"onehot"`` (171).
    With ``batched=False`` the function gets one observation float32[size] and one mask int8[6] and
    returns one action, in a Python loop that is slower the more games a match plays at a time.

    The agent keeps law 4 of the design only as far as the function does: a function that draws
    random numbers of its own does not repeat its games.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray, np.ndarray], Any],
        name: str,
        rules: Rules = Rules(),
        *,
        observation: str = "counts",
        batched: bool = True,
    ) -> None:
        """``name`` is what reports show. Raises OwareError for an argument that is of no use."""
        if not callable(function):
            raise OwareError(
                "function must be a callable from observations and masks to actions, "
                f"not {shown(function)}"
            )
        if not isinstance(name, str) or not name.strip():
            raise OwareError(f"name must be text that reports can show, not {shown(name)}")
        self.function = function
        self.name = name
        self.rules = require_abapa(rules)
        self.observation = observation
        self.batched = batched
        self._size = observation_size(observation)

    def decide(self, positions: Positions) -> Decisions:
        """The function's moves, a policy of 1 for each, and no values (NaN).

        Raises OwareError naming the function when an answer is not a legal move for each position.
        """
        positions = checked_positions(positions)
        count, max_plies = len(positions.plies), self.rules.max_plies
        statuses = np.empty(count, np.int16)
        fill_statuses(positions.boards, positions.plies, max_plies, statuses)
        masks = np.empty((count, 6), np.int8)
        fill_masks(statuses, masks)
        observations = np.empty((count, self._size), np.float32)
        encode_observations(positions.boards, positions.plies, max_plies, observations)
        moves = self._moves(self._ask(observations, masks), count)
        row = first_illegal(statuses, moves)
        if row >= 0:
            self._refuse(positions, row, int(moves[row]))
        policy = np.zeros((count, 6), np.float32)
        policy[np.arange(count), moves] = 1.0
        return Decisions(moves.astype(np.int8), policy, np.full(count, np.nan, np.float32))

    def _ask(self, observations: np.ndarray, masks: np.ndarray) -> Any:
        """What the function answers, as it is."""
        if self.batched:
            return self.function(observations, masks)
        return [self.function(*seen) for seen in zip(observations, masks, strict=True)]

    def _moves(self, answer: Any, count: int) -> np.ndarray:
        """The answer as integers [count]; raises OwareError when it has another form."""
        try:
            actions = as_array("actions", answer)
        except OwareError:  # rows of different lengths, say
            actions = np.empty(0, object)
        if actions.shape != (count,) or actions.dtype.kind not in "iu":
            wanted = f"{count} whole numbers, one a position" if self.batched else "a whole number"
            raise OwareError(
                f"agent {self.name}: function {self._label()} must answer with {wanted}; its "
                f"actions for {count} positions are {actions.dtype} of shape {actions.shape}"
            )
        return actions

    def _refuse(self, positions: Positions, row: int, action: int) -> None:
        """Raise OwareError for an action that is not legal in a row."""
        ply = int(positions.plies[row])
        state = State.from_board(positions.boards[row], True, self.rules, ply)
        try:
            state.play(action)
        except IllegalMove as error:
            offered = ", ".join(str(move) for move in state.legal_moves)
            raise OwareError(
                f"agent {self.name}: function {self._label()} gave the illegal action {action} in "
                f"{error.position} at ply {ply} (the mover shown as South): {error.why}; "
                f"legal actions: {offered}"
            ) from None

    def _label(self) -> str:
        """What the function is called; an object without a name by its class."""
        return getattr(self.function, "__name__", type(self.function).__name__)
