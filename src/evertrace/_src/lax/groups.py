"""Collective operations within groups of examples, or between places along several axes at once.

Each example has gathered what all have, and takes what it is to get: everything else, derivatives
included, follows from that.
"""

from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.interop import as_array
from evertrace._src.lax.indexing import index_take
from evertrace._src.lax.slicing import concatenate, dynamic_index_in_dim, dynamic_slice_in_dim
from evertrace._src.lax.structural import broadcast_in_dim
from evertrace._src.ops.creation import iota
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import moveaxis, reshape, squeeze, zeros


def checked_groups(op: Any, groups: Any, size: Any) -> Any:
    """Return groups of places along an axis as a tuple of tuples.

    Raises:
      ValueError: they do not hold each place once, or differ in size.
    """
    found = tuple([tuple(map(int, group)) for group in groups])
    places = sorted(i for group in found for i in group)
    if places != list(range(size)) or len(set(map(len, found))) != 1:
        raise errors.user_error(
            ValueError,
            f"{op}: axis_index_groups={groups!r} does not divide the places 0 to {size - 1} along "
            "the axis into groups of one size.",
            fix="name each place once, as in `[[0, 1], [2, 3]]`.",
            anchor="collective",
        )
    return found


def of_group(every: Any, index: Any, groups: Any) -> Any:
    """Return what the examples of one's group have, along the first dimension, and one's place.

    Args:
      every: what all examples have, along the first dimension.
      index: the place of the example along the axis.
      groups: as `checked_groups` gives them.
    """
    order, size = [i for group in groups for i in group], len(groups[0])
    sorted_by_group = concatenate([slice_in_dim(every, i, i + 1, 0) for i in order], 0)
    at = np.argsort(np.asarray(order, np.int32)).astype(np.int32)
    start, place = _entry(at // size * size, index), _entry(at % size, index)
    return dynamic_slice_in_dim(sorted_by_group, start, size, 0), place


def permuted(every: Any, index: Any, perm: Any) -> Any:
    """Return what an example gets from the source that a permutation sends to its place.

    Args:
      every: what all examples have, along the first dimension.
      index: the place of the example.
      perm: pairs (source, destination); who is no destination gets zeros.
    """
    source = np.full(every.shape[0], -1, np.int32)
    for start, stop in perm:
        source[stop] = start
    mine = _entry(source, index)
    value: Any = dynamic_index_in_dim(every, _entry(np.maximum(source, 0), index), 0, False)
    return select(mine >= 0, value, zeros(value.aval))


def part(x: Any, place: Any, count: Any, dim: Any, tiled: Any) -> Any:
    """Return one of so many parts of a dimension, which goes away unless `tiled`."""
    if not tiled:
        return dynamic_index_in_dim(x, place, dim, False)
    step = x.shape[dim] // count
    return dynamic_slice_in_dim(x, place * step, step, dim)


def put_together(every: Any, output: Any, starts: Any, places: Any, sizes: Any) -> Any:
    """Return `output` with slices in it of what all examples have.

    Args:
      every: what all have, along the first dimension.
      output: an array.
      starts: where each slice begins, in the order of the examples that they come from.
      places: where each is put in `output`.
      sizes: how long each is.
    """
    at = iota(np.int32, (output.shape[0],))
    each = starts.shape[0] // every.shape[0]
    for i in range(starts.shape[0]):
        source = squeeze(slice_in_dim(every, i // each, i // each + 1, 0), (0,))
        start, place, size = (
            squeeze(slice_in_dim(x, i, i + 1, 0), (0,)) for x in (starts, places, sizes)
        )
        taken = index_take(source, (at - place + start,), (0,))
        is_in = broadcast_in_dim((at >= place) & (at < place + size), output.shape, (0,))
        output = select(is_in, taken, output)
    return output


def joined(values: Any, dim: Any, tiled: Any) -> Any:
    """Move the first dimension to `dim`, or make it part of that dimension."""
    out = as_array(moveaxis(values, 0, dim))
    if not tiled:
        return out
    shape = out.shape
    return reshape(out, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _entry(table, index):
    return dynamic_index_in_dim(as_array(table), index, 0, False)
