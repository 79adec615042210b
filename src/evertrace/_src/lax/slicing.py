"""Slices, padding, concatenation and their like; slices may begin where scalars say."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, computed, rows_of, type_of_number
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.lax.broadcasting import scalars_like_arrays
from evertrace._src.lax.shapes import as_dim, as_index, as_shape
from evertrace._src.ops import dynamic
from evertrace._src.ops import slicing as ops
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.convert import convert, number
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import check_dims, expand_dims, moveaxis, reshape, squeeze

# ---------------------------------------------------------------- at known places


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Cut out a box, with a stride per dimension.

    Args:
      operand: an array.
      start_indices: first index in each dimension.
      limit_indices: index after the last in each dimension.
      strides: positive steps; by default 1.

    Returns:
      An array of shape ``ceil((limit - start) / stride)``.

    Raises:
      ShapeError: the box is not inside the array. Indices are not counted from the end.

    Example:
      >>> lax.slice(jnp.arange(12).reshape(3, 4), (1, 0), (3, 4), (1, 2))
      Array([[ 4,  6],
             [ 8, 10]], dtype=int32)
    """
    return ops.slice_p.bind(
        as_array(operand, "slice"),
        start_indices=as_shape(start_indices),
        limit_indices=as_shape(limit_indices),
        strides=None if strides is None else as_shape(strides),
    )


def slice_in_dim(
    operand: ArrayLike, start_index: int, limit_index: int, stride: int = 1, axis: int = 0
) -> Array:
    """Slice along one dimension, as ``x[start:limit:stride]`` does.

    Args:
      operand: an array.
      start_index: first index, negative counts from the end; None is the start.
      limit_index: index after the last; None is the end.
      stride: positive step.
      axis: the dimension; negative counts from the end.

    Returns:
      An array with ``ceil((limit - start) / stride)`` elements along `axis`.

    Raises:
      ShapeError: the slice is not inside the array.

    Example:
      >>> lax.slice_in_dim(jnp.arange(12).reshape(3, 4), 1, -1, axis=1)
      Array([[ 1,  2],
             [ 5,  6],
             [ 9, 10]], dtype=int32)
    """
    operand = as_array(operand, "slice_in_dim")
    axis = as_dim("slice_in_dim", axis, operand.ndim)
    size = operand.shape[axis]
    start = _from_front(0 if start_index is None else start_index, size)
    limit = _from_front(size if limit_index is None else limit_index, size)
    starts, limits, strides = [0] * operand.ndim, list(operand.shape), [1] * operand.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, operator.index(stride)
    return slice(operand, starts, limits, strides)


