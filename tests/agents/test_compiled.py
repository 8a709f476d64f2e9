"""Compiled rounds grow the tree that rounds through Python grow, and count what they ask."""

import numpy as np
import pytest
import torch

from agents.compiled import CompiledEvaluator, remembering
from agents.neural.evaluator import NetworkEvaluator
from agents.neural.network import build_network
from agents.search.cache import CachedEvaluator
from agents.search.mcts import Search
from agents.tablebase.probe import open_table
from oware_env.positions import Positions
from oware_env.rules import Rules


def network(seed=0):
    built = build_network("tiny", seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in built.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * 0.3)
    return built


class Plain:
    """The evaluator without what makes it compiled."""

    def __init__(self, evaluator):
        self.evaluator = evaluator

    def __call__(self, asked):
        return self.evaluator(asked)


def same(first, second):
    assert np.array_equal(first.visits, second.visits)
    assert first.values == pytest.approx(second.values, abs=1e-5)
    assert np.ptp(first.values) > 0.05


@pytest.mark.parametrize("table", [None, 4])
@pytest.mark.parametrize("slots", [0, 1 << 10])
def test_the_tree_is_that_of_rounds_through_python(positions, slots, table):
    asked, arrays = positions(60, 3), table and open_table(table).arrays
    judge = NetworkEvaluator(network())
    cached = CachedEvaluator(Plain(judge), Rules(), slots)
    compiled = remembering(judge, slots)
    assert isinstance(compiled, CompiledEvaluator)
    slow = Search(cached, simulations=40, table=arrays).run(asked)
    fast = Search(compiled, simulations=40, table=arrays).run(asked)
    same(fast, slow)
    assert (compiled.asked, compiled.judged) == (cached.asked, cached.judged)
    assert compiled.calls == cached.calls > 30
    assert (compiled.judged < compiled.asked) == (slots > 0)


@pytest.mark.parametrize("slots", [0, 1 << 10])
def test_a_nan_is_found_in_the_middle_of_compiled_rounds(positions, slots):
    asked, judge = positions(60, 1), NetworkEvaluator(network())
    judge.arrays.table[5] = np.nan  # read where the mover's first house holds five seeds
    sound = asked.boards[:, 0] != 5
    asked = Positions(*(array[sound] for array in asked))
    evaluator = remembering(judge, slots)
    assert not np.isnan(evaluator(asked)[1]).any()
    with pytest.raises(ValueError, match=r"the evaluator returned NaN for board \[5,"):
        Search(evaluator, simulations=60).run(asked)


def test_elsewhere_than_on_the_cpu_there_is_a_memory_alone():
    judge = NetworkEvaluator(network())
    judge.arrays = None
    assert type(remembering(judge)) is CachedEvaluator
