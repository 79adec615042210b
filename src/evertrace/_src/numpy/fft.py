"""Discrete Fourier transforms, with NumPy's names and meaning.

All of them are `lax.fft` on arrays that were cut or filled up with zeros first. Single precision
stays single: real numbers become complex64 (complex128 if they are float64), and integers and half
precision are computed as float32. Three conventions of scaling are chosen with `norm`: 1 / N goes
to the inverse transform ("backward", the default), to the forward one ("forward"), or its root to
both ("ortho"), N being the number of elements transformed together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from evertrace._src import errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax import fft as lax_fft
from evertrace._src.numpy import elementary
from evertrace._src.numpy.arguments import distinct_axes, operand, static_int
from evertrace._src.ops.elementwise import scale
from evertrace._src.ops.fft import MAX_DIMS, FftType, half
from evertrace._src.ops.slicing import pad
from evertrace._src.ops.structural import inverse_permutation, permute
from evertrace._src.support import listed

_INVERSES = (FftType.IFFT, FftType.IRFFT)

# ---------------------------------------------------------------- one axis


@native.planned(by_type=False)
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the discrete Fourier transform along one axis.

    Element k of the result is the sum over j of ``a[j] exp(-2 pi i j k / n)``.

    Args:
      a: array of numbers.
      n: number of elements to transform: the axis is cut or filled up with zeros at its end.
        Default: its size.
      axis: the axis.
      norm: "backward" (default), "ortho" or "forward"; see the top of the module.

    Returns:
      Complex array of size n along the axis.

    Raises:
      ValueError: for an n below 1, or an unknown `norm`.

    Example:
      >>> jnp.fft.fft(jnp.array([1.0, 2.0, 0.0, 0.0])).tolist()
      [(3+0j), (1-2j), (-1+0j), (1+2j)]
    """
    return _along_one("fft", FftType.FFT, a, n, axis, norm)


@native.planned(by_type=False)
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `fft` along one axis.

    Args:
      a: array of numbers.
      n: number of elements to transform, as in `fft`.
      axis: the axis.
      norm: as in `fft`.

    Returns:
      Complex array of size n along the axis.

    Example:
      >>> jnp.fft.ifft(jnp.array([3, 1 - 2j, -1, 1 + 2j])).real.tolist()
      [1.0, 2.0, 0.0, 0.0]
    """
    return _along_one("ifft", FftType.IFFT, a, n, axis, norm)


@native.planned(by_type=False)
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the Fourier transform of real numbers along one axis, without its redundant half.

    Args:
      a: array of real numbers.
      n: number of elements to transform, as in `fft`.
      axis: the axis.
      norm: as in `fft`.

    Returns:
      Complex array of size ``n // 2 + 1`` along the axis: the first elements of `fft`.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 0.0, 0.0])).tolist()
      [(3+0j), (1-2j), (-1+0j)]
    """
    return _along_one("rfft", FftType.RFFT, a, n, axis, norm)


@native.planned(by_type=False)
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `rfft` along one axis.

    Args:
      a: array of numbers, half of a spectrum; the rest is taken to be its conjugate. Of elements
        that are their own partners (the first, and for even n the last) the real part counts.
      n: number of elements of the result. Default: ``2 * (m - 1)`` for the size m of the axis; give
        it for odd numbers. The axis is cut or filled up with zeros to ``n // 2 + 1``.
      axis: the axis.
      norm: as in `fft`.

    Returns:
      Real array of size n along the axis.

    Example:
      >>> jnp.fft.irfft(jnp.fft.rfft(jnp.array([1.0, 2.0, 4.0])), n=3).round(4).tolist()
      [1.0, 2.0, 4.0]
    """
    return _along_one("irfft", FftType.IRFFT, a, n, axis, norm)


@native.planned(by_type=False)
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the Fourier transform of what is Hermitian along one axis, of which half is given.

    Args:
      a: array of numbers, the first half of a signal whose other half is its conjugate, reversed.
      n: number of elements of the result, as in `irfft`.
      axis: the axis.
      norm: as in `fft`.

    Returns:
      Real array of size n along the axis.

    Example:
      >>> jnp.fft.hfft(jnp.array([1.0, 2.0, 1.0])).tolist()
      [6.0, 0.0, -2.0, 0.0]
    """
    x, norm = elementary.conj(operand("hfft", a)), _opposite("hfft", norm)
    return _along_one("hfft", FftType.IRFFT, x, n, axis, norm)


