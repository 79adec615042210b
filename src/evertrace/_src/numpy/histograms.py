"""Counts of numbers: of each, and in bins."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.numpy import creation, elementary, ufuncs
from evertrace._src.numpy.arguments import (
    operand,
    static_int,
    static_size,
    traced_argument,
)
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.nonzeros import known_values
from evertrace._src.numpy.search import searchsorted
from evertrace._src.numpy.shape import ravel, reshape
from evertrace._src.numpy.spaced import linspace
from evertrace._src.ops.structural import expand_dims


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
        host = known_values("bincount", x, fix="pass `length=`")._contents()
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
