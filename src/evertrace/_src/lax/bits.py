"""Bitwise logic, shifts and counts of bits."""

from evertrace._src.arrays.interop import as_operand
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import bits as ops

__all__ = [
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "population_count",
    "shift_left", "shift_right_arithmetic", "shift_right_logical",
]  # fmt: skip


def bitwise_and(x, y):
    """Return the bitwise and.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.
    """
    return ops.and_p.bind(*same_dtype_operands("bitwise_and", x, y))


def bitwise_or(x, y):
    """Return the bitwise or.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.
    """
    return ops.or_p.bind(*same_dtype_operands("bitwise_or", x, y))


def bitwise_xor(x, y):
    """Return the bitwise exclusive or.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.
    """
    return ops.xor_p.bind(*same_dtype_operands("bitwise_xor", x, y))


def bitwise_not(x):
    """Return the bitwise complement.

    Args:
      x: a boolean or integer array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.not_p.bind(as_operand(x, "bitwise_not"))


def shift_left(x, y):
    """Shift the bits of x left by y.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    A shift by the width of the dtype or more gives 0; `y` is read as an unsigned number.
    """
    return ops.shift_left_p.bind(*same_dtype_operands("shift_left", x, y))


def shift_right_arithmetic(x, y):
    """Shift the bits of x right by y, filling in the sign bit.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    A shift by the width of the dtype or more gives 0 or -1; `y` is read as an unsigned number.
    """
    return ops.shift_right_arithmetic_p.bind(*same_dtype_operands("shift_right_arithmetic", x, y))


def shift_right_logical(x, y):
    """Shift the bits of x right by y, filling in zeros.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    A shift by the width of the dtype or more gives 0; `y` is read as an unsigned number.
    """
    return ops.shift_right_logical_p.bind(*same_dtype_operands("shift_right_logical", x, y))


def population_count(x):
    """Count the bits that are set.

    Args:
      x: an integer array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.population_count_p.bind(as_operand(x, "population_count"))


def clz(x):
    """Count the leading zero bits.

    Args:
      x: an integer array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.clz_p.bind(as_operand(x, "clz"))
