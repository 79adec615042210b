"""Differences, gradients, integrals and interpolation of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis
from evertrace._src.numpy import elementary, indexing, ufuncs
from evertrace._src.numpy.arguments import canonical_axes, canonical_axis, operand, static_int
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import (
    broadcast_to,
    promote_dtypes_inexact,
)
from evertrace._src.numpy.search import searchsorted
from evertrace._src.numpy.shape import moveaxis, ravel
from evertrace._src.numpy.sorting import argsort
from evertrace._src.ops.slicing import slice_in_dim


@native.planned(by_type=False)
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Return differences of neighbours along an axis, taken `n` times.

    Args:
      a: array of rank 1 or more.
      n: int, 0 or more.
      axis: int.
      prepend: scalar or array that is put in front of `a` first.
      append: scalar or array that is put at the end of `a` first.

    Returns:
      Array with `n` fewer elements along `axis`, of the dtype of `a`; for booleans it
      says whether neighbours differ.

    Raises:
      ValueError: `a` is a scalar, or `n` is negative.

    Example:
      >>> jnp.diff(jnp.array([1, 4, 9, 16]))
      Array([3, 5, 7], dtype=int32)
      >>> jnp.diff(jnp.array([1, 4, 9, 16]), n=2)
      Array([2, 2], dtype=int32)
    """
    x = operand("diff", a)
    n = static_int("diff", "n", n)
    if n < 0 or x.aval.ndim == 0:
        raise errors.user_error(
            ValueError,
            f"diff: needs an array of rank 1 or more and n >= 0, got shape {x.aval.shape} and {n}.",
            fix="check the arguments.",
            anchor="shape",
        )
    if n == 0:
        return x
    axis = canonical_axis("diff", axis, x.aval.ndim)
    parts = [_as_slab(part, x, axis) for part in (prepend, append)]
    around = [p for p in (parts[0], x, parts[1]) if p is not None]
    x = concatenate(around, axis) if len(around) > 1 else x
    for _ in range(n):
        size = x.aval.shape[axis]
        if size == 0:
            return x
        after, before = slice_in_dim(x, 1, size, axis), slice_in_dim(x, 0, size - 1, axis)
        is_bool = x.aval.dtype == np.bool_
        x = ufuncs.not_equal(after, before) if is_bool else ufuncs.subtract(after, before)
    return x


def _as_slab(part, x, axis):
    if part is None:
        return None
    part = operand("diff", part)
    if part.aval.ndim:
        return part
    shape = x.aval.shape
    return broadcast_to(part, (*shape[:axis], 1, *shape[axis + 1 :]))


