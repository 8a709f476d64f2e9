"""The memory in front of an evaluator: answers are the evaluator's own, and asked for once."""

import numpy as np
import pytest

from agents.search.cache import CachedEvaluator
from agents.search.mcts import Search
from oware_env.positions import Positions
from oware_env.rules import Rules


class Judge:
    """Answers by a hash of the board and of whether the limit is near; keeps what it was asked."""

    def __init__(self, max_plies=400):
        self.max_plies, self.asked = max_plies, []

    def __call__(self, positions):
        boards, plies, _ = positions
        left = np.minimum(self.max_plies - plies, 64)
        seen = [
            (*board.tolist(), int(plies_left))
            for board, plies_left in zip(boards, left, strict=True)
        ]
        self.asked.append(seen)
        numbers = np.array([hash(one) % 1009 for one in seen], np.float32)
        logits = np.stack([np.sin(numbers * (move + 1)) for move in range(6)], axis=1)
        return logits.astype(np.float32), np.cos(numbers).astype(np.float32)


def both(slots=1 << 12):
    judge = Judge()
    return judge, CachedEvaluator(judge, slots=slots)


def same(first, second):
    return all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


def test_the_first_answer_and_every_later_one_are_the_evaluators(positions):
    asked = positions(300, 1)
    _judge, cached = both()
    expected = Judge()(asked)
    assert same(cached(asked), expected)
    assert same(cached(asked), expected)
    backwards = Positions(*(array[::-1].copy() for array in asked))
    assert same(cached(backwards), tuple(array[::-1] for array in expected))


def test_a_known_position_is_not_asked_for_again(positions):
    asked = positions(200, 2)
    judge, cached = both(slots=1 << 16)
    cached(asked)
    passed_on = cached.judged
    cached(asked)
    collisions = cached.judged - passed_on
    assert cached.asked == 400 and passed_on == 200
    assert collisions <= 4  # two positions may share a slot
    assert [len(batch) for batch in judge.asked] == [200] + [collisions] * (collisions > 0)


@pytest.mark.parametrize("slots", [1, 7, 64])
def test_a_crowded_memory_forgets_but_is_never_wrong(positions, slots):
    asked = positions(150, 3)
    _, cached = both(slots)
    expected = Judge()(asked)
    for _ in range(3):
        assert same(cached(asked), expected)


def test_equal_boards_far_from_the_limit_are_one_position_and_near_it_several(positions):
    board = positions(1, 4).boards[0]
    plies = np.array([0, 100, 335, 336, 337, 399], np.int32)
    asked = Positions(np.tile(board, (6, 1)), plies, np.zeros(6, np.uint64))
    judge, cached = both(slots=1 << 16)
    for row in range(6):
        one = Positions(*(array[row : row + 1] for array in asked))
        assert same(cached(one), Judge()(one))
    assert [batch[0][-1] for batch in judge.asked] == [64, 63, 1]


def test_a_search_finds_the_same_with_the_memory_and_asks_for_less(positions):
    asked = positions(40, 5)
    _judge, cached = both(slots=1 << 16)
    plain = Search(Judge(), Rules(), simulations=50).run(asked)
    assert same(Search(cached, Rules(), simulations=50).run(asked), plain)
    assert cached.judged < cached.asked


def test_shapes_of_an_empty_batch():
    empty = Positions(np.empty((0, 14), np.int8), np.empty(0, np.int32), np.empty(0, np.uint64))
    judge, cached = both()
    logits, values = cached(empty)
    assert logits.shape == (0, 6) and values.shape == (0,) and not judge.asked
