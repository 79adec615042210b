"""New shapes and new orders of axes. Whatever decides a shape must be known while tracing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, cast, overload

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, Shape
from evertrace._src.core.tracer import concrete_value
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy.arguments import (
    canonical_axes,
    canonical_axis,
    distinct_axes,
    listed_axes,
    operand,
    static_int,
    static_shape,
    traced_argument,
)
from evertrace._src.numpy.promotion import broadcast_to as broadcast_operand
from evertrace._src.numpy.promotion import joint_shape
from evertrace._src.ops import structural
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.slicing import slice_in_dim, unstack_p
from evertrace._src.ops.structural import permute, rev_p

code: Any = LazyModule("evertrace._src.jit.lifting.code")  # which only libraries need

# ---------------------------------------------------------------- shapes


@native.planned(by_type=False)
@lays_out
def reshape(
    a: ArrayLike,
    shape: Shape,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """Give an array a new shape.

    Args:
      a: array.
      shape: int or sequence of ints known while tracing; one of them may be -1, which stands for
        what is left.
      order: in which elements are read and written: "C" (last axis fastest) or "F" (first axis
        fastest).
      copy: ignored; an array is never changed, so copies cannot be told from views.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    An array of NumPy's that an installed package reshapes stays one while `as_jax` lends JAX's
    names, as on JAX.

    Raises:
      ShapeError: the number of elements would change.

    Example:
      >>> jnp.reshape(jnp.arange(6), (2, -1))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    # On JAX an array of NumPy's stays one here, alone: libraries check what it holds in a trace.
    is_numpys = isinstance(a, np.ndarray) and "jax" in sys.modules
    if is_numpys and code.is_written_for_jax(sys._getframe(1)):
        return cast("Any", a).reshape(shape, order=order)
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
        anchor="unsupported",
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


@native.planned(by_type=False)
@lays_out
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """Flatten an array to rank 1, in order "C" (last axis fastest) or "F" (first axis fastest).

    Example:
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
      Array([1, 2, 3, 4], dtype=int32)
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F")
      Array([1, 3, 2, 4], dtype=int32)
    """
    x = operand("ravel", a)
    return reshape(x, (x.aval.size,), order)


@native.planned(by_type=False)
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Remove axes of size 1: those named by an int or a tuple of ints, or all of them.

    Raises:
      ShapeError: a named axis is not of size 1.

    Example:
      >>> jnp.squeeze(jnp.ones((1, 3, 1))).shape, jnp.squeeze(jnp.ones((1, 3, 1)), axis=0).shape
      ((3,), (3, 1))
    """
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


@native.planned(by_type=False)
def expand_dims(a: ArrayLike, axis: Axis) -> Array:
    """Add axes of size 1 that stand at `axis`, an int or a tuple of ints, of the result.

    Example:
      >>> jnp.expand_dims(jnp.ones((2, 3)), (0, 2)).shape
      (1, 2, 1, 3)
    """
    x = operand("expand_dims", a)
    given = listed_axes(axis)
    axes = distinct_axes("expand_dims", given, x.aval.ndim + len(given))
    return structural.expand_dims(x, tuple(sorted(axes)))


@native.planned(by_type=False)
@lays_out
def broadcast_to(array: ArrayLike, shape: Shape, *, out_sharding: Any = None) -> Array:
    """Repeat an array along new leading axes and axes of size 1 until it has `shape`.

    Raises:
      ShapeError: another size than 1 would have to change.

    Example:
      >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    return broadcast_operand(operand("broadcast_to", array), static_shape("broadcast_to", shape))


def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]:
    """Return the shape to which shapes (ints or tuples of ints) broadcast.

    Raises:
      ShapeError: they do not.

    Example:
      >>> jnp.broadcast_shapes((3, 1), (4,))
      (3, 4)
    """
    return joint_shape("broadcast_shapes", [static_shape("broadcast_shapes", s) for s in shapes])


@native.planned(by_type=False)
def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Return a list of the arrays, broadcast to their common shape.

    Example:
      >>> x, y = jnp.broadcast_arrays(jnp.array([[1], [2]]), jnp.array([10, 20, 30]))
      >>> x
      Array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    arrays = [operand("broadcast_arrays", x) for x in args]
    shape = joint_shape("broadcast_arrays", [x.aval.shape for x in arrays])
    return [broadcast_operand(x, shape) for x in arrays]


@overload
def atleast_1d(ary: ArrayLike, /) -> Array: ...