def _from_front(index, size):
    index = dims.size_of(index)
    return index + size if dims.is_below(index, 0) else index


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Take what is at one index of one dimension.

    Args:
      operand: an array.
      index: an integer; negative counts from the end.
      axis: the dimension; negative counts from the end.
      keepdims: whether the result keeps that dimension, of size 1.

    Returns:
      An array, with one element along `axis` or without it.

    Raises:
      IndexError: there is no such index.

    Example:
      >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1, axis=1)
      Array([[2],
             [4]], dtype=int32)
      >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1, axis=1, keepdims=False)
      Array([2, 4], dtype=int32)
    """
    operand = as_array(operand, "index_in_dim")
    axis = as_dim("index_in_dim", axis, operand.ndim)
    index = as_index("index_in_dim", index, axis, operand.shape[axis])
    out = slice_in_dim(operand, index, index + 1, 1, axis)
    return out if keepdims else squeeze(out, (axis,))


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """Add elements before, after and between, or remove some at the ends.

    Args:
      operand: an array.
      padding_value: scalar of its dtype.
      padding_config: per dimension ``(low, high, interior)``: how many elements to add before the
        first, after the last, and between neighbours. Negative low and high remove elements.

    Returns:
      An array of the dtype of `operand`.

    Raises:
      ShapeError: a negative interior, or more removed than there is.
      DTypeError: `padding_value` has another dtype.

    Example:
      >>> lax.pad(jnp.array([1, 2, 3]), 0, [(2, -1, 1)])
      Array([0, 0, 1, 0, 2, 0], dtype=int32)
    """
    operand, padding_value = scalars_like_arrays("pad", (as_array(operand, "pad"), padding_value))
    return ops.pad_p.bind(
        operand, padding_value, padding_config=tuple(as_shape(c) for c in padding_config)
    )


def concatenate(operands: Array | Sequence[ArrayLike], dimension: int) -> Array:
    """Join arrays along a dimension.

    Args:
      operands: arrays of one dtype, and of one shape but for that dimension; or one array, whose
        rows are joined.
      dimension: to join along; negative counts from the end.

    Returns:
      An array of their dtype, as long along that dimension as all of them.

    Raises:
      ShapeError, DTypeError: the shapes or dtypes do not fit.
      ValueError: there is no operand.

    Example:
      >>> lax.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4], [5, 6]])], 0)
      Array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    if (rows := rows_of("concatenate", operands)) is not None:
        dimension = as_dim("concatenate", dimension, rows.ndim - 1)
        rows = moveaxis(rows, 0, dimension)
        count, size, *behind = rows.shape[dimension:]
        return reshape(rows, (*rows.shape[:dimension], count * size, *behind))
    operands = [as_array(x, "concatenate") for x in operands]
    if operands:
        dimension = as_dim("concatenate", dimension, operands[0].ndim)
    if len(operands) == 1:
        return operands[0]
    return ops.concatenate_p.bind(*operands, dimension=dimension)


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cut an array into consecutive parts.

    Args:
      operand: an array.
      sizes: of the parts along `axis`; they add up to its size.
      axis: the dimension; negative counts from the end.

    Returns:
      A list of arrays.

    Raises:
      ShapeError: the sizes do not add up.

    Differs from `numpy.split`, which takes the places of the cuts.

    Example:
      >>> lax.split(jnp.arange(6), (1, 3, 2))
      [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32), Array([4, 5], dtype=int32)]
    """
    operand = as_array(operand, "split")
    axis = as_dim("split", axis, operand.ndim)
    return ops.split_p.bind(operand, sizes=as_shape(sizes), axis=axis)


def stack(operands: Array | Sequence[ArrayLike], axis: int = 0) -> Array:
    """Join arrays along a new dimension.

    Args:
      operands: arrays of one shape and dtype; or one array, whose rows are joined.
      axis: where the new dimension stands in the result; negative counts from its end.

    Returns:
      An array of their dtype with one more dimension.

    Raises:
      ShapeError, DTypeError: the shapes or dtypes differ.

    Example:
      >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    if (rows := rows_of("stack", operands)) is not None:
        return moveaxis(rows, 0, as_dim("stack", axis, rows.ndim))
    operands = [as_array(x, "stack") for x in operands]
    if operands:
        axis = as_dim("stack", axis, operands[0].ndim + 1)
    return ops.stack_p.bind(*operands, axis=axis)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along a dimension.

    Args:
      x: an array.
      axis: the dimension; negative counts from the end.

    Returns:
      A tuple of as many arrays as the dimension is long, without it.

    Raises:
      AxisError: there is no such dimension.

    Example:
      >>> first, second = lax.unstack(jnp.array([[1, 2], [3, 4]]))
      >>> first - second
      Array([-2, -2], dtype=int32)
    """
    x = as_array(x, "unstack")
    return tuple(ops.unstack_p.bind(x, axis=as_dim("unstack", axis, x.ndim)))


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeat an array along its dimensions.

    Args:
      operand: an array.
      reps: how many copies along each dimension.

    Returns:
      An array of `reps` times the operand's sizes.

    Raises:
      ShapeError: there is not one count per dimension.

    Example:
      >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
      Array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    return ops.tile_p.bind(as_array(operand, "tile"), reps=as_shape(reps))


# ---------------------------------------------------------------- at places given by scalars


def dynamic_slice(
    operand: ArrayLike,
    start_indices: Array | np.ndarray | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Cut out a box of known shape that begins where scalars say.

    Args:
      operand: an array.
      start_indices: one integer scalar per dimension, or an array of them.
      slice_sizes: shape of the box.
      allow_negative_indices: whether negative indices count from the end; a bool, or one per
        dimension.

    Returns:
      An array of shape `slice_sizes`. A box that would reach beyond the array is moved inside.

    Raises:
      ShapeError: the box is larger than the array.
      DTypeError: the indices are no integers.

    Example:
      >>> window = ev.jit(lambda x, start: lax.dynamic_slice(x, (start,), (2,)))
      >>> window(jnp.arange(5), 1), window(jnp.arange(5), 4)
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    operand = as_array(operand, "dynamic_slice")
    starts = _starts("dynamic_slice", operand.shape, start_indices, allow_negative_indices)
    return dynamic.dynamic_slice_p.bind(operand, *starts, slice_sizes=as_shape(slice_sizes))


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Array | np.ndarray | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return an array with a box replaced that begins where scalars say.

    Args:
      operand: an array.
      update: what to put there, of the same rank and dtype.
      start_indices: one integer scalar per dimension, or an array of them.
      allow_negative_indices: whether negative indices count from the end; a bool, or one per
        dimension.

    Returns:
      An array like `operand`. A box that would reach beyond it is moved inside.

    Raises:
      ShapeError: `update` is larger than the array, or of another rank.
      DTypeError: the dtypes of `operand` and `update` differ, or the indices are no integers.

    Example:
      >>> lax.dynamic_update_slice(jnp.zeros((2, 3)), jnp.array([[1.0, 2.0]]), (1, 1))
      Array([[0., 0., 0.],
             [0., 1., 2.]], dtype=float32)
    """
    operand = as_array(operand, "dynamic_update_slice")
    update = as_array(update, "dynamic_update_slice")
    starts = _starts("dynamic_update_slice", operand.shape, start_indices, allow_negative_indices)
    return dynamic.dynamic_update_slice_p.bind(operand, update, *starts)