@native.planned(by_type=False)
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return differences of neighbours in the flattened array, with values put around them.

    Args:
      ary: array.
      to_end: scalar or array that is put after the differences.
      to_begin: scalar or array that is put before them.

    Returns:
      Vector of the dtype of `ary`, to which the other two are converted.

    Example:
      >>> jnp.ediff1d(jnp.array([1, 4, 9, 16]), to_begin=0)
      Array([0, 3, 5, 7], dtype=int32)
    """
    x = ravel(ary)
    parts = [x[1:] - x[:-1]]
    if to_begin is not None:
        parts.insert(0, ravel(operand("ediff1d", to_begin)).astype(x.dtype))
    if to_end is not None:
        parts.append(ravel(operand("ediff1d", to_end)).astype(x.dtype))
    return concatenate(parts)


@native.planned(by_type=False)
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None
) -> Array | list[Array]:
    """Return derivatives of a sampled function along axes, by second order central differences.

    Args:
      f: array.
      *varargs: spacing: nothing (1), one scalar for all axes, or per axis a scalar or a vector of
        coordinates.
      axis: int, tuple of ints or None (all axes).
      edge_order: must be None or 1: at the ends differences are one-sided and of first order.

    Returns:
      Array of the shape of `f`, or a list of them if there are several axes.

    Raises:
      ShapeError: an axis has fewer than 2 elements.
      ValueError: `edge_order` is 2, or the number of spacings neither 1 nor that of the axes.

    Example:
      >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0, 9.0]))
      Array([1., 2., 4., 5.], dtype=float32)
      >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0]), jnp.array([0.0, 1.0, 4.0]))
      Array([1., 1., 1.], dtype=float32)
    """
    (x,) = promote_dtypes_inexact("gradient", operand("gradient", f))
    axes = canonical_axes("gradient", axis, x.aval.ndim)
    if isinstance(axis, tuple | list):
        axes = tuple(canonical_axis("gradient", i, x.aval.ndim) for i in axis)
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if edge_order not in (None, 1) or len(spacings) != len(axes):
        raise errors.user_error(
            ValueError,
            f"gradient: got edge_order={edge_order} and {len(varargs)} spacings for {len(axes)} "
            "axes.",
            fix="pass no edge_order, and no spacing, one, or one per axis.",
        )
    if any(x.aval.shape[i] < 2 for i in axes):
        raise errors.user_error(
            errors.ShapeError,
            f"gradient: shape {x.aval.shape} is too small to calculate a gradient, at least 2 "
            "elements are needed along each axis.",
            fix="leave short axes out with `axis`.",
            anchor="shape",
        )
    out = [_gradient(x, operand("gradient", h), i) for i, h in zip(axes, spacings, strict=True)]
    return out[0] if len(out) == 1 else out


def _gradient(x, spacing, axis):
    """Differentiate along one axis."""
    size = x.aval.shape[axis]

    def part(start, stop):
        return slice_in_dim(x, start, stop, axis)

    first = ufuncs.subtract(part(1, 2), part(0, 1))
    last = ufuncs.subtract(part(size - 1, size), part(size - 2, size - 1))
    if spacing.aval.ndim == 0:
        inner = ufuncs.multiply(ufuncs.subtract(part(2, size), part(0, size - 2)), 0.5)
        return ufuncs.divide(concatenate([first, inner, last], axis), spacing)
    steps = diff(spacing).reshape([-1 if i == axis else 1 for i in range(x.aval.ndim)])

    def step(start, stop):
        return slice_in_dim(steps, start, stop, axis)

    left, right = step(0, size - 2), step(1, size - 1)
    # The parabola through three neighbours has this slope in the middle.
    inner = (
        part(2, size) * (left / (right * (left + right)))
        + part(1, size - 1) * ((right - left) / (left * right))
        - part(0, size - 2) * (right / (left * (left + right)))
    )
    ends = first / step(0, 1), last / step(size - 2, size - 1)
    return concatenate([ends[0], inner, ends[1]], axis)


@native.planned(by_type=False)
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Integrate along an axis by the trapezoidal rule.

    Args:
      y: array of values.
      x: coordinates, a vector or an array of the shape of `y`; default equidistant.
      dx: distance of the coordinates where `x` is None.
      axis: int.

    Returns:
      Floating array of the shape of `y` without `axis`.

    Example:
      >>> x = jnp.linspace(0.0, 1.0, 101)
      >>> jnp.trapezoid(x**2, x)
      Array(0.33335, dtype=float32)
    """
    if x is None:
        (y,) = promote_dtypes_inexact("trapezoid", operand("trapezoid", y))
        steps = dx
    else:
        y, x = promote_dtypes_inexact("trapezoid", operand("trapezoid", y), operand("trapezoid", x))
        steps = diff(x) if x.aval.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    return ufuncs.multiply(ufuncs.multiply(steps, y[..., 1:] + y[..., :-1]).sum(-1), 0.5)


