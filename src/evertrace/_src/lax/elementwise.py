"""Elementwise arithmetic and functions.

Operands must have one dtype, in contrast to the functions of `numpy`; see `broadcasting` for what
Python scalars and shapes may be.
"""

from __future__ import annotations

import enum
from typing import Any

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.broadcasting import same_dtype_operands, scalars_like_arrays
from evertrace._src.ops import elementwise as ops
from evertrace._src.ops.convert import convert


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x + y.

    Args:
      x: an integer, floating or complex array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.add` promotes.

    Integers wrap around.

    Example:
      >>> lax.add(jnp.array([1.5, 2.5]), 1)
      Array([2.5, 3.5], dtype=float32)
      >>> lax.add(jnp.uint8(255), 1)
      Array(0, dtype=uint8)
    """
    return ops.add_p.bind(*same_dtype_operands("add", x, y))


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x - y.

    Args:
      x: an integer, floating or complex array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.subtract`
        promotes.

    Integers wrap around.

    Example:
      >>> lax.sub(10, jnp.array([1, 2, 3]))
      Array([9, 8, 7], dtype=int32)
    """
    return ops.sub_p.bind(*same_dtype_operands("sub", x, y))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Return x * y.

    Args:
      x: an integer, floating or complex array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.
      out_dtype: dtype to which both operands are converted before they are multiplied.

    Returns:
      an array of the operands' dtype (or `out_dtype`) and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.multiply`
        promotes.

    Integers wrap around.

    Example:
      >>> lax.mul(jnp.array([1, 2, 3]), 10)
      Array([10, 20, 30], dtype=int32)
      >>> lax.mul(jnp.array([100], "int8"), jnp.array([2], "int8"), out_dtype="int32")
      Array([200], dtype=int32)
    """
    operands = same_dtype_operands("mul", x, y)
    if out_dtype is not None:
        dtype = dtypes.canonicalize_dtype(out_dtype)
        operands = [convert(operand, dtype) for operand in operands]
    return ops.mul_p.bind(*operands)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x / y; for integers the quotient rounded towards zero.

    Args:
      x: an integer, floating or complex array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.divide` promotes.

    An integer divided by zero gives -1, all bits set.

    Example:
      >>> lax.div(jnp.array([7, -7, 7]), jnp.array([2, 2, 0]))
      Array([ 3, -3, -1], dtype=int32)
    """
    return ops.div_p.bind(*same_dtype_operands("div", x, y))


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the remainder of x / y, with the sign of `x`.

    Args:
      x: an integer or floating array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together.

    For integers ``rem(x, 0)`` is `x`. Differs from ``numpy.mod``, which takes the sign of `y`.

    Example:
      >>> lax.rem(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    return ops.rem_p.bind(*same_dtype_operands("rem", x, y))


def neg(x: ArrayLike) -> Array:
    """Return -x.

    Args:
      x: an integer, floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.neg(jnp.array([1.0, -2.0]))
      Array([-1.,  2.], dtype=float32)
    """
    return ops.neg_p.bind(as_operand(x, "neg"))


def sign(x: ArrayLike) -> Array:
    """Return -1, 0 or 1 by the sign of `x`; for complex numbers x / |x|.

    Args:
      x: an integer, floating or complex array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.sign(jnp.array([-2.5, 0.0, 3.0]))
      Array([-1.,  0.,  1.], dtype=float32)
      >>> lax.sign(jnp.array([3 + 4j]))
      Array([0.6+0.8j], dtype=complex64)
    """
    return ops.sign_p.bind(as_operand(x, "sign"))


def abs(x: ArrayLike) -> Array:
    """Return the absolute value.

    Args:
      x: a signed integer, floating or complex array.

    Returns:
      an array of the shape of `x`, real if `x` is complex.

    Example:
      >>> lax.abs(jnp.array([3 + 4j, -2]))
      Array([5., 2.], dtype=float32)
    """
    return ops.abs_p.bind(as_operand(x, "abs"))


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the greater of x and y, NaN if either is.

    Args:
      x: an array of numbers or booleans.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.maximum` promotes.

    Complex numbers are ordered by real part, then by imaginary part. Where x and y are equal, each
    gets half of the derivative.

    Example:
      >>> lax.max(jnp.array([-1.0, 2.0, jnp.nan]), 0.0)
      Array([ 0.,  2., nan], dtype=float32)
    """
    return ops.max_p.bind(*same_dtype_operands("max", x, y))


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the lesser of x and y, NaN if either is.

    Args:
      x: an array of numbers or booleans.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.minimum` promotes.

    Complex numbers are ordered by real part, then by imaginary part. Where x and y are equal, each
    gets half of the derivative.

    Example:
      >>> lax.min(jnp.array([-1.0, 2.0, jnp.nan]), 0.0)
      Array([-1.,  0., nan], dtype=float32)
    """
    return ops.min_p.bind(*same_dtype_operands("min", x, y))


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Return x limited to ``[min, max]``.

    Args:
      min: lower bounds, of rank 0 or of the shape of `x`.
      x: a boolean, integer or floating array.
      max: upper bounds, of rank 0 or of the shape of `x`.

    Returns:
      an array of the shape and dtype of `x`; `max` where `min` exceeds it.

    Raises:
      DTypeError, ShapeError: dtypes differ, or bounds have other shapes; `numpy.clip` promotes and
        broadcasts.

    Example:
      >>> lax.clamp(0, jnp.array([-5, 3, 12]), 10)
      Array([ 0,  3, 10], dtype=int32)
    """
    return ops.clamp_p.bind(*scalars_like_arrays("clamp", (min, x, max)))


def floor(x: ArrayLike) -> Array:
    """Round down to whole numbers.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.floor(jnp.array([1.7, -1.2]))
      Array([ 1., -2.], dtype=float32)
    """
    return ops.floor_p.bind(as_operand(x, "floor"))


def ceil(x: ArrayLike) -> Array:
    """Round up to whole numbers.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.ceil(jnp.array([1.2, -1.7]))
      Array([ 2., -1.], dtype=float32)
    """
    return ops.ceil_p.bind(as_operand(x, "ceil"))


class RoundingMethod(enum.IntEnum):
    """Where `round` takes numbers halfway between two whole ones.

    Example:
      >>> lax.round(jnp.array([0.5, 1.5, -2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
      Array([ 0.,  2., -2.], dtype=float32)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: ArrayLike, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Round to the nearest whole numbers.

    Args:
      x: a floating array.
      rounding_method: which way halves go.

    Returns:
      an array of the shape and dtype of `x`.

    Differs from NumPy's, which takes halves to even numbers.

    Example:
      >>> lax.round(jnp.array([0.5, 1.5, -2.5]))
      Array([ 1.,  2., -3.], dtype=float32)
    """
    rounding_method = RoundingMethod(rounding_method)
    return ops.round_p.bind(as_operand(x, "round"), rounding_method=rounding_method)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the next number after `x1` in the direction of `x2`.

    Args:
      x1: a floating array.
      x2: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Has no derivative.

    Example:
      >>> lax.nextafter(jnp.float32(1), 2) - 1
      Array(1.1920929e-07, dtype=float32)
    """
    return ops.nextafter_p.bind(*same_dtype_operands("nextafter", x1, x2))


def real(x: ArrayLike) -> Array:
    """Return the real part.

    Args:
      x: a complex array.

    Returns:
      a floating array of the shape of `x`.

    Example:
      >>> lax.real(jnp.array([1 + 2j, 3 - 4j]))
      Array([1., 3.], dtype=float32)
    """
    return ops.real_p.bind(as_operand(x, "real"))


def imag(x: ArrayLike) -> Array:
    """Return the imaginary part.

    Args:
      x: a complex array.

    Returns:
      a floating array of the shape of `x`.

    Example:
      >>> lax.imag(jnp.array([1 + 2j, 3 - 4j]))
      Array([ 2., -4.], dtype=float32)
    """
    return ops.imag_p.bind(as_operand(x, "imag"))


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x + iy.

    Args:
      x: a float32 or float64 array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a complex64 or complex128 array.

    Example:
      >>> lax.complex(jnp.array([1.0, 2.0]), -1.0)
      Array([1.-1.j, 2.-1.j], dtype=complex64)
    """
    return ops.complex_p.bind(*same_dtype_operands("complex", x, y))


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate.

    Args:
      x: a complex, float32 or float64 array.

    Returns:
      a complex array of the shape of `x`.

    Differs from `numpy.conj`, which returns real numbers as they are.

    Example:
      >>> lax.conj(jnp.array([1 + 2j, 3 - 4j]))
      Array([1.-2.j, 3.+4.j], dtype=complex64)
    """
    return ops.conj(as_operand(x, "conj"))
