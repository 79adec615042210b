"""Statistics of samples: modes, ranks and the standard error.

Modes and ranks are read off the runs of equal numbers in a sorted array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis
from evertrace._src.lax.cumulative import cummax, cummin, cumsum
from evertrace._src.numpy import reductions, variance
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.creation import asarray, full
from evertrace._src.numpy.elementary import isnan, where
from evertrace._src.numpy.indexing import take_along_axis
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.nanreductions import nanstd
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.numpy.shape import broadcast_to, expand_dims, moveaxis, ravel
from evertrace._src.numpy.sorting import argsort, sort
from evertrace._src.numpy.ufuncs import sqrt, subtract
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.stats")


@public
class ModeResult(NamedTuple):
    """What `mode` returns: the values, and how often they are there."""

    mode: Array
    count: Array  # pyright: ignore[reportIncompatibleMethodOverride]


def _check_policy(name, nan_policy, supported):
    if nan_policy in supported:
        return
    known = nan_policy in ("propagate", "omit", "raise")
    raise errors.user_error(
        NotImplementedError if known else ValueError,
        f"{name}: nan_policy {nan_policy!r} is not supported."
        if known
        else f"{name}: there is no nan_policy {nan_policy!r}.",
        fix=f"use {' or '.join(map(repr, supported))}.",
        anchor="choice",
    )


def _lines(name, a, axis, keepdims=False):
    """Return the array with the axis last, and where a reduced axis of size 1 belongs, if at all.

    Without an axis all elements are one line.
    """
    x = operand(name, a)
    if axis is None:
        return ravel(x), tuple(range(x.ndim)) if keepdims else ()
    axis = canonical_axis(name, axis, max(x.ndim, 1))
    x = moveaxis(x, axis, -1) if x.ndim else ravel(x)
    return x, (axis,) if keepdims else ()


def _starts(x):
    """Say for sorted lines where a run of equal numbers starts; NaNs are equal here."""
    differs = x[..., 1:] != x[..., :-1]
    if dtypes.issubdtype(x.dtype, np.inexact):
        differs = differs & ~(isnan(x[..., 1:]) & isnan(x[..., :-1]))
    return concatenate([full((*x.shape[:-1], 1), True), differs], -1)


def _first_of_run(starts):
    """Return for each place the place at which its run starts."""
    places = asarray(np.arange(starts.shape[-1]), np.int32)
    return cummax(where(starts, places, 0), starts.ndim - 1)


def _last_of_run(starts):
    """Return for each place the place at which its run ends."""
    n = starts.shape[-1]
    places = asarray(np.arange(n), np.int32)
    ends = concatenate([starts[..., 1:], full((*starts.shape[:-1], 1), True)], -1)
    return cummin(where(ends, places, n - 1), starts.ndim - 1, reverse=True)


@public
def mode(
    a: ArrayLike, axis: Axis = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the number that occurs most often along an axis, the smallest of several.

    Args:
      a: array of numbers; NaNs count as equal to each other, and as the largest.
      axis: int, or None for all elements.
      nan_policy: must be "propagate".
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      a named tuple of `mode`, of the dtype of `a`, and `count`, int32; of no elements the mode NaN
      and the count 0.0.

    Raises:
      ValueError: there is no such axis or policy.
      NotImplementedError: for the policies "omit" and "raise".

    Example:
      >>> from evertrace.scipy import stats
      >>> found = stats.mode(jnp.array([2, 4, 1, 4]))
      >>> int(found.mode), int(found.count)
      (4, 2)
    """
    _check_policy("mode", nan_policy, ("propagate",))
    x, kept = _lines("mode", a, axis, keepdims)
    n = x.shape[-1]
    if n:
        x = sort(x, -1)
        places = asarray(np.arange(n), np.int32)
        lengths = subtract(*aligned(places, _first_of_run(_starts(x)))) + 1
        # The first place of the largest length is in the run of the smallest number.
        last = reductions.argmax(lengths, -1, keepdims=True)
        value, count = take_along_axis(x, last, -1)[..., 0], reductions.max(lengths, -1)
    else:
        (x,) = promote_dtypes_inexact("mode", x)
        value = full(x.shape[:-1], np.nan, x.dtype)
        count = full(x.shape[:-1], 0, x.dtype)
    if kept:
        value, count = (expand_dims(y, kept) for y in (value, count))
    return ModeResult(value, count)


