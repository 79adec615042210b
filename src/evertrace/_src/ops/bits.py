"""Bitwise logic, shifts, counts of bits, high halves of products; on integers.

Logic is defined on booleans too.
"""

import numpy as np

from evertrace._src import dtypes
from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.builders import BITS, INTEGER, in_bytes, integer_operation

and_p: Primitive = integer_operation("and", BITS, host=np.bitwise_and)
or_p: Primitive = integer_operation("or", BITS, host=np.bitwise_or)
xor_p: Primitive = integer_operation("xor", BITS, host=np.bitwise_xor)
not_p: Primitive = integer_operation("not", BITS, host=in_bytes(np.invert))


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def unsigned(x):
    """Return an integer array's bits as unsigned integers."""
    return x.view(_UNSIGNED[x.dtype.itemsize])


def signed(x):
    """Return an integer array's bits as signed integers."""
    return x.view(_SIGNED[x.dtype.itemsize])


def _bits_of(x):
    """Return an integer array's bits as unsigned integers; narrow ones without their sign's."""
    width = dtypes.itemsize_bits(x.dtype)
    return unsigned(x) if width >= 8 else unsigned(x) & np.uint8(2**width - 1)


def _shift_right_logical(x, y):
    if dtypes.itemsize_bits(x.dtype) < 8:
        return np.right_shift(_bits_of(x), _bits_of(y)).astype(x.dtype)
    return np.right_shift(unsigned(x), unsigned(y)).view(x.dtype)


def _shift_right_arithmetic(x, y):
    width = dtypes.itemsize_bits(x.dtype)
    if width < 8:
        top = np.int8(2 ** (width - 1))
        extended = (_bits_of(x).astype(np.int8) ^ top) - top
        return np.right_shift(extended, _bits_of(y).astype(np.int8)).astype(x.dtype)
    return np.right_shift(signed(x), signed(y)).view(x.dtype)


def _leading_zeros(x):
    """Count by way of the exponent of the number as a float64, 32 bits at a time."""
    width = dtypes.itemsize_bits(x.dtype)
    bits = _bits_of(x)
    if width < 64:
        used = np.frexp(bits.astype(np.float64))[1]
    else:
        high, low = (bits >> np.uint64(32)), bits & np.uint64(0xFFFFFFFF)
        upper, lower = (np.frexp(half.astype(np.float64))[1] for half in (high, low))
        used = np.where(high != 0, upper + 32, lower)
    return (width - used).astype(x.dtype)


# NumPy's shifts by the width or more (by a negative number: read as unsigned) give 0, or the sign,
# which is what XLA's give.
shift_left_p: Primitive = integer_operation("shift_left", INTEGER, host=in_bytes(np.left_shift))
shift_right_arithmetic_p: Primitive = integer_operation(
    "shift_right_arithmetic",
    INTEGER,
    host=_shift_right_arithmetic,
)
shift_right_logical_p: Primitive = integer_operation(
    "shift_right_logical", INTEGER, host=_shift_right_logical
)

population_count_p: Primitive = integer_operation(
    "population_count", INTEGER, host=lambda x: np.bitwise_count(_bits_of(x)).astype(x.dtype)
)
clz_p: Primitive = integer_operation("clz", INTEGER, host=_leading_zeros)


def _high_product(x, y):
    """Return the high bits of products; of 64-bit ones by way of Python's integers."""
    width = dtypes.itemsize_bits(x.dtype)
    # 64 bits hold the product of narrower numbers: what is taken is right though it may wrap.
    wide = np.dtype(object if width == 64 else np.int64)
    product = np.asarray(x).astype(wide) * np.asarray(y).astype(wide)
    return np.asarray(product >> width).astype(x.dtype)


mulhi_p: Primitive = integer_operation("mulhi", INTEGER, host=_high_product)
