"""Quantiles, percentiles and medians.

The array is sorted, and two neighbours of the wanted place are looked up. The functions that skip
NaNs, which a sort puts last, count the numbers in each line first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis
from evertrace._src.numpy import creation, elementary, indexing, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    no_out,
    operand,
    scalar_of,
)
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.promotion import (
    aligned,
    broadcast_to,
    promote_dtypes_inexact,
)
from evertrace._src.numpy.shape import moveaxis, ravel, reshape
from evertrace._src.numpy.sorting import argsort, sort
from evertrace._src.numpy.statistics import align_weights
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import expand_dims

_BY_COUNT = "inverted_cdf"
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", _BY_COUNT)


@native.planned(by_type=False)
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return values below which given parts of the elements lie.

    Args:
      a: array of n elements along `axis`; lines with NaNs give NaN.
      q: scalar or array of numbers from 0 to 1.
      axis: int, tuple of ints or None (all axes).
      out: must be None.
      overwrite_input: ignored.
      method: what stands for a place ``q * (n - 1)`` between two elements: "linear" interpolates,
        "lower", "higher", "nearest" and "midpoint" are what they say. "inverted_cdf" is the first
        element such that it and those below it are at least a part `q` of all.
      keepdims: whether to keep the reduced axes, with size 1.
      weights: for "inverted_cdf", how much each element counts: of the shape of `a`, or one per
        element along `axis`. Elements of weight 0 are never a result.

    Returns:
      Floating array of shape ``[*q.shape, ...]`` with the shape of `a` without `axis`.

    Raises:
      NotImplementedError: there is no such method, or it takes no weights.
      ShapeError: the weights fit neither the array nor its axes.

    Example:
      >>> jnp.quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([0.25, 0.5]))
      Array([1.75, 2.5 ], dtype=float32)
    """
    no_out("quantile", out)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, skip_nans=False)


@native.planned(by_type=False)
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return quantiles of the elements that are not NaN; see `quantile`.

    Example:
      >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0, 5.0]), 0.5)
      Array(3., dtype=float32)
    """
    no_out("nanquantile", out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, skip_nans=True)


@native.planned(by_type=False)
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Return quantiles for `q` from 0 to 100; see `quantile`.

    Example:
      >>> jnp.percentile(jnp.array([[10, 20], [30, 60]]), 50, axis=0)
      Array([20., 40.], dtype=float32)
    """
    no_out("percentile", out)
    q = ufuncs.divide(operand("percentile", q), 100)
    return _quantile("percentile", a, q, axis, method, keepdims, weights, skip_nans=False)


@native.planned(by_type=False)
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return quantiles of the elements that are not NaN, for `q` from 0 to 100.

    Example:
      >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0, 5.0]), 75)
      Array(4., dtype=float32)
    """
    no_out("nanpercentile", out)
    q = ufuncs.divide(operand("nanpercentile", q), 100)
    return _quantile("nanpercentile", a, q, axis, method, keepdims, weights, skip_nans=True)


@native.planned(by_type=False)
def median(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the middle element along axes, or the mean of the two in the middle.

    Returns:
      Floating array of the shape of `a` without `axis`; NaN where there is one.

    Example:
      >>> jnp.median(jnp.array([[3, 1, 2], [9, 7, 20]]), axis=1)
      Array([2., 9.], dtype=float32)
    """
    no_out("median", out)
    return _quantile("median", a, 0.5, axis, "midpoint", keepdims, None, skip_nans=False)


