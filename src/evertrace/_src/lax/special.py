"""Special functions of real numbers."""

from __future__ import annotations

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control import incomplete as _programs  # noqa: F401, for the rules it defines
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import gamma
from evertrace._src.ops import special as ops


def erf(x: ArrayLike) -> Array:
    """Return the error function, 2 / sqrt(pi) * integral of exp(-t**2) from 0 to x.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.erf(jnp.array([0.0, 0.5, -1.0]))
      Array([ 0.       ,  0.5204999, -0.8427008], dtype=float32)
    """
    return ops.erf_p.bind(as_operand(x, "erf"))


def erfc(x: ArrayLike) -> Array:
    """Return the complementary error function, 1 - erf(x).

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Precise where `erf` is near 1.

    Example:
      >>> lax.erfc(jnp.array([0.0, 5.0]))
      Array([1.0000000e+00, 1.5374598e-12], dtype=float32)
    """
    return ops.erfc_p.bind(as_operand(x, "erfc"))


def erf_inv(x: ArrayLike) -> Array:
    """Return the inverse of the error function.

    Args:
      x: a floating array, within [-1, 1].

    Returns:
      an array of the shape and dtype of `x`.

    At -1 and 1 it is infinite, outside NaN.

    Example:
      >>> lax.erf_inv(jnp.array([0.0, 0.5, 1.0]))
      Array([0.        , 0.47693628,        inf], dtype=float32)
    """
    return ops.erf_inv_p.bind(as_operand(x, "erf_inv"))


def lgamma(x: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the gamma function.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`. Next to the roots, 1 and 2, compiled values are exact
      to some ulps of 1 only, not of the value itself; as in JAX.

    Example:
      >>> lax.exp(lax.lgamma(jnp.array([5.0, 0.5])))
      Array([24.       ,  1.7724538], dtype=float32)
    """
    return ops.lgamma_p.bind(as_operand(x, "lgamma"))


def digamma(x: ArrayLike) -> Array:
    """Return the derivative of `lgamma`; NaN at its poles, 0, -1, -2, ...

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`. Next to the roots compiled values are exact to some
      ulps of 1 only, not of the value itself; as in JAX.

    Example:
      >>> lax.digamma(jnp.array([1.0, 2.0, 0.0]))
      Array([-0.5772157 ,  0.42278433,         nan], dtype=float32)
    """
    return ops.digamma_p.bind(as_operand(x, "digamma"))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Return the m-th derivative of the digamma function at x.

    Args:
      m: a floating array of whole numbers, the order of the derivative.
      x: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Differentiable by `x` only.

    Example:
      >>> lax.polygamma(1.0, jnp.array([1.0, 2.0]))
      Array([1.644934  , 0.64493406], dtype=float32)
    """
    return ops.polygamma_p.bind(*same_dtype_operands("polygamma", m, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Return the Hurwitz zeta function, the sum of (k + q) ** -x over k = 0, 1, 2, ...

    Args:
      x: a floating array.
      q: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Where a term is infinite, at q = 0, -1, ..., it is inf for 1 and even `x` and NaN for others;
    it is NaN too for infinite `q` and x > 1. SciPy has inf and 0 there. Differentiable by `q` only.

    Example:
      >>> lax.zeta(jnp.array([2.0, 4.0]), 1.0)
      Array([1.644934 , 1.0823232], dtype=float32)
    """
    return ops.zeta_p.bind(*same_dtype_operands("zeta", x, q))


def bessel_i0e(x: ArrayLike) -> Array:
    """Return exp(-abs(x)) * I0(x), the scaled modified Bessel function of order 0.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.bessel_i0e(jnp.array([0.0, 1.0, 100.0]))
      Array([1.        , 0.4657596 , 0.03994438], dtype=float32)
    """
    return ops.bessel_i0e_p.bind(as_operand(x, "bessel_i0e"))


def bessel_i1e(x: ArrayLike) -> Array:
    """Return exp(-abs(x)) * I1(x), the scaled modified Bessel function of order 1.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.

    Example:
      >>> lax.bessel_i1e(jnp.array([0.0, 1.0, 100.0]))
      Array([0.        , 0.20791042, 0.03974415], dtype=float32)
    """
    return ops.bessel_i1e_p.bind(as_operand(x, "bessel_i1e"))


# ---------------------------------------------------------------- incomplete functions


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised lower incomplete gamma function.

    That is the integral of ``t**(a - 1) * exp(-t)`` from 0 to x, divided by Gamma(a): the chance
    that a number drawn from the gamma distribution with exponent `a` is below `x`.

    Args:
      a: a floating array, not negative.
      x: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape; NaN where an operand is negative or NaN, or
      both are 0, or both are infinite.

    Differentiable by both. At ``a = 0`` and ``a = inf`` the value is the limit, 1 and 0, as in
    SciPy; JAX has NaN for some `x` there.

    Example:
      >>> print(round(float(lax.igamma(2.0, 3.0)), 4))
      0.8009
    """
    return gamma.igamma_p.bind(*same_dtype_operands("igamma", a, x))


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised upper incomplete gamma function, 1 - igamma(a, x).

    Small values are computed as such, not as a difference from 1.

    Args:
      a: a floating array, not negative.
      x: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape, see `igamma`.

    Example:
      >>> print(f"{float(lax.igammac(2.0, 60.0)):.2e}")
      5.34e-25
    """
    return gamma.igammac_p.bind(*same_dtype_operands("igammac", a, x))


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of `igamma` by `a`.

    Args:
      a: a floating array, positive.
      x: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape; 0 where `x` is 0, NaN where an operand is
      negative, infinite or NaN.

    Differentiable by `x` only.

    Example:
      >>> print(round(float(lax.igamma_grad_a(2.0, 3.0)), 4))
      -0.1974
    """
    return gamma.igamma_grad_a_p.bind(*same_dtype_operands("igamma_grad_a", a, x))


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative by `a` of a number `x` drawn from the gamma distribution.

    It is that of the quantile: ``igamma(a, x)`` stays what it is. Source: M. Figurnov, S. Mohamed,
    A. Mnih, "Implicit Reparameterization Gradients", NeurIPS 2018.

    Args:
      a: a floating array, positive: the exponent of the distribution.
      x: the same, the number drawn; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape, see `igamma_grad_a`.

    Not differentiable.

    Example:
      >>> print(round(float(lax.random_gamma_grad(2.0, 3.0)), 4))
      1.3218
    """
    return gamma.random_gamma_grad_p.bind(*same_dtype_operands("random_gamma_grad", a, x))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised incomplete beta function.

    That is the integral of ``t**(a - 1) * (1 - t)**(b - 1)`` from 0 to x, divided by that to 1.

    Args:
      a: a floating array, not negative.
      b: the same.
      x: the same, from 0 to 1; shapes are equal, or some are of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape; NaN where an operand is out of its range or
      NaN, or `a` and `b` are both 0 or both infinite.

    Differentiable by `x` only.

    Example:
      >>> print(round(float(lax.betainc(2.0, 3.0, 0.4)), 4))
      0.5248
    """
    operands = same_dtype_operands("betainc", a, b, x)
    return gamma.regularized_incomplete_beta_p.bind(*operands)
