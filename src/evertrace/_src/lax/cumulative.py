"""Running sums, products, extremes and log-sum-exps."""

import operator

from evertrace._src.arrays.interop import as_operand
from evertrace._src.ops import cumulative as ops

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def _bind(prim, operand, axis, reverse):
    x = as_operand(operand, prim.name)
    return prim.bind(x, axis=operator.index(axis), reverse=bool(reverse))


def cumsum(operand, axis=0, reverse=False):
    """Return the sums of the elements up to each element along an axis.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype; integers wrap around.
    """
    return _bind(ops.cumsum_p, operand, axis, reverse)


def cumprod(operand, axis=0, reverse=False):
    """Return the products of the elements up to each element along an axis.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. The derivative is right where elements are zero.
    """
    return _bind(ops.cumprod_p, operand, axis, reverse)


def cummax(operand, axis=0, reverse=False):
    """Return the largest element up to each element along an axis; NaN from the first NaN on.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. Where an element ties with the maximum before it
      the two share the derivative in halves (JAX's shares depend on its order of evaluation).
    """
    return _bind(ops.cummax_p, operand, axis, reverse)


def cummin(operand, axis=0, reverse=False):
    """Return the smallest element up to each element along an axis; NaN from the first NaN on.

    Args:
      operand: an array of numbers.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype. Ties are treated as in `cummax`.
    """
    return _bind(ops.cummin_p, operand, axis, reverse)


def cumlogsumexp(operand, axis=0, reverse=False):
    """Return ``log(cumsum(exp(x)))`` along an axis, without overflow.

    Args:
      operand: a floating or complex array.
      axis: the dimension to run along, counted from 0.
      reverse: whether to run from the end.

    Returns:
      An array of the operand's shape and dtype.
    """
    return _bind(ops.cumlogsumexp_p, operand, axis, reverse)
