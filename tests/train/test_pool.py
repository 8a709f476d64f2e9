"""The pool of past selves: true copies, spread over the run, drawn by seed and unit."""

import numpy as np
import pytest
import torch

from agents.neural.checkpoint import write_checkpoint
from oware_env.errors import OwareError
from train.pool import Pool, pack_pair, unpack_pair


def _weights(value):
    return {"matrix": torch.full((2, 3), float(value)), "vector": torch.full((4,), float(value))}


def _filled(units, size=4, spacing=1):
    pool = Pool(_weights(0), size, spacing)
    for number in range(1, units + 1):
        pool.offer(number, _weights(number))
    return pool


def test_a_copy_stays_as_it_was_when_the_weights_go_on_learning():
    weights = _weights(1)
    pool = Pool(weights, 4, 1)
    pool.offer(1, weights)
    packed = pack_pair(weights, pool.draw(0, 0))
    with torch.no_grad():
        for tensor in weights.values():
            tensor.add_(5.0)
    for copy in (*pool.copies.values(), *unpack_pair(packed)):
        assert all((tensor == 1.0).all() for tensor in copy.values())
    assert (weights["vector"] == 6.0).all()


def test_a_full_pool_lets_every_second_copy_go_and_stays_evenly_spread():
    assert list(_filled(3).copies) == [0, 1, 2, 3]
    pool = _filled(4)
    assert (list(pool.copies), pool.spacing) == ([0, 2, 4], 2)
    assert list(_filled(5).copies) == [0, 2, 4], "5 is not due"
    assert list(_filled(8).copies) == [0, 4, 8]
    assert list(_filled(100, spacing=3).copies) == [0, 48, 96]


def test_a_pool_of_one_keeps_the_start():
    assert list(_filled(50, size=1).copies) == [0]


def test_every_copy_is_drawn_newer_ones_more_often_and_the_same_again_for_the_same_seed_and_unit():
    pool = _filled(3)
    drawn = [float(pool.draw(7, unit)["vector"][0]) for unit in range(400)]
    assert drawn == [float(pool.draw(7, unit)["vector"][0]) for unit in range(400)]
    assert drawn != [float(pool.draw(8, unit)["vector"][0]) for unit in range(400)]
    counts = np.bincount(np.array(drawn, np.int64), minlength=4)
    assert np.allclose(counts, [25, 75, 125, 175], atol=40)  # within 4 deviations
    assert (np.diff(counts) > 0).all()


def test_a_restored_pool_goes_on_like_the_first(tmp_path):
    first = _filled(21, size=12)  # numbers of one and of two digits
    write_checkpoint(tmp_path / "step", {"pool": first.tensors()}, {})
    second = Pool(_weights(9), 12, 1)
    second.restore(tmp_path / "step", first.spacing)
    for number in range(22, 60):
        for pool in (first, second):
            pool.offer(number, _weights(number))
        assert list(first.copies) == list(second.copies)
        ours, theirs = (pool.draw(3, number) for pool in (first, second))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_pair_comes_out_as_it_was_packed():
    learner, past = unpack_pair(pack_pair(_weights(1), _weights(2)))
    for found, value in ((learner, 1), (past, 2)):
        assert found.keys() == _weights(value).keys()
        assert all(torch.equal(found[n], t) for n, t in _weights(value).items())


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "its pool is empty"),
        ({"x.weight": torch.zeros(2)}, "'x.weight' is no copy of a pool"),
        ({"0.other": torch.zeros(2)}, "copy 0 of the pool"),
        ({f"0.{name}": tensor.double() for name, tensor in _weights(1).items()}, "torch.float64"),
        ({f"0.{n}": tensor / 0 for n, tensor in _weights(1).items()}, "is not finite"),
    ],
)
def test_what_is_no_pool_is_one_line(tmp_path, tensors, message):
    write_checkpoint(tmp_path / "step", {"pool": tensors}, {})
    with pytest.raises(OwareError, match=message):
        Pool(_weights(9), 12, 1).restore(tmp_path / "step", 1)
