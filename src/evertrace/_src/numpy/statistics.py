"""Order statistics, weighted means, covariances and histograms.

Quantiles sort the array and look up two neighbours of the wanted place. The functions that skip
NaNs, which a sort puts last, count the numbers in each line first.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy import creation, elementary, indexing, reductions, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    no_out,
    operand,
    static_int,
    static_size,
    traced_argument,
)
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.joining import concatenate, stack
from evertrace._src.numpy.nonzeros import known_values
from evertrace._src.numpy.products import dot
from evertrace._src.numpy.promotion import (
    aligned,
    broadcast_to,
    promote_dtypes_inexact,
)
from evertrace._src.numpy.search import searchsorted
from evertrace._src.numpy.shape import moveaxis, ravel, reshape
from evertrace._src.numpy.sorting import argsort, sort
from evertrace._src.numpy.spaced import linspace
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import complex_p
from evertrace._src.ops.structural import expand_dims

# ---------------------------------------------------------------- quantiles

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
        count = float(lines.shape[0])
    out = _at_quantile(sort(lines, 0), q, count, method)
    return elementary.where(ufuncs.equal(count, 0), np.nan, out) if skip_nans else out


def _by_weight(name, x, lines, is_nan, q, weights, axis, skip_nans):
    """Return the first elements up to which the weights are parts `q` of all, along a new axis."""
    dtype = lines.aval.dtype
    w = creation.ones(x.aval.shape, dtype)
    if weights is not None:
        given = convert(operand(name, weights), dtype)
        w = broadcast_to(_align_weights(name, x, given, axis), x.aval.shape)
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
    # Not low + share * (high - low), which is NaN between infinities.
    return ufuncs.add(ufuncs.multiply(low, ufuncs.subtract(1, share)), ufuncs.multiply(high, share))


def _look_up(lines, places, q_shape):
    """Take elements along the first axis; places are equal for all lines or differ."""
    places = elementary.clip(places, 0, max(0, lines.shape[0] - 1)).astype(np.int32)
    if places.shape == q_shape:
        return indexing.take(lines, ravel(places), axis=0, mode="clip")
    return indexing.take_along_axis(lines, places, axis=0, mode="clip")


# ---------------------------------------------------------------- weighted means


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...


@native.planned(by_type=False)
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean along axes.

    Args:
      a: array.
      axis: int, tuple of ints or None (all axes).
      weights: array of the shape of `a`, or of its shape along `axis`; None weighs all alike.
      returned: whether to return the sums of the weights too.
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      The averages, or ``(averages, sums of weights)``.

    Raises:
      ShapeError: the weights fit neither the array nor its axes.

    Example:
      >>> jnp.average(jnp.array([1.0, 2.0, 4.0]), weights=jnp.array([1.0, 1.0, 2.0]))
      Array(2.75, dtype=float32)
    """
    x = operand("average", a)
    if weights is None:
        averages = reductions.mean(x, axis, keepdims=keepdims)
        axes = canonical_axes("average", axis, x.aval.ndim)
        total = reductions.number_along(x.aval, axes)
    else:
        w = _align_weights("average", x, operand("average", weights), axis)
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, w))
        total = reductions.sum(w, axis, dtype, keepdims=keepdims)
        products = ufuncs.multiply(convert(x, dtype), convert(w, dtype))
        averages = ufuncs.divide(reductions.sum(products, axis, keepdims=keepdims), total)
    if not returned:
        return averages
    return averages, broadcast_to(operand("average", total), averages.shape)


def _align_weights(name, x, w, axis):
    """Return weights that broadcast against `x`."""
    if w.aval.shape == x.aval.shape:
        return w
    axes = canonical_axes(name, axis, x.aval.ndim)
    sizes = tuple(x.aval.shape[i] for i in axes)
    if axis is None or w.aval.shape != sizes:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: weights of shape {w.aval.shape} fit neither the array of shape "
            f"{x.aval.shape} nor its axes {axes if axis is not None else None}.",
            fix="give weights of the array's shape, or one per element along `axis`.",
            anchor="shape",
        )
    aligned = tuple(size if i in axes else 1 for i, size in enumerate(x.aval.shape))
    return reshape(w, aligned)


# ---------------------------------------------------------------- covariances


