"""Functions that move elements around: new shapes, new orders of axes, repetitions.

Whatever decides a shape must be known while tracing; shifts of `roll` and counts of `repeat` may be
traced values, since they do not have to.
"""

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.core.tracer import concrete_value
from evertrace._src.numpy import creation, cumulative, indexing, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    canonical_axis,
    distinct_axes,
    operand,
    static_int,
    static_shape,
    traced_argument,
)
from evertrace._src.numpy.promotion import as_operands, common_shape
from evertrace._src.numpy.promotion import broadcast_to as broadcast_operand
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.dynamic import dynamic_slice_p
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim, tile_p, unstack_p
from evertrace._src.ops.structural import permute, rev_p

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis",
    "permute_dims", "ravel", "repeat", "reshape", "resize", "roll", "rollaxis", "rot90", "squeeze",
    "swapaxes", "tile", "transpose", "trim_zeros", "unstack",
]  # fmt: skip

# ---------------------------------------------------------------- shapes


def reshape(a, shape, order="C", *, copy=None, out_sharding=None):
    """Give an array a new shape.

    Args:
      a: array.
      shape: int or sequence of ints known while tracing; one of them may be -1, which stands for
        what is left.
      order: in which elements are read and written: "C" (last axis fastest) or "F" (first axis
        fastest).
      copy: ignored; an array is never changed, so copies cannot be told from views.
      out_sharding: must be None.

    Raises:
      ShapeError: the number of elements would change.
    """
    x = operand("reshape", a)
    shape = _without_minus_one(x.aval, static_shape("reshape", shape))
    if order == "C":
        return structural.reshape(x, shape)
    if order != "F":
        raise _order_error("reshape", order)
    return _reversed(structural.reshape(_reversed(x), shape[::-1]))


def _order_error(name, order):
    return errors.user_error(
        NotImplementedError,
        f"{name}: order={order!r} is not supported; arrays have no memory order of their own.",
        fix='use order="C" or order="F".',
    )


def _reversed(x):
    return permute(x, tuple(reversed(range(x.aval.ndim))))


def _without_minus_one(aval, shape):
    """Return the shape with the size that -1 stands for."""
    if -1 not in shape:
        return shape
    rest = -math.prod(shape)
    if shape.count(-1) > 1 or rest <= 0 or aval.size % rest:
        raise errors.user_error(
            errors.ShapeError,
            f"reshape: cannot reshape array of shape {aval.shape} (size {aval.size}) into shape "
            f"{shape}: no size fits in place of -1.",
            fix="use -1 once, and sizes whose product divides the number of elements.",
            anchor="shape-reshape",
        )
    return tuple(aval.size // rest if size == -1 else size for size in shape)


def ravel(a, order="C", *, out_sharding=None):
    """Flatten an array to rank 1, in order "C" (last axis fastest) or "F" (first axis fastest)."""
    x = operand("ravel", a)
    return reshape(x, (x.aval.size,), order)


def squeeze(a, axis=None):
    """Remove axes of size 1: those named by an int or a tuple of ints, or all of them."""
    x = operand("squeeze", a)
    if axis is None:
        axes = tuple(i for i, size in enumerate(x.aval.shape) if size == 1)
    else:
        axes = canonical_axes("squeeze", axis, x.aval.ndim)
    if any(x.aval.shape[i] != 1 for i in axes):
        raise errors.user_error(
            errors.ShapeError,
            f"squeeze: axes {axes} of shape {x.aval.shape} cannot be removed, as not all are of "
            "size 1.",
            fix="name only axes of size 1, or index the axis, e.g. `x[0]`.",
            anchor="shape-squeeze",
        )
    return structural.squeeze(x, axes)


def expand_dims(a, axis):
    """Add axes of size 1 that stand at `axis`, an int or a tuple of ints, of the result."""
    x = operand("expand_dims", a)
    given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = distinct_axes("expand_dims", given, x.aval.ndim + len(given))
    return structural.expand_dims(x, tuple(sorted(axes)))


def broadcast_to(array, shape, *, out_sharding=None):
    """Repeat an array along new leading axes and axes of size 1 until it has `shape`."""
    return broadcast_operand(operand("broadcast_to", array), static_shape("broadcast_to", shape))


def broadcast_shapes(*shapes):
    """Return the shape to which shapes (ints or tuples of ints) broadcast."""
    return common_shape("broadcast_shapes", [static_shape("broadcast_shapes", s) for s in shapes])


def broadcast_arrays(*args):
    """Return a list of the arrays, broadcast to their common shape."""
    arrays = [operand("broadcast_arrays", x) for x in args]
    shape = common_shape("broadcast_arrays", [x.aval.shape for x in arrays])
    return [broadcast_operand(x, shape) for x in arrays]


def atleast_1d(*arys) -> Any:
    """Return each array with at least one axis; one array, or a list if there are several."""
    return _each(arys, "atleast_1d", lambda x: structural.expand_dims(x, _missing(x, 1)))


def atleast_2d(*arys) -> Any:
    """Return each array with at least two axes, new ones in front."""
    return _each(arys, "atleast_2d", lambda x: structural.expand_dims(x, _missing(x, 2)))


def atleast_3d(*arys) -> Any:
    """Return each array with at least three axes; a matrix gets its new axis at the end."""
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}  # by rank
    return _each(
        arys, "atleast_3d", lambda x: structural.expand_dims(x, places.get(x.aval.ndim, ()))
    )