def _starts(name, shape, indices, allow_negative):
    """Return start indices as operands of one dtype, counted from the front."""
    if not isinstance(indices, Sequence):
        indices = _scalars_of(as_array(indices, name))
    indices = [_known(x) for x in indices]
    operands = [None if isinstance(x, int) else as_operand(x, name) for x in indices]
    dtype = _index_dtype([x.aval.dtype for x in operands if x is not None], shape)
    if isinstance(allow_negative, bool):
        allow_negative = [allow_negative] * len(shape)
    if not len(indices) == len(shape) == len(allow_negative):  # an error of the operation
        shape, allow_negative = [0] * len(indices), [False] * len(indices)
    is_integer = dtypes.issubdtype(dtype, np.integer)
    limits = dtypes.int_range(dtype) if is_integer else (-math.inf, math.inf)
    return [
        number(computed(_place, x, size, allow, *limits), dtype)
        if made is None
        else _counted_from_front(convert(made, dtype), size, allow)
        for x, made, size, allow in zip(indices, operands, shape, allow_negative, strict=True)
    ]


def _place(index, size, allow_negative, least, greatest):
    """Return an index counted from the front, and moved into a range."""
    if index < 0 and allow_negative:
        index += size
    return min(max(index, least), greatest)


def _scalars_of(x):
    """Return the elements of a vector."""
    if x.ndim != 1:
        return [x]
    return [index_in_dim(x, i, 0, keepdims=False) for i in range(x.shape[0])]


