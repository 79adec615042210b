"""Sorting."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.shapes import as_dim
from evertrace._src.ops import sort as ops
from evertrace._src.ops.bits import not_p
from evertrace._src.ops.elementwise import neg_p


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array: ...


@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort along a dimension, in ascending order.

    Args:
      operand: an array, or a sequence of arrays of one shape that are rearranged together.
      dimension: to sort along; negative counts from the end.
      is_stable: whether elements with equal keys keep their order.
      num_keys: the first so many of the arrays are compared, one after the other.

    Returns:
      The array, or a tuple of the arrays, sorted. NaNs come last; -0.0 and 0.0 are equal as keys;
      complex numbers are ordered by their real, then by their imaginary part.

    Raises:
      ShapeError: the shapes differ.
      ValueError: `num_keys` is out of range.

    Differs from JAX: -0.0 comes before 0.0 where a single array of floats is sorted.

    Example:
      >>> lax.sort(jnp.array([3.0, jnp.nan, 1.0]))
      Array([ 1.,  3., nan], dtype=float32)
      >>> lax.sort((jnp.array([2, 1, 2]), jnp.array([7, 8, 6])), num_keys=2)
      (Array([1, 2, 2], dtype=int32), Array([8, 6, 7], dtype=int32))
    """
    is_sequence = isinstance(operand, tuple | list)
    operands = [as_array(x, "sort") for x in (operand if is_sequence else [operand])]
    if operands:
        dimension = as_dim("sort", dimension, operands[0].ndim)
    outs = ops.sort_p.bind(
        *operands, dimension=dimension, is_stable=bool(is_stable), num_keys=int(num_keys)
    )
    return tuple(outs) if is_sequence else outs[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort `keys`, and rearrange `values` in the same way.

    Args:
      keys: an array.
      values: an array of the same shape.
      dimension: to sort along; negative counts from the end.
      is_stable: whether values with equal keys keep their order.

    Returns:
      Both, rearranged.

    Raises:
      ShapeError: the shapes differ.

    Example:
      >>> keys, values = lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
      >>> values
      Array([10, 20, 30], dtype=int32)
    """
    first, second = sort((keys, values), dimension, is_stable)
    return first, second


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> list[Array]:
    """Return the `k` largest elements along a dimension, and where they are.

    Args:
      operand: an array of real numbers.
      k: how many.
      axis: the dimension; negative counts from the end.

    Returns:
      A list: the elements in descending order, and their indices (int32). Of equal ones the first
      comes first; 0.0 comes before -0.0 and NaN before all numbers.

    Raises:
      ShapeError: the dimension is shorter than `k`.

    Example:
      >>> values, indices = lax.top_k(jnp.array([3, 9, 5, 9]), 3)
      >>> values, indices
      (Array([9, 9, 5], dtype=int32), Array([1, 3, 2], dtype=int32))
    """
    operand = as_array(operand, "top_k")
    axis = as_dim("top_k", axis, operand.ndim)
    return list(ops.top_k_p.bind(operand, k=operator.index(k), axis=axis))


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Return the `k` largest elements, of which some may be missed; here none are.

    Args:
      operand: a floating array.
      k: how many.
      reduction_dimension: the dimension; negative counts from the end.
      recall_target: share of the largest elements that must be found.
      reduction_input_size_override: size of the whole dimension where `operand` is a part of it;
        of no consequence for an exact search.
      aggregate_to_topk: whether to return `k` elements rather than more candidates.

    Returns:
      The elements in descending order, and their indices (int32).

    Differs from JAX on TPUs: the search is exact, and always for `k` elements.

    Example:
      >>> values, indices = lax.approx_max_k(jnp.array([3.0, 9.0, 5.0]), 2)
      >>> values, indices
      (Array([9., 5.], dtype=float32), Array([1, 2], dtype=int32))
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Return the `k` smallest elements in ascending order; see `approx_max_k`.

    Args:
      operand: a floating array.
      k: how many.
      reduction_dimension: the dimension; negative counts from the end.
      recall_target: share of the smallest elements that must be found; all of them are.
      reduction_input_size_override: of no consequence for an exact search.
      aggregate_to_topk: of no consequence, `k` elements are returned.

    Returns:
      The elements in ascending order, and their indices (int32).

    Example:
      >>> values, indices = lax.approx_min_k(jnp.array([3.0, 9.0, 5.0]), 2)
      >>> values, indices
      (Array([3., 5.], dtype=float32), Array([0, 2], dtype=int32))
    """
    operand = as_array(operand, "approx_min_k")
    # The lowest integer is its own negative, and unsigned ones have none.
    is_inexact = dtypes.issubdtype(operand.dtype, np.inexact)
    turned = neg_p if is_inexact else not_p
    values, indices = top_k(turned.bind(operand), k, axis=reduction_dimension)
    return [turned.bind(values), indices]
