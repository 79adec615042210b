"""The multinomial distribution."""

from __future__ import annotations

import builtins
import math

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy.arguments import canonical_axis, operand
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.promotion import common_shape, promote_dtypes_inexact
from evertrace._src.numpy.reductions import all, sum
from evertrace._src.numpy.ufuncs import exp
from evertrace._src.ops.convert import convert
from evertrace._src.scipy.special.elementary import xlogy
from evertrace._src.scipy.special.formulas import check_real
from evertrace._src.scipy.special.gamma import gammaln
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.stats.multinomial")


@public
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the logarithms of the probabilities of the multinomial distribution.

    Without the logarithm they are ``n! * prod(p**x / x!)`` over the last axis.

    Args:
      x: ``[..., k]`` integers, how often each of k things happened.
      n: ``[...]`` integers, the number of trials.
      p: ``[..., k]`` floating, the probabilities of the things, broadcast with `x`.

    Returns:
      a floating array of the shape that `x` and `p` have in common, without the last axis, and `n`;
      -inf where the counts do not add up to `n` or one is negative. JAX does not take more than one
      `n`.

    Raises:
      ValueError: `x` or `n` are no integers.

    Example:
      >>> from evertrace.scipy.stats import multinomial
      >>> p = jnp.array([0.2, 0.3, 0.5])
      >>> round(float(multinomial.logpmf(jnp.array([1, 2, 0]), 3, p)), 4)
      -2.9188
    """
    name = "multinomial.logpmf"
    x, n, p = (operand(name, a) for a in (x, n, p))
    found = [a.dtype for a in (x, n)]
    if not builtins.all(dtypes.issubdtype(dtype, np.integer) for dtype in found):
        raise errors.user_error(
            ValueError,
            f"{name}: x and n must be integers, got dtypes {found[0]} and {found[1]}.",
            fix="convert them, e.g. with `x.astype(int)`.",
            anchor="dtype",
        )
    canonical_axis(name, -1, max(x.ndim, p.ndim))
    common_shape(name, [x.shape, p.shape])
    is_possible = (n == sum(x, -1)) & all(x >= 0, -1)
    (p,) = promote_dtypes_inexact(name, p)
    x, n = convert(x, p.dtype), convert(n, p.dtype)
    check_real(name, p.dtype)
    counts = where(x >= 0, x, 0)
    value = gammaln(n + 1) + sum(xlogy(counts, p) - gammaln(counts + 1), -1)
    return where(is_possible, value, -math.inf)


@public
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the probabilities of the multinomial distribution.

    They are ``n! * prod(p**x / x!)`` over the last axis.

    Args:
      x: ``[..., k]`` integers, how often each of k things happened.
      n: ``[...]`` integers, the number of trials.
      p: ``[..., k]`` floating, the probabilities of the things, broadcast with `x`.

    Returns:
      a floating array of the shape that `x` and `p` have in common, without the last axis, and `n`;
      0 where the counts do not add up to `n` or one is negative.

    Raises:
      ValueError: `x` or `n` are no integers.

    Example:
      >>> from evertrace.scipy.stats import multinomial
      >>> p = jnp.array([0.2, 0.3, 0.5])
      >>> round(float(multinomial.pmf(jnp.array([1, 2, 0]), 3, p)), 4)
      0.054
    """
    return exp(logpmf(x, n, p))