@native.planned(by_type=False)
def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the median of the elements along axes that are not NaN; NaN if there are none.

    Example:
      >>> jnp.nanmedian(jnp.array([3.0, jnp.nan, 1.0, 2.0]))
      Array(2., dtype=float32)
    """
    no_out("nanmedian", out)
    return _quantile("nanmedian", a, 0.5, axis, "midpoint", keepdims, None, skip_nans=True)


def _check_method(name, method, weights):
    if method in _METHODS and (weights is None or method == _BY_COUNT):
        return
    raise errors.user_error(
        NotImplementedError,
        f"{name}: method={method!r} with weights={'given' if weights is not None else None} is "
        "not supported.",
        fix=f"use one of {_METHODS}, only the last one with weights.",
        anchor="unsupported",
    )


def _quantile(name, a, q, axis, method, keepdims, weights, skip_nans):
    _check_method(name, method, weights)
    (x,) = promote_dtypes_inexact(name, operand(name, a))
    result = x.aval.dtype
    if dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: complex numbers have no order, got {x.aval.str_short()}.",
            fix="take quantiles of real and imaginary parts.",
            anchor="dtype",
        )
    q = operand(name, q)
    compute = dtypes.wider(result, q.aval.dtype)  # of a Python number as of an array
    x, q = convert(x, compute), convert(q, compute)
    axes = canonical_axes(name, axis, x.aval.ndim)
    lines = _reduced_axes_first(x, axes)
    is_nan = elementary.isnan(lines)
    if method == _BY_COUNT:
        out = _by_weight(name, x, lines, is_nan, ravel(q), weights, axis, skip_nans)
    else:
        out = _by_place(lines, is_nan, ravel(q), method, skip_nans)
    out = reshape(out, (*q.aval.shape, *out.shape[1:]))
    if keepdims:
        out = expand_dims(out, tuple(i + q.aval.ndim for i in axes))
    return convert(out, result)


def _by_place(lines, is_nan, q, method, skip_nans):
    """Return what is at places between sorted elements, along a new first axis."""
    if skip_nans:
        count = ufuncs.logical_not(is_nan).sum(0, dtype=lines.aval.dtype)
    else:
        lines = elementary.where(is_nan.any(0, keepdims=True), np.nan, lines)
        size = lines.shape[0]
        count = scalar_of(size, lines.aval.dtype) if dims.is_dim(size) else float(size)
    out = _at_quantile(sort(lines, 0), q, count, method)
    return elementary.where(ufuncs.equal(count, 0), np.nan, out) if skip_nans else out


def _by_weight(name, x, lines, is_nan, q, weights, axis, skip_nans):
    """Return the first elements up to which the weights are parts `q` of all, along a new axis."""
    dtype = lines.aval.dtype
    w = creation.ones(x.aval.shape, dtype)
    if weights is not None:
        given = convert(operand(name, weights), dtype)
        w = broadcast_to(align_weights(name, x, given, axis), x.aval.shape)
    w = _reduced_axes_first(w, canonical_axes(name, axis, x.aval.ndim))
    if skip_nans:
        w = elementary.where(is_nan, 0.0, w)
    order = argsort(lines, 0)
    lines = indexing.take_along_axis(lines, order, 0)
    below = cumsum(indexing.take_along_axis(w, order, 0), 0)
    wanted = ufuncs.multiply(reshape(q, (-1, *[1] * (lines.ndim - 1))), below[-1:])
    is_before = ufuncs.logical_or(
        ufuncs.less(below[None], wanted[:, None]), ufuncs.less_equal(below, 0)[None]
    )
    out = indexing.take_along_axis(lines, is_before.sum(1), 0, mode="clip")
    is_lost = ufuncs.equal(below[-1], 0) if skip_nans else is_nan.any(0)
    return elementary.where(is_lost[None], np.nan, out)


def _reduced_axes_first(x, axes):
    """Return `x` with several axes joined to one, the first."""
    x = moveaxis(x, axes, tuple(range(len(axes))))
    sizes = x.aval.shape
    return reshape(x, (math.prod(sizes[: len(axes)]), *sizes[len(axes) :]))


def _at_quantile(lines, q, count, method):
    """Return elements of sorted lines, along the first axis, at parts `q` of their lengths."""
    rank = lines.ndim
    q = reshape(q, (q.aval.size, *[1] * (rank - 1)))
    last = ufuncs.maximum(ufuncs.subtract(count, 1), 0)
    place = ufuncs.multiply(*aligned(q, last))
    below, above = elementary.floor(place), elementary.ceil(place)
    low, high = _look_up(lines, below, q.shape), _look_up(lines, above, q.shape)
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        return ufuncs.multiply(ufuncs.add(low, high), 0.5)
    share = ufuncs.subtract(place, below)
    if method == "nearest":  # halves go down, as in JAX
        return elementary.where(ufuncs.less_equal(share, 0.5), low, high)
    # Not low + share * (high - low), which is NaN between infinities, as is one without a share.
    between = ufuncs.add(
        ufuncs.multiply(low, ufuncs.subtract(1, share)), ufuncs.multiply(high, share)
    )
    return elementary.where(ufuncs.equal(share, 0), low, between)


def _look_up(lines, places, q_shape):
    """Take elements along the first axis; places are equal for all lines or differ."""
    places = elementary.clip(places, 0, dims.max_of(0, lines.shape[0] - 1)).astype(np.int32)
    if places.shape == q_shape:
        return indexing.take(lines, ravel(places), axis=0, mode="clip")
    return indexing.take_along_axis(lines, places, axis=0, mode="clip")
