"""Bitwise logic, shifts, counts of bits, and high halves of products."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import bits as ops


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bitwise and.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    Example:
      >>> lax.bitwise_and(jnp.array([4, 5, 6]), 1)
      Array([0, 1, 0], dtype=int32)
    """
    return ops.and_p.bind(*same_dtype_operands("bitwise_and", x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bitwise or.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    Example:
      >>> lax.bitwise_or(jnp.array([4, 5, 6]), 1)
      Array([5, 5, 7], dtype=int32)
    """
    return ops.or_p.bind(*same_dtype_operands("bitwise_or", x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bitwise exclusive or.

    Args:
      x: a boolean or integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    Example:
      >>> lax.bitwise_xor(jnp.array([4, 5, 6]), 1)
      Array([5, 4, 7], dtype=int32)
    """
    return ops.xor_p.bind(*same_dtype_operands("bitwise_xor", x, y))


def bitwise_not(x: ArrayLike) -> Array:
    """Return the bitwise complement.

    Args:
      x: a boolean or integer array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.bitwise_not(jnp.array([0, 5]))
      Array([-1, -6], dtype=int32)
      >>> lax.bitwise_not(jnp.array([True, False]))
      Array([False,  True], dtype=bool)
    """
    return ops.not_p.bind(as_operand(x, "bitwise_not"))


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Shift the bits of x left by y.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    A shift by the width of the dtype or more gives 0; `y` is read as an unsigned number.

    Example:
      >>> lax.shift_left(1, jnp.array([0, 4, 32]))
      Array([ 1, 16,  0], dtype=int32)
    """
    return ops.shift_left_p.bind(*same_dtype_operands("shift_left", x, y))


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Shift the bits of x right by y, filling in the sign bit.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    A shift by the width of the dtype or more gives 0 or -1; `y` is read as an unsigned number.

    Example:
      >>> lax.shift_right_arithmetic(jnp.array([16, -16]), 2)
      Array([ 4, -4], dtype=int32)
    """
    return ops.shift_right_arithmetic_p.bind(*same_dtype_operands("shift_right_arithmetic", x, y))


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Shift the bits of x right by y, filling in zeros.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are floating, or shapes do not go together.

    A shift by the width of the dtype or more gives 0; `y` is read as an unsigned number.

    Example:
      >>> lax.shift_right_logical(jnp.array([16, -16], dtype="int8"), 2)
      Array([ 4, 60], dtype=int8)
    """
    return ops.shift_right_logical_p.bind(*same_dtype_operands("shift_right_logical", x, y))


def population_count(x: ArrayLike) -> Array:
    """Count the bits that are set.

    Args:
      x: an integer array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.population_count(jnp.array([0, 7, -1]))
      Array([ 0,  3, 32], dtype=int32)
    """
    return ops.population_count_p.bind(as_operand(x, "population_count"))


def clz(x: ArrayLike) -> Array:
    """Count the leading zero bits.

    Args:
      x: an integer array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.clz(jnp.array([0, 1, 255]))
      Array([32, 31, 24], dtype=int32)
    """
    return ops.clz_p.bind(as_operand(x, "clz"))


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the high half of the product: of N-bit integers, its upper N of 2N bits.

    Args:
      x: an integer array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Example:
      >>> lax.mulhi(jnp.int32(2**30), 12)
      Array(3, dtype=int32)
    """
    return ops.mulhi_p.bind(*same_dtype_operands("mulhi", x, y))
