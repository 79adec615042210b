"""Slices that begin where scalars say: dynamic_slice and its transpose, dynamic_update_slice.

A slice that would reach beyond the array is moved inside.
"""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import of_equal_size, pointwise
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    of_scatter,
)
from evertrace._src.ops.indexing import gather, scatter, scatter_p
from evertrace._src.ops.slicing import concatenate_p
from evertrace._src.ops.structural import move_batch_dim, reshape, words, zeros
from evertrace._src.support import listed


def _check(name, x, sizes, starts):
    """Raise unless windows of these sizes fit into `x` and there is a start per dimension."""
    if len(sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: a slice of shape {listed(sizes)} does not fit into shape {x.shape}.",
            fix="make the slice no larger than the array in each dimension.",
            anchor="shape-slice",
        )
    if len(starts) != x.ndim or any(s.shape != () for s in starts):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: needs one scalar start index for each of {x.ndim} dimensions, got shapes "
            f"{[s.shape for s in starts]}.",
            fix="pass as many scalars as the array has dimensions.",
            anchor="shape-slice",
        )
    if len({s.dtype for s in starts}) > 1 or any(
        not dtypes.issubdtype(s.dtype, np.integer) for s in starts
    ):
        names = ", ".join(dtypes.short_name(s.dtype) for s in starts)
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: start indices must be integers of one dtype, got {names}.",
            fix="convert them, e.g. `index.astype(int)`.",
            anchor="dtype",
        )


def _slices(x, starts, sizes):
    """Return the slice objects of a slice that was moved inside.

    Dimensions after those that have a start, the words of an extended dtype, are whole.
    """
    slices = []
    for start, n, size in zip(starts, x.shape, sizes, strict=False):
        first = min(max(int(start), 0), n - size)
        slices.append(slice(first, first + size))
    return tuple(slices)


def _stack_starts(size, starts, dims):
    """Return the start indices of a batch as an array [size, rank]."""
    columns = []
    for start, dim in zip(starts, dims, strict=True):
        column = move_batch_dim(start, dim, 0, size)
        columns.append(reshape(column, (size, 1)))
    return concatenate_p.bind(*columns, dimension=1)


# ---------------------------------------------------------------- dynamic_slice


def _slice_abstract(x, *starts, slice_sizes):
    _check("dynamic_slice", x, slice_sizes, starts)
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


def _slice_transpose(ct, x, *starts, slice_sizes):
    return [dynamic_update_slice_p.bind(zeros(x.aval), ct, *starts), *[None for _ in starts]]


def _slice_batch(size, args, dims, *, slice_sizes):
    x, *starts = args
    x_dim, *start_dims = dims
    if all(d is None for d in start_dims):
        zero = literal(0, starts[0].aval.dtype if starts else np.dtype(np.int32))
        starts.insert(x_dim, zero)
        sizes = (*slice_sizes[:x_dim], size, *slice_sizes[x_dim:])
        return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes), x_dim
    rank = len(slice_sizes)
    windows = tuple(range(1, rank + 1))
    dnums = GatherDimensionNumbers(windows, (), tuple(range(rank)))
    if x_dim is not None:
        x = move_batch_dim(x, x_dim, 0, size)
        slice_sizes = (min(size, 1), *slice_sizes)
        dnums = GatherDimensionNumbers(windows, (), windows, (0,), (0,))
    indices = _stack_starts(size, starts, start_dims)
    return gather(x, indices, dnums, slice_sizes, mode=GatherScatterMode.CLIP), 0


def _slice_factors(operands, results, **params):
    """Along explicit axes a part lies as the whole does, as in `slice`."""
    return of_equal_size(operands, results)._replace(typed=pointwise(operands, results))


dynamic_slice_p: Primitive = Primitive(
    "dynamic_slice",
    moves=True,
    places=1,
    factors=_slice_factors,
    abstract=_slice_abstract,
    linear=(0,),
    transpose=_slice_transpose,
    batch=_slice_batch,
    host=lambda x, *starts, slice_sizes: x[_slices(x, starts, slice_sizes)],
    physical=lambda x, *starts, slice_sizes: {"slice_sizes": (*slice_sizes, *words(x))},
)


# ---------------------------------------------------------------- dynamic_update_slice


def _update_abstract(x, update, *starts):
    if update.dtype != x.dtype:
        raise errors.user_error(
            errors.DTypeError,
            f"dynamic_update_slice: operand and update must have the same dtype, got "
            f"{dtypes.short_name(x.dtype)} and {dtypes.short_name(update.dtype)}.",
            fix="convert the update, e.g. `update.astype(operand.dtype)`.",
            anchor="dtype",
        )
    _check("dynamic_update_slice", x, update.shape, starts)
    return ShapedArray(x.shape, x.dtype, x.weak_type)


def _update_host(x, update, *starts):
    out = np.array(x)
    out[_slices(x, starts, update.shape)] = update
    return out


def _update_transpose(ct, x, update, *starts):
    from_x = from_update = None
    if is_linear(x):
        from_x = dynamic_update_slice_p.bind(ct, zeros(update.aval), *starts)
    if is_linear(update):
        from_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=update.aval.shape)
    return [from_x, from_update, *[None for _ in starts]]


def _update_factors(operands, results, **params):
    """Along explicit axes an update lies as what it is put into."""
    both = pointwise(operands, results)._replace(alike=(0, 1))
    return of_equal_size(operands, results)._replace(typed=both)


def _update_batch(size, args, dims):
    x, update, *starts = args
    x_dim, update_dim, *start_dims = dims
    x = move_batch_dim(x, x_dim, 0, size)
    update = move_batch_dim(update, update_dim, 0, size)
    if all(d is None for d in start_dims):
        zero = literal(0, starts[0].aval.dtype if starts else np.dtype(np.int32))
        return dynamic_update_slice_p.bind(x, update, zero, *starts), 0
    windows = tuple(range(1, x.aval.ndim))
    dnums = of_scatter(GatherDimensionNumbers(windows, (), windows, (0,), (0,)))
    out = scatter(
        scatter_p,
        x,
        _stack_starts(size, starts, start_dims),
        update,
        dnums,
        mode=GatherScatterMode.CLIP,
        unique_indices=True,
    )
    return out, 0


dynamic_update_slice_p: Primitive = Primitive(
    "dynamic_update_slice",
    moves=True,
    places=2,
    factors=_update_factors,
    abstract=_update_abstract,
    host=_update_host,
    linear=JOINTLY,
    transpose=_update_transpose,
    batch=_update_batch,
    physical=lambda *avals: {},
)