@native.planned(by_type=False)
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the covariance matrix of variables.

    Args:
      m: array ``[variables, observations]``, or a vector of observations of one variable.
      y: further variables, of the same form.
      rowvar: whether rows are variables; else columns are.
      bias: whether to divide by the number of observations, not by one less.
      ddof: what is subtracted from the number of observations; overrides `bias`.
      fweights: vector of integers: how often each observation counts.
      aweights: vector of weights of the observations.
      dtype: of the result.

    Returns:
      Floating array ``[variables, variables]``, a scalar for one variable.

    Raises:
      ShapeError: the rank is above 2.

    Example:
      >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
      Array([[ 1., -2.],
             [-2.,  4.]], dtype=float32)
    """
    given = [operand("cov", x) for x in (m, y) if x is not None]
    parts = [_variables("cov", x, rowvar, dtype) for x in promote_dtypes_inexact("cov", *given)]
    x = concatenate(parts) if y is not None else parts[0]
    if 0 in x.aval.shape:
        n = x.aval.shape[0]
        return creation.full((n, n), np.nan, x.aval.dtype).squeeze()
    if ddof is None:
        ddof = 0 if bias else 1
    weights: Any = None
    if fweights is not None:
        weights = operand("cov", fweights)
    if aweights is not None:
        aweights = operand("cov", aweights)
        weights = aweights if weights is None else ufuncs.multiply(weights, aweights)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    if aweights is None or ddof == 0:
        norm = ufuncs.subtract(total[0], ddof)
    else:
        norm = total[0] - ddof * ufuncs.multiply(weights, aweights).sum() / total[0]
    x = x - mean[:, None]
    weighted = x if weights is None else ufuncs.multiply(*aligned(x, weights))
    return ufuncs.divide(dot(x, elementary.conj(weighted.T)), norm).squeeze()


def _variables(name, m, rowvar, dtype):
    """Return observations as a matrix with a row per variable."""
    x = m if dtype is None else m.astype(dtype)
    if x.aval.ndim > 2:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes vectors and matrices, got shape {x.aval.shape}.",
            fix="reshape to `(variables, observations)`.",
            anchor="shape",
        )
    if x.aval.ndim < 2:
        return reshape(x, (1, x.aval.size))
    return x if rowvar else x.T


@native.planned(by_type=False)
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Return the matrix of correlation coefficients of variables; see `cov`.

    Example:
      >>> jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ufuncs.divide(c, c)
    scale = convert(ufuncs.sqrt(elementary.real(indexing.diagonal(c))), c.aval.dtype)
    c = c / scale[:, None] / scale[None, :]
    if dtypes.issubdtype(c.dtype, np.complexfloating):
        clip = elementary.clip
        return complex_p.bind(clip(elementary.real(c), -1, 1), clip(elementary.imag(c), -1, 1))
    return elementary.clip(c, -1, 1)


# ---------------------------------------------------------------- counts


@native.planned(by_type=False)
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Count how often each integer occurs.

    Args:
      x: vector of integers; negative ones count as 0.
      weights: vector of what each element counts; default 1.
      minlength: least size of the result.
      length: size of the result; required where `x` is traced. Larger integers are left out.
      out_sharding: must be None.

    Returns:
      Vector whose element i is the number, or the sum of weights, of the elements that are i.

    Raises:
      DTypeError: `x` is not of integers.

    Example:
      >>> jnp.bincount(jnp.array([0, 1, 1, 3]))
      Array([1, 2, 0, 1], dtype=int32)
      >>> jnp.bincount(jnp.array([0, 1, 1]), weights=jnp.array([0.5, 1.0, 2.0]))
      Array([0.5, 3. ], dtype=float32)
    """
    x = operand("bincount", x)
    if not dtypes.issubdtype(x.aval.dtype, np.integer) or x.aval.ndim != 1:
        raise errors.user_error(
            errors.DTypeError,
            f"bincount: takes a vector of integers, got {x.aval.str_short()}.",
            fix="flatten and convert it first.",
            anchor="dtype",
        )
    if length is None:
        host = known_values("bincount", x, fix="pass `length=`").host()
        length = max(static_int("bincount", "minlength", minlength), int(host.max(initial=-1)) + 1)
    weights = np.ones((), dtypes.default_dtype(int)) if weights is None else weights
    weights = operand("bincount", weights)
    counts = creation.zeros(static_size("bincount", "length", length), weights.aval.dtype)
    return counts if length == 0 else counts.at[ufuncs.maximum(x, 0)].add(weights, mode="drop")


