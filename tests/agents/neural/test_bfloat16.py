"""Products of bfloat16 against those that torch makes of the same rounded numbers."""

import numpy as np
import pytest
import torch

from agents.neural import bfloat16
from agents.neural.bfloat16 import MANY, ROWS, STRIP, add_product, pack, rounded
from oware_env.kernel import kernel

available = pytest.mark.skipif(not bfloat16.AVAILABLE, reason="needs a processor with bfloat16")


@kernel
def round_all(numbers, out):
    for index in range(len(numbers)):
        out[index] = rounded(numbers[index])


@kernel
def multiply(out, left, right):
    add_product(out, left, right)


def bits(numbers: np.ndarray) -> np.ndarray:
    """uint16 of float32, as torch rounds to bfloat16."""
    return torch.from_numpy(numbers).bfloat16().view(torch.int16).numpy().view(np.uint16)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Of many magnitudes, float32, some half-way between two bfloat16."""
    random = np.random.default_rng(seed)
    found = (random.normal(size=shape) * 10.0 ** random.integers(-3, 3, shape)).astype(np.float32)
    halves = (found.view(np.uint32) & 0xFFFF0000 | 0x8000).view(np.float32)
    return np.where(random.random(shape) < 0.2, halves, found)


def test_packing_pairs_rows_and_rounds_to_the_nearest():
    matrix = numbers(8, 64)
    packed = pack(matrix)
    assert (packed.dtype, packed.shape, packed.flags.c_contiguous) == (np.uint16, (4, 64, 2), True)
    expected = bits(matrix)
    for row in range(8):
        assert np.array_equal(packed[row // 2, :, row % 2], expected[row])


@available
def test_kernels_round_to_the_nearest():
    special = np.array([0.0, -0.0, np.inf, -np.inf, 3.4e38, 1.0, -1.5], np.float32)
    asked = np.concatenate([numbers(1000), special])
    found = np.empty(len(asked), np.uint16)
    round_all(asked, found)
    assert np.array_equal(found, bits(asked))
    round_all(np.array([np.nan], np.float32), found)
    assert np.isnan((found[:1].astype(np.uint32) << 16).view(np.float32))


@available
@pytest.mark.parametrize("rows", [0, ROWS, MANY - ROWS, MANY, 3 * MANY + ROWS])
@pytest.mark.parametrize("inner", [2, 64, 258])
@pytest.mark.parametrize("columns", [STRIP, 4 * STRIP])
def test_products_are_added_to_what_is_there(rows, inner, columns):
    left, right = numbers(rows, inner), numbers(inner, columns, seed=1)
    before = numbers(rows, columns, seed=2)
    out = before.copy()
    multiply(out, bits(left), pack(right))
    factors = (torch.from_numpy(each).bfloat16().double().numpy() for each in (left, right))
    products = np.matmul(*factors)
    size = np.matmul(np.abs(left), np.abs(right)) + np.abs(before)
    assert (np.abs(out - (before + products)) <= 1e-5 * size).all()


@available
def test_a_nan_reaches_its_row_and_no_other():
    left = numbers(MANY + ROWS, 64)
    out = np.zeros((len(left), STRIP), np.float32)
    for row in (2, MANY + 1):
        left[row, 7], out[:] = np.nan, 0.0
        multiply(out, bits(left), pack(numbers(64, STRIP)))
        assert np.isnan(out[row]).all() and not np.isnan(np.delete(out, row, axis=0)).any()
        left[row, 7] = 0.0


@available
def test_a_row_is_the_same_in_any_place():
    left, right = bits(numbers(MANY + ROWS, 128)), pack(numbers(128, STRIP, seed=1))
    out = np.zeros((len(left), STRIP), np.float32)
    multiply(out, left, right)
    for start in range(0, len(left), ROWS):
        part = np.zeros((ROWS, STRIP), np.float32)
        multiply(part, left[start : start + ROWS], right)
        assert np.array_equal(part, out[start : start + ROWS])