def _missing(x, rank):
    return tuple(range(rank - x.aval.ndim))


def _each(arys, name, change):
    out = [change(operand(name, x)) for x in arys]
    return out[0] if len(out) == 1 else out


def resize(a, new_shape):
    """Return the elements, repeated as often as needed, in a new shape."""
    flat = ravel(a)
    shape = static_shape("resize", new_shape)
    size = math.prod(shape)
    if any(s < 0 for s in shape):
        raise errors.user_error(
            ValueError, f"resize: sizes must not be negative, got {shape}.", fix="use sizes >= 0."
        )
    if size == 0 or flat.aval.size == 0:
        return creation.zeros(shape, flat.aval.dtype)
    repeats = -(-size // flat.aval.size)
    return reshape(slice_in_dim(tile(flat, repeats), 0, size, 0), shape)


def trim_zeros(filt, trim="fb", axis=None):
    """Remove zeros from the front ("f" in `trim`) and the back ("b") of an array.

    Args:
      filt: array whose values are known: the size of the result depends on them.
      trim: a string of "f" and "b".
      axis: axes to trim, all by default.
    """
    x = operand("trim_zeros", filt)
    concrete = concrete_value(x)
    if concrete is None:
        raise traced_argument("trim_zeros", "filt", x)
    axes = canonical_axes("trim_zeros", axis, x.aval.ndim)
    for i in axes:
        others = tuple(j for j in range(x.aval.ndim) if j != i)
        kept = np.flatnonzero((concrete.host() != 0).any(axis=others))
        size = x.aval.shape[i]
        start = (kept[0] if kept.size else size) if "f" in trim.lower() else 0
        stop = (kept[-1] + 1 if kept.size else 0) if "b" in trim.lower() else size
        x = slice_in_dim(x, int(start), max(int(start), int(stop)), i)
    return x


# ---------------------------------------------------------------- orders of axes


def transpose(a, axes=None):
    """Permute axes; reverse them by default.

    Args:
      a: array.
      axes: sequence of ints: where each axis of the result comes from.
    """
    x = operand("transpose", a)
    if axes is None:
        return _reversed(x)
    axes = distinct_axes("transpose", axes, x.aval.ndim)
    if len(axes) != x.aval.ndim:
        raise errors.user_error(
            errors.AxisError,
            f"transpose: axes {axes} do not match an array of shape {x.aval.shape}.",
            fix="name every axis once.",
            anchor="axis",
        )
    return permute(x, axes)


def permute_dims(a, /, axes):
    """Permute axes: another name of `transpose`."""
    return transpose(a, axes)


def matrix_transpose(x, /):
    """Swap the last two axes."""
    x = operand("matrix_transpose", x)
    if x.aval.ndim < 2:
        raise errors.user_error(
            errors.ShapeError,
            f"matrix_transpose: needs rank 2 or more, got shape {x.aval.shape}.",
            fix="add axes, e.g. with `x[:, None]`.",
            anchor="shape",
        )
    return swapaxes(x, -1, -2)


def swapaxes(a, axis1, axis2):
    """Swap two axes."""
    x = operand("swapaxes", a)
    i = canonical_axis("swapaxes", axis1, x.aval.ndim)
    j = canonical_axis("swapaxes", axis2, x.aval.ndim)
    order = list(range(x.aval.ndim))
    order[i], order[j] = j, i
    return permute(x, order)


def moveaxis(a, source, destination):
    """Move axes, named by an int or several, to new places; the rest keep their order."""
    x = operand("moveaxis", a)
    sources, places = (
        distinct_axes("moveaxis", v if isinstance(v, tuple | list) else (v,), x.aval.ndim)
        for v in (source, destination)
    )
    if len(sources) != len(places):
        raise errors.user_error(
            ValueError,
            f"moveaxis: source {sources} and destination {places} must have the same length.",
            fix="give one destination per axis.",
            anchor="axis",
        )
    order = [i for i in range(x.aval.ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permute(x, order)


def rollaxis(a, axis, start=0):
    """Move `axis` backwards until it stands before the axis that is at `start` now."""
    x = operand("rollaxis", a)
    axis = canonical_axis("rollaxis", axis, x.aval.ndim)
    start = canonical_axis("rollaxis", start, x.aval.ndim + 1)
    return moveaxis(x, axis, start - 1 if axis < start else start)


def flip(m, axis=None):
    """Reverse the order of the elements along axes: an int, a tuple of ints or None (all)."""
    x = operand("flip", m)
    axes = canonical_axes("flip", axis, x.aval.ndim)
    return rev_p.bind(x, dimensions=axes) if axes else x


def fliplr(m):
    """Reverse the second axis."""
    return flip(m, 1)


def flipud(m):
    """Reverse the first axis."""
    return flip(m, 0)


def rot90(m, k=1, axes=(0, 1)):
    """Rotate by 90 degrees, `k` times, in the plane of two axes, from the first to the second."""
    x = operand("rot90", m)
    if len(axes) != 2:
        raise errors.user_error(
            ValueError, f"rot90: axes must be two axes, got {axes}.", fix="name two.", anchor="axis"
        )
    first, second = distinct_axes("rot90", axes, x.aval.ndim)
    turns = static_int("rot90", "k", k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def unstack(x, /, *, axis=0):
    """Return a tuple of the arrays that stand along `axis`."""
    x = operand("unstack", x)
    axis = canonical_axis("unstack", axis, x.aval.ndim)
    return tuple(unstack_p.bind(x, axis=axis)) if x.aval.shape[axis] else ()


# ---------------------------------------------------------------- shifts and repetitions


def roll(a, shift, axis=None):
    """Shift elements along axes; what leaves at one end comes in at the other.

    Args:
      a: array.
      shift: int, traced or not, or a sequence with one per axis.
      axis: int, a tuple of ints, or None to shift the flattened array.
    """
    x = operand("roll", a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.aval.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    if isinstance(shift, tuple | list):
        shifts = list(shift)
    elif np.ndim(shift):
        concrete = concrete_value(shift) if hasattr(shift, "aval") else None
        shifts = list(np.asarray(concrete.host()) if concrete is not None else shift)
    else:
        shifts = [shift]
    count = max(len(axes), len(shifts))
    shifts, axes = ([*v] * count if len(v) == 1 else list(v) for v in (shifts, axes))
    if len(shifts) != len(axes):
        raise errors.user_error(
            ValueError,
            f"roll: {len(shifts)} shifts do not match {len(axes)} axes.",
            fix="give one shift per axis.",
            anchor="axis",
        )
    for one, place in zip(shifts, axes, strict=True):
        x = _roll(x, one, canonical_axis("roll", place, x.aval.ndim))
    return x


def _roll(x, shift, axis):
    """Shift along one axis."""
    size = x.aval.shape[axis]
    if size == 0:
        return x
    if hasattr(shift, "aval"):
        known = concrete_value(shift)
        if known is None:
            return _roll_by_traced(x, shift, axis, size)
        shift = known.host()
    start = -static_int("roll", "shift", shift) % size
    if start == 0:
        return x
    parts = slice_in_dim(x, start, size, axis), slice_in_dim(x, 0, start, axis)
    return concatenate_p.bind(*parts, dimension=axis)


def _roll_by_traced(x, shift, axis, size):
    """Cut the window that starts where the shift says out of two copies."""
    start = ufuncs.remainder(ufuncs.negative(shift), size)
    twice = concatenate_p.bind(x, x, dimension=axis)
    (zero,) = as_operands("roll", np.zeros((), start.dtype))
    starts = [start if i == axis else zero for i in range(x.aval.ndim)]
    return dynamic_slice_p.bind(twice, *starts, slice_sizes=x.aval.shape)


def tile(A, reps):
    """Repeat a whole array, `reps` (int or a sequence of ints) times along the last axes."""
    x = operand("tile", A)
    reps = static_shape("tile", reps)
    x = structural.expand_dims(x, tuple(range(len(reps) - x.aval.ndim)))
    reps = (1,) * (x.aval.ndim - len(reps)) + reps
    return x if all(r == 1 for r in reps) else tile_p.bind(x, reps=reps)


def repeat(a, repeats, axis=None, *, total_repeat_length=None, out_sharding=None):
    """Repeat each element along an axis.

    Args:
      a: array.
      repeats: int, or one int per element along `axis`.
      axis: int, or None to flatten the array first.
      total_repeat_length: size of the result along `axis`, required where `repeats` is traced. If
        it is less than the sum of repeats, the rest is cut off; if more, the last element fills up.
      out_sharding: must be None.

    Differs from NumPy: `total_repeat_length`.
    """
    x = operand("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("repeat", axis, x.aval.ndim)
    repeats = operator.index(repeats) if isinstance(repeats, int) else repeats
    known = concrete_value(operand("repeat", repeats))
    if known is None and total_repeat_length is None:
        raise traced_argument("repeat", "repeats (or total_repeat_length)", repeats)
    if known is not None and known.aval.size == 1 and total_repeat_length is None:
        return _repeat_evenly(x, int(known.host().reshape(())), axis)
    size = x.aval.shape[axis]
    repeats = broadcast_to(ravel(repeats), (size,))
    if known is not None:
        indices = np.repeat(np.arange(size, dtype=np.int32), np.broadcast_to(known.host(), (size,)))
        if total_repeat_length is not None:
            missing = max(0, total_repeat_length - indices.size)
            indices = np.pad(indices, (0, missing), mode="edge" if indices.size else "constant")
            indices = indices[:total_repeat_length]
        return indexing.take(x, indices, axis=axis, mode="clip")
    # An element's index is the number of runs that end at or before its place.
    ends = cumulative.cumsum(convert(repeats, np.dtype(np.int32)))
    counts = creation.zeros(total_repeat_length, np.int32).at[ends].add(1, mode="drop")
    return indexing.take(x, cumulative.cumsum(counts), axis=axis, mode="clip")


def _repeat_evenly(x, count, axis):
    shape = x.aval.shape
    if count < 0:
        raise errors.user_error(
            errors.ShapeError, f"repeat: repeats must not be negative, got {count}.", anchor="shape"
        )
    apart = structural.expand_dims(x, (axis + 1,))
    spread = broadcast_operand(apart, (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return structural.reshape(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))
