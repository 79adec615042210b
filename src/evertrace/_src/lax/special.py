"""Special functions of real numbers."""

from evertrace._src.arrays.interop import as_operand
from evertrace._src.lax.broadcasting import same_dtype_operands
from evertrace._src.ops import special as ops

__all__ = [
    "bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma", "polygamma",
    "zeta",
]  # fmt: skip


def erf(x):
    """Return the error function, 2 / sqrt(pi) * integral of exp(-t**2) from 0 to x.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.erf_p.bind(as_operand(x, "erf"))


def erfc(x):
    """Return the complementary error function, 1 - erf(x).

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.erfc_p.bind(as_operand(x, "erfc"))


def erf_inv(x):
    """Return the inverse of the error function.

    Args:
      x: a floating array, within [-1, 1].

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.erf_inv_p.bind(as_operand(x, "erf_inv"))


def lgamma(x):
    """Return the logarithm of the absolute value of the gamma function.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.lgamma_p.bind(as_operand(x, "lgamma"))


def digamma(x):
    """Return the derivative of `lgamma`; NaN at its poles, 0, -1, -2, ...

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.digamma_p.bind(as_operand(x, "digamma"))


def polygamma(m, x):
    """Return the m-th derivative of the digamma function at x.

    Args:
      m: a floating array of whole numbers, the order of the derivative.
      x: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Differentiable by `x` only.
    """
    return ops.polygamma_p.bind(*same_dtype_operands("polygamma", m, x))


def zeta(x, q):
    """Return the Hurwitz zeta function, the sum of (k + q) ** -x over k = 0, 1, 2, ...

    Args:
      x: a floating array.
      q: the same; shapes are equal, or one is of rank 0, or sizes are 1.

    Returns:
      an array of the operands' dtype and common shape.

    Differentiable by `q` only.
    """
    return ops.zeta_p.bind(*same_dtype_operands("zeta", x, q))


def bessel_i0e(x):
    """Return exp(-abs(x)) * I0(x), the scaled modified Bessel function of order 0.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.bessel_i0e_p.bind(as_operand(x, "bessel_i0e"))


def bessel_i1e(x):
    """Return exp(-abs(x)) * I1(x), the scaled modified Bessel function of order 1.

    Args:
      x: a floating array.

    Returns:
      an array of the shape and dtype of `x`.
    """
    return ops.bessel_i1e_p.bind(as_operand(x, "bessel_i1e"))
