"""Taking elements: ``x[index]``, `take` and its relatives.

An index of ints and slices is static: a plan of slices and squeezes, kept by aval and index.
Traced ints make it a dynamic slice. Arrays make it a gather. Indices out of bounds are moved
inside, except where a mode says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.jaxpr import literal
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import indexers, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, no_out, operand, static_int
from evertrace._src.numpy.indexers import ARRAY, INT, NEW, SLICE
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.support import Cache

dslice: Any = LazyModule("evertrace._src.numpy.dslice")
dynamic: Any = LazyModule("evertrace._src.ops.dynamic")
gathers: Any = LazyModule("evertrace._src.ops.indexing")
numbers: Any = LazyModule("evertrace._src.ops.dimension_numbers")
products: Any = LazyModule("evertrace._src.numpy.products")

_kept = Cache("steps of static indices", 20_000)
_static_steps = _kept.data

INT32 = np.dtype(np.int32)


def getitem(x, index):
    """Return ``x[index]`` by NumPy's rules."""
    key = indexers.static_key(index)
    if key is None:
        return _general(x, index)
    key = (x.aval, key)
    steps = _static_steps.get(key)
    if steps is None:
        shape = x.aval.shape
        items = indexers.parse(shape, index)
        if any(item.kind is ARRAY for item in items):  # out of bounds
            return _take(x, items)
        steps = _kept.put(key, indexers.static_steps(shape, items))
    for prim, params in steps:
        x = prim.bind(x, **params)
    return x


@native.planned(by_type=False)
def _general(x, index):
    """Return ``x[index]`` for an index with arrays, traced ints, masks or slices of `ds`."""
    if dslice.is_in(index):
        window = dslice.Window(x.aval.shape, index)
        return getitem(window.take(x), window.index)
    x, index = indexers.with_axes_for_booleans(x, index)
    return _take(x, indexers.parse(x.aval.shape, index))


def _take(x, items):
    kinds = [item.kind for item in items]
    if ARRAY not in kinds:
        return _apply(indexers.static_steps(x.aval.shape, items), x)
    if any(item.kind is ARRAY and item.array.aval.ndim for item in items):
        return take_layout(x, indexers.layout(x.aval.shape, items))
    return _dynamic(x, items)


def _apply(steps, x):
    for prim, params in steps:
        x = prim.bind(x, **params)
    return x


def _dynamic(x, items):
    """Take a dynamic slice where traced ints say, after static steps with other strides."""
    dims = [item for item in items if item.kind is not NEW]
    if any(item.kind is SLICE and item.step != 1 for item in dims):
        whole = [
            item._replace(kind=SLICE, start=0, count=n) if item.kind is ARRAY else item
            for item, n in zip(dims, x.aval.shape, strict=True)
        ]
        kept = [i._replace(kind=SLICE, count=1) if i.kind is INT else i for i in whole]
        x = _apply(indexers.static_steps(x.aval.shape, kept), x)
        dims = [
            old if old.kind is ARRAY else new._replace(start=0, step=1)
            for old, new in zip(dims, kept, strict=True)
        ]
        items = _merged(items, dims)
    dtype = next(item.array.aval.dtype for item in dims if item.kind is ARRAY)
    starts = [
        indexers.cast(indexers.from_front(item.array, n), dtype)
        if item.kind is ARRAY
        else literal(item.start, dtype)
        for item, n in zip(dims, x.aval.shape, strict=True)
    ]
    sizes = tuple(item.count if item.kind is SLICE else 1 for item in dims)
    out = dynamic.dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)
    return _apply(indexers.reshaping_steps(items, sizes), out)


def _merged(items, dims):
    """Put the items of the array's dimensions back among those of None, ints staying ints."""
    left = iter(dims)
    out = []
    for item in items:
        if item.kind is NEW:
            out.append(item)
            continue
        new = next(left)
        out.append(new._replace(kind=INT) if item.kind is INT else new)
    return out


def take_layout(
    x,
    layout,
    mode=numbers.GatherScatterMode.PROMISE_IN_BOUNDS,
    fill_value=None,
    indices_are_sorted=False,
    unique_indices=False,
):
    """Gather what a layout says."""
    out = gathers.gather(
        x,
        layout.indices,
        layout.dnums,
        layout.sizes,
        mode=mode,
        fill_value=fill_value,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
    )
    return structural.expand_dims(out, layout.new_dims)


