"""Gather and scatter in NumPy.

All windows that fit into an array are one strided view of it: dimensions for where a window starts,
then the window's own. Taking windows is one fancy index into the first half of that view; so is
putting them, except where windows that meet must be combined one after the other.

Arrays of windows have the layout [number of windows..., window...] here; `dimension_numbers` says
how the caller's dimensions are ordered instead.
"""

import functools

import numpy as np
from numpy.lib.stride_tricks import as_strided

from evertrace._src import dtypes
from evertrace._src.ops.dimension_numbers import GatherScatterMode

# Windows of at least this many elements are combined one by one, smaller ones element by element:
# a NumPy call costs about as much as `ufunc.at` takes for this many elements.
MIN_WINDOW_OF_A_CALL = 32


def gather(x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    """Return the windows of `x` that start at `indices`."""
    dnums = dimension_numbers
    taken = _take(x, indices, dnums, slice_sizes, mode)
    if taken is not None:
        return taken
    counts = indices.shape[:-1]
    starts = window_starts(indices, dnums)
    inside = None
    if mode is GatherScatterMode.FILL_OR_DROP:
        inside = _inside(starts, x.shape, slice_sizes)
    picked = _windows(x, slice_sizes)[_clip(starts, x.shape, slice_sizes)]
    dropped = {*dnums.collapsed_slice_dims, *dnums.operand_batching_dims}
    window = tuple(s for i, s in enumerate(slice_sizes) if i not in dropped)
    picked = np.broadcast_to(picked, (*counts, *slice_sizes)).reshape((*counts, *window))
    if inside is not None and not np.all(inside):
        if fill_value is None:
            fill_value = default_fill(x.dtype)
        inside = np.broadcast_to(inside, counts).reshape((*counts, *[1 for _ in window]))
        picked = np.where(inside, picked, np.asarray(fill_value, x.dtype))
    return np.transpose(picked, _order(dnums.offset_dims, len(counts), len(window)))


def _take(x, indices, dnums, slice_sizes, mode):
    """Return the result where it is `np.take` along one dimension, else None."""
    if mode is GatherScatterMode.FILL_OR_DROP or len(dnums.start_index_map) != 1:
        return None
    (axis,) = dnums.start_index_map
    sizes = zip(slice_sizes, x.shape, strict=True)
    whole = all(s == n for i, (s, n) in enumerate(sizes) if i != axis)
    n = indices.ndim - 1
    offset_dims = (*range(axis), *range(axis + n, x.ndim - 1 + n))
    if not whole or dnums.collapsed_slice_dims != (axis,) or dnums.offset_dims != offset_dims:
        return None
    return np.take(x, _as_positions(indices[..., 0]), axis=axis, mode="clip")


def scatter(ufunc, x, indices, updates, *, dimension_numbers, unique_indices, mode, **_):
    """Return `x` with windows of `updates` put at `indices`.

    `ufunc` combines an element with its update; None replaces it. Updates of one element are
    applied in their order.
    """
    dnums = dimension_numbers
    out = np.array(x, order="C")
    sizes, updates = _window_layout(x, indices, updates, dnums)
    starts = window_starts(indices, dnums)
    if mode is not GatherScatterMode.CLIP:
        inside = np.broadcast_to(_inside(starts, x.shape, sizes), indices.shape[:-1]).ravel()
    starts = _clip(starts, x.shape, sizes)
    starts = [np.broadcast_to(s, indices.shape[:-1]).ravel() for s in starts]
    if mode is not GatherScatterMode.CLIP and not inside.all():
        starts = [s[inside] for s in starts]
        updates = updates[inside]
    if not len(updates) or not out.size:
        return out
    if x.ndim == 0:
        starts = [np.zeros(len(updates), np.intp)]
        out, sizes, updates = out.reshape(1), (1,), updates.reshape(-1, 1)
    _put(ufunc, out, starts, sizes, updates, unique_indices)
    return out.reshape(x.shape)


def _put(ufunc, out, starts, sizes, updates, unique):
    """Write windows into `out`."""
    view = _windows(out, sizes)
    if ufunc is None:
        view[tuple(starts)] = updates
    elif unique or len(updates) == 1:
        view[tuple(starts)] = ufunc(view[tuple(starts)], updates)
    elif updates[0].size >= MIN_WINDOW_OF_A_CALL:
        for start, update in zip(zip(*starts, strict=True), updates, strict=True):
            window = view[start]
            ufunc(window, update, out=window)
    else:
        strides = np.array(out.strides) // out.itemsize
        first = sum(s * stride for s, stride in zip(starts, strides, strict=True))
        within = functools.reduce(np.add.outer, map(_multiples, strides, sizes))
        places = first.reshape(-1, 1) + within.reshape(1, -1)
        ufunc.at(out.reshape(-1), places.ravel(), updates.ravel())


def _multiples(step, count):
    return step * np.arange(count)


def _window_layout(x, indices, updates, dnums):
    """Return the sizes of a window, and the updates as [windows, *sizes]."""
    ndim, counts = indices.ndim - 1, indices.shape[:-1]
    order = _order(dnums.update_window_dims, ndim, len(dnums.update_window_dims))
    inverse = [0] * len(order)
    for i, o in enumerate(order):
        inverse[o] = i
    updates = np.transpose(updates, inverse)
    dropped = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    window = iter(updates.shape[ndim:])
    sizes = tuple(1 if d in dropped else next(window) for d in range(x.ndim))
    total = int(np.prod(counts, dtype=int))
    return sizes, updates.reshape(total, *sizes)


def _order(window_dims, num_counts, num_window):
    """Return the permutation from [counts..., window...] to the caller's order."""
    counts, window = iter(range(num_counts)), iter(range(num_counts, num_counts + num_window))
    return [next(window if i in window_dims else counts) for i in range(num_counts + num_window)]


def window_starts(indices, dnums):
    """Return, per dimension of the operand, where windows start: integers, or None for 0."""
    index_map, operand_batch, indices_batch = dnums[2:]
    starts = {d: _as_positions(indices[..., k]) for k, d in enumerate(index_map)}
    for d, b in zip(operand_batch, indices_batch, strict=True):
        aligned = [1] * (indices.ndim - 1)
        aligned[b] = indices.shape[b]
        starts[d] = np.arange(indices.shape[b]).reshape(aligned)
    return starts


def _as_positions(indices):
    """Return integers as NumPy indexes with them; too large ones stay too large."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    return indices.astype(np.intp, copy=False)


def _clip(starts, shape, sizes):
    """Return the starts, one per dimension, moved so that windows lie inside."""
    return tuple(
        np.clip(starts[d], 0, n - s) if d in starts else 0
        for d, (n, s) in enumerate(zip(shape, sizes, strict=True))
    )


def _inside(starts, shape, sizes):
    """Return which windows lie inside."""
    inside = np.True_
    for d, start in starts.items():
        inside = inside & (start >= 0) & (start <= shape[d] - sizes[d])
    return inside


def _windows(x, sizes):
    """Return the view of all windows of `x`: [start..., window...]."""
    counts = [n - s + 1 for n, s in zip(x.shape, sizes, strict=True)]
    return as_strided(x, (*counts, *sizes), x.strides * 2)


def default_fill(dtype):
    """Return what a gather fills with unless told: NaN, the least or largest integer, or True."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return dtypes.iinfo(dtype).min
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return dtypes.iinfo(dtype).max
    return True
