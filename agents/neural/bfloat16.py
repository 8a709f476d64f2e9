"""Products of matrices of bfloat16, where the processor has them.

A bfloat16 is the upper half of a float32: as wide a range, and 8 bits of precision. AVX-512 BF16
multiplies two pairs of them in the place of one float32 and sums up in float32: twice the products
a second (docs/decisions/0016). Numba knows neither the type nor the instruction, so numbers lie in
uint16 here, and the instruction is written into the kernel as LLVM names it.
"""

from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Numba compiles for another processor than this one when it is told to, and not at all without JIT;
# the instruction has its present form since LLVM 20 (Numba 0.62).
AVAILABLE = bool(
    llvmlite.binding.get_host_cpu_features().get("avx512bf16", False)
    and llvmlite.binding.llvm_version_info >= (20,)
    and not numba.config.CPU_NAME
    and not numba.config.DISABLE_JIT
)
LANES = 16  # float32 of a register
# Columns and rows whose sums are kept at a time. Six rows fill 24 of the 32 registers, enough to
# hide how long one product takes, and share what is read of the right matrix. What is left of the
# rows goes by twos: a single game asks for one position at a time.
STRIP = 4 * LANES
MANY, ROWS = 6, 2

_WORD, _INDEX = ir.IntType(32), ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_WORDS = ir.VectorType(_WORD, LANES)


class _BFloat(ir.Type):
    """LLVM's bfloat, which llvmlite does not name."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


_PAIRS = ir.VectorType(_BFloat(), 2 * LANES)


def pack(matrix: np.ndarray) -> np.ndarray:
    """A matrix float32[K, N] as the right one of a product: uint16[K / 2, N, 2], rows in pairs.

    Each number is rounded to the nearest bfloat16, halves to the even one. K must be even.
    """
    bits = np.ascontiguousarray(matrix, np.float32).view(np.uint32)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    pairs = nearest.reshape(len(matrix) // 2, 2, matrix.shape[1])
    return np.ascontiguousarray(pairs.transpose(0, 2, 1))


@intrinsic
def rounded(typing: Any, value: Any) -> Any:
    """The bits of a float32 rounded to the nearest bfloat16, as uint16."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
        """Write the conversion into a kernel."""
        return builder.bitcast(builder.fptrunc(values[0], _BFloat()), ir.IntType(16))

    return types.uint16(types.float32), generate


@intrinsic
def add_product(typing: Any, out: Any, left: Any, right: Any) -> Any:
    """Add to ``out`` the product of ``left`` and ``right``.

    ``out`` is float32[R, N], ``left`` uint16[R, K], ``right`` of :func:`pack`, all contiguous;
    R is a multiple of ROWS and N of STRIP.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
        """Write the product into a kernel."""
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, values, strict=True)
        ]
        _emit_product(builder, *arrays)
        return context.get_dummy_value()

    return types.void(out, left, right), generate


def _emit_product(builder: ir.IRBuilder, out: Any, left: Any, right: Any) -> None:
    """Write the loops of :func:`add_product`: strips of columns, groups of rows."""
    rows, columns = cgutils.unpack_tuple(builder, out.shape, 2)
    whole = builder.sub(rows, builder.urem(rows, _INDEX(MANY)))
    with cgutils.for_range_slice(builder, _INDEX(0), columns, _INDEX(STRIP)) as (column, _):
        for start, stop, group in ((_INDEX(0), whole, MANY), (whole, rows, ROWS)):
            with cgutils.for_range_slice(builder, start, stop, _INDEX(group)) as (row, _):
                _emit_group(builder, (out, left, right), row, column, group)


def _emit_group(builder: ir.IRBuilder, arrays: Any, row: Any, column: Any, group: int) -> None:
    """Write the loop over pairs of K for ``group`` rows of one strip."""
    out, left, right = arrays
    columns = builder.extract_value(out.shape, 1)
    pairs = builder.udiv(builder.extract_value(left.shape, 1), _INDEX(2))
    places = [builder.add(column, _INDEX(lane)) for lane in range(0, STRIP, LANES)]
    rows = [builder.add(row, _INDEX(down)) for down in range(group)]
    sums = [[cgutils.alloca_once(builder, _FLOATS) for _ in places] for _ in rows]

    def address(array: Any, line: Any, length: Any, place: Any, kind: ir.Type) -> Any:
        """Where a register of ``kind`` lies in an array of lines of ``length`` words."""
        entry = builder.add(builder.mul(line, length), place)
        words = builder.bitcast(array.data, _WORD.as_pointer())
        return builder.bitcast(builder.gep(words, [entry]), kind.as_pointer())

    def each_sum() -> Any:
        """Every register of sums, and where it lies in ``out``."""
        for line, kept in zip(rows, sums, strict=True):
            for place, register in zip(places, kept, strict=True):
                yield register, address(out, line, columns, place, _FLOATS)

    for register, at in each_sum():
        builder.store(builder.load(at, align=4), register)
    with cgutils.for_range(builder, pairs) as loop:
        strip = [address(right, loop.index, columns, place, _PAIRS) for place in places]
        factors = [builder.load(at, align=4) for at in strip]
        for line, kept in zip(rows, sums, strict=True):
            word = builder.load(address(left, line, pairs, loop.index, _WORD), align=2)
            factor = _spread(builder, word)
            for register, other in zip(kept, factors, strict=True):
                builder.store(_dot(builder, builder.load(register), factor, other), register)
    for register, at in each_sum():
        builder.store(builder.load(register), at, align=4)


def _spread(builder: ir.IRBuilder, word: Any) -> Any:
    """A register that holds ``word``, two bfloat16, in every lane."""
    nothing = ir.Constant(_WORDS, ir.Undefined)
    first = builder.insert_element(nothing, word, _WORD(0))
    every = builder.shuffle_vector(first, nothing, ir.Constant(_WORDS, [0] * LANES))
    return builder.bitcast(every, _PAIRS)


def _dot(builder: ir.IRBuilder, sums: Any, left: Any, right: Any) -> Any:
    """Sums of 16 lanes, and in each the products of two pairs."""
    kind = ir.FunctionType(_FLOATS, [_FLOATS, _PAIRS, _PAIRS])
    name = "llvm.x86.avx512bf16.dpbf16ps.512"
    instruction = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(instruction, [sums, left, right])
