"""Arrays that are handed from one @kernel to the next without counting references.

Numba counts a reference to an array in every function that takes it, with an instruction that
locks the memory bus: in a search whose functions take 20 ns that is a third of the time. An array
without an owner is not counted. It is valid as long as somebody else holds the array it came from.
"""

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload


@intrinsic
def _without_owner(_typing, array):
    """The array's fields with the owner set to null."""

    def generate(context, builder, signature, arguments):
        """LLVM for one array type."""
        fields = context.make_array(signature.args[0])(context, builder, arguments[0])
        fields.meminfo = cgutils.get_null_value(fields.meminfo.type)
        return fields._getvalue()

    return array(array), generate


def unowned(array: np.ndarray) -> np.ndarray:
    """The same array without an owner, in a kernel; in Python the array itself. None stays None.

    Only for arrays that the caller's caller holds, and never to be returned.
    """
    return array


@overload(unowned)
def _unowned(array):
    """What :func:`unowned` is inside kernels."""
    if isinstance(array, types.Array):
        return lambda array: _without_owner(array)
    if isinstance(array, types.NoneType):
        return lambda array: None
    return None
