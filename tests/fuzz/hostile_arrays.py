"""Arrays with a right frame and hostile contents: other types, shapes and values."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.documents import json_text, mutate_document

_TYPES = (
    "i1",
    "u1",
    "i2",
    "i4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "?",
    "U3",
    ">i4",
    ">f4",
)
_NAMES = {
    "i1": "I8",
    "u1": "U8",
    "i2": "I16",
    "i4": "I32",
    "i8": "I64",
    "u8": "U64",
    "f2": "F16",
    "f4": "F32",
    "f8": "F64",
    "c8": "C64",
    "b1": "BOOL",
}
_VALUES = (0, 1, -1, 5, 6, 7, 48, 127, -128, 255, 1000, 2**31 - 1, -(2**31), 2**62, -(2**62))


def change_array(draw: random.Random, array: np.ndarray) -> Any:
    """A changed copy of an array; its frame (name, file) stays right."""
    array = np.array(array)
    match draw.randrange(9):
        case 0:
            return _cast(array, draw.choice(_TYPES))
        case 1:
            return array.reshape(draw.choice(((-1,), (1, -1), (-1, 1), (*array.shape, 1))))
        case 2:
            return array[: draw.randrange(len(array) + 1)] if array.ndim else array[None]
        case 3:
            return np.concatenate([array, array]) if array.ndim else array[None]
        case 4:
            return np.zeros(draw.choice(((), (0,), (1,), (0, 14), (3, 3))), array.dtype)
        case 5:
            return np.full(array.shape, draw.choice(_special(array)), array.dtype)
        case 6:
            return array[::-1].copy() if array.ndim == 1 else np.ascontiguousarray(array.T)
        case _:
            return _poked(draw, array)


def _cast(array: np.ndarray, kind: str) -> np.ndarray:
    """The values in another type, as far as they fit."""
    with np.errstate(all="ignore"):
        return array.astype(np.dtype(kind), casting="unsafe")


def _special(array: np.ndarray) -> tuple[Any, ...]:
    """Values of an array's type that mean trouble."""
    if array.dtype.kind in "iu":
        bounds = np.iinfo(array.dtype)
        return tuple(value for value in _VALUES if bounds.min <= value <= bounds.max)
    if array.dtype.kind == "f":
        return (0.0, -1.0, np.nan, np.inf, -np.inf, 6e4, 1e-8)
    return (0, 1)


def _poked(draw: random.Random, array: np.ndarray) -> np.ndarray:
    """One to three values changed."""
    if not array.size:
        return array
    flat = array.reshape(-1).copy()
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(flat.size)
        flat[place] = draw.choice((*_special(array), flat[draw.randrange(flat.size)]))
    return flat.reshape(array.shape)


def packed_arrays(
    draw: random.Random, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a safetensors file; one in twenty with a hostile header.

    Not by the library, which refuses to write what a hostile hand can.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    content, size = [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        kind = array.dtype.str[1:]
        header[name] = {
            "dtype": _NAMES.get(kind, kind.upper()),
            "shape": list(array.shape),
            "data_offsets": [size, size + array.nbytes],
        }
        content.append(array.tobytes())
        size += array.nbytes
    if draw.randrange(20) == 0:
        header = mutate_document(draw, header, 1)
    text = json_text(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(content)
