"""`pad`, and its modes.

One axis is padded after the other, so that corners come out as NumPy's. Except for "constant" and
"empty" every mode puts arrays made of parts of the axis at both its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import elementary, functional, quantiles, reductions, ufuncs
from evertrace._src.numpy.arguments import operand, static_count
from evertrace._src.numpy.promotion import broadcast_to
from evertrace._src.numpy.shape import flip
from evertrace._src.numpy.spaced import linspace
from evertrace._src.ops.convert import convert
from evertrace._src.ops.slicing import concatenate_p, pad_p, slice_in_dim


@native.planned(by_type=False)
def pad(
    array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Add elements at the ends of axes.

    Args:
      array: array of rank n.
      pad_width: ``((before, after), ...)`` per axis, one such pair for all, or one int for all.
      mode: "constant" (`constant_values`, default 0), "edge", "linear_ramp" (`end_values`),
        "maximum", "mean", "median", "minimum" (`stat_length`), "reflect", "symmetric"
        (`reflect_type` "even" or "odd"), "wrap", "empty" (zeros), or a function
        ``(vector, (before, after), axis, kwargs)`` that returns the padded vector.
      **kwargs: the arguments of the mode.

    Raises:
      ValueError: a width is negative, or there are not as many pairs as axes.
      NotImplementedError: there is no such mode.

    Differs from NumPy: a function must return the vector, since arrays are not changed.

    Example:
      >>> jnp.pad(jnp.array([1, 2, 3]), (1, 2))
      Array([0, 1, 2, 3, 0, 0], dtype=int32)
      >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
      Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    x = operand("pad", array)
    widths = _pairs("pad_width", pad_width, x.aval.ndim)
    widths = [tuple(static_count("pad", "pad_width", w) for w in pair) for pair in widths]
    if any(w < 0 for pair in widths for w in pair):
        raise errors.user_error(
            ValueError,
            f"pad: widths must not be negative, got {pad_width}.",
            fix="slice the array to make it smaller.",
            anchor="shape-pad",
        )
    if callable(mode):
        return _pad_by_function(x, widths, mode, kwargs)
    allowed = _ARGUMENTS.get(mode)
    if allowed is None or not set(kwargs) <= allowed:
        raise _mode_error(mode, allowed, kwargs)
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, kwargs.get("constant_values", 0))
    for axis, width in enumerate(widths):
        if width != (0, 0):
            _check_axis_nonempty(x, axis, mode)
            x = _MODES[mode](x, axis, width, kwargs)
    return x


def _pairs(name, value, ndim):
    """Return an argument, given once, per end or per axis and end, as a list of pairs."""
    if isinstance(value, dict):
        rows = [(0, 0)] * ndim
        for axis, pair in value.items():
            rows[axis] = pair if isinstance(pair, tuple | list) else (pair, pair)
        return rows
    if not isinstance(value, tuple | list | np.ndarray):
        return [(value, value)] * ndim
    rows = [tuple(v) if isinstance(v, tuple | list | np.ndarray) else v for v in value]
    if len(rows) == 2 and not any(isinstance(row, tuple) for row in rows):
        return [tuple(rows)] * ndim
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    rows = rows * ndim if len(rows) == 1 else rows
    if len(rows) != ndim or any(len(row) != 2 for row in rows):
        raise errors.user_error(
            ValueError,
            f"pad: {name} {value} fits no array of rank {ndim}.",
            fix="give one pair (before, after) per axis.",
            anchor="shape-pad",
        )
    return rows


def _mode_error(mode, allowed, kwargs):
    if allowed is None:
        return errors.user_error(
            NotImplementedError,
            f"pad: there is no mode {mode!r}.",
            fix=f"use one of {', '.join(sorted(_ARGUMENTS))}.",
            anchor="choice",
        )
    return errors.user_error(
        ValueError,
        f"pad: mode {mode!r} does not take {sorted(set(kwargs) - allowed)}.",
        fix=f"it takes {sorted(allowed) or 'no arguments'}.",
        anchor="choice",
    )


def _check_axis_nonempty(x, axis, mode):
    if x.aval.shape[axis] == 0:
        raise errors.user_error(
            ValueError,
            f"pad: mode {mode!r} cannot extend the empty axis {axis} of shape {x.aval.shape}.",
            fix='use mode "constant".',
            anchor="shape-pad",
        )


def _pad_constant(x, widths, values):
    values = _pairs("constant_values", values, x.aval.ndim)
    flat = [v for pair in values for v in pair]
    if all(v is flat[0] for v in flat):
        config = tuple((before, after, 0) for before, after in widths)
        value = flat[0] if flat else 0
        return pad_p.bind(x, _as_scalar(value, x), padding_config=config)
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, values, strict=True)):
        for config, value in (((before, 0, 0), low), ((0, after, 0), high)):
            places = tuple(config if i == axis else (0, 0, 0) for i in range(x.aval.ndim))
            x = pad_p.bind(x, _as_scalar(value, x), padding_config=places)
    return x


def _as_scalar(value, x):
    return convert(broadcast_to(operand("pad", value), ()), x.aval.dtype)


def _join(parts, axis):
    parts = [part for part in parts if part.aval.shape[axis]]
    return parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=axis)


def _ends(x, axis):
    """Return the first and the last element along an axis, each as an array of size 1 there."""
    size = x.aval.shape[axis]
    return slice_in_dim(x, 0, 1, axis), slice_in_dim(x, size - 1, size, axis)


def _spread(x, axis, size):
    """Repeat an array of size 1 along an axis."""
    shape = x.aval.shape
    return broadcast_to(x, (*shape[:axis], size, *shape[axis + 1 :]))


def _edge(x, axis, width, kwargs):
    first, last = _ends(x, axis)
    return _join([_spread(first, axis, width[0]), x, _spread(last, axis, width[1])], axis)


def _linear_ramp(x, axis, width, kwargs):
    targets = _pairs("end_values", kwargs.get("end_values", 0), x.aval.ndim)[axis]
    sides = []
    for edge, target, count in zip(_ends(x, axis), targets, width, strict=True):
        start = convert(operand("pad", target), x.aval.dtype)
        ramp = linspace(start, edge, count, endpoint=False, dtype=x.aval.dtype, axis=axis)
        sides.append(ramp.reshape((*x.aval.shape[:axis], count, *x.aval.shape[axis + 1 :])))
    return _join([sides[0], x, flip(sides[1], axis)], axis)


def _statistic(reduce):
    def extend(x, axis, width, kwargs):
        lengths = kwargs.get("stat_length")
        lengths = _pairs("stat_length", lengths, x.aval.ndim)[axis] if lengths is not None else None
        size = x.aval.shape[axis]
        before, after = (size, size) if lengths is None else (min(n, size) for n in lengths)
        left = reduce(slice_in_dim(x, 0, before, axis), axis)
        right = reduce(slice_in_dim(x, size - after, size, axis), axis)
        left, right = (_rounded(side, x.aval.dtype) for side in (left, right))
        return _join([_spread(left, axis, width[0]), x, _spread(right, axis, width[1])], axis)

    return extend


def _rounded(x, dtype):
    if dtypes.issubdtype(dtype, np.integer) and dtypes.issubdtype(x.dtype, np.inexact):
        x = elementary.rint(x)
    return convert(x, dtype)


def _mirror(offset):
    """Return the mode that mirrors an axis at its ends, leaving out `offset` elements there."""

    def extend(x, axis, width, kwargs):
        odd = _is_odd(kwargs)
        for is_after in (False, True):
            remaining = width[is_after]
            while remaining > 0:
                size = x.aval.shape[axis]
                if size == 1:  # its mirror image is itself
                    sides = [0, 0]
                    sides[is_after] = remaining
                    x = _edge(x, axis, sides, kwargs)
                    break
                count = min(remaining, size - offset)
                start = size - count - offset if is_after else offset
                image = flip(slice_in_dim(x, start, start + count, axis), axis)
                if odd:
                    image = ufuncs.subtract(ufuncs.multiply(2, _ends(x, axis)[is_after]), image)
                x = _join([x, image] if is_after else [image, x], axis)
                remaining -= count
        return x

    return extend


def _is_odd(kwargs):
    kind = kwargs.get("reflect_type", "even")
    if kind not in ("even", "odd"):
        raise errors.user_error(
            ValueError,
            f"pad: no reflect_type {kind!r}.",
            fix='use "even" or "odd".',
            anchor="choice",
        )
    return kind == "odd"


def _wrap(x, axis, width, kwargs):
    size = x.aval.shape[axis]
    (copies_before, before), (copies_after, after) = (divmod(w, size) for w in width)
    parts = [slice_in_dim(x, size - before, size, axis), *[x] * (copies_before + 1 + copies_after)]
    return _join([*parts, slice_in_dim(x, 0, after, axis)], axis)


def _pad_by_function(x, widths, function, kwargs):
    x = _pad_constant(x, widths, 0)
    for axis, width in enumerate(widths):
        x = functional.apply_along_axis(function, axis, x, width, axis, kwargs)
    return x


_STATISTICS = {
    "maximum": lambda x, axis: reductions.max(x, axis, keepdims=True),
    "mean": lambda x, axis: reductions.mean(x, axis, keepdims=True),
    "median": lambda x, axis: quantiles.median(x, axis, keepdims=True),
    "minimum": lambda x, axis: reductions.min(x, axis, keepdims=True),
}
_MODES = {
    "edge": _edge,
    "linear_ramp": _linear_ramp,
    "reflect": _mirror(1),
    "symmetric": _mirror(0),
    "wrap": _wrap,
    **{name: _statistic(reduce) for name, reduce in _STATISTICS.items()},
}
_ARGUMENTS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
    **{name: {"stat_length"} for name in _STATISTICS},
}
