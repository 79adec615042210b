"""Shifts and repetitions of elements.

Shifts of `roll` and counts of `repeat` may be traced values, since they do not decide a shape, the
latter where the length of the result is given.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import dims, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, computed, type_of_number
from evertrace._src.arrays.types import ArrayLike, Axis, Shape
from evertrace._src.core.tracer import concrete_value
from evertrace._src.numpy import creation, cumulative, indexing, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axis,
    listed_axes,
    operand,
    static_int,
    static_shape,
    traced_argument,
)
from evertrace._src.numpy.promotion import as_operands, broadcast_to
from evertrace._src.numpy.shape import ravel, reshape
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.dynamic import dynamic_slice_p
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim, tile_p


@native.planned(by_type=False)
def roll(a: ArrayLike, shift: Any, axis: Axis = None) -> Array:
    """Shift elements along axes; what leaves at one end comes in at the other.

    Args:
      a: array.
      shift: int, traced or not, or a sequence with one per axis.
      axis: int, a tuple of ints, or None to shift the flattened array.

    Example:
      >>> jnp.roll(jnp.array([1, 2, 3, 4]), 1)
      Array([4, 1, 2, 3], dtype=int32)
    """
    x = operand("roll", a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.aval.shape)
    axes = listed_axes(axis)
    if isinstance(shift, tuple | list):
        shifts = list(shift)
    elif type_of_number(shift) is None and np.ndim(shift):
        concrete = concrete_value(shift) if hasattr(shift, "aval") else None
        shifts = list(np.asarray(concrete._contents()) if concrete is not None else shift)
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
            start = ufuncs.remainder(ufuncs.negative(shift), size)
            return _window_of_two(x, start, axis)
        shift = known._contents()
    shift = dims.bare(shift)
    if dims.is_dim(shift):
        start = _start(shift, size)
    else:
        is_number = type_of_number(shift) is int
        start = computed(_start, shift if is_number else static_int("roll", "shift", shift), size)
    if type(start) is not int:
        return _window_of_two(x, as_array(start), axis)
    if getattr(concrete_value(x), "_sharding", None) is not None:
        # Parts of odd sizes could not lie as the array does; half of two copies can.
        twice = concatenate_p.bind(x, x, dimension=axis)
        return slice_in_dim(twice, start, start + size, axis)
    parts = slice_in_dim(x, start, size, axis), slice_in_dim(x, 0, start, axis)
    return concatenate_p.bind(*parts, dimension=axis)


def _start(shift, size):
    """Return the index of the element that comes first."""
    return -shift % size


def _window_of_two(x, start, axis):
    """Cut the window that begins at a traced index out of two copies."""
    twice = concatenate_p.bind(x, x, dimension=axis)
    (zero,) = as_operands("roll", np.zeros((), start.dtype))
    starts = [start if i == axis else zero for i in range(x.aval.ndim)]
    return dynamic_slice_p.bind(twice, *starts, slice_sizes=x.aval.shape)


@native.planned(by_type=False)
def tile(A: ArrayLike, reps: Any) -> Array:
    """Repeat a whole array, `reps` (int or a sequence of ints) times along the last axes.

    Example:
      >>> jnp.tile(jnp.array([1, 2]), 2)
      Array([1, 2, 1, 2], dtype=int32)
      >>> jnp.tile(jnp.array([1, 2]), (2, 1))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    x = operand("tile", A)
    reps = static_shape("tile", reps)
    x = structural.expand_dims(x, tuple(range(len(reps) - x.aval.ndim)))
    reps = (1,) * (x.aval.ndim - len(reps)) + reps
    return x if all(r == 1 for r in reps) else tile_p.bind(x, reps=reps)


@native.planned(by_type=False)
@lays_out
def repeat(
    a: ArrayLike,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Repeat each element along an axis.

    Args:
      a: array.
      repeats: int, or one int per element along `axis`.
      axis: int, or None to flatten the array first.
      total_repeat_length: size of the result along `axis`, required where `repeats` is traced. If
        it is less than the sum of repeats, the rest is cut off; if more, the last element fills up.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Raises:
      ConcretizationTypeError: `repeats` is traced, and `total_repeat_length` is not given.

    Differs from NumPy: `total_repeat_length`.

    Example:
      >>> jnp.repeat(jnp.array([1, 2]), 2)
      Array([1, 1, 2, 2], dtype=int32)
      >>> jnp.repeat(jnp.array([[1, 2], [3, 4]]), jnp.array([2, 1]), axis=0)
      Array([[1, 2],
             [1, 2],
             [3, 4]], dtype=int32)
    """
    x = operand("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis("repeat", axis, x.aval.ndim)
    count = dims.bare(repeats)
    if dims.is_dim(count) and total_repeat_length is None:
        return _repeat_evenly(x, count, axis)
    repeats = operator.index(repeats) if isinstance(repeats, int) else repeats
    known = concrete_value(operand("repeat", repeats))
    if known is None and total_repeat_length is None:
        raise traced_argument(
            "repeat",
            "repeats (or total_repeat_length)",
            repeats,
            "say how many elements the result has, `jnp.repeat(x, counts, total_repeat_length=n)`, "
            "or compute the counts with NumPy from what is static.",
        )
    if known is not None and known.aval.size == 1 and total_repeat_length is None:
        return _repeat_evenly(x, int(known._contents().reshape(())), axis)
    size = x.aval.shape[axis]
    repeats = ravel(repeats)
    if repeats.aval.size not in (1, size):
        raise errors.user_error(
            errors.ShapeError,
            f"repeat: {repeats.aval.size} counts for the {size} elements along axis {axis}.",
            fix=f"give one count for all, or {size} of them, one per element.",
            anchor="shape-broadcast",
        )
    repeats = broadcast_to(repeats, (size,))
    if known is not None:
        indices = np.repeat(
            np.arange(size, dtype=np.int32), np.broadcast_to(known._contents(), (size,))
        )
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
            errors.ShapeError,
            f"repeat: repeats must not be negative, got {count}.",
            fix="pass how often each element is to be there, 0 times or more.",
            anchor="shape",
        )
    apart = structural.expand_dims(x, (axis + 1,))
    spread = broadcast_to(apart, (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return structural.reshape(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


@native.planned(by_type=False)
def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """Return the elements, repeated as often as needed, in a new shape.

    Example:
      >>> jnp.resize(jnp.array([1, 2, 3]), (2, 4))
      Array([[1, 2, 3, 1],
             [2, 3, 1, 2]], dtype=int32)
    """
    flat = ravel(a)
    shape = static_shape("resize", new_shape)
    size = math.prod(shape)
    if any(s < 0 for s in shape):
        raise errors.user_error(
            ValueError,
            f"resize: sizes must not be negative, got {shape}.",
            fix="use sizes >= 0.",
            anchor="shape",
        )
    if size == 0 or flat.aval.size == 0:
        return creation.zeros(shape, flat.aval.dtype)
    repeats = -(-size // flat.aval.size)
    return reshape(slice_in_dim(tile(flat, repeats), 0, size, 0), shape)
