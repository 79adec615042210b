"""The frequencies to which the elements of Fourier transforms belong, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Axis, DTypeLike
from evertrace._src.numpy import creation, elementary, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, static_int
from evertrace._src.numpy.repeating import roll
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.ops.fft import half

# ---------------------------------------------------------------- frequencies


@native.planned(by_type=False)
def fftfreq(n: int, d: Any = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """Return the frequencies to which the elements of `fft` belong, in cycles per unit of `d`.

    Args:
      n: number of samples.
      d: distance between samples, a number or an array of rank 0.
      dtype: floating or complex dtype of the result; default float32 (float64 with x64).
      device: device or sharding to put it on.

    Returns:
      ``[0, 1, ..., -2, -1] / (n d)``: the zero frequency, the positive ones, the negative ones; for
      even n, n / 2 counts as negative. Empty for n = 0, where NumPy divides by zero.

    Example:
      >>> jnp.fft.fftfreq(4, 0.5).tolist()
      [0.0, 0.5, -1.0, -0.5]
    """
    n = _count("fftfreq", n)
    k = creation.arange(n)
    k = elementary.where(k < (n + 1) // 2, k, k - n)
    return _frequencies("fftfreq", k, n, d, dtype, device)


@native.planned(by_type=False)
def rfftfreq(n: int, d: Any = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """Return the frequencies to which the elements of `rfft` belong, in cycles per unit of `d`.

    Args:
      n: number of samples.
      d: distance between samples, a number or an array of rank 0.
      dtype: floating or complex dtype of the result; default float32 (float64 with x64).
      device: device or sharding to put it on.

    Returns:
      ``[0, 1, ..., n // 2] / (n d)``.

    Example:
      >>> jnp.fft.rfftfreq(4, 0.5).tolist()
      [0.0, 0.5, 1.0]
    """
    n = _count("rfftfreq", n)
    return _frequencies("rfftfreq", creation.arange(half(n)), n, d, dtype, device)


def _count(name, n):
    n = static_int(name, "n", n)
    if n < 0:
        raise errors.user_error(
            ValueError,
            f"{name}: the number of samples n must not be negative, got {n}.",
            fix="use the size of the transformed axis.",
        )
    return n


def _frequencies(name, k, n, d, dtype, device):
    dtype = creation.user_dtype(name, float if dtype is None else dtype)
    if np.dtype(dtype).kind in "biu":
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: frequencies are no integers, got dtype {dtype}.",
            fix="use a floating dtype.",
            anchor="dtype",
        )
    d = operand(name, d)
    if d.aval.ndim or is_complex(d):
        raise errors.user_error(
            errors.ShapeError if d.aval.ndim else errors.DTypeError,
            f"{name}: the distance d of samples must be one real number, got {d.aval.str_short()}.",
            fix="use `vmap` for several distances.",
            anchor="shape",
        )
    out = ufuncs.divide(convert(k, dtype), ufuncs.multiply(convert(d, dtype), n))
    return creation.placed(out, device)


# ---------------------------------------------------------------- shifts


@native.planned(by_type=False)
def fftshift(x: ArrayLike, axes: Axis = None) -> Array:
    """Move the zero frequency of a spectrum from the front of axes to their middle.

    Args:
      x: array.
      axes: int, sequence of ints, or None for all.

    Returns:
      Array of the same elements, ``n // 2`` places on.

    Example:
      >>> jnp.fft.fftshift(jnp.array([0, 1, 2, -2, -1])).tolist()
      [-2, -1, 0, 1, 2]
    """
    return _shifted("fftshift", x, axes, 1)


@native.planned(by_type=False)
def ifftshift(x: ArrayLike, axes: Axis = None) -> Array:
    """Undo `fftshift`: move the zero frequency from the middle of axes to their front.

    Args:
      x: array.
      axes: int, sequence of ints, or None for all.

    Returns:
      Array of the same elements, ``n // 2`` places back.

    Example:
      >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2])).tolist()
      [0, 1, 2, -2, -1]
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(name, x, axes, sign):
    x = operand(name, x)
    if axes is None:
        axes = range(x.aval.ndim)
    elif not hasattr(axes, "__len__"):
        axes = (axes,)
    axes = [canonical_axis(name, axis, x.aval.ndim) for axis in axes]
    return roll(x, [sign * (x.aval.shape[axis] // 2) for axis in axes], axes)
