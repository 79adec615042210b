"""The normal distribution of vectors."""

from __future__ import annotations

import math

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.linalg.systems import cholesky, triangular_solve
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import broadcast_to, common_shape, promote_dtypes_inexact
from evertrace._src.numpy.reductions import sum
from evertrace._src.numpy.ufuncs import exp, log
from evertrace._src.scipy.special.formulas import check_real
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.stats.multivariate_normal")


@public
def logpdf(
    x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: bool | None = None
) -> Array:
    """Return the logarithm of the density of a multivariate normal distribution.

    Without the logarithm it is ``exp(-y @ inv(cov) @ y / 2) / sqrt(det(2 * pi * cov))`` with
    ``y = x - mean``.

    Args:
      x: ``[..., d]`` floating array; integers become floats.
      mean: ``[..., d]``, broadcast with `x`.
      cov: ``[..., d, d]``, symmetric and positive definite; or a scalar, the variance of each
        element: on its own where `mean` is a scalar too, else of vectors.
      allow_singular: must be None.

    Returns:
      a floating array ``[...]``; NaN where `cov` is not positive definite. With a scalar `mean` and
      `cov` an array of the shape of `x`. A scalar `mean` beside a matrix stands for a vector (JAX
      broadcasts the result to a matrix).

    Raises:
      ValueError: `cov` is no square matrix that fits the vectors.

    Computed by a Cholesky decomposition of `cov`.

    Example:
      >>> from evertrace.scipy.stats import multivariate_normal
      >>> cov = jnp.array([[2.0, 0.5], [0.5, 1.0]])
      >>> round(float(multivariate_normal.logpdf(jnp.ones(2), jnp.zeros(2), cov)), 4)
      -2.6891
    """
    name = "multivariate_normal.logpdf"
    if allow_singular is not None:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: singular matrices are not supported, so allow_singular must be None.",
            fix="add a little to the diagonal of `cov`, e.g. `1e-6 * jnp.eye(d)`.",
            anchor="unsupported",
        )
    x, mean, cov = promote_dtypes_inexact(name, *[operand(name, a) for a in (x, mean, cov)])
    check_real(name, x.dtype)
    common_shape(name, [x.shape, mean.shape])
    y = x - mean
    if not mean.ndim and not cov.ndim:
        return -0.5 * (y * y / cov + log(2 * math.pi * cov))
    d = y.shape[-1] if y.ndim else 1
    if not cov.ndim:
        squares, log_det = sum(y * y, -1) / cov, d * log(cov)
    elif cov.ndim == 1 or cov.shape[-2:] != (d, d):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: cov must be a {d} by {d} matrix for vectors of {d}, got shape {cov.shape}.",
            fix="pass a diagonal as `jnp.diag(variances)`.",
            anchor="shape",
        )
    else:
        squares, log_det = _by_factor(name, y, cov)
    return -0.5 * (squares + log_det + d * math.log(2 * math.pi))


def _by_factor(name, y, cov):
    """Return ``y @ inv(cov) @ y`` and ``log(det(cov))``."""
    d = cov.shape[-1]
    batch = common_shape(name, [y.shape[:-1], cov.shape[:-2]])
    factor = cholesky(cov)
    log_det = 2 * sum(log(factor.diagonal(0, -2, -1)), -1)
    scaled = triangular_solve(
        broadcast_to(factor, (*batch, d, d)),
        broadcast_to(y, (*batch, d))[..., None],
        left_side=True,
        lower=True,
    )
    return sum(scaled[..., 0] * scaled[..., 0], -1), log_det


@public
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Return the density of a multivariate normal distribution.

    It is ``exp(-y @ inv(cov) @ y / 2) / sqrt(det(2 * pi * cov))`` with ``y = x - mean``.

    Args:
      x: ``[..., d]`` floating array; integers become floats.
      mean: ``[..., d]``, broadcast with `x`.
      cov: ``[..., d, d]``, symmetric and positive definite; or a scalar, see `logpdf`.

    Returns:
      a floating array ``[...]``; NaN where `cov` is not positive definite.

    Raises:
      ValueError: `cov` is no square matrix that fits the vectors.

    Example:
      >>> from evertrace.scipy.stats import multivariate_normal
      >>> cov = jnp.array([[2.0, 0.5], [0.5, 1.0]])
      >>> round(float(multivariate_normal.pdf(jnp.ones(2), jnp.zeros(2), cov)), 4)
      0.0679
    """
    return exp(logpdf(x, mean, cov))
