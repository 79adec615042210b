"""Shapes and dimensions as users give them."""

from __future__ import annotations

import operator

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.arrays.types import Shape
from evertrace._src.ops.builders import broadcast_error


def as_shape(shape):
    """Return a shape as a tuple of sizes; one integer is a shape of rank 1."""
    shape = dims.bare(shape)
    if dims.is_dim(shape) or (not isinstance(shape, tuple | list) and np.ndim(shape) == 0):
        return (dims.size_of(shape),)
    return tuple(map(dims.size_of, shape))


def as_dim(name, dim, ndim):
    """Return a dimension counted from the front.

    Raises:
      AxisError: an array of rank `ndim` does not have it.
    """
    dim = operator.index(dim)
    if -ndim <= dim < ndim:
        return dim % ndim
    raise errors.user_error(
        errors.AxisError,
        f"{name}: dimension {dim} is out of range for an array of rank {ndim}.",
        fix=f"use a dimension from {-ndim} to {ndim - 1}." if ndim else "use an array of rank 1.",
        anchor="axis",
    )


def as_index(name, index, dim, size):
    """Return an index into a dimension, counted from the front.

    Raises:
      IndexError: the dimension, which is of that size, does not have it.
    """
    index = dims.size_of(index)
    if -size <= index < size:
        return index + size if dims.is_below(index, 0) else index
    raise errors.user_error(
        IndexError,
        f"{name}: index {index} is out of range for dimension {dim} of size {size}.",
        fix=f"use an index from {-size} to {size - 1}." if size else "take no element of it.",
        anchor="index",
    )


def as_dims(name, dims, ndim):
    """Return dimensions counted from the front; that they differ is for the operation to check."""
    return tuple(as_dim(name, d, ndim) for d in dims)


def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to, aligned at their last dimensions.

    Args:
      *shapes: tuples of integers.

    Returns:
      A tuple of ints.

    Raises:
      ShapeError: sizes differ and none is 1.

    Example:
      >>> lax.broadcast_shapes((3, 1), (4,), ())
      (3, 4)
    """
    try:
        return dims.broadcast_shapes(*map(as_shape, shapes))
    except ValueError:
        raise broadcast_error("broadcast_shapes", shapes) from None
