"""Convolution and correlation of vectors, in floats as in JAX."""

from __future__ import annotations

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.conv import conv_general_dilated
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy import elementary
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.numpy.shape import flip


@native.planned(by_type=False)
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the convolution of two vectors.

    Args:
      a: vector of n elements.
      v: vector of m elements.
      mode: "full" (n + m - 1 elements), "same" (the middle max(n, m) of them) or "valid" (those to
        which all elements of the shorter vector contribute).
      precision: see `matmul`.
      preferred_element_type: dtype of the sums and of the result.

    Returns:
      Vector, floating also for integers and booleans as in JAX but not in NumPy.

    Raises:
      ShapeError: `a` or `v` is empty or not a vector.

    Example:
      >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1]))
      Array([1., 3., 5., 3.], dtype=float32)
      >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1]), mode="valid")
      Array([3., 5.], dtype=float32)
    """
    x, y = _vectors("convolve", a, v)
    if x.aval.size < y.aval.size:
        x, y = y, x
    padding = _padding("convolve", mode, y.aval.size)
    return _slide(x, flip(y), padding, precision, preferred_element_type)


@native.planned(by_type=False)
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the sums of products of one vector with the conjugate of another, shifted.

    Args:
      a: vector of n elements.
      v: vector of m elements.
      mode: see `convolve`.
      precision: see `matmul`.
      preferred_element_type: see `matmul`.

    Returns:
      Vector, floating also for integers and booleans as in JAX but not in NumPy.

    Raises:
      ShapeError: `a` or `v` is empty or not a vector.

    Example:
      >>> jnp.correlate(jnp.array([1.0, 2.0, 4.0, 2.0]), jnp.array([1.0, 2.0]))
      Array([ 5., 10.,  8.], dtype=float32)
    """
    x, y = _vectors("correlate", a, v)
    y = elementary.conj(y)
    is_swapped = x.aval.size < y.aval.size
    if is_swapped:
        x, y = y, x
    padding = _padding("correlate", mode, y.aval.size)
    if is_swapped:
        padding = padding[::-1]
    out = _slide(x, y, padding, precision, preferred_element_type)
    return flip(out) if is_swapped else out


def _vectors(name, a, v):
    x, y = promote_dtypes_inexact(name, operand(name, a), operand(name, v))
    if x.aval.ndim != 1 or y.aval.ndim != 1 or not x.aval.size or not y.aval.size:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes vectors that are not empty, got shapes {x.aval.shape} and "
            f"{y.aval.shape}.",
            fix="use `lax.conv_general_dilated` for more dimensions.",
            anchor="shape",
        )
    return x, y


def _padding(name, mode, size):
    """Return how many zeros are put before and after the longer vector."""
    widths = {"valid": (0, 0), "same": (size // 2, size - size // 2 - 1), "full": (size - 1,) * 2}
    if mode not in widths:
        raise errors.user_error(
            ValueError,
            f"{name}: no mode {mode!r}.",
            fix='use "full", "same" or "valid".',
            anchor="choice",
        )
    return widths[mode]


def _slide(x, y, padding, precision, preferred_element_type):
    out = conv_general_dilated(
        x[None, None],
        y[None, None],
        (1,),
        [padding],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return out[0, 0]
