"""Reductions that leave NaNs out: they replace them by the identity, or mask them, first.

Arrays that cannot hold NaNs are reduced as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.numpy import elementary, reductions, ufuncs, variance
from evertrace._src.numpy.arguments import no_out, operand
from evertrace._src.numpy.cumulative import cumprod, cumsum
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.ops.reduce import argmax_p, argmin_p


def has_nans(x):
    """Whether the dtype of `x` has NaNs."""
    return dtypes.issubdtype(x.aval.dtype, np.inexact)


def replace_nans(x, fill):
    """Return `x` with a scalar in place of NaNs."""
    if not has_nans(x):
        return x
    return reductions.masked("isnan", x, ufuncs.logical_not(elementary.isnan(x)), fill)


def _numbers(x, where):
    """Return the mask of the elements that are not NaN and that `where` selects."""
    numbers = ufuncs.logical_not(elementary.isnan(x))
    return numbers if where is None else ufuncs.logical_and(numbers, where)


@native.planned(by_type=False)
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum the elements along axes that are not NaN; see `sum`.

    Example:
      >>> jnp.nansum(jnp.array([[1.0, jnp.nan], [3.0, 4.0]]), axis=0)
      Array([4., 4.], dtype=float32)
    """
    no_out("nansum", out)
    x = replace_nans(operand("nansum", a), 0)
    return reductions.sum(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@native.planned(by_type=False)
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Multiply the elements along axes that are not NaN; see `prod`.

    Example:
      >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array(6., dtype=float32)
    """
    no_out("nanprod", out)
    x = replace_nans(operand("nanprod", a), 1)
    return reductions.prod(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@native.planned(by_type=False)
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element along axes that is not NaN; NaN if there is none. See `max`.

    Example:
      >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
      Array(3., dtype=float32)
    """
    no_out("nanmax", out)
    return _nan_extremum(
        reductions.max, lowest, operand("nanmax", a), axis, keepdims, initial, where
    )


@native.planned(by_type=False)
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the smallest element along axes that is not NaN; NaN if there is none. See `min`.

    Example:
      >>> jnp.nanmin(jnp.array([[1.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
      Array([ 1., nan], dtype=float32)
    """
    no_out("nanmin", out)
    return _nan_extremum(
        reductions.min, highest, operand("nanmin", a), axis, keepdims, initial, where
    )


def _nan_extremum(reduce, identity, x, axis, keepdims, initial, where):
    filled = replace_nans(x, identity(x.aval.dtype))
    out = reduce(filled, axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not None or not has_nans(x):
        return out
    is_empty = reductions.all(elementary.isnan(x), axis, keepdims=keepdims)
    return elementary.where(is_empty, np.nan, out)


@native.planned(by_type=False)
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Return the mean along axes of the elements that are not NaN; see `mean`.

    It is NaN where there are none.

    Example:
      >>> jnp.nanmean(jnp.array([[1.0, jnp.nan], [3.0, 5.0]]), axis=0)
      Array([2., 5.], dtype=float32)
    """
    no_out("nanmean", out)
    x = operand("nanmean", a)
    where = _numbers(x, where) if has_nans(x) else where
    return reductions.mean(x, axis, dtype, keepdims=keepdims, where=where)


@native.planned(by_type=False)
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the variance along axes of the elements that are not NaN; see `var`.

    It is NaN where there are no more than `ddof`.

    Example:
      >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    no_out("nanvar", out)
    x = operand("nanvar", a)
    where = _numbers(x, where) if has_nans(x) else where
    return variance.var(x, axis, dtype, None, ddof, keepdims, where=where, mean=mean)


@native.planned(by_type=False)
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the standard deviation along axes of the elements that are not NaN; see `std`.

    It is NaN where there are no more than `ddof`.

    Example:
      >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 5.0]))
      Array(2., dtype=float32)
    """
    no_out("nanstd", out)
    return ufuncs.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: Any = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first largest element that is not NaN; -1 if there is none.

    Differs from NumPy, where it is an error if there is none.

    Example:
      >>> jnp.nanargmax(jnp.array([[1.0, jnp.nan, 3.0], [jnp.nan, jnp.nan, jnp.nan]]), axis=1)
      Array([ 2, -1], dtype=int32)
    """
    no_out("nanargmax", out)
    return _nan_arg_reduce("nanargmax", argmax_p, lowest, a, axis, keepdims)


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: Any = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first smallest element that is not NaN; -1 if there is none.

    Differs from NumPy, where it is an error if there is none.

    Example:
      >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 1.0]))
      Array(2, dtype=int32)
    """
    no_out("nanargmin", out)
    return _nan_arg_reduce("nanargmin", argmin_p, highest, a, axis, keepdims)


def _nan_arg_reduce(name, prim, identity, a, axis, keepdims):
    x = operand(name, a)
    if not has_nans(x):
        return reductions.arg_reduce(name, prim, x, axis, keepdims)
    filled = replace_nans(x, identity(x.aval.dtype))
    found = reductions.arg_reduce(name, prim, filled, axis, keepdims)
    is_empty = reductions.all(elementary.isnan(x), axis, keepdims=bool(keepdims))
    return elementary.where(is_empty, -1, found)


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
) -> Array:
    """Return running sums in which NaNs count as zero; see `cumsum`.

    Example:
      >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0]))
      Array([1., 1., 4.], dtype=float32)
    """
    no_out("nancumsum", out)
    return cumsum(replace_nans(operand("nancumsum", a), 0), axis, dtype)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
) -> Array:
    """Return running products in which NaNs count as one; see `cumsum`.

    Example:
      >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    no_out("nancumprod", out)
    return cumprod(replace_nans(operand("nancumprod", a), 1), axis, dtype)