@native.planned(by_type=False)
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `hfft` along one axis.

    Args:
      a: array of real numbers, a spectrum.
      n: number of elements to transform, as in `fft`.
      axis: the axis.
      norm: as in `fft`.

    Returns:
      Complex array of size ``n // 2 + 1`` along the axis: half of the Hermitian signal.

    Example:
      >>> jnp.fft.ihfft(jnp.array([6.0, 0.0, -2.0, 0.0])).real.tolist()
      [1.0, 2.0, 1.0]
    """
    norm = _opposite("ihfft", norm)
    return elementary.conj(_along_one("ihfft", FftType.RFFT, a, n, axis, norm))


# ---------------------------------------------------------------- two axes


@native.planned(by_type=False)
def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Return the discrete Fourier transform along two axes; see `fftn`.

    Args:
      a: array of numbers.
      s: two sizes, as in `fftn`.
      axes: the axes.
      norm: as in `fft`.

    Returns:
      Complex array.

    Example:
      >>> jnp.fft.fft2(jnp.eye(2)).real.tolist()
      [[2.0, 0.0], [0.0, 2.0]]
    """
    return _transform("fft2", FftType.FFT, a, s, _pair("fft2", axes), norm)


@native.planned(by_type=False)
def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Return the inverse of `fft2` along two axes.

    Args:
      a: array of numbers.
      s: two sizes, as in `fftn`.
      axes: the axes.
      norm: as in `fft`.

    Returns:
      Complex array.

    Example:
      >>> jnp.fft.ifft2(jnp.fft.fft2(jnp.eye(2))).real.tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return _transform("ifft2", FftType.IFFT, a, s, _pair("ifft2", axes), norm)


@native.planned(by_type=False)
def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Return the Fourier transform of real numbers along two axes, without its redundant half.

    Args:
      a: array of real numbers.
      s: two sizes, as in `fftn`.
      axes: the axes; the last one gets the size ``s[-1] // 2 + 1``.
      norm: as in `fft`.

    Returns:
      Complex array.

    Example:
      >>> jnp.fft.rfft2(jnp.ones((2, 4))).real.tolist()
      [[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _transform("rfft2", FftType.RFFT, a, s, _pair("rfft2", axes), norm)


@native.planned(by_type=False)
def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Return the inverse of `rfft2` along two axes.

    Args:
      a: array of numbers.
      s: two sizes of the result, as in `irfftn`.
      axes: the axes.
      norm: as in `fft`.

    Returns:
      Real array.

    Example:
      >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.eye(2)), s=(2, 2)).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return _transform("irfft2", FftType.IRFFT, a, s, _pair("irfft2", axes), norm)


# ---------------------------------------------------------------- any number of axes


@native.planned(by_type=False)
def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the discrete Fourier transform along several axes.

    Args:
      a: array of numbers.
      s: one size per axis: axes are cut or filled up with zeros at their ends. Default: theirs.
      axes: distinct axes. Default: all, or the last ``len(s)``.
      norm: as in `fft`; N is the product of `s`.

    Returns:
      Complex array of sizes `s` along the axes.

    Example:
      >>> jnp.fft.fftn(jnp.ones((2, 2)), s=(2, 3)).shape
      (2, 3)
    """
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


@native.planned(by_type=False)
def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `fftn` along several axes.

    Args:
      a: array of numbers.
      s: sizes, as in `fftn`.
      axes: distinct axes, as in `fftn`.
      norm: as in `fft`.

    Returns:
      Complex array.

    Example:
      >>> jnp.fft.ifftn(jnp.fft.fftn(jnp.eye(2))).real.tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


@native.planned(by_type=False)
def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the Fourier transform of real numbers along several axes, without its redundant half.

    Args:
      a: array of real numbers.
      s: sizes, as in `fftn`.
      axes: distinct axes, as in `fftn`; the last one gets the size ``s[-1] // 2 + 1``.
      norm: as in `fft`.

    Returns:
      Complex array.

    Example:
      >>> jnp.fft.rfftn(jnp.ones((2, 3, 4))).shape
      (2, 3, 3)
    """
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


