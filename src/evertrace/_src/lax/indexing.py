"""Gather, scatter and what is made of them.

`numpy`-style indexing (``x[i]``, ``x.at[i].set(v)``) is the convenient way to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.jaxpr import literal
from evertrace._src.lax.shapes import as_dims, as_shape
from evertrace._src.ops import indexing as ops
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    of_gather,
)
from evertrace._src.ops.elementwise import add_p, rem_p
from evertrace._src.ops.indexing_host import default_fill
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import concatenate_p, unstack_p
from evertrace._src.ops.structural import expand_dims


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take windows of an array that start where an array of indices says.

    Args:
      operand: an array.
      start_indices: integers ``[..., n]``: where windows start in `n` dimensions of `operand`.
      dimension_numbers: a `GatherDimensionNumbers`: which dimensions these are, and where the
        others go.
      slice_sizes: sizes of a window in all dimensions of `operand`.
      unique_indices: promises that windows do not overlap, which makes the derivative faster.
      indices_are_sorted: promises that indices are sorted.
      mode: what to do with windows that are not wholly inside, see `GatherScatterMode`: ``"clip"``,
        ``"fill"`` or ``"promise_in_bounds"`` (the default).
      fill_value: with mode ``"fill"``, the value for such windows. By default NaN, the least
        integer of a signed dtype, the largest of an unsigned one, or True.

    Returns:
      An array of the window dimensions and those of the indices but for the last.

    Raises:
      ShapeError: shapes and dimension numbers do not fit.
      DTypeError: the indices are not integers.

    Example:
      >>> pairs = lax.GatherDimensionNumbers((1,), (), (0,))
      >>> lax.gather(jnp.array([10, 11, 12, 13]), jnp.array([[2], [0]]), pairs, (2,))
      Array([[12, 13],
             [10, 11]], dtype=int32)
    """
    operand = as_array(operand, "gather")
    if mode is None:
        mode = GatherScatterMode.PROMISE_IN_BOUNDS
    mode = GatherScatterMode.from_any(mode)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill(operand.dtype)
    return ops.gather(
        operand,
        as_array(start_indices, "gather"),
        dimension_numbers,
        as_shape(slice_sizes),
        mode=mode,
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        fill_value=fill_value,
    )


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with windows replaced that start where an array of indices says.

    Args:
      operand: an array.
      scatter_indices: integers ``[..., n]``: where windows start in `n` dimensions of `operand`.
      updates: the windows, an array of the dtype of `operand`: the window dimensions and those of
        the indices but for the last.
      dimension_numbers: a `ScatterDimensionNumbers`: which dimensions these are.
      indices_are_sorted: promises that indices are sorted.
      unique_indices: promises that windows do not overlap; the result is undefined if they do.
      mode: what to do with windows that are not wholly inside, see `GatherScatterMode`: ``"clip"``,
        ``"drop"`` (the default) or ``"promise_in_bounds"``.

    Returns:
      An array like `operand`. Where windows overlap, one of the updates remains: on the CPU the
      last.

    Raises:
      ShapeError: shapes and dimension numbers do not fit.
      DTypeError: the indices are not integers, or the dtypes differ.

    Example:
      >>> single = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter(jnp.zeros(4), jnp.array([[3], [1]]), jnp.array([5.0, 7.0]), single)
      Array([0., 7., 0., 5.], dtype=float32)
    """
    return _scatter(
        ops.scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with `updates` added to windows; arguments as of `scatter`.

    Where windows overlap, all updates are added.

    Example:
      >>> single, places = lax.ScatterDimensionNumbers((), (0,), (0,)), jnp.array([[1], [1], [0]])
      >>> lax.scatter_add(jnp.zeros(3), places, jnp.array([5.0, 7.0, 1.0]), single)
      Array([ 1., 12.,  0.], dtype=float32)
    """
    return _scatter(
        ops.scatter_add_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with `updates` subtracted from windows; arguments as of `scatter`.

    Where windows overlap, all updates are subtracted.

    Example:
      >>> single, places = lax.ScatterDimensionNumbers((), (0,), (0,)), jnp.array([[1], [1], [0]])
      >>> lax.scatter_sub(jnp.zeros(3), places, jnp.array([5.0, 7.0, 1.0]), single)
      Array([ -1., -12.,   0.], dtype=float32)
    """
    return _scatter(
        ops.scatter_sub_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with windows multiplied by `updates`; arguments as of `scatter`.

    Where windows overlap, all updates are multiplied. The derivative by `updates` needs
    ``unique_indices=True``.

    Example:
      >>> single, places = lax.ScatterDimensionNumbers((), (0,), (0,)), jnp.array([[1], [1], [0]])
      >>> lax.scatter_mul(jnp.ones(3), places, jnp.array([5.0, 7.0, 2.0]), single)
      Array([ 2., 35.,  1.], dtype=float32)
    """
    return _scatter(
        ops.scatter_mul_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with the lesser of windows and `updates`; arguments as of `scatter`.

    Where windows overlap, it is the least of all. Equal ones share the derivative.

    Example:
      >>> single, places = lax.ScatterDimensionNumbers((), (0,), (0,)), jnp.array([[1], [1], [0]])
      >>> lax.scatter_min(jnp.array([6.0, 6.0, 6.0]), places, jnp.array([5.0, 7.0, 9.0]), single)
      Array([6., 5., 6.], dtype=float32)
    """
    return _scatter(
        ops.scatter_min_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with the greater of windows and `updates`; arguments as of `scatter`.

    Where windows overlap, it is the greatest of all. Equal ones share the derivative.

    Example:
      >>> single, places = lax.ScatterDimensionNumbers((), (0,), (0,)), jnp.array([[1], [1], [0]])
      >>> lax.scatter_max(jnp.array([6.0, 6.0, 6.0]), places, jnp.array([5.0, 7.0, 9.0]), single)
      Array([9., 7., 6.], dtype=float32)
    """
    return _scatter(
        ops.scatter_max_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _scatter(prim, operand, indices, updates, dnums, indices_are_sorted, unique_indices, mode):
    return ops.scatter(
        prim,
        as_array(operand, prim.name),
        as_array(indices, prim.name),
        as_array(updates, prim.name),
        dnums,
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
    )


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[..., Any],
    dimension_numbers: Any,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Return an array with a function applied to windows; arguments as of `scatter`.

    Args:
      operand: an array.
      scatter_indices: where windows start.
      func: an elementwise function of one array.
      dimension_numbers: a `ScatterDimensionNumbers`.
      update_shape: the shape that `updates` of `scatter` would have.
      indices_are_sorted: promises that indices are sorted.
      unique_indices: promises that windows do not overlap.
      mode: what to do with windows that are not wholly inside.

    Returns:
      An array like `operand`.

    Differs from JAX: where windows overlap, `func` is applied once.

    Example:
      >>> single = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_apply(jnp.array([1.0, 2.0, 3.0]), jnp.array([[2], [0]]), jnp.negative, single)
      Array([-1.,  2., -3.], dtype=float32)
    """
    operand = as_array(operand, "scatter_apply")
    indices = as_array(scatter_indices, "scatter_apply")
    mode = GatherScatterMode.from_any(mode)
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    windows = operand.aval.update(shape=as_shape(update_shape))
    sizes = ops.scatter_sizes(operand.aval, windows, dimension_numbers)
    taken = gather(
        operand, indices, of_gather(dimension_numbers), sizes, mode=mode, fill_value=0, **promises
    )
    return scatter(operand, indices, func(taken), dimension_numbers, mode=mode, **promises)


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Take the elements (or subarrays) at given indices of some dimensions.

    Args:
      src: an array.
      idxs: for each of `axes` a vector of integers, all of one length ``n``; they are taken modulo
        the size of the dimension.
      axes: dimensions of `src`.

    Returns:
      An array ``[n, ...]``, with the dimensions of `src` that are not in `axes`.

    Raises:
      ValueError: there is not one vector per axis.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4], [5, 6]])
      >>> lax.index_take(x, (jnp.array([0, -1]), jnp.array([1, 0])), (0, 1))
      Array([2, 5], dtype=int32)
    """
    src = as_array(src, "index_take")
    axes = as_dims("index_take", axes, src.ndim)
    if not isinstance(idxs, tuple | list):
        idxs = unstack_p.bind(as_array(idxs, "index_take"), axis=0)
    if len(idxs) != len(axes):
        raise errors.user_error(
            ValueError,
            f"index_take: {len(idxs)} vectors of indices for {len(axes)} axes.",
            fix="give one vector per axis.",
            anchor="shape-gather",
        )
    columns = [
        expand_dims(_modulo(as_array(index, "index_take"), src.shape[axis]), (1,))
        for index, axis in zip(idxs, axes, strict=True)
    ]
    indices = concatenate_p.bind(*columns, dimension=1) if len(columns) > 1 else columns[0]
    sizes = tuple(1 if i in axes else n for i, n in enumerate(src.shape))
    offset_dims = tuple(range(1, src.ndim - len(axes) + 1))
    dnums = GatherDimensionNumbers(offset_dims, tuple(sorted(axes)), axes)
    return ops.gather(src, indices, dnums, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _modulo(index, size):
    """Return indices modulo a size, from 0 on."""
    dtype = index.aval.dtype
    index = rem_p.bind(index, literal(size, dtype))
    if not dtypes.issubdtype(dtype, np.signedinteger):
        return index
    is_negative = lt_p.bind(index, literal(0, dtype))
    return select(is_negative, add_p.bind(index, literal(size, dtype)), index)