@lays_out
def get(
    x: Array,
    index: ArrayLike,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
    wrap_negative_indices: bool = True,
    out_sharding: Any = None,
) -> Array:
    """Return ``x[index]`` with a choice of what indices out of bounds give: ``x.at[index].get``."""
    if (mode is None and fill_value is None and wrap_negative_indices) or dslice.is_in(index):
        return getitem(x, index)
    x, index = indexers.with_axes_for_booleans(x, index)
    items = indexers.parse(
        x.aval.shape, index, is_bounded=False, wrap_negative=wrap_negative_indices
    )
    found = indexers.layout(x.aval.shape, items, wrap_negative_indices)
    mode, fill_value = gather_mode(x, "fill" if mode is None else mode, fill_value)
    return take_layout(
        x,
        found,
        mode,
        fill_value,
        indices_are_sorted or found.is_plain,
        unique_indices or found.is_plain,
    )


def gather_mode(x, mode, fill_value):
    """Return the mode of a gather and its fill value: NaN, the lowest int, the largest unsigned."""
    mode = numbers.GatherScatterMode.from_any(mode)
    if mode is not numbers.GatherScatterMode.FILL_OR_DROP:
        return mode, None
    dtype = x.aval.dtype
    if fill_value is None:
        if isinstance(dtype, dtypes.ExtendedDType):
            return numbers.GatherScatterMode.CLIP, None
        fill_value = _default_fill(dtype)
    elif not isinstance(fill_value, (bool, int, float, complex)):
        fill_value = np.asarray(fill_value).item()
    return mode, fill_value


def _default_fill(dtype):
    if dtypes.issubdtype(dtype, np.inexact):
        return math.nan
    if dtype == np.bool_:
        return True
    info = dtypes.iinfo(dtype)
    is_signed = dtypes.issubdtype(dtype, np.signedinteger)
    return int(info.min if is_signed else info.max)


# ---------------------------------------------------------------- functions


@native.planned(by_type=False)
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: Any = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements at indices along an axis.

    Args:
      a: an array.
      indices: integers of any shape; negative ones count from the end.
      axis: axis along which to take; None takes from the flattened array.
      out: not supported.
      mode: "fill" (default) gives `fill_value` for indices out of bounds, "clip" the nearest
        element, "wrap" counts modulo the size.
      unique_indices: promises that no index occurs twice.
      indices_are_sorted: promises that they ascend.
      fill_value: by default NaN, the lowest of signed and the largest of unsigned integers.

    Returns:
      An array in which the shape of `indices` replaces the axis.

    Raises:
      TypeError: the indices are not integers.

    Differs from NumPy: indices out of bounds are never an error.

    Example:
      >>> jnp.take(jnp.array([[1, 2, 3], [4, 5, 6]]), jnp.array([2, 0]), axis=1)
      Array([[3, 1],
             [6, 4]], dtype=int32)
      >>> jnp.take(jnp.array([1.0, 2.0]), jnp.array([1, 5]))
      Array([ 2., nan], dtype=float32)
    """
    no_out("take", out)
    x = operand("take", a)
    indices = operand("take", indices)
    if axis is None:
        x, axis = structural.reshape(x, (x.aval.size,)), 0
    axis = canonical_axis("take", axis, x.aval.ndim)
    size = x.aval.shape[axis]
    if mode == "wrap":
        indices, mode = ufuncs.remainder(indices, size), "clip"
    elif mode == "clip":
        indices = ufuncs.minimum(ufuncs.maximum(indices, 0), size - 1)
    mode, fill_value = gather_mode(x, mode, fill_value)
    items = indexers.parse(x.aval.shape, (*[slice(None)] * axis, indices))
    found = indexers.layout(x.aval.shape, items)
    return take_layout(x, found, mode, fill_value, indices_are_sorted, unique_indices)


@native.planned(by_type=False)
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int = -1,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Return the elements whose index along one axis is given by an array.

    Args:
      arr: an array.
      indices: integers; of the rank of `arr`, broadcast with it in all axes but `axis`.
      axis: the axis; None takes from the flattened array.
      mode: as of `take`; or "one_hot" for products with ones and zeros in the place of a gather,
        where an index out of bounds takes 0.
      fill_value: as of `take`.
      wrap_negative_indices: whether negative indices count from the end, True by default.

    Returns:
      An array of the broadcast shape.

    Raises:
      ShapeError: the ranks differ, or the shapes do not broadcast.

    Example:
      >>> x = jnp.array([[3, 1, 2], [4, 6, 5]])
      >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
      Array([[1, 2, 3],
             [4, 5, 6]], dtype=int32)
    """
    x = operand("take_along_axis", arr)
    indices = operand("take_along_axis", indices)
    if axis is None:
        x, axis = structural.reshape(x, (x.aval.size,)), 0
    axis, x, indices = along_axis("take_along_axis", x, indices, axis)
    if wrap_negative_indices is not False:
        indices = indexers.from_front(indices, x.aval.shape[axis])
    if mode == "one_hot":
        return _by_products(x, indices, axis)
    mode, fill_value = gather_mode(x, mode, fill_value)
    others = tuple(i for i in range(x.aval.ndim) if i != axis)
    dnums = numbers.GatherDimensionNumbers((), (axis,), (axis,), others, others)
    vectors = structural.reshape(indices, (*indices.aval.shape, 1))
    sizes = [dims.min_of(n, 1) for n in x.aval.shape]
    return gathers.gather(x, vectors, dnums, sizes, mode=mode, fill_value=fill_value)


