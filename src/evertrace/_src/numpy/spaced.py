"""Making arrays of numbers at equal distances or ratios."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import scalar_of, static_count
from evertrace._src.numpy.conversion import convert_to
from evertrace._src.numpy.creation import full, placed, user_dtype
from evertrace._src.numpy.promotion import (
    broadcast_to,
    check_arraylike,
    promote_dtypes_inexact,
    promote_shapes,
)
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.slicing import concatenate_p


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array]: ...


@native.planned(by_type=False)
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` numbers at equal distances from `start` to `stop`.

    Args:
      start: first number, or an array of first numbers.
      stop: last number, or an array, broadcast with `start`.
      num: how many, static.
      endpoint: whether `stop` is the last of them.
      retstep: whether to return also the distance.
      dtype: by default the common float dtype of `start` and `stop`; integers are rounded down.
      axis: where the new axis is put.
      device: device or sharding to put the result on.

    Returns:
      An array, or ``(array, step)``.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> jnp.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
      >>> jnp.linspace(0, 1, 4, endpoint=False)
      Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    num = static_count("linspace", "num", num)
    if num < 0:
        raise errors.user_error(
            ValueError,
            f"linspace: num must not be negative, got {num}.",
            fix="pass how many numbers there are to be, 0 or more.",
            anchor="shape",
        )
    dtype = user_dtype("linspace", dtype)
    start, stop = promote_shapes("linspace", *_inexact_pair("linspace", start, stop))
    start, stop = as_array(start), as_array(stop)
    out, step = _spaced(start, stop, num, endpoint)
    if dtype is not None and dtypes.issubdtype(dtype, np.integer):
        out = ufuncs.nearest_below(out)
    out = convert(out, out.aval.dtype if dtype is None else dtype)
    out = structural.moveaxis(out, 0, axis % out.aval.ndim)
    return (placed(out, device), step) if retstep else placed(out, device)


def _inexact_pair(name, start, stop):
    check_arraylike(name, start, stop)
    a, b = promote_dtypes_inexact(name, start, stop)
    return convert(as_array(a), a.aval.dtype), convert(as_array(b), b.aval.dtype)


def _spaced(start, stop, num, endpoint):
    """Return numbers along a new first axis, and their distance; the last one is exact."""
    shape = start.aval.shape or stop.aval.shape
    dtype = start.aval.dtype
    steps = num - 1 if endpoint else num
    if num == 0 or steps == 0:
        out = broadcast_to(structural.expand_dims(start, (0,)), (num, *shape))
        return out, full((), np.nan, dtype)
    step = ufuncs.divide(ufuncs.subtract(stop, start), _number(steps, dtype))
    low = structural.expand_dims(broadcast_to(start, shape), (0,))
    high = structural.expand_dims(broadcast_to(stop, shape), (0,))
    out = convert(_mixed(low, high, steps), dtype)
    if dims.is_unknown(steps) and not _are_apart(num, endpoint):
        are_some = ufuncs.greater(_number(steps, dtype), 0)
        high = ufuncs.choose_by(are_some, high, broadcast_to(low, high.aval.shape))
        step = ufuncs.choose_by(are_some, step, np.nan)
    return (concatenate_p.bind(out, high, dimension=0) if endpoint else out), step


def _are_apart(num, endpoint):
    """Whether so many numbers, an expression, are known to be at some distance from each other.

    Raises:
      InconclusiveDimensionOperation: there may be none.
    """
    return num >= 1 and dims.least_of(num) > endpoint


def _mixed(low, high, steps):
    """Return ``(low * (steps - i) + high * i) / steps`` for each i below `steps`.

    Numbers that are round come out round so, and of ends that differ in sign only, the middle is
    zero: elements that lie on edges count into the same bins whichever engine computes these.
    """
    wide = dtypes.wider(low.aval.dtype, np.dtype(np.float32))
    low, high = convert(low, wide), convert(high, wide)
    counts = structural.reshape(iota(wide, (steps,)), (steps, *(1 for _ in low.aval.shape[1:])))
    steps = _number(steps, wide)
    # A power of two, by which what would overflow is made smaller: no bit of it is lost.
    shift = 2.0**32
    largest = ufuncs.maximum(ufuncs.abs(low), ufuncs.abs(high))
    is_large = ufuncs.greater(largest, float(dtypes.finfo(wide).max) / shift)
    scale = ufuncs.choose_by(is_large, 1 / shift, 1.0)
    total = ufuncs.add(
        _rounded(ufuncs.multiply(ufuncs.multiply(low, scale), ufuncs.subtract(steps, counts))),
        _rounded(ufuncs.multiply(ufuncs.multiply(high, scale), counts)),
    )
    # Each place has a divisor of its own, as XLA multiplies by the reciprocal of a common one.
    is_scaled = ufuncs.logical_or(is_large, ufuncs.not_equal(total, total))
    mixed = ufuncs.divide(total, ufuncs.choose_by(is_scaled, ufuncs.divide(steps, shift), steps))
    first = ufuncs.add(low, ufuncs.multiply(high, 0.0))  # exact, and NaN as that of NumPy is
    return ufuncs.choose_by(ufuncs.equal(counts, 0), first, mixed)


def _number(size, dtype):
    """Return a size as an operand, also one that is an expression."""
    return scalar_of(size, dtype) if dims.is_dim(size) else float(size)


def _rounded(product):
    """Return a product, but no negative zero, so that no compiler joins it with an addition."""
    return ufuncs.choose_by(ufuncs.equal(product, 0), 0, product)


@native.planned(by_type=False)
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Return `num` powers of `base` whose exponents go from `start` to `stop`; see `linspace`.

    Example:
      >>> jnp.logspace(0, 3, 4)
      Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    dtype = user_dtype("logspace", dtype)
    out = ufuncs.float_power(base, linspace(start, stop, num, endpoint, axis=axis))
    return out if dtype is None else convert_to(out, dtype)


@native.planned(by_type=False)
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Return `num` numbers with equal ratios from `start` to `stop`, which have one sign.

    Example:
      >>> jnp.geomspace(1, 1000, 4)
      Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    dtype = user_dtype("geomspace", dtype)
    start, stop = promote_shapes("geomspace", *_inexact_pair("geomspace", start, stop))
    sign = ufuncs.sign(start)
    if ufuncs.is_complex(start.aval.dtype):  # ratios to zero are not what one engine makes of them
        has_zero = ufuncs.logical_or(ufuncs.equal(start, 0), ufuncs.equal(stop, 0))
        sign = ufuncs.choose_by(has_zero, math.nan, sign)
    low, high = (ufuncs.log10(ufuncs.divide(x, sign)) for x in (start, stop))
    out = ufuncs.multiply(sign, logspace(low, high, num, endpoint, 10.0, axis=0))
    out = structural.moveaxis(out, 0, axis % out.aval.ndim)
    return out if dtype is None else convert_to(out, dtype)
