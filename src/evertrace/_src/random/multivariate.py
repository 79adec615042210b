"""Vectors with correlated normal components, and orthogonal matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.core.aval import ShapedArray
from evertrace._src.lax import linalg as lax
from evertrace._src.numpy import decompositions, products, spectra, ufuncs
from evertrace._src.numpy.promotion import aligned
from evertrace._src.ops.linalg import matrices
from evertrace._src.random.arguments import (
    broadcast_shape,
    drawing,
    float_dtype,
    inexact_dtype,
    operand,
    sizes,
)
from evertrace._src.random.continuous import normal


@drawing
def multivariate_normal(
    key: Key,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw normal vectors with a mean and a covariance.

    Args:
      key: one key.
      mean: ``[..., n]``.
      cov: ``[..., n, n]``, symmetric and positive semidefinite; positive definite for "cholesky".
      shape: of the result without its last dimension n; default: the leading dimensions of `mean`
        and `cov`, broadcast.
      dtype: a floating dtype, by default float32 (float64 if x64 is on).
      method: "cholesky", "eigh" or "svd": how `cov` is factored. The numbers depend on it.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of shape ``[*shape, n]``; NaN where the factorisation fails.

    Raises:
      ShapeError: the shapes of `mean` and `cov` do not fit.
      ValueError: there is no such method.

    Example:
      >>> cov = jnp.array([[2.0, 1.0], [1.0, 1.0]])
      >>> x = random.multivariate_normal(random.key(0), jnp.zeros(2), cov, (10_000,))
      >>> jnp.cov(x.T).round(1)
      Array([[2., 1.],
             [1., 1.]], dtype=float32)
    """
    name = "multivariate_normal"
    dtype = float_dtype(name, dtype)
    mean, cov = operand(name, mean, dtype), operand(name, cov, dtype)
    n = mean.shape[-1] if mean.ndim else None
    if n is None or cov.shape[-2:] != (n, n):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: mean and cov must have shapes [..., n] and [..., n, n], got {mean.shape} and "
            f"{cov.shape}.",
            fix="pass one row and column of `cov` per element of `mean`.",
            anchor="shape-linalg",
        )
    leading = broadcast_shape(name, mean[..., 0], cov[..., 0, 0])
    drawn = leading if shape is None else sizes(name, shape)
    noise = normal(key, (*drawn, n), dtype)
    factor = _factor(cov.astype(dtypes.wider(dtype, np.dtype(np.float32))), method)
    return ufuncs.add(*aligned(mean, products.matvec(factor.astype(dtype), noise)))


def _factor(cov, method):
    """Return matrices with ``factor @ transpose(factor) == cov``."""
    if method == "cholesky":
        return decompositions.cholesky(cov)
    if method == "eigh":
        w, v = spectra.eigh(cov)
        return v * ufuncs.sqrt(w)[..., None, :]
    if method == "svd":
        u, s, _ = spectra.svd(cov)
        return u * ufuncs.sqrt(s)[..., None, :]
    raise errors.user_error(
        ValueError,
        f"multivariate_normal: method must be 'cholesky', 'eigh' or 'svd', got {method!r}.",
        fix="use one of these.",
        anchor="choice",
    )


@drawing
def orthogonal(
    key: Key,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw orthogonal (unitary) matrices, uniformly (from the Haar measure).

    Args:
      key: one key.
      n: number of rows.
      shape: leading dimensions of the result.
      dtype: a floating or complex dtype, by default float32 (float64 if x64 is on).
      m: number of columns, by default n.
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of shape ``[*shape, n, m]`` with orthonormal columns, or rows if n < m.

    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups", 2007:
    QR factors of normal numbers, with the phases that make the diagonal of R positive.

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6)
      Array(True, dtype=bool)
    """
    dtype = inexact_dtype("orthogonal", dtype)
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    tall = (*sizes("orthogonal", shape), max(n, m), min(n, m))
    matrices.check_matrices("orthogonal", ShapedArray(tall, dtype))  # before numbers are drawn
    q, r = lax.qr(normal(key, tall, dtype), full_matrices=False)
    q = q * ufuncs.sign(matrices.diagonal(r))[..., None, :]
    return matrices.transposed(q) if n < m else q
