"""A network on the CPU that grows search trees without coming back to Python.

Between two rounds of a search there is little to do for a network, but Python asks for it through
five calls. Here a round's selection, memory, network and backing up are one compiled loop: that
saves a tenth of the time at the fifty leaves of a self-play round, and three quarters of it for a
single game (docs/decisions/0013).
"""

from typing import final

import numpy as np

from agents.neural.evaluator import NetworkEvaluator
from agents.neural.forward import judge_inputs
from agents.search.cache import SLOTS, CachedEvaluator, recall, remember
from agents.search.mcts import Limits
from agents.search.rounds import Leaves, expand, select
from agents.search.tree import Tree
from oware_env.encoding import network_input
from oware_env.kernel import kernel


@kernel
def grow(tree, leaves, limits, arrays, memory):
    """Run all rounds: the first row of ``leaves`` that was judged NaN or -1, then counts.

    Those are the leaves, the leaves that the network judged, and the calls it took.
    ``limits``: of the search. ``arrays``: the network. ``memory``: of a :class:`CachedEvaluator`,
    or None.
    """
    games, simulations, exploration, endings = limits
    max_plies = endings[0]
    asked, judged, calls = 0, 0, 0
    while True:
        count = select(tree, games, simulations, exploration, endings, leaves)
        if count == 0:
            return -1, asked, judged, calls
        asked += count
        boards, plies = leaves.boards[:count], leaves.plies[:count]
        if memory is None:
            judged, calls = judged + count, calls + 1
            logits, values = judge_inputs(arrays, network_input(boards, plies, max_plies))
        else:
            found = np.empty((count, 6), np.float32), np.empty(count, np.float32)
            unknown = recall(memory, boards, plies, max_plies, found)
            if len(unknown):
                judged, calls = judged + len(unknown), calls + 1
                inputs = network_input(boards[unknown], plies[unknown], max_plies)
                answer = judge_inputs(arrays, inputs)
                remember(memory, (boards, plies, plies), max_plies, found, unknown, answer)
            logits, values = found
        row = expand(tree, leaves, count, logits, values)
        if row >= 0:
            return row, asked, judged, calls


def remembering(evaluator: NetworkEvaluator, slots: int = SLOTS) -> CachedEvaluator:
    """``evaluator`` with a memory of ``slots`` positions (0 for none), compiled on the CPU."""
    if evaluator.arrays is not None:
        return CompiledEvaluator(evaluator, slots)
    return CachedEvaluator(evaluator, evaluator.rules, slots)


@final
class CompiledEvaluator(CachedEvaluator):
    """A network on the CPU that runs the rounds of a search by itself.

    With ``slots`` it remembers so many positions as :class:`CachedEvaluator` does; with 0 it asks
    the network every time.
    """

    def __init__(self, evaluator: NetworkEvaluator, slots: int = 0) -> None:
        super().__init__(evaluator, evaluator.rules, slots)
        self._arrays = evaluator.arrays

    def grow(self, tree: Tree, leaves: Leaves, limits: Limits) -> int:
        """Run all rounds of a search; the first of ``leaves`` that was judged NaN, or -1."""
        row, asked, judged, calls = grow(tree, leaves, limits, self._arrays, self.memory)
        self.asked, self.judged = self.asked + asked, self.judged + judged
        self.calls += calls
        return int(row)
