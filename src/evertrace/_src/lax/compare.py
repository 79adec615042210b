"""Comparisons of arrays of one dtype."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import compare as ops
from evertrace._src.ops.bits import not_p
from evertrace._src.ops.random import are_keys, same_keys


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x == y, elementwise.

    Args:
      x: an array of numbers, booleans or random keys.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.equal` promotes.

    Example:
      >>> lax.eq(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    x, y = same_dtype_operands("eq", x, y)
    return (same_keys if are_keys(x, y) else ops.eq_p.bind)(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x != y, elementwise.

    Args:
      x: an array of numbers, booleans or random keys.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ, or shapes do not go together; `numpy.not_equal`
        promotes.

    Example:
      >>> lax.ne(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan]))
      Array([False,  True,  True], dtype=bool)
    """
    x, y = same_dtype_operands("ne", x, y)
    return not_p.bind(same_keys(x, y)) if are_keys(x, y) else ops.ne_p.bind(x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x < y, elementwise.

    Args:
      x: a boolean, integer or floating array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are complex, or shapes do not go together.

    Example:
      >>> lax.lt(jnp.array([1, 2, 3]), 2)
      Array([ True, False, False], dtype=bool)
    """
    return ops.lt_p.bind(*same_dtype_operands("lt", x, y))


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x <= y, elementwise.

    Args:
      x: a boolean, integer or floating array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are complex, or shapes do not go together.

    Example:
      >>> lax.le(jnp.array([1, 2, 3]), 2)
      Array([ True,  True, False], dtype=bool)
    """
    return ops.le_p.bind(*same_dtype_operands("le", x, y))


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x > y, elementwise.

    Args:
      x: a boolean, integer or floating array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are complex, or shapes do not go together.

    Example:
      >>> lax.gt(jnp.array([1, 2, 3]), 2)
      Array([False, False,  True], dtype=bool)
    """
    return ops.gt_p.bind(*same_dtype_operands("gt", x, y))


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether x >= y, elementwise.

    Args:
      x: a boolean, integer or floating array.
      y: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      a boolean array of the common shape.

    Raises:
      DTypeError, ShapeError: dtypes differ or are complex, or shapes do not go together.

    Example:
      >>> lax.ge(jnp.array([1, 2, 3]), 2)
      Array([False,  True,  True], dtype=bool)
    """
    return ops.ge_p.bind(*same_dtype_operands("ge", x, y))


def is_finite(x: ArrayLike) -> Array:
    """Return whether x is neither infinite nor NaN.

    Args:
      x: a floating array.

    Returns:
      a boolean array of the shape of `x`.

    Example:
      >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    return ops.is_finite_p.bind(as_operand(x, "is_finite"))