@native.planned(by_type=False)
def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | Sequence[Any] | str = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the edges of the bins that `histogram` uses: ``bins + 1`` floats.

    Args:
      a: array.
      bins: number of bins of equal width, or the edges.
      range: pair of the lowest and the highest edge; default the extremes of `a`.
      weights: ignored.

    Example:
      >>> jnp.histogram_bin_edges(jnp.array([0.0, 1.0, 4.0]), bins=4)
      Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    x = operand("histogram_bin_edges", a)
    if isinstance(bins, str):
        raise errors.user_error(
            NotImplementedError,
            f"histogram_bin_edges: rules such as {bins!r} are not supported.",
            fix="pass the number of bins.",
            anchor="unsupported",
        )
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(x))
    if np.ndim(bins):
        return creation.asarray(bins).astype(dtype)
    if isinstance(bins, Tracer) and concrete_value(bins) is None:
        raise traced_argument("histogram_bin_edges", "bins", bins)
    if range is None:
        low, high = (x.min(), x.max()) if x.aval.size else (0.0, 1.0)
    else:
        low, high = range
    low, high = (creation.asarray(v).astype(dtype) for v in (low, high))
    is_point = ufuncs.equal(low, high)
    low = elementary.where(is_point, low - 0.5, low)
    high = elementary.where(is_point, high + 0.5, high)
    return linspace(low, high, static_int("histogram", "bins", bins) + 1, dtype=dtype)


@native.planned(by_type=False)
def histogram(
    a: ArrayLike,
    bins: ArrayLike | Sequence[Any] | str = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Count the elements in bins.

    Args:
      a: array.
      bins: see `histogram_bin_edges`; the last bin includes its upper edge.
      range: see `histogram_bin_edges`.
      weights: array of the shape of `a`: what each element counts; default 1.
      density: whether to scale so that the integral over all bins is 1.

    Returns:
      ``(counts, edges)``; counts are floats.

    Example:
      >>> counts, edges = jnp.histogram(jnp.array([1, 2, 2, 4]), bins=3)
      >>> counts, edges
      (Array([1., 2., 1.], dtype=float32), Array([1., 2., 3., 4.], dtype=float32))
    """
    x = operand("histogram", a)
    edges = histogram_bin_edges(x, bins, range, weights)
    if weights is None:
        weights = creation.ones(x.aval.shape, edges.dtype)
    weights = operand("histogram", weights)
    counts, _ = _histogramdd(ravel(x)[:, None], [edges], ravel(weights))
    if density:
        counts = counts / counts.sum() / (edges[1:] - edges[:-1])
    return counts, edges


def _histogramdd(sample, edges, weights):
    """Add up weights per box; what lies outside of all boxes is dropped."""
    sizes = [e.shape[0] - 1 for e in edges]
    places = creation.zeros(sample.shape[0], np.int32)
    is_inside = creation.ones(sample.shape[0], bool)
    for i, (edge, size) in enumerate(zip(edges, sizes, strict=True)):
        x = sample[:, i].astype(edge.dtype)
        place = searchsorted(edge, x, side="right") - 1
        places = places * size + elementary.clip(place, 0, size - 1)
        is_inside = is_inside & (x >= edge[0]) & (x <= edge[-1])
    total = math.prod(sizes)
    places = elementary.where(is_inside, places, total)
    counts = creation.zeros(total, weights.dtype).at[places].add(weights, mode="drop")
    return reshape(counts, tuple(sizes)), edges


@native.planned(by_type=False)
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count points of the plane in rectangles; see `histogramdd`.

    Returns:
      ``(counts, edges of x, edges of y)``.

    Example:
      >>> x, y = jnp.array([0.0, 0.1, 0.9]), jnp.array([0.0, 0.9, 1.0])
      >>> jnp.histogram2d(x, y, bins=2)[0]
      Array([[1, 1],
             [0, 1]], dtype=int32)
    """
    sample = stack([operand("histogram2d", x), operand("histogram2d", y)], axis=1)
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Count points in boxes.

    Args:
      sample: array ``[points, dimensions]``.
      bins: number of bins, or a sequence with a number or edges per dimension.
      range: sequence of pairs of lowest and highest edges, or of None.
      weights: vector of what each point counts; default 1.
      density: whether to scale so that the integral over all boxes is 1.

    Returns:
      ``(counts, list of edges)``; counts are integers unless there are weights or `density`.

    Example:
      >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 0.0], [0.1, 0.9], [0.9, 1.0]]), bins=2)
      >>> counts
      Array([[1, 1],
             [0, 1]], dtype=int32)
    """
    sample = operand("histogramdd", sample)
    count, rank = sample.aval.shape
    bins = [bins] * rank if np.ndim(bins) == 0 and not isinstance(bins, list | tuple) else bins
    ranges = [None] * rank if range is None else range
    edges = [
        histogram_bin_edges(sample[:, i], one, between)
        for i, (one, between) in enumerate(zip(bins, ranges, strict=True))
    ]
    if weights is None:
        weights = creation.ones(count, dtypes.default_dtype(int))
    counts, edges = _histogramdd(sample, edges, operand("histogramdd", weights))
    if density:
        counts = counts / counts.sum()
        for i, edge in enumerate(edges):
            kept = tuple(j for j in builtins.range(rank) if j != i)
            counts = counts / expand_dims(edge[1:] - edge[:-1], kept)
    return counts, edges