@native.planned(by_type=False)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: Any = None,
    right: Any = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly.

    Args:
      x: array of places.
      xp: increasing vector of n places where values are known.
      fp: vector of the n values.
      left: value before the first place; default the first value. "extrapolate" continues the line.
      right: value after the last place; default the last value, or "extrapolate".
      period: length after which the function repeats; `xp` need not be increasing then.

    Returns:
      Floating array of the shape of `x`.

    Raises:
      ShapeError: `xp` and `fp` are not vectors of one size.

    Differentiable in `x`, `xp` and `fp`. Differs from NumPy: "extrapolate".

    Example:
      >>> xp, fp = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 10.0, 40.0])
      >>> jnp.interp(jnp.array([0.5, 1.5, 3.0]), xp, fp)
      Array([ 5., 25., 40.], dtype=float32)
    """
    xp, fp = operand("interp", xp), operand("interp", fp)
    if xp.aval.ndim != 1 or fp.aval.shape != xp.aval.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"interp: xp and fp must be vectors of one size, got shapes {xp.aval.shape} and "
            f"{fp.aval.shape}.",
            fix="map over further axes with `vmap`.",
            anchor="shape",
        )
    x, xp = promote_dtypes_inexact("interp", operand("interp", x), xp)
    (fp,) = promote_dtypes_inexact("interp", fp)
    if period is not None:
        x, xp, fp = _one_period(x, xp, fp, period)
    last = xp.shape[0] - 1
    high = elementary.clip(searchsorted(xp, x, side="right"), 1, last)
    x0, x1 = indexing.take(xp, high - 1, mode="clip"), indexing.take(xp, high, mode="clip")
    f0, f1 = indexing.take(fp, high - 1, mode="clip"), indexing.take(fp, high, mode="clip")
    width = x1 - x0
    # Places that are (nearly) one; the derivative must not see the division by zero.
    is_jump = ufuncs.absolute(width) <= np.spacing(dtypes.finfo(width.dtype).eps)
    share = (x - x0) / elementary.where(is_jump, 1, width)
    out = elementary.where(is_jump, f0, f0 + share * (f1 - f0))
    if not _extrapolates(left) and period is None:
        out = elementary.where(x < xp[0], fp[0] if left is None else left, out)
    if not _extrapolates(right) and period is None:
        out = elementary.where(x > xp[-1], fp[-1] if right is None else right, out)
    return out


def _extrapolates(side):
    if isinstance(side, str) and side != "extrapolate":
        raise errors.user_error(
            ValueError,
            f"interp: no such rule {side!r}.",
            fix='use a number or "extrapolate".',
            anchor="choice",
        )
    return isinstance(side, str)


def _one_period(x, xp, fp, period) -> tuple[Array, Array, Array]:
    """Bring places into one period, sorted, with a neighbour from the periods beside it."""
    period = ufuncs.absolute(operand("interp", period))
    x, xp = ufuncs.remainder(x, period), ufuncs.remainder(xp, period)
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


@native.planned(by_type=False)
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Array:
    """Undo jumps by multiples of a period along an axis.

    Args:
      p: array.
      discont: jumps up to this size are left alone; default, and at least, half a period.
      axis: int.
      period: scalar.

    Returns:
      Array of the shape of `p`; integers become the default float unless `period` is an integer.

    Example:
      >>> jnp.unwrap(jnp.array([2.0, 3.0, -3.0, -2.0])).round(4)
      Array([2.    , 3.    , 3.2832, 4.2832], dtype=float32)
    """
    x = operand("unwrap", p)
    if dtypes.issubdtype(x.aval.dtype, np.bool_):
        x = x.astype(int)
    if dtypes.issubdtype(x.aval.dtype, np.integer) and isinstance(period, float):
        x = x.astype(float)
    axis = canonical_axis("unwrap", axis, x.aval.ndim)
    is_integer = dtypes.issubdtype(x.aval.dtype, np.integer)
    half = period // 2 if is_integer else period / 2
    discont = half if discont is None else discont
    jumps = diff(x, axis=axis)
    wrapped = ufuncs.remainder(jumps + half, period) - half
    is_edge = ufuncs.equal(wrapped, -half) & ufuncs.greater(jumps, 0)
    if not is_integer or period % 2 == 0:
        wrapped = elementary.where(is_edge, half, wrapped)
    correction = elementary.where(ufuncs.absolute(jumps) < discont, 0, wrapped - jumps)
    first = slice_in_dim(x, 0, 1, axis)
    rest = slice_in_dim(x, 1, x.aval.shape[axis], axis)
    return concatenate([first, rest + cumsum(correction, axis)], axis).astype(x.aval.dtype)
