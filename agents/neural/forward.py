"""The folded network on the CPU, compiled: what :func:`agents.neural.folded.judge` says, sooner.

A search asks for some fifty positions at a time, and a call of torch costs as much as its work
then; besides, torch passes the whole batch through memory for every step. Here the rows go
through the network a few at a time, so that what they leave behind stays in the core's own cache,
and the products of so few rows are those that BLAS does on the spot, without copying the weights
(docs/decisions/0013). Where the processor multiplies bfloat16 the products are ours, twice as fast
and of 8 bits of precision (docs/decisions/0016). The answer for a row may differ in the last bits
with its place in the batch.
"""

from typing import NamedTuple

import numpy as np

from agents.neural import bfloat16
from agents.neural.bfloat16 import add_product
from agents.neural.folded import Folded
from oware_env.encoding import PLIES_LEFT
from oware_env.kernel import kernel

ROWS = 24  # that pass through a network of width 128 together; fewer of a wider one
EPSILON = np.float32(1e-5)  # as torch's LayerNorm


class Arrays(NamedTuple):
    """:class:`Folded` as arrays, and room for what ``ROWS`` rows leave behind."""

    offsets: np.ndarray
    table: np.ndarray
    bias: np.ndarray
    inner: np.ndarray  # as _product takes them
    inner_bias: np.ndarray
    outer: np.ndarray
    norm: np.ndarray
    norm_bias: np.ndarray
    head: np.ndarray
    head_bias: np.ndarray
    room: np.ndarray  # float32[3, rows, W]
    narrow: np.ndarray  # uint16[rows, W]


def arrays_of(folded: Folded) -> Arrays:
    """The arrays of a folded network on the CPU; but for bfloat16 they share its memory."""
    width = len(folded.bias)
    arrays = {name: tensor.numpy() for name, tensor in folded._asdict().items()}
    rows = ROWS
    if bfloat16.AVAILABLE:
        for name in ("inner", "outer"):
            arrays[name] = np.stack([bfloat16.pack(matrix) for matrix in arrays[name]])
    else:
        # BLAS would give a larger product to several threads.
        rows = max(1, ROWS * 128 * 128 // max(width * width, 128 * 128))
    room, narrow = np.zeros((3, rows, width), np.float32), np.zeros((rows, width), np.uint16)
    return Arrays(**arrays, room=room, narrow=narrow)


@kernel
def _float32_product(left, right, out, narrow):
    """Write the product of ``left`` and ``right`` to ``out``."""
    np.dot(left, right, out)


@kernel
def _bfloat16_product(left, right, out, narrow):
    """The same of both rounded to bfloat16; ``narrow`` is room for ``left``."""
    for row in range(len(left)):
        for entry in range(left.shape[1]):
            narrow[row, entry] = bfloat16.rounded(left[row, entry])
            out[row, entry] = np.float32(0.0)
    add_product(out, narrow, right)


_product = _bfloat16_product if bfloat16.AVAILABLE else _float32_product
_GROUP = bfloat16.ROWS if bfloat16.AVAILABLE else 1  # rows come in whole groups of so many


@kernel(reorders_sums=True)
def _normalise(rows, out):
    """Shift and scale each row to mean 0 and variance 1."""
    width = np.float32(rows.shape[1])
    for row in range(len(rows)):
        total = np.float32(0.0)
        for entry in range(rows.shape[1]):
            total += rows[row, entry]
        mean = total / width
        squares = np.float32(0.0)
        for entry in range(rows.shape[1]):
            squares += (rows[row, entry] - mean) * (rows[row, entry] - mean)
        scale = np.float32(1.0) / np.sqrt(squares / width + EPSILON)
        for entry in range(rows.shape[1]):
            out[row, entry] = (rows[row, entry] - mean) * scale


@kernel(reorders_sums=True)
def _look_up(inputs, offsets, table, bias, out):
    """The first layer: the bias and a row of the table for each entry of an input, summed."""
    for row in range(len(inputs)):
        for entry in range(len(bias)):
            out[row, entry] = bias[entry]
        for place in range(len(offsets)):
            if place > PLIES_LEFT and inputs[row, place] == 0:
                continue  # a move that takes nothing has a row of zeros
            picked = offsets[place] + np.int64(inputs[row, place])
            for entry in range(len(bias)):
                out[row, entry] += table[picked, entry]


@kernel(reorders_sums=True)
def _affine_relu(rows, scale, shift):
    """In place: the positive part of rows * scale + shift; NaN stays NaN."""
    for row in range(len(rows)):
        for entry in range(rows.shape[1]):
            value = rows[row, entry] * scale[entry] + shift[entry]
            rows[row, entry] = np.float32(0.0) if value < np.float32(0.0) else value


@kernel(reorders_sums=True)
def _add(rows, others):
    """In place: rows + others."""
    for row in range(len(rows)):
        for entry in range(rows.shape[1]):
            rows[row, entry] += others[row, entry]


@kernel
def _read_heads(outputs, bias, logits, values):
    """Write policy logits, and P(win) - P(loss), of the joint product of both heads."""
    for row in range(len(outputs)):
        for move in range(6):
            logits[row, move] = outputs[row, move] + bias[move]
        win, draw, loss = (
            outputs[row, 6] + bias[6],
            outputs[row, 7] + bias[7],
            outputs[row, 8] + bias[8],
        )
        most = max(win, draw, loss)
        win, draw, loss = np.exp(win - most), np.exp(draw - most), np.exp(loss - most)
        values[row] = (win - loss) / (win + draw + loss)


@kernel
def judge_inputs(arrays, inputs):
    """(logits float32[B, 6], values float32[B]) of uint8[B, 33]."""
    count = len(inputs)
    logits, values = np.empty((count, 6), np.float32), np.empty(count, np.float32)
    ones = np.ones(arrays.room.shape[2], np.float32)
    step = arrays.room.shape[1]
    for start in range(0, count, step):
        stop = min(count, start + step)
        # What rows are left of those before fills the last group up.
        rows = (stop - start + _GROUP - 1) // _GROUP * _GROUP
        features, normed, hidden = (
            arrays.room[0, :rows],
            arrays.room[1, :rows],
            arrays.room[2, :rows],
        )
        narrow = arrays.narrow[:rows]
        _look_up(inputs[start:stop], arrays.offsets, arrays.table, arrays.bias, features)
        for block in range(len(arrays.inner)):
            _normalise(features, normed)
            _product(normed, arrays.inner[block], hidden, narrow)
            _affine_relu(hidden, ones, arrays.inner_bias[block])
            _product(hidden, arrays.outer[block], normed, narrow)
            _add(features, normed)
        _normalise(features, normed)
        _affine_relu(normed, arrays.norm, arrays.norm_bias)
        outputs = np.dot(normed[: stop - start], arrays.head)
        _read_heads(outputs, arrays.head_bias, logits[start:stop], values[start:stop])
    return logits, values
