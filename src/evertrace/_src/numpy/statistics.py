"""Weighted means and covariances."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from evertrace._src import dims, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.numpy import creation, elementary, indexing, reductions, ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axes,
    operand,
)
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.products import dot
from evertrace._src.numpy.promotion import (
    aligned,
    broadcast_to,
    promote_dtypes_inexact,
)
from evertrace._src.numpy.shape import reshape
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import complex_p

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
        w = align_weights("average", x, operand("average", weights), axis)
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, w))
        total = reductions.sum(w, axis, dtype, keepdims=keepdims)
        products = ufuncs.multiply(convert(x, dtype), convert(w, dtype))
        averages = ufuncs.divide(reductions.sum(products, axis, keepdims=keepdims), total)
    if not returned:
        return averages
    return averages, broadcast_to(operand("average", total), averages.shape)


def align_weights(name, x, w, axis):
    """Return weights that broadcast against `x`."""
    if dims.is_same_shape(w.aval.shape, x.aval.shape):
        return w
    axes = canonical_axes(name, axis, x.aval.ndim)
    sizes = tuple(x.aval.shape[i] for i in axes)
    if axis is None or not dims.is_same_shape(w.aval.shape, sizes):
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
