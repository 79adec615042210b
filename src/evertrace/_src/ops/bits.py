"""Bitwise logic, shifts and counts of bits, on integers and (logic only) booleans."""

import numpy as np

from evertrace._src.ops.builders import BITS, INTEGER, integer_operation

and_p = integer_operation("and", BITS, host=np.bitwise_and)
or_p = integer_operation("or", BITS, host=np.bitwise_or)
xor_p = integer_operation("xor", BITS, host=np.bitwise_xor)
not_p = integer_operation("not", BITS, host=np.invert)


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def unsigned(x):
    """Return an integer array's bits as unsigned integers."""
    return x.view(_UNSIGNED[x.dtype.itemsize])


def signed(x):
    """Return an integer array's bits as signed integers."""
    return x.view(_SIGNED[x.dtype.itemsize])


def _shift_right_logical(x, y):
    return np.right_shift(unsigned(x), unsigned(y)).view(x.dtype)


def _leading_zeros(x):
    """Count by way of the exponent of the number as a float64, 32 bits at a time."""
    bits = unsigned(x)
    width = 8 * bits.dtype.itemsize
    if width < 64:
        used = np.frexp(bits.astype(np.float64))[1]
    else:
        high, low = (bits >> np.uint64(32)), bits & np.uint64(0xFFFFFFFF)
        upper, lower = (np.frexp(half.astype(np.float64))[1] for half in (high, low))
        used = np.where(high != 0, upper + 32, lower)
    return (width - used).astype(x.dtype)


# NumPy's shifts by the width or more (by a negative number: read as unsigned) give 0, or the sign,
# which is what XLA's give.
shift_left_p = integer_operation("shift_left", INTEGER, host=np.left_shift)
shift_right_arithmetic_p = integer_operation(
    "shift_right_arithmetic", INTEGER,
    host=lambda x, y: np.right_shift(signed(x), signed(y)).view(x.dtype),
)  # fmt: skip
shift_right_logical_p = integer_operation(
    "shift_right_logical", INTEGER, host=_shift_right_logical
)  # fmt: skip

population_count_p = integer_operation(
    "population_count", INTEGER, host=lambda x: np.bitwise_count(unsigned(x)).astype(x.dtype)
)
clz_p = integer_operation("clz", INTEGER, host=_leading_zeros)