def _by_products(x, indices, axis):
    """Take elements along an axis by products with ones and zeros."""
    order = [*(i for i in range(x.aval.ndim) if i != axis), axis]
    x, indices = (as_array(structural.permute(v, order)) for v in (x, indices))
    places = iota(indices.dtype, x.shape[-1:])
    chosen = convert(as_array(ufuncs.equal(indices[..., None], places)), x.dtype)
    taken = products.matmul(chosen, x[..., None])[..., 0]
    return structural.permute(taken, [order.index(i) for i in range(taken.ndim)])


def along_axis(name, x, indices, axis):
    """Return the axis, and both arrays broadcast in all axes but that."""
    if not dtypes.issubdtype(indices.aval.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: indices must be integers, got {indices.aval.dtype}.",
            fix="convert them, e.g. `indices.astype(int)`.",
            anchor="dtype",
        )
    if indices.aval.dtype.itemsize < 4:
        indices = convert(indices, INT32)
    if indices.aval.ndim != x.aval.ndim:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: indices and array must have the same rank, got {indices.aval.ndim} and "
            f"{x.aval.ndim}.",
            fix="add axes to the indices with `None`.",
            anchor="shape-broadcast",
        )
    axis = canonical_axis(name, axis, x.aval.ndim)
    shapes = [
        tuple(1 if i == axis else n for i, n in enumerate(v.aval.shape)) for v in (x, indices)
    ]
    try:
        common = dims.broadcast_shapes(*shapes)
    except ValueError:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shapes {x.aval.shape} and {indices.aval.shape} do not broadcast outside of "
            f"axis {axis}.",
            fix="make the other sizes equal or 1.",
            anchor="shape-broadcast",
        ) from None
    x, indices = (
        broadcast_to(v, (*common[:axis], v.aval.shape[axis], *common[axis + 1 :]))
        for v in (x, indices)
    )
    return axis, x, indices


@native.planned(by_type=False)
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of the matrices in two axes, along a new last axis.

    Args:
      a: an array of rank 2 or more.
      offset: which diagonal: above the main one if positive.
      axis1: axis of rows.
      axis2: axis of columns.

    Raises:
      ValueError: the rank is less than 2.

    Example:
      >>> jnp.diagonal(jnp.array([[1, 2, 3], [4, 5, 6]]), offset=1)
      Array([2, 6], dtype=int32)
    """
    x = operand("diagonal", a)
    offset = static_int("diagonal", "offset", offset)
    if x.aval.ndim < 2:
        raise errors.user_error(
            ValueError,
            f"diagonal: requires an array of at least two dimensions, got {x.aval.ndim}.",
            fix="use `diag` to make a matrix of a vector.",
            anchor="shape",
        )
    first = canonical_axis("diagonal", axis1, x.aval.ndim)
    second = canonical_axis("diagonal", axis2, x.aval.ndim)
    if first == second:
        raise errors.user_error(
            errors.AxisError,
            "diagonal: axis1 and axis2 must differ.",
            fix="name the two axes of the matrices, e.g. `axis1=-2, axis2=-1`.",
            anchor="axis",
        )
    rest = [i for i in range(x.aval.ndim) if i not in (first, second)]
    x = structural.permute(x, (*rest, first, second))
    rows, columns = x.aval.shape[-2:]
    ends = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
    count = dims.max_of(0, dims.min_of(*ends))
    counts = iota(INT32, (count,))
    row = counts if offset >= 0 else ufuncs.subtract(counts, offset)
    column = ufuncs.add(counts, offset) if offset > 0 else counts
    return getitem(x, (Ellipsis, as_array(row), as_array(column)))
