"""Running sums, products, extremes and log-sum-exps."""

from __future__ import annotations

import operator

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.ops import cumulative as ops


def _bind(prim, operand, axis, reverse):
    x = as_operand(operand, prim.name)
    return prim.bind(x, axis=operator.index(axis), reverse=bool(reverse))


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the sums of the elements up to each element along an axis.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype; integers wrap around.

    Example:
      >>> lax.cumsum(jnp.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
      >>> lax.cumsum(jnp.array([1, 2, 3]), reverse=True)
      Array([6, 5, 3], dtype=int32)
    """
    return _bind(ops.cumsum_p, operand, axis, reverse)


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the products of the elements up to each element along an axis.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. The derivative is right where elements are zero.

    Example:
      >>> lax.cumprod(jnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _bind(ops.cumprod_p, operand, axis, reverse)


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the largest element up to each element along an axis; NaN from the first NaN on.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. Where an element ties with the maximum before it
      the two share the derivative in halves (JAX's shares depend on its order of evaluation).

    Example:
      >>> lax.cummax(jnp.array([1, 3, 2, 5]))
      Array([1, 3, 3, 5], dtype=int32)
    """
    return _bind(ops.cummax_p, operand, axis, reverse)


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the smallest element up to each element along an axis; NaN from the first NaN on.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. Ties are treated as in `cummax`.

    Example:
      >>> lax.cummin(jnp.array([4, 5, 2, 3]))
      Array([4, 4, 2, 2], dtype=int32)
    """
    return _bind(ops.cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return ``log(cumsum(exp(x)))`` along an axis, without overflow.

    Args:
      operand: a floating or complex array.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> lax.cumlogsumexp(jnp.array([1000.0, 1000.0, 1001.0]))
      Array([1000.     , 1000.6932 , 1001.55145], dtype=float32)
    """
    return _bind(ops.cumlogsumexp_p, operand, axis, reverse)
