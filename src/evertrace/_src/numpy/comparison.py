"""Comparisons of whole arrays, and within tolerances."""

from __future__ import annotations

import numpy as np

from evertrace._src import dims, dtypes, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, elementary, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import promote, promote_dtypes


@native.planned(by_type=False)
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return whether elements are equal within ``atol + rtol * abs(b)``.

    Args:
      a: array.
      b: array; the shapes broadcast.
      rtol: relative tolerance.
      atol: absolute tolerance.
      equal_nan: whether NaNs are close to NaNs.

    Returns:
      Boolean array of the common shape. It is not symmetric in `a` and `b`.

    Example:
      >>> jnp.isclose(jnp.array([1.0, 1.001, jnp.inf]), jnp.array([1.0 + 1e-6, 1.0, jnp.inf]))
      Array([ True, False,  True], dtype=bool)
    """
    x, y = promote("isclose", operand("isclose", a), operand("isclose", b))
    if dtypes.issubdtype(x.aval.dtype, dtypes.extended):
        return ufuncs.equal(x, y)
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):  # differences would overflow
        wide = dtypes.canonicalize_dtype(np.float64)
        x, y = x.astype(wide), y.astype(wide)
    distance = ufuncs.absolute(ufuncs.subtract(x, y))
    bound = ufuncs.add(atol, ufuncs.multiply(rtol, ufuncs.absolute(y)))
    is_close = ufuncs.less_equal(distance, bound)
    # Infinities are close to themselves only; the bound is infinite beside them.
    finite = ufuncs.logical_and(elementary.isfinite(x), elementary.isfinite(y))
    is_close = ufuncs.logical_or(ufuncs.logical_and(is_close, finite), ufuncs.equal(x, y))
    if equal_nan:
        both = ufuncs.logical_and(elementary.isnan(x), elementary.isnan(y))
        is_close = ufuncs.logical_or(is_close, both)
    return is_close


@native.planned(by_type=False)
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return whether all elements are close; see `isclose`.

    Returns:
      Boolean array of rank 0.

    Example:
      >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0 + 1e-6]))
      Array(True, dtype=bool)
    """
    return isclose(a, b, rtol, atol, equal_nan).all()


@native.planned(by_type=False)
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and elements.

    Args:
      a1: array, or what `asarray` takes.
      a2: the other one.
      equal_nan: whether NaNs are equal to NaNs.

    Returns:
      Boolean array of rank 0: false, rather than an error, if the shapes differ.

    Example:
      >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1.0, 2.0]))
      Array(True, dtype=bool)
      >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([[1, 2]]))
      Array(False, dtype=bool)
    """
    x, y = promote_dtypes("array_equal", creation.asarray(a1), creation.asarray(a2))
    if not dims.is_same_shape(x.aval.shape, y.aval.shape):
        return creation.asarray(False)
    equal = ufuncs.equal(x, y)
    if equal_nan and dtypes.issubdtype(x.aval.dtype, np.inexact):
        both = ufuncs.logical_and(elementary.isnan(x), elementary.isnan(y))
        equal = ufuncs.logical_or(equal, both)
    return equal.all()


@native.planned(by_type=False)
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return whether two arrays have the same elements once they are broadcast to one shape.

    Returns:
      Boolean array of rank 0: false, rather than an error, if the shapes do not broadcast.

    Example:
      >>> jnp.array_equiv(jnp.array([1, 2]), jnp.array([[1, 2], [1, 2]]))
      Array(True, dtype=bool)
    """
    x, y = creation.asarray(a1), creation.asarray(a2)
    try:
        dims.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return creation.asarray(False)
    return ufuncs.equal(x, y).all()
