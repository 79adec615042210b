"""The Dirichlet distribution of probabilities."""

from __future__ import annotations

import math

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.numpy.reductions import all, sum
from evertrace._src.numpy.ufuncs import abs, exp
from evertrace._src.scipy.special.elementary import xlogy
from evertrace._src.scipy.special.formulas import check_real
from evertrace._src.scipy.special.gamma import gammaln
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.stats.dirichlet")


@public
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the logarithm of the density of the Dirichlet distribution.

    Without the logarithm it is ``prod(x**(alpha - 1)) / B(alpha)`` over the first axis, with
    ``B(alpha) = prod(Gamma(alpha)) / Gamma(sum(alpha))``.

    Args:
      x: ``[k, ...]`` floating, probabilities that add up to 1; or ``[k - 1, ...]``, all but
        the last.
      alpha: ``[k]`` floating, positive.

    Returns:
      a floating array ``[...]``; -inf where `x` has numbers that are not positive or do not add up
      to 1 within a thousand spacings of the dtype, NaN for NaN (JAX has -inf).

    Raises:
      ValueError: `alpha` has not one dimension, or `x` not `k` or ``k - 1`` rows.

    Example:
      >>> from evertrace.scipy.stats import dirichlet
      >>> alpha = jnp.array([1.0, 2.0, 3.0])
      >>> round(float(dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5]), alpha)), 4)
      1.5041
    """
    name = "dirichlet.logpdf"
    x, alpha = promote_dtypes_inexact(name, operand(name, x), operand(name, alpha))
    check_real(name, x.dtype)
    canonical_axis(name, 0, x.ndim)
    k = alpha.size
    if alpha.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: alpha must have one dimension, got shape {alpha.shape}.",
            fix="map over several of them with `vmap`.",
            anchor="shape",
        )
    if x.shape[0] not in (k - 1, k):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: x must have {k} or {k - 1} rows beside {k} elements of alpha, got shape "
            f"{x.shape}.",
            fix="let probabilities run along the first axis, e.g. with `x.T`.",
            anchor="shape",
        )
    if x.shape[0] == k - 1:
        x = concatenate([x, 1 - sum(x, 0, keepdims=True)])
    alpha = alpha.reshape(k, *[1] * (x.ndim - 1))
    total = sum(x, 0)
    is_one = abs(total - 1) < 1000 * float(np.finfo(x.dtype).eps)
    is_inside = is_one & all(x > 0, 0)
    terms = xlogy(alpha - 1, where(is_inside, x, 1)) - gammaln(alpha)
    value = where(is_inside, sum(terms, 0) + gammaln(sum(alpha)), -math.inf)
    return where(total == total, value, math.nan)


@public
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the density of the Dirichlet distribution.

    It is ``prod(x**(alpha - 1)) / B(alpha)`` over the first axis, with
    ``B(alpha) = prod(Gamma(alpha)) / Gamma(sum(alpha))``.

    Args:
      x: ``[k, ...]`` floating, probabilities that add up to 1; or ``[k - 1, ...]``, all but
        the last.
      alpha: ``[k]`` floating, positive.

    Returns:
      a floating array ``[...]``; 0 where `x` has numbers that are not positive or do not add up
      to 1, as in `logpdf`.

    Raises:
      ValueError: `alpha` has not one dimension, or `x` not `k` or ``k - 1`` rows.

    Example:
      >>> from evertrace.scipy.stats import dirichlet
      >>> alpha = jnp.array([1.0, 2.0, 3.0])
      >>> round(float(dirichlet.pdf(jnp.array([0.2, 0.3, 0.5]), alpha)), 4)
      4.5
    """
    return exp(logpdf(x, alpha))