# A method, to what each place of a sorted line is ranked, given where runs start.
_RANKS = {
    "average": lambda starts: (_first_of_run(starts) + _last_of_run(starts)) / 2 + 1,
    "min": lambda starts: _first_of_run(starts) + 1,
    "max": lambda starts: _last_of_run(starts) + 1,
    "dense": lambda starts: cumsum(starts.astype(np.int32), starts.ndim - 1),
    "ordinal": lambda starts: broadcast_to(np.arange(1, starts.shape[-1] + 1), starts.shape),
}


@public
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: Axis = None, nan_policy: str = "propagate"
) -> Array:
    """Return the places that numbers take in sorted order, counted from 1.

    Args:
      a: array of numbers.
      method: what equal numbers get: the "average" of their places, the "min" or "max" of them, a
        place of their own in the order given ("ordinal"), or one place together, without gaps
        ("dense").
      axis: int, or None to flatten.
      nan_policy: must be "propagate".

    Returns:
      an array of the default float dtype and the shape of `a`, or of rank 1; lines with a
      NaN are all NaN.

    Raises:
      ValueError: there is no such axis, method or policy.
      NotImplementedError: for the policies "omit" and "raise".

    Example:
      >>> from evertrace.scipy import stats
      >>> stats.rankdata(jnp.array([10, 30, 20, 30])).tolist()
      [1.0, 3.5, 2.0, 3.5]
    """
    _check_policy("rankdata", nan_policy, ("propagate",))
    if method not in _RANKS:
        raise errors.user_error(
            ValueError,
            f"rankdata: there is no method {method!r}.",
            fix=f"use one of {', '.join(map(repr, _RANKS))}.",
            anchor="choice",
        )
    x, _ = _lines("rankdata", a, axis)
    dtype = dtypes.default_dtype(float)
    if not x.size:
        ranks = full(x.shape, 0, dtype)
    else:
        order = argsort(x, -1)
        ranks = _RANKS[method](_starts(take_along_axis(x, order, -1)))
        ranks = take_along_axis(ranks, argsort(order, -1), -1).astype(dtype)
        if dtypes.issubdtype(x.dtype, np.inexact):
            ranks = where(reductions.any(isnan(x), -1, keepdims=True), np.nan, ranks)
    return ranks if axis is None else moveaxis(ranks, -1, axis)


@public
def sem(
    a: ArrayLike,
    axis: Axis = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Return the standard error of the mean, ``std(a, ddof=ddof) / sqrt(n)``.

    Args:
      a: array of numbers; integers become floats.
      axis: int, or None for all elements.
      ddof: number, by which the divisor of the variance is less than the count.
      nan_policy: "propagate", or "omit" to leave NaNs out.
      keepdims: whether to keep the reduced axes, with size 1.

    Returns:
      an array of the dtype of `a`; NaN where there are no more than `ddof` elements.

    Raises:
      ValueError: there is no such axis or policy.

    Example:
      >>> from evertrace.scipy import stats
      >>> round(float(stats.sem(jnp.array([2.0, 4.0, 1.0, 1.0]))), 4)
      0.7071
    """
    if nan_policy not in ("propagate", "omit"):
        raise errors.user_error(
            ValueError,
            f"sem: nan_policy {nan_policy!r} is not supported.",
            fix="use 'propagate' or 'omit'.",
            anchor="choice",
        )
    (x,) = promote_dtypes_inexact("sem", operand("sem", a))
    axis = None if axis is None else canonical_axis("sem", axis, x.ndim)
    if nan_policy == "omit":
        count = reductions.sum(~isnan(x), axis, keepdims=keepdims).astype(x.real.dtype)
        return nanstd(x, axis, ddof=ddof, keepdims=keepdims) / sqrt(count)
    count = x.size if axis is None else x.shape[axis]
    return variance.std(x, axis, ddof=ddof, keepdims=keepdims) / np.sqrt(count).item()
