"""What an index means: from ``x[...]`` to items per dimension, and from items to a gather.

1. `parse` turns an index into *items*, one per dimension of the array plus one per `None`. Masks
   become arrays of indices, `...` full slices, negative ints positive ones.
2. Items that are all static are slices, reversals and squeezes: `static_steps`.
3. Otherwise `Layout` says how one gather (or, for updates, scatter) does it: contiguous slices are
   windows; ints, arrays and strided slices choose windows, and each component of the index vectors
   is an array broadcast to the result's dimensions that are not in windows.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_array, as_operand, computed, type_of_number
from evertrace._src.core.engine import mode
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import EVAL, Tracer, concrete_value, state
from evertrace._src.dims import (
    bare,
    broadcast_shapes,
    is_below,
    is_dim,
    max_of,
    min_of,
    size_of,
    slice_bounds,
)
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.promotion import is_operand
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.sizes import dim_as_value
from evertrace._src.ops.slicing import concatenate_p, slice_p
from evertrace._src.ops.structural import (
    broadcast_in_dim_p,
    expand_dims,
    rev_p,
    squeeze_p,
)

numbers: Any = LazyModule("evertrace._src.ops.dimension_numbers")

NEW, SLICE, INT, ARRAY = "new", "slice", "int", "array"


class Item(NamedTuple):
    """What an index says of one dimension of the array, or of a new one.

    Attributes:
      kind: NEW; SLICE: `count` elements from `start` on, `step` apart; INT: element `start`; ARRAY:
        the elements at `array`, which has rank 0 for a traced int.
      is_after_dots: whether `...` stood before it and for nothing; index arrays on both sides of it
        are no neighbours.
    """

    kind: str
    start: int = 0
    step: int = 1
    count: int = 1  # pyright: ignore[reportIncompatibleMethodOverride]  # tuples can count, too
    array: Any = None
    is_after_dots: bool = False


# ---------------------------------------------------------------- parsing


def parse(shape, index, *, is_bounded=True, wrap_negative=True):
    """Return the items of an index into an array of that shape.

    Args:
      shape: shape of the array.
      index: as in ``x[index]``.
      is_bounded: whether ints out of bounds are moved inside.
      wrap_negative: whether negative ints count from the end.
    """
    parts = _expand_masks(index if type(index) is tuple else (index,), shape)
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > len(shape):
        raise errors.user_error(
            IndexError,
            f"Too many indices: array is {len(shape)}-dimensional, but {used} were indexed.",
            fix=f"index with at most {len(shape)} of them.",
            anchor="index",
        )
    rest = [slice(None)] * (len(shape) - used)
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise errors.user_error(
            IndexError,
            "An index can only have a single ellipsis ('...').",
            fix="write `:` for each axis that the others stand for.",
            anchor="index",
        )
    at = dots[0] if dots else len(parts)
    parts = [*parts[:at], *rest, *parts[at + 1 :]]
    items, dim = [], 0
    for part in parts:
        if part is None:
            items.append(Item(NEW))
        else:
            item = _item(_computed(part, shape[dim]), shape[dim], dim)
            if item.kind is INT:
                item = _int_item(item.start, shape[dim], dim, is_bounded, wrap_negative)
            items.append(item)
            dim += 1
    if dots and not rest and at < len(items):
        items[at] = items[at]._replace(is_after_dots=True)
    return items


def _computed(part, size):
    """Return an index that stands for a number as an operand: another one is no other program."""
    part = bare(part)
    if type(part) is int or type_of_number(part) is not int:
        return part
    return as_operand(computed(_clipped, part, size))


def _clipped(i, size):
    """Return the nearest int that 32 bits hold, however it is counted; in bounds if `i` is."""
    if is_dim(size) or is_dim(i):  # of which all sizes have 32 bits
        return i if is_dim(i) else min(max(i, -(2**31)), 2**31 - 1)
    return min(max(i, min(-(2**30), -size - 1)), max(2**30, size))


def _item(part, size, dim):
    """Return the item of one index into a dimension of that size."""
    if isinstance(part, slice):
        return _slice_item(part, size)
    if is_operand[type(part)] or isinstance(part, np.ndarray):
        return Item(ARRAY, array=_index_array(part, size, dim))
    try:
        return Item(INT, start=size_of(part))
    except TypeError:
        raise _bad_index(part) from None


def _int_item(i, size, dim, is_bounded, wrap_negative):
    """Return the item of an int, counted from the front.

    One that is out of bounds, if that matters, is an array as traced ones are: the operation moves
    it inside when it runs, where `checkify` sees it.
    """
    if size == 0:
        raise errors.user_error(
            IndexError,
            f"index {i} is out of bounds for axis {dim} with size 0.",
            fix="ask `x.size` first: it has no elements.",
            anchor="index",
        )
    place = i + size if i < 0 and wrap_negative else i
    if is_bounded and not (is_below(-1, place) and is_below(place, size)):
        return Item(ARRAY, array=literal(_clipped(i, size), np.dtype(np.int32)))
    return Item(INT, start=_clipped(place, size))


def _slice_item(part, size):
    try:
        start, step, count = slice_bounds(part, size)
    except errors.TracerIntegerConversionError:
        raise errors.user_error(
            IndexError,
            "Array slice indices must have static start/stop/step, got a traced value.",
            fix="use `lax.dynamic_slice_in_dim(x, start, size)` for a slice of static size.",
            anchor="index",
        ) from None
    return Item(SLICE, start=start, step=step, count=count)


def _index_array(part, size, dim):
    """Return an array of indices as an operand of at least 32 bits."""
    array = as_array(part, "index")
    if not dtypes.issubdtype(array.aval.dtype, np.integer):
        raise _bad_index(part)
    if size == 0 and array.aval.size:
        raise errors.user_error(
            IndexError,
            f"indices are out of bounds for axis {dim} with size 0.",
            fix="ask `x.size` first: it has no elements.",
            anchor="index",
        )
    return cast(array, np.dtype(np.int32)) if array.aval.dtype.itemsize < 4 else array


def cast(x, dtype):
    """Return an operand in `dtype`, weakly typed or not as it is."""
    return x if x.aval.dtype == dtype else convert(x, dtype)


def _bad_index(part):
    if isinstance(part, str):
        what = f"String indexing is not supported; got idx={part!r}."
        fix = "take the column out of its table before that, or keep a dict of arrays."
    elif isinstance(part, (list, tuple)):
        what = (
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            "`arr[array(seq)]` instead of `arr[seq]`."
        )
        fix = "index with `jnp.array(seq)`, or with `tuple(seq)` for one index per axis."
    else:
        dtype = getattr(part, "dtype", type(part).__name__)
        what = f"Indexer must have integer or boolean type, got indexer with type {dtype}."
        fix = "index with ints, slices, None, ... or integer arrays: `int(i)`, `i.astype(int)`."
    return errors.user_error(TypeError, what, fix=fix, anchor="index")


# ---------------------------------------------------------------- masks


def is_mask(part):
    """Whether an index selects by booleans: an array of them, or one."""
    if part is True or part is False:
        return True
    return getattr(part, "dtype", None) == np.bool_ and (
        is_operand[type(part)] or isinstance(part, (np.ndarray, np.generic))
    )


def _expand_masks(parts, shape):
    """Return the parts with masks replaced by arrays of indices; one boolean adds an axis."""
    if not any(is_mask(part) for part in parts):
        return list(parts)
    out, dim = [], 0
    hidden = len(shape) - sum(_consumed(part) for part in parts)  # behind the dots
    for part in parts:
        dim += hidden if part is Ellipsis else _consumed(part)
        if not is_mask(part):
            out.append(part)
            continue
        mask = _known_mask(part)
        if hidden >= 0:
            _check_mask(mask, shape[dim - mask.ndim : dim], dim - mask.ndim)
        if mask.ndim == 0:
            out.append(np.zeros(int(mask), np.int32))
        else:
            out.extend(found.astype(np.int32) for found in mask.nonzero())
    return out


def _check_mask(mask, shape, dim):
    if mask.shape != shape:
        raise errors.user_error(
            IndexError,
            f"boolean index of shape {mask.shape} does not match the array's shape {shape} from "
            f"axis {dim} on.",
            fix="index with a mask of the shape of the axes it selects from.",
            anchor="index",
        )


def _known_mask(part):
    if part is True or part is False:
        return np.asarray(part)
    found = concrete_value(part) if isinstance(part, Tracer) else part
    if found is None:
        raise errors.user_error(
            errors.NonConcreteBooleanIndexError,
            f"Array boolean indices must be concrete; got a traced {part.aval.str_short()}. The "
            "result would have as many elements as the mask has true ones.",
            fix="use `numpy.where(mask, x, 0)`, which keeps the shape, or "
            "`numpy.nonzero(mask, size=...)` for a bounded number of indices.",
        )
    return np.asarray(found._contents() if is_operand[type(found)] else found)


def with_axes_for_booleans(x, index) -> tuple[Array, Any]:
    """Return array and index with a new axis of size 1 for each single boolean to index.

    Lists and tuples inside the index become arrays.
    """
    index = _with_arrays_for_lists(index)
    parts = index if type(index) is tuple else (index,)
    if not any(is_mask(part) and np.ndim(part) == 0 for part in parts):
        return x, index
    axes, position = [], 0
    seen = sum(_consumed(part) for part in parts)
    for part in parts:
        if part is Ellipsis:
            position += x.aval.ndim - seen
        elif is_mask(part) and np.ndim(part) == 0:
            axes.append(position + len(axes))
        else:
            position += _consumed(part)
    return expand_dims(x, tuple(axes)), index


def _with_arrays_for_lists(index: Any) -> Any:
    """Return an index in which the lists and tuples inside a tuple are arrays; `[]` of integers."""
    if type(index) is not tuple or not any(type(part) in (list, tuple) for part in index):
        return index
    return tuple(_array_of(part) if type(part) in (list, tuple) else part for part in index)


def _array_of(part):
    array = asarray(part)
    return array if array.aval.size else cast(array, np.dtype(np.int32))


def _consumed(part):
    if part is None or part is Ellipsis:
        return 0
    return np.ndim(part) if is_mask(part) else 1


# ---------------------------------------------------------------- static indices


def static_key(index):
    """Return what a plan for a static index is kept by, or None if it is not one."""
    kind = type(index)
    if kind is int:
        return (index,)
    if kind is tuple:
        keys = [static_key(part) if type(part) is not tuple else None for part in index]
        return None if None in keys else (tuple, *keys)
    if kind is slice:
        bounds = (index.start, index.stop, index.step)
        if all(bound is None or type(bound) is int for bound in bounds):
            return (slice, *bounds)
        return None
    return (index,) if index is None or index is Ellipsis else None


def static_steps(shape, items):
    """Return ``(primitive, params)`` pairs that apply static items to an array."""
    steps = []
    dims = [item for item in items if item.kind is not NEW]
    window = [_positive(item) for item in dims]
    if any(w != (0, n, 1) for w, n in zip(window, shape, strict=True)):
        starts, limits, strides = zip(*window, strict=True)
        strides = None if all(s == 1 for s in strides) else strides
        steps.append(
            (slice_p, {"start_indices": starts, "limit_indices": limits, "strides": strides})
        )
    reversed_dims = tuple(i for i, item in enumerate(dims) if item.kind is SLICE and item.step < 0)
    if reversed_dims:
        steps.append((rev_p, {"dimensions": reversed_dims}))
    steps += reshaping_steps(items, [1 if d.kind is INT else d.count for d in dims])
    return steps


def _positive(item):
    """Return start, limit and positive stride of the elements of an item."""
    if item.kind is INT:
        return item.start, item.start + 1, 1
    if not is_dim(item.count) and item.count == 0:  # Python starts empty reversed slices at -1
        return max(item.start, 0), max(item.start, 0), 1
    if item.step == 1:
        return item.start, item.start + item.count, 1
    last = item.start + (item.count - 1) * item.step  # before the start, if there is none at all
    if item.step > 0:
        return item.start, max_of(last + 1, item.start), item.step
    return min_of(last, item.start + 1), item.start + 1, -item.step


def reshaping_steps(items, sizes):
    """Return the steps that drop the dimensions of ints and add those of None."""
    steps, dims = [], [item for item in items if item.kind is not NEW]
    dropped = tuple(i for i, item in enumerate(dims) if item.kind is not SLICE)
    if dropped:
        steps.append((squeeze_p, {"dimensions": dropped}))
    kept = [item for item in items if item.kind in (NEW, SLICE)]
    if any(item.kind is NEW for item in kept):
        left = iter([n for n, item in zip(sizes, dims, strict=True) if item.kind is SLICE])
        shape = tuple(1 if item.kind is NEW else next(left) for item in kept)
        places = tuple(i for i, item in enumerate(kept) if item.kind is not NEW)
        params = {"shape": shape, "broadcast_dimensions": places, "sharding": None}
        steps.append((broadcast_in_dim_p, params))
    return steps


# ---------------------------------------------------------------- gathers


def from_front(array, size) -> Array:
    """Return indices of which negative ones counted from the end, as indices from the front."""
    dtype = array.aval.dtype
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return array
    # On known indices at once, but where operations are noted to make a plan of them, or say how
    # the result is laid out.
    known = concrete_value(array) if state.trace is EVAL and mode.steps is None else None
    if known is not None and getattr(known, "_sharding", None) is None:
        host = known._contents()
        return from_host(np.where(host < 0, host + host.dtype.type(size), host))
    is_negative = ufuncs.less(array, 0)
    return ufuncs.choose_by(is_negative, ufuncs.add(array, size), array)


class Layout(NamedTuple):
    """How one gather or scatter follows an index.

    Attributes:
      dnums: `GatherDimensionNumbers`.
      sizes: size of a window in each dimension of the operand.
      indices: the index vectors.
      shape: shape of the gathered result, before dimensions are added for None.
      new_dims: where those are in the final result.
      is_plain: whether all indices are ints and slices, so that windows cannot overlap.
    """

    dnums: Any
    sizes: tuple
    indices: Any
    shape: tuple
    new_dims: tuple
    is_plain: bool

    @property
    def full_shape(self) -> Any:
        """Shape of the result."""
        shape = list(self.shape)
        for dim in self.new_dims:
            shape.insert(dim, 1)
        return tuple(shape)


class _Component(NamedTuple):
    """One component of the index vectors.

    Attributes:
      position: which item it comes from.
      size: size of the operand's dimension that it is for.
      dims: the dimensions of the index vectors that it varies in.
    """

    position: int
    size: int
    dims: tuple


def layout(shape, items, wrap_negative=True):
    """Return how to gather the items from an array of that shape."""
    abstract = [i if i.array is None else i._replace(array=i.array.aval) for i in items]
    frame, components, batch_shape = _frame(shape, tuple(abstract))
    columns = [_column(items[c.position], c.size, wrap_negative) for c in components]
    indices = _index_vectors(columns, [c.dims for c in components], batch_shape)
    return frame._replace(indices=indices)


@functools.lru_cache(maxsize=4096)
def _frame(shape, items):
    """Return a layout without indices, the components of these, and their shape.

    The items have avals in the place of arrays.
    """
    has_arrays = any(item.kind is ARRAY and item.array.ndim for item in items)
    is_chosen = {ARRAY, INT} if has_arrays else set()
    chosen_shape = _chosen_shape(items) if has_arrays else ()
    tokens = _result_tokens(items, is_chosen, len(chosen_shape))
    result = [token for token in tokens if token[0] != NEW]
    out_shape = [chosen_shape[i] if kind == "chosen" else items[i].count for kind, i in result]
    dims = [(i, item) for i, item in enumerate(items) if item.kind is not NEW]
    is_window = [item.kind is SLICE and item.step == 1 for _, item in dims]
    windows = [
        result.index((SLICE, i)) for (i, _), whole in zip(dims, is_window, strict=True) if whole
    ]
    batch = [i for i in range(len(result)) if i not in windows]
    index_map = tuple(
        dim for dim, (_, item) in enumerate(dims) if not is_window[dim] or item.count != shape[dim]
    )
    components = [
        _Component(dims[dim][0], shape[dim], _varies_in(*dims[dim], [result[i] for i in batch]))
        for dim in index_map
    ]
    collapsed = tuple(dim for dim, whole in enumerate(is_window) if not whole)
    frame = Layout(
        numbers.GatherDimensionNumbers(tuple(sorted(windows)), collapsed, index_map),
        tuple(  # no more than there is: an axis may be empty where no index asks for any of it
            item.count if is_window[dim] else min_of(shape[dim], 1)
            for dim, (_, item) in enumerate(dims)
        ),
        None,
        tuple(out_shape),
        tuple(i for i, token in enumerate(tokens) if token[0] == NEW),
        not has_arrays,
    )
    return frame, components, tuple(out_shape[i] for i in batch)


def _varies_in(position, item, batch):
    """Return which of the batch dimensions, given by their tokens, an item varies in."""
    if item.kind is ARRAY:
        chosen = [i for i, token in enumerate(batch) if token[0] == "chosen"]
        return tuple(chosen[len(chosen) - item.array.ndim :])
    is_strided = item.kind is SLICE and item.step != 1
    return (batch.index((SLICE, position)),) if is_strided else ()


def _chosen_shape(items):
    arrays = [item.array.shape for item in items if item.kind is ARRAY]
    try:
        return broadcast_shapes(*arrays)
    except ValueError:
        raise errors.user_error(
            IndexError,
            f"Incompatible shapes for broadcasting of index arrays: {arrays}.",
            fix="make them of one shape, or use `numpy.ix_` for all combinations.",
            anchor="shape-broadcast",
        ) from None


def _result_tokens(items, is_chosen, rank):
    """Return the result's dimensions in order: of slices, new ones, and those of index arrays.

    The dimensions of index arrays stand where the first of them stood if they, and the ints beside
    them, are neighbours; else they come first.
    """
    places = [i for i, item in enumerate(items) if item.kind in is_chosen]
    chosen = [("chosen", k) for k in range(rank)]
    tokens = []
    are_neighbours = not places or (
        places[-1] - places[0] + 1 == len(places)
        and not any(items[i].is_after_dots for i in places[1:])
    )
    if not are_neighbours:
        tokens += chosen
    for i, item in enumerate(items):
        if are_neighbours and places and i == places[0]:
            tokens += chosen
        if item.kind is NEW or item.kind is SLICE:
            tokens.append((item.kind, i))
    return tokens


_INT32 = np.dtype(np.int32)


def _column(item, size, wrap_negative):
    """Return one component of the index vectors."""
    if item.kind is ARRAY:
        return from_front(item.array, size) if wrap_negative else item.array
    if is_dim(item.start):
        item = item._replace(start=dim_as_value(item.start))
        if item.kind is INT or item.step == 1:
            return item.start
    if item.kind is INT or item.step == 1:
        fits = dtypes.int_range(_INT32)[1] >= item.start
        return literal(item.start, _INT32 if fits else np.dtype(np.int64))
    counts = iota(np.int32, (item.count,))
    return ufuncs.add(ufuncs.multiply(counts, item.step), item.start)


def _index_vectors(columns, dims, batch_shape):
    """Stack components along a new last dimension, each broadcast to the batch dimensions."""
    if not columns:
        return from_host(np.zeros((*batch_shape, 0), np.int32))
    dtype = _common_dtype(columns)
    columns = [
        broadcast_in_dim_p.bind(
            cast(column, dtype),
            shape=(*batch_shape, 1),
            broadcast_dimensions=places,
            sharding=None,
        )
        for column, places in zip(columns, dims, strict=True)
    ]
    if len(columns) == 1:
        return columns[0]
    return concatenate_p.bind(*columns, dimension=len(batch_shape))


def _common_dtype(arrays):
    found = {array.aval.dtype for array in arrays}
    return found.pop() if len(found) == 1 else dtypes.result_type(*found)
