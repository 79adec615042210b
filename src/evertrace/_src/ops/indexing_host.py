"""Gather and scatter in NumPy.

All windows that fit into an array are one strided view of it: dimensions for where a window starts,
then the window's own. Taking windows is one fancy index into the first half of that view; so is
putting them, except where windows that meet must be combined one after the other. A single window
is a plain slice.

Arrays of windows have the layout [number of windows..., window...] here; `dimension_numbers` says
how the caller's dimensions are ordered instead. What follows from shapes alone is a `_Layout`, kept
between calls.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from evertrace._src import dtypes
from evertrace._src.ops.dimension_numbers import GatherScatterMode

# Windows of at least this many elements are combined one by one, smaller ones element by element:
# a NumPy call costs about as much as `ufunc.at` takes for this many elements.
MIN_WINDOW_OF_A_CALL = 32


class _Layout(NamedTuple):
    """How windows are arranged, in an array and in the caller's array of them.

    Attributes:
      counts: sizes of the dimensions that number the windows; total: how many windows.
      window: sizes of those dimensions of a window that the caller's array has.
      order: the permutation from [counts..., window...] to the caller's order; inverse: back.
      limits: the last place, per dimension, where a window may start.
      take_axis: the one dimension in which `np.take` does the same, or None.
    """

    counts: tuple
    total: int
    window: tuple
    order: tuple
    inverse: tuple
    limits: tuple
    take_axis: int | None


@functools.lru_cache(maxsize=4096)
def _layout(shape, indices_shape, dnums, sizes):
    """Return the layout of windows of these sizes in an array of that shape."""
    window_dims, dropped, index_map, operand_batch, _ = dnums
    counts = indices_shape[:-1]
    window = tuple(s for d, s in enumerate(sizes) if d not in {*dropped, *operand_batch})
    rank = len(counts) + len(window)
    places, inner = iter(range(len(counts))), iter(range(len(counts), rank))
    order = tuple(next(inner if i in window_dims else places) for i in range(rank))
    limits = tuple(n - s for n, s in zip(shape, sizes, strict=True))
    axis = index_map[0] if len(index_map) == 1 else None
    taken = (*range(axis or 0), *range((axis or 0) + len(counts), rank))
    is_take = not operand_batch and tuple(dropped) == (axis,) and tuple(window_dims) == taken
    if not is_take or any(limit for d, limit in enumerate(limits) if d != axis):
        axis = None
    inverse = tuple(sorted(range(rank), key=order.__getitem__))
    return _Layout(counts, math.prod(counts), window, order, inverse, limits, axis)


def gather(x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    """Return the windows of `x` that start at `indices`."""
    layout = _layout(x.shape, indices.shape, dimension_numbers, slice_sizes)
    if layout.total == 1:
        drops = mode is GatherScatterMode.FILL_OR_DROP
        place = _only_window(indices, dimension_numbers, slice_sizes, layout.limits, drops)
        picked = _filler(x, fill_value) if place is None else x[place]
        out_shape = tuple([(*layout.counts, *layout.window)[i] for i in layout.order])
        return np.broadcast_to(picked, slice_sizes).reshape(out_shape)
    starts = window_starts(indices, dimension_numbers)
    axis = layout.take_axis
    if axis is None:
        picked = _windows(x, slice_sizes)[_clip(starts, layout.limits)]
        picked = np.broadcast_to(picked, (*layout.counts, *slice_sizes))
        picked = picked.reshape((*layout.counts, *layout.window)).transpose(layout.order)
    else:
        picked = np.take(x, starts[axis], axis=axis, mode="clip")
    if mode is not GatherScatterMode.FILL_OR_DROP:
        return picked
    inside = _inside(starts, layout.limits)
    if inside.all():
        return picked
    inside = np.broadcast_to(inside, layout.counts)
    inside = inside.reshape((*layout.counts, *[1 for _ in layout.window])).transpose(layout.order)
    return np.where(inside, picked, _filler(x, fill_value))


def _filler(x, fill_value):
    """Return what stands for windows that are not inside, as an array of rank 0."""
    return np.asarray(default_fill(x.dtype) if fill_value is None else fill_value, x.dtype)


def scatter(ufunc, x, indices, updates, *, dimension_numbers, unique_indices, mode, **_):
    """Return `x` with windows of `updates` put at `indices`.

    `ufunc` combines an element with its update; None replaces it. Updates of one element are
    applied in their order.
    """
    dnums = dimension_numbers
    out = np.array(x, order="C")
    sizes = _update_sizes(x.ndim, updates.shape, dnums)
    layout = _layout(x.shape, indices.shape, dnums, sizes)
    if not layout.total or not x.size or not updates.size:
        return out
    if layout.total == 1:
        drops = mode is not GatherScatterMode.CLIP
        place = _only_window(indices, dnums, sizes, layout.limits, drops)
        if place is not None:
            update = updates.reshape(sizes)
            out[place] = update if ufunc is None else ufunc(out[place], update)
        return out
    updates = updates.transpose(layout.inverse).reshape(layout.total, *sizes)
    starts = window_starts(indices, dnums)
    inside = np.True_ if mode is GatherScatterMode.CLIP else _inside(starts, layout.limits)
    starts = [_flat(s, layout.counts) for s in _clip(starts, layout.limits)]
    if not inside.all():
        inside = _flat(inside, layout.counts)
        starts = [s[inside] for s in starts]
        updates = updates[inside]
    if x.ndim == 0:
        starts = [np.zeros(len(updates), np.intp)]
        out, sizes, updates = out.reshape(1), (1,), updates.reshape(-1, 1)
    if len(updates):
        _put(ufunc, out, starts, sizes, updates, unique_indices)
    return out.reshape(x.shape)


def _flat(x, counts):
    return np.broadcast_to(x, counts).reshape(-1)


@functools.lru_cache(maxsize=4096)
def _update_sizes(ndim, updates_shape, dnums):
    """Return the sizes of a window in each dimension of the operand of a scatter."""
    dropped = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    window = iter([updates_shape[d] for d in dnums.update_window_dims])
    return tuple(1 if d in dropped else next(window) for d in range(ndim))


def _only_window(indices, dnums, sizes, limits, drops):
    """Return the slices that are the only window; None if it is not inside and `drops`."""
    starts = [0] * len(sizes)
    for d, start in zip(dnums[2], indices.reshape(-1).tolist(), strict=True):
        starts[d] = min(max(start, 0), limits[d])
        if drops and start != starts[d]:
            return None
    return tuple([slice(i, i + size) for i, size in zip(starts, sizes, strict=True)])


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
        strides = [stride // out.itemsize for stride in out.strides]
        places = functools.reduce(np.add, map(np.multiply, starts, strides))
        if updates[0].size > 1:
            within = functools.reduce(np.add.outer, map(_multiples, strides, sizes))
            places = (places.reshape(-1, 1) + within.reshape(1, -1)).reshape(-1)
        ufunc.at(out.reshape(-1), places, updates.reshape(-1))


def _multiples(step, count):
    return step * np.arange(count)


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


def _clip(starts, limits):
    """Return the starts, one per dimension, moved so that windows lie inside."""
    return tuple(
        [
            np.minimum(np.maximum(starts[d], 0), limit) if d in starts else 0
            for d, limit in enumerate(limits)
        ]
    )


def _inside(starts, limits):
    """Return which windows lie inside."""
    inside = np.True_
    for d, start in starts.items():
        inside = inside & (start.view(np.uintp) <= limits[d])  # negative ones are huge then
    return inside


def _windows(x, sizes):
    """Return the view of all windows of `x`: [start..., window...]."""
    counts = [n - s + 1 for n, s in zip(x.shape, sizes, strict=True)]
    # NumPy looks the dtype up by its text, which those of ml_dtypes do not all have.
    words = x if x.dtype.isbuiltin == 1 else x.view(f"u{x.dtype.itemsize}")
    return as_strided(words, (*counts, *sizes), x.strides * 2).view(x.dtype)


def default_fill(dtype):
    """Return what a gather fills with unless told: NaN, the least or largest integer, or True."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return dtypes.iinfo(dtype).min
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return dtypes.iinfo(dtype).max
    return True