@native.planned(by_type=False)
def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `rfftn` along several axes.

    Args:
      a: array of numbers.
      s: sizes of the result. Default: those of `a`, the last one as in `irfft`.
      axes: distinct axes, as in `fftn`.
      norm: as in `fft`.

    Returns:
      Real array of sizes `s` along the axes.

    Example:
      >>> jnp.fft.irfftn(jnp.ones((2, 3, 3))).shape
      (2, 3, 4)
    """
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


# ---------------------------------------------------------------- how they are computed


def _along_one(name, kind, a, n, axis, norm):
    if isinstance(axis, tuple | list):
        raise errors.user_error(
            ValueError,
            f"{name}: transforms one axis, got {axis!r}.",
            fix=f"use `{name}n` for several." if "h" not in name else "name one.",
            anchor="axis",
        )
    return _transform(name, kind, a, None if n is None else (n,), (axis,), norm)


def _transform(name, kind, a, s, axes, norm):
    x = operand(name, a)
    _check_norm(name, norm)
    sizes = _sizes(name, s)
    axes = _axes(name, axes, sizes, x.aval.ndim)
    if sizes is None:
        sizes = [x.aval.shape[axis] for axis in axes]
        if kind is FftType.IRFFT and axes:
            sizes[-1] = max(2 * (sizes[-1] - 1), 0)
    x = _resized(x, kind, axes, sizes)
    return _scaled(_along(kind, x, axes, sizes), kind, max(math.prod(sizes), 1), norm)


def _resized(x, kind, axes, sizes):
    """Cut axes, or fill them up with zeros, to the sizes from which `kind` starts."""
    config = [(0, 0, 0)] * x.aval.ndim
    for axis, size in zip(axes, sizes, strict=True):
        if kind is FftType.IRFFT and axis == axes[-1]:
            size = half(size)
        config[axis] = (0, size - x.aval.shape[axis], 0)
    return pad(x, config)


def _along(kind, x, axes, sizes):
    """Transform axes of the right sizes, as many at once as is possible."""
    if len(axes) > MAX_DIMS:
        rest = FftType.IFFT if kind in _INVERSES else FftType.FFT
        first, last = (axes[:-MAX_DIMS], sizes[:-MAX_DIMS]), (axes[-MAX_DIMS:], sizes[-MAX_DIMS:])
        if kind is FftType.IRFFT:  # complex to real comes last
            return _along(kind, _along(rest, x, *first), *last)
        return _along(rest, _along(kind, x, *last), *first)
    order = [*(d for d in range(x.aval.ndim) if d not in axes), *axes]
    out = lax_fft.fft(permute(x, order), kind, sizes)
    return permute(out, inverse_permutation(order))


def _scaled(x, kind, size, norm):
    if norm is None or norm == "backward":
        return x
    factor = size if norm == "forward" else math.sqrt(size)
    return scale(x, factor if kind in _INVERSES else 1 / factor)


# ---------------------------------------------------------------- arguments

_OPPOSITES = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _check_norm(name, norm):
    if norm is not None and norm not in _OPPOSITES:
        raise errors.user_error(
            ValueError,
            f"{name}: there is no norm {norm!r}.",
            fix='use "backward", "ortho" or "forward".',
            anchor="choice",
        )


def _opposite(name, norm):
    """Return the convention of scaling of the transform in the other direction."""
    _check_norm(name, norm)
    return _OPPOSITES[norm or "backward"]


def _sizes(name, s):
    """Return the sizes that the user asks for as a list, or None."""
    if s is None:
        return None
    if not hasattr(s, "__len__"):
        raise errors.user_error(
            TypeError,
            f"{name}: s must be a sequence of sizes, got {s!r}.",
            fix="write it as a tuple, such as `(4,)`.",
        )
    sizes = [static_int(name, "the number of elements", n) for n in s]
    if any(n < 1 for n in sizes):
        raise errors.user_error(
            ValueError,
            f"{name}: the number of elements must be positive, got {', '.join(map(str, sizes))}.",
            fix="leave the argument out to transform the array's own sizes.",
            anchor="shape-fft",
        )
    return sizes


def _axes(name, axes, sizes, ndim):
    """Return the axes to transform, counted from the front."""
    if axes is None:
        axes = range(ndim) if sizes is None else range(-len(sizes), 0)
    elif not hasattr(axes, "__len__"):
        raise errors.user_error(
            TypeError,
            f"{name}: axes must be a sequence, got {axes!r}.",
            fix=f"write `({axes},)`.",
            anchor="axis",
        )
    if sizes is not None and len(sizes) != len(axes):
        raise errors.user_error(
            ValueError,
            f"{name}: {len(sizes)} sizes {listed(sizes)} for {len(axes)} axes {listed(axes)}.",
            fix="give one size per axis.",
            anchor="axis",
        )
    return distinct_axes(name, axes, ndim)


def _pair(name, axes):
    if not hasattr(axes, "__len__") or len(axes) != 2:
        raise errors.user_error(
            ValueError,
            f"{name}: axes must be two axes, got {axes!r}.",
            fix=f"name two, or use `{name[:-1]}n`.",
            anchor="axis",
        )
    return axes
