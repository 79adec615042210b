"""Variances and standard deviations of the NumPy interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import reductions, ufuncs
from evertrace._src.numpy.arguments import canonical_axes, no_out, operand
from evertrace._src.ops.convert import convert

elementary: Any = LazyModule("evertrace._src.numpy.elementary")


@native.planned(by_type=False)
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """Return the variance along axes, by the two-pass formula.

    Args:
      a: array; of complex numbers the squared magnitudes of the deviations are averaged.
      axis: int, tuple of ints or None (all axes).
      dtype: of the computation and the result; float32 for integers by default.
      out: must be None.
      ddof: what is subtracted from the number of elements before dividing by it.
      keepdims: whether to keep the reduced axes, with size 1.
      where: boolean mask, broadcast to `a`, of the elements that count.
      mean: the means, if known, of the shape that ``mean(a, axis, keepdims=True)`` has.
      correction: another name of `ddof`, by which the array standard calls it.

    Returns:
      Real array of the shape of `a` without `axis`; NaN where there are no more than `ddof`
      elements.

    Example:
      >>> jnp.var(jnp.array([1.0, 2.0, 3.0, 4.0]))
      Array(1.25, dtype=float32)
      >>> jnp.var(jnp.array([1.0, 2.0, 3.0]), ddof=1)
      Array(1., dtype=float32)
    """
    no_out("var", out)
    ddof = _degrees_of_freedom("var", ddof, correction)
    x = operand("var", a)
    result, compute = reductions.inexact_dtypes("var", x.aval.dtype, dtype)
    x = convert(x, compute)
    if mean is None:
        mean = reductions.mean(x, axis, keepdims=True, where=where)
    deviations = ufuncs.subtract(x, convert(operand("var", mean), compute))
    if where is not None:  # here and not in the sum: the derivative of a square may be NaN
        deviations = reductions.masked("var", deviations, where, 0)
    squares = _squared_magnitude(deviations)
    total = reductions.sum(squares, axis, keepdims=keepdims)
    if where is None:
        count = reductions.number_along(x.aval, canonical_axes("var", axis, x.aval.ndim))
    else:
        count = reductions.count_selected("var", x, axis, keepdims, where, squares.dtype)
    return convert(_divide_by_positive(total, count - ddof), _real_dtype(result))


def _divide_by_positive(total, count):
    """Return quotients, NaN where the divisor is not positive."""
    if isinstance(count, float):
        return ufuncs.divide(total, count if count > 0 else np.nan)
    return elementary.where(ufuncs.greater(count, 0), ufuncs.divide(total, count), np.nan)


def _degrees_of_freedom(name, ddof, correction):
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise errors.user_error(
            ValueError,
            f"{name}: ddof and correction are two names of one argument, and both were given.",
            fix="pass one of them.",
        )
    return correction


def _squared_magnitude(x):
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return ufuncs.add(ufuncs.square(elementary.real(x)), ufuncs.square(elementary.imag(x)))
    return ufuncs.square(x)


def _real_dtype(dtype):
    return dtypes.finfo(dtype).dtype if dtypes.issubdtype(dtype, np.complexfloating) else dtype


@native.planned(by_type=False)
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: int | float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """Return the standard deviation along axes, the root of `var`, whose arguments it takes.

    Example:
      >>> jnp.std(jnp.array([[1.0, 3.0], [2.0, 8.0]]), axis=1)
      Array([1., 3.], dtype=float32)
    """
    no_out("std", out)
    return ufuncs.sqrt(
        var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    )