def _known(x):
    """Return an index that is known now as a Python integer."""
    if type_of_number(x) is int:
        return x
    if isinstance(x, int | np.integer):
        return int(x)
    if type(x) is Array and state.trace is EVAL and x.shape == () and x.dtype.kind in "iu":
        return int(x._contents())
    return x


def _index_dtype(found, shape):
    """Return the dtype for indices of these dtypes: theirs, or one that holds them and sizes."""
    if not found:
        return np.dtype(np.int32)
    largest = max([dims.most_of(n) if dims.is_unknown(n) else n for n in shape], default=0)
    if len(set(found)) == 1 and (
        not dtypes.issubdtype(found[0], np.integer) or largest <= dtypes.iinfo(found[0]).max
    ):
        return found[0]
    return np.dtype(np.int64 if any(d.itemsize == 8 for d in found) else np.int32)


def _counted_from_front(index, size, allow_negative):
    dtype = index.aval.dtype
    if not allow_negative or not dtypes.issubdtype(dtype, np.signedinteger):
        return index
    is_negative = lt_p.bind(index, literal(0, dtype))
    return select(is_negative, add_p.bind(index, literal(size, dtype)), index)


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Cut `slice_size` elements along one dimension, beginning at a scalar index.

    Args:
      operand: an array.
      start_index: an integer scalar.
      slice_size: how many.
      axis: the dimension; negative counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array; a slice that would reach beyond the array is moved inside.

    Example:
      >>> lax.dynamic_slice_in_dim(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, 2, axis=1)
      Array([[2, 3],
             [5, 6]], dtype=int32)
    """
    operand = as_array(operand, "dynamic_slice_in_dim")
    axis = as_dim("dynamic_slice_in_dim", axis, operand.ndim)
    starts, sizes = [0] * operand.ndim, list(operand.shape)
    starts[axis], sizes[axis] = start_index, slice_size
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Take what is at a scalar index of one dimension.

    Args:
      operand: an array.
      index: an integer scalar; moved inside if it is out of range.
      axis: the dimension; negative counts from the end.
      keepdims: whether the result keeps that dimension, of size 1.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array, with one element along `axis` or without it.

    Example:
      >>> row = ev.jit(lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False))
      >>> row(jnp.array([[1, 2], [3, 4], [5, 6]]), 1)
      Array([3, 4], dtype=int32)
    """
    operand = as_array(operand, "dynamic_index_in_dim")
    axis = as_dim("dynamic_index_in_dim", axis, operand.ndim)
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, (axis,))


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return an array with a slice along one dimension replaced, from a scalar index on.

    Args:
      operand: an array.
      update: what to put there: an array of the same rank and dtype.
      start_index: an integer scalar.
      axis: the dimension; negative counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array like `operand`; a slice that would reach beyond it is moved inside.

    Example:
      >>> lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.array([1.0, 2.0]), 2, axis=0)
      Array([0., 0., 1., 2., 0.], dtype=float32)
    """
    operand = as_array(operand, "dynamic_update_slice_in_dim")
    starts = [0] * operand.ndim
    starts[as_dim("dynamic_update_slice_in_dim", axis, operand.ndim)] = start_index
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return an array with what is at a scalar index of one dimension replaced.

    Args:
      operand: an array.
      update: what to put there, with that dimension (of size 1) or without.
      index: an integer scalar.
      axis: the dimension; negative counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array like `operand`; an index out of range is moved inside.

    Example:
      >>> lax.dynamic_update_index_in_dim(jnp.zeros((2, 3)), jnp.array([1.0, 2.0]), 1, axis=1)
      Array([[0., 1., 0.],
             [0., 2., 0.]], dtype=float32)
    """
    operand = as_array(operand, "dynamic_update_index_in_dim")
    update = as_array(update, "dynamic_update_index_in_dim")
    axis = as_dim("dynamic_update_index_in_dim", axis, operand.ndim)
    if update.ndim != operand.ndim:
        check_dims("dynamic_update_index_in_dim", (axis,), update.ndim + 1)
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