@overload
def atleast_1d(ary1: ArrayLike, ary2: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...


@native.planned(by_type=False)
def atleast_1d(*arys: ArrayLike) -> Any:
    """Return each array with at least one axis; one array, or a list if there are several.

    Example:
      >>> jnp.atleast_1d(3, jnp.array([1, 2]))
      [Array([3], dtype=int32, weak_type=True), Array([1, 2], dtype=int32)]
    """
    return _each(arys, "atleast_1d", lambda x: structural.expand_dims(x, _missing(x, 1)))


@overload
def atleast_2d(ary: ArrayLike, /) -> Array: ...


@overload
def atleast_2d(ary1: ArrayLike, ary2: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...


@native.planned(by_type=False)
def atleast_2d(*arys: ArrayLike) -> Any:
    """Return each array with at least two axes, new ones in front.

    Example:
      >>> jnp.atleast_2d(jnp.array([1, 2]))
      Array([[1, 2]], dtype=int32)
    """
    return _each(arys, "atleast_2d", lambda x: structural.expand_dims(x, _missing(x, 2)))


@overload
def atleast_3d(ary: ArrayLike, /) -> Array: ...


@overload
def atleast_3d(ary1: ArrayLike, ary2: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...


@native.planned(by_type=False)
def atleast_3d(*arys: ArrayLike) -> Any:
    """Return each array with at least three axes; a matrix gets its new axis at the end.

    Example:
      >>> jnp.atleast_3d(jnp.ones(3)).shape, jnp.atleast_3d(jnp.ones((2, 3))).shape
      ((1, 3, 1), (2, 3, 1))
    """
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}  # by rank
    return _each(
        arys, "atleast_3d", lambda x: structural.expand_dims(x, places.get(x.aval.ndim, ()))
    )


def _missing(x, rank):
    return tuple(range(rank - x.aval.ndim))


def _each(arys, name, change):
    out = [change(operand(name, x)) for x in arys]
    return out[0] if len(out) == 1 else out


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """Remove zeros from the front ("f" in `trim`) and the back ("b") of an array.

    Args:
      filt: array whose values are known: the size of the result depends on them.
      trim: a string of "f" and "b".
      axis: axes to trim, all by default.

    Example:
      >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
      Array([1, 0, 2], dtype=int32)
    """
    x = operand("trim_zeros", filt)
    concrete = concrete_value(x)
    if concrete is None:
        raise traced_argument("trim_zeros", "filt", x)
    axes = canonical_axes("trim_zeros", axis, x.aval.ndim)
    for i in axes:
        others = tuple(j for j in range(x.aval.ndim) if j != i)
        kept = np.flatnonzero((concrete._contents() != 0).any(axis=others))
        size = x.aval.shape[i]
        start = (kept[0] if kept.size else size) if "f" in trim.lower() else 0
        stop = (kept[-1] + 1 if kept.size else 0) if "b" in trim.lower() else size
        x = slice_in_dim(x, int(start), max(int(start), int(stop)), i)
    return x


# ---------------------------------------------------------------- orders of axes


@native.planned(by_type=False)
def transpose(a: ArrayLike, axes: Any = None) -> Array:
    """Permute axes; reverse them by default.

    Args:
      a: array.
      axes: sequence of ints: where each axis of the result comes from.

    Raises:
      AxisError: `axes` is no permutation.

    Example:
      >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
      >>> jnp.transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
      (3, 2, 4)
    """
    x = operand("transpose", a)
    if axes is None:
        return _reversed(x)
    axes = (axes,) if isinstance(axes, int | np.integer) else axes
    axes = distinct_axes("transpose", axes, x.aval.ndim)
    if len(axes) != x.aval.ndim:
        raise errors.user_error(
            errors.AxisError,
            f"transpose: axes {axes} do not match an array of shape {x.aval.shape}.",
            fix="name every axis once.",
            anchor="axis",
        )
    return permute(x, axes)


@native.planned(by_type=False)
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Permute axes: another name of `transpose`.

    Example:
      >>> jnp.permute_dims(jnp.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    return transpose(a, axes)


@native.planned(by_type=False)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two axes.

    Raises:
      ShapeError: the rank is less than 2.

    Example:
      >>> jnp.matrix_transpose(jnp.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    x = operand("matrix_transpose", x)
    if x.aval.ndim < 2:
        raise errors.user_error(
            errors.ShapeError,
            f"matrix_transpose: needs rank 2 or more, got shape {x.aval.shape}.",
            fix="add axes, e.g. with `x[:, None]`.",
            anchor="shape",
        )
    return swapaxes(x, -1, -2)


@native.planned(by_type=False)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Swap two axes.

    Example:
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    x = operand("swapaxes", a)
    i = canonical_axis("swapaxes", axis1, x.aval.ndim)
    j = canonical_axis("swapaxes", axis2, x.aval.ndim)
    order = list(range(x.aval.ndim))
    order[i], order[j] = j, i
    return permute(x, order)


@native.planned(by_type=False)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """Move axes, named by an int or several, to new places; the rest keep their order.

    Example:
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    x = operand("moveaxis", a)
    sources, places = (
        distinct_axes("moveaxis", tuple(v) if is_several else (v,), x.aval.ndim)
        for v in (source, destination)
        for is_several in (isinstance(v, Iterable) and getattr(v, "ndim", 1) > 0,)
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


@native.planned(by_type=False)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move `axis` backwards until it stands before the axis that is at `start` now.

    Example:
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    x = operand("rollaxis", a)
    axis = canonical_axis("rollaxis", axis, x.aval.ndim)
    start = canonical_axis("rollaxis", start, x.aval.ndim + 1)
    return moveaxis(x, axis, start - 1 if axis < start else start)


@native.planned(by_type=False)
def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Reverse the order of the elements along axes: an int, a tuple of ints or None (all).

    Example:
      >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), axis=1)
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    x = operand("flip", m)
    axes = canonical_axes("flip", axis, x.aval.ndim)
    return rev_p.bind(x, dimensions=axes) if axes else x


@native.planned(by_type=False)
def fliplr(m: ArrayLike) -> Array:
    """Reverse the second axis.

    Example:
      >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return flip(m, 1)


@native.planned(by_type=False)
def flipud(m: ArrayLike) -> Array:
    """Reverse the first axis.

    Example:
      >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@native.planned(by_type=False)
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate by 90 degrees, `k` times, in the plane of two axes, from the first to the second.

    Example:
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
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


@native.planned(by_type=False)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return a tuple of the arrays that stand along `axis`.

    Example:
      >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
      (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    x = operand("unstack", x)
    axis = canonical_axis("unstack", axis, x.aval.ndim)
    return tuple(unstack_p.bind(x, axis=axis)) if x.aval.shape[axis] else ()
