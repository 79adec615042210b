"""Functions that move elements around without looking at them.

Dimensions are counted from 0; negative ones count from the end only where a docstring says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike, Shape
from evertrace._src.lax.shapes import as_dim, as_dims, as_shape
from evertrace._src.ops import structural as ops
from evertrace._src.ops.sharding_constraint import lays_out


@lays_out
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Add dimensions in front and repeat the array along them.

    Args:
      operand: an array ``[...]``.
      sizes: of the dimensions to add.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array ``[*sizes, ...]``.

    Example:
      >>> lax.broadcast(jnp.array([1, 2]), (3,))
      Array([[1, 2],
             [1, 2],
             [1, 2]], dtype=int32)
    """
    operand, sizes = as_array(operand, "broadcast"), as_shape(sizes)
    kept = tuple(range(len(sizes), len(sizes) + operand.ndim))
    return broadcast_in_dim(operand, (*sizes, *operand.shape), kept)


@lays_out
def broadcast_in_dim(
    operand: ArrayLike,
    shape: Shape,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """Broadcast to a shape, with the dimensions of the operand where one wants them.

    Args:
      operand: an array.
      shape: of the result.
      broadcast_dimensions: for each dimension of `operand`, the dimension of the result that it
        becomes; its size must be the result's or 1.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array of `shape` and the operand's dtype.

    Raises:
      ShapeError: sizes do not fit.
      AxisError: the result does not have such dimensions.

    Example:
      >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
      Array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    operand, shape = as_array(operand, "broadcast_in_dim"), as_shape(shape)
    dims = as_shape(broadcast_dimensions)
    if operand.shape == shape and dims == tuple(range(len(shape))):
        return operand
    return ops.broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=dims, sharding=None
    )


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Add dimensions of size 1 in front until the array has `rank` dimensions.

    Args:
      x: an array of at most that rank.
      rank: of the result.

    Returns:
      An array of rank `rank`, or `x` where it has more.

    Example:
      >>> lax.broadcast_to_rank(jnp.array([1, 2]), 3).shape
      (1, 1, 2)
    """
    x = as_array(x, "broadcast_to_rank")
    return ops.expand_dims(x, tuple(range(rank - x.ndim)))


@lays_out
def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Give the elements, in row-major order, another shape.

    Args:
      operand: an array.
      new_sizes: the shape, of the same size.
      dimensions: a permutation of the dimensions to apply first.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array ``[*new_sizes]`` of the operand's dtype.

    Raises:
      ShapeError: the sizes do not agree.

    Differs from `numpy.reshape`: no size may be -1.

    Example:
      >>> lax.reshape(jnp.array([[1, 2], [3, 4]]), (4,))
      Array([1, 2, 3, 4], dtype=int32)
      >>> lax.reshape(jnp.array([[1, 2], [3, 4]]), (4,), (1, 0))
      Array([1, 3, 2, 4], dtype=int32)
    """
    operand, new_sizes = as_array(operand, "reshape"), as_shape(new_sizes)
    if dimensions is not None:
        dimensions = as_shape(dimensions)
        if dimensions == tuple(range(operand.ndim)):
            dimensions = None
    if dimensions is None and operand.shape == new_sizes:
        return operand
    return ops.reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions, sharding=None)


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permute dimensions.

    Args:
      operand: an array.
      permutation: dimension ``i`` of the result is dimension ``permutation[i]`` of `operand`.

    Returns:
      An array of the permuted shape.

    Raises:
      AxisError: it is no permutation of the dimensions.

    Example:
      >>> lax.transpose(jnp.zeros((2, 3, 5)), (2, 0, 1)).shape
      (5, 2, 3)
    """
    return ops.permute(as_array(operand, "transpose"), as_shape(permutation))


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove dimensions of size 1.

    Args:
      array: an array.
      dimensions: the ones to remove; negative ones count from the end.

    Returns:
      An array without those dimensions.

    Raises:
      ShapeError: one is not of size 1.
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.squeeze(jnp.array([[[1, 2]]]), (0, 1))
      Array([1, 2], dtype=int32)
    """
    array = as_array(array, "squeeze")
    return ops.squeeze(array, as_dims("squeeze", dimensions, array.ndim))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Add dimensions of size 1.

    Args:
      array: an array.
      dimensions: where they stand in the result; negative ones count from its end.

    Returns:
      An array with those dimensions.

    Raises:
      AxisError: the result does not have such a dimension, or it is named twice.

    Example:
      >>> lax.expand_dims(jnp.array([1, 2]), (0, -1)).shape
      (1, 2, 1)
    """
    array, dimensions = as_array(array, "expand_dims"), tuple(dimensions)
    ndim = array.ndim + len(dimensions)
    dims = as_dims("expand_dims", dimensions, ndim)
    ops.check_dims("expand_dims", dims, ndim)
    return ops.expand_dims(array, dims)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order of elements along dimensions.

    Args:
      operand: an array.
      dimensions: those to reverse.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (0,))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    return ops.rev_p.bind(as_array(operand, "rev"), dimensions=as_shape(dimensions))


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Make one dimension of several neighbouring ones.

    Args:
      operand: an array.
      start_dimension: the first; negative counts from the end.
      stop_dimension: the one after the last; by default all up to the end.

    Returns:
      An array of the operand's dtype.

    Raises:
      ValueError: the range is empty or out of bounds.

    Example:
      >>> lax.collapse(jnp.zeros((2, 3, 5)), 0, 2).shape
      (6, 5)
    """
    operand = as_array(operand, "collapse")
    ndim = operand.ndim
    start, stop, _ = slice(start_dimension, stop_dimension).indices(ndim)
    if stop_dimension is not None:
        stop = operator.index(stop_dimension)
        stop = stop if stop == ndim else as_dim("collapse", stop, ndim)
    if stop < start:
        raise errors.user_error(
            ValueError,
            f"collapse: dimensions {start_dimension} to {stop_dimension} of an array of rank "
            f"{ndim} are no range.",
            fix="put the start before the stop.",
            anchor="axis",
        )
    shape = operand.shape
    merged = math.prod(shape[start:stop])
    return reshape(operand, (*shape[:start], merged, *shape[stop:]))
