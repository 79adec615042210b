"""Discrete cosine transforms of the types I to IV, along one axis or several.

Each is written with a Fourier transform of twice the length, as each is the Fourier transform of a
symmetric extension of the array; for the types I to III that is one of real numbers. Source:
J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Transactions on Acoustics,
Speech, and Signal Processing 28 (1980); for n elements, with c = 2 except for an element that lies
on a mirror, where it is 1,

    I      y[k] = sum over j of c[j] x[j] cos(pi j k / (n - 1))
    II     y[k] = sum over j of  2   x[j] cos(pi (2 j + 1) k / (2 n))
    III    y[k] = sum over j of c[j] x[j] cos(pi j (2 k + 1) / (2 n))
    IV     y[k] = sum over j of  2   x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n))

I and IV are their own inverses, II and III each other's, up to a factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import fft, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, distinct_axes, operand, static_int
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.numpy.shape import moveaxis
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import complex_p, imag_p, is_complex, real_p, scale
from evertrace._src.ops.slicing import pad
from evertrace._src.support import listed, set_module

public = set_module("evertrace.scipy.fft")


@public
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the discrete cosine transform along an axis.

    Args:
      x: array of numbers; float16, bfloat16 and integers are computed as float32. Of complex
        numbers the parts are transformed one by one.
      type: 1, 2, 3 or 4; JAX has 2 only. The sums are those at the top of the module (SciPy's).
      n: number of elements to transform: the axis is cut or filled up with zeros at its end.
        Default: its size.
      axis: the axis.
      norm: what the sums are divided by: "backward" (default) by nothing, "forward" by 2 n
        (``2 (n - 1)`` for type 1), "ortho" by its root; the last makes the transform orthogonal, by
        weighting elements on a mirror with the root of 2. JAX has no "forward".

    Returns:
      Floating array of size n along the axis.

    Raises:
      ValueError: for an unknown `type` or `norm`, or too few elements.

    Example:
      >>> import evertrace.scipy.fft
      >>> ev.scipy.fft.dct(jnp.array([1.0, 2.0, 3.0])).round(3).tolist()
      [12.0, -3.464, 0.0]
    """
    return _transform("dct", x, type, n, axis, norm)


@public
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the inverse of `dct` along an axis.

    Args:
      x: array of numbers, as for `dct`.
      type: 1, 2, 3 or 4: that of the transform to invert; JAX has 2 only.
      n: number of elements to transform, as in `dct`.
      axis: the axis.
      norm: that of the transform to invert, see `dct`.

    Returns:
      Floating array of size n along the axis.

    Example:
      >>> import evertrace.scipy.fft
      >>> ev.scipy.fft.idct(ev.scipy.fft.dct(jnp.array([1.0, 2.0, 3.0]))).round(4).tolist()
      [1.0, 2.0, 3.0]
    """
    return _transform("idct", x, type, n, axis, norm)


@public
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the discrete cosine transform along several axes.

    Args:
      x: array of numbers, as for `dct`.
      type: see `dct`.
      s: one size per axis, or one int for one axis: axes are cut or filled up with zeros.
        Default: theirs.
      axes: int or sequence of ints. Default: all, or the last ``len(s)``. (In JAX `s` does not
        choose axes, and fails if it is shorter than the shape.)
      norm: see `dct`.

    Returns:
      Floating array of sizes `s` along the axes.

    Example:
      >>> import evertrace.scipy.fft
      >>> ev.scipy.fft.dctn(jnp.ones((2, 2))).round(4).tolist()
      [[16.0, 0.0], [0.0, 0.0]]
    """
    return _along_several("dctn", x, type, s, axes, norm)


@public
def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `dctn` along several axes.

    Args:
      x: array of numbers, as for `dct`.
      type: that of the transform to invert, see `dct`.
      s: sizes, as in `dctn`.
      axes: axes, as in `dctn`.
      norm: that of the transform to invert, see `dct`.

    Returns:
      Floating array of sizes `s` along the axes.

    Example:
      >>> import evertrace.scipy.fft
      >>> ev.scipy.fft.idctn(jnp.array([[16.0, 0.0], [0.0, 0.0]])).round(4).tolist()
      [[1.0, 1.0], [1.0, 1.0]]
    """
    return _along_several("idctn", x, type, s, axes, norm)


# ---------------------------------------------------------------- arguments

_INVERSE_TYPES = {1: 1, 2: 3, 3: 2, 4: 4}
_NORMS = ("backward", "ortho", "forward")


def _along_several(name, x, type, s, axes, norm):
    x = operand(name, x)
    sizes = None
    if s is not None:
        s = s if hasattr(s, "__len__") else (s,)
        sizes = [static_int(name, "the number of elements", n) for n in s]
    if axes is None:
        axes = range(x.aval.ndim) if sizes is None else range(-len(sizes), 0)
    axes = distinct_axes(name, axes if hasattr(axes, "__len__") else (axes,), x.aval.ndim)
    if sizes is None:
        sizes = [x.aval.shape[axis] for axis in axes]
    elif len(sizes) != len(axes):
        raise errors.user_error(
            ValueError,
            f"{name}: {len(sizes)} sizes {listed(sizes)} for {len(axes)} axes {axes}.",
            fix="give one size per axis.",
            anchor="axis",
        )
    (x,) = promote_dtypes_inexact(name, x)
    for axis, n in zip(axes, sizes, strict=True):
        x = _transform(name, x, type, n, axis, norm)
    return x


def _transform(name, x, kind, n, axis, norm):
    """Transform one axis; the name says in which direction."""
    x = _in_wide_dtype(name, x)
    axis = canonical_axis(name, axis, x.aval.ndim)
    norm = "backward" if norm is None else norm
    if kind not in _INVERSE_TYPES:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: there is no type {kind!r}.",
            fix="use 1, 2, 3 or 4.",
            anchor="choice",
        )
    if norm not in _NORMS:
        raise errors.user_error(
            ValueError,
            f"{name}: there is no norm {norm!r}.",
            fix='use "backward", "ortho" or "forward".',
            anchor="choice",
        )
    n = x.aval.shape[axis] if n is None else static_int(name, "the number of elements", n)
    if n < (2 if kind == 1 else 1):
        raise errors.user_error(
            ValueError,
            f"{name}: type {kind} takes {2 if kind == 1 else 1} elements or more, got {n}.",
            fix="check the axis and n.",
        )
    x = moveaxis(x, axis, -1)
    x = pad(x, [*[(0, 0, 0)] * (x.aval.ndim - 1), (0, n - x.aval.shape[-1], 0)])
    is_inverse = name.startswith("i")
    if is_inverse:
        kind, norm = _INVERSE_TYPES[kind], _NORMS[::-1][_NORMS.index(norm)]
    return moveaxis(_normalized(x, kind, n, norm), -1, axis)


def _in_wide_dtype(name, x):
    """Return the operand in float32, float64 or a complex dtype."""
    (x,) = promote_dtypes_inexact(name, operand(name, x))
    is_narrow = dtypes.issubdtype(x.aval.dtype, np.floating) and x.aval.dtype.itemsize < 4
    return convert(x, np.dtype(np.float32)) if is_narrow else x


# ---------------------------------------------------------------- transforms of the last axis


def _normalized(x, kind, n, norm):
    size = 2 * (n - 1) if kind == 1 else 2 * n
    if norm != "ortho":
        x = _sums(x, kind, n)
        return scale(x, 1 / size) if norm == "forward" else x
    before, after = _MIRRORS[kind]
    x = scale(_sums(_weighted(x, kind, n, before), kind, n), 1 / math.sqrt(size))
    return _weighted(x, kind, n, after)


_MIRRORS = {1: (2.0, 0.5), 2: (1.0, 0.5), 3: (2.0, 1.0), 4: (1.0, 1.0)}
"""Squares of the weights that elements on a mirror get before and after an orthogonal transform."""


def _weighted(x, kind, n, square):
    if square == 1.0:
        return x
    weights = np.ones(n)
    weights[[0, -1] if kind == 1 else 0] = math.sqrt(square)
    return _times(x, weights.astype(x.aval.dtype))


def _sums(x, kind, n):
    if is_complex(x):
        return complex_p.bind(*[_SUMS[kind](part(x), n) for part in (real_p.bind, imag_p.bind)])
    return _SUMS[kind](x, n)


def _first(x, n):
    return fft.irfft(x, 2 * (n - 1), norm="forward")[..., :n]


def _second(x, n):
    return 2 * real_p.bind(_times(fft.rfft(x, 2 * n)[..., :n], _turns(n, 0, x)))


def _third(x, n):
    spectrum = _times(_complex(x), _turns(n, 0, x).conj())
    return fft.irfft(spectrum, 2 * n, norm="forward")[..., :n]


def _fourth(x, n):
    spectrum = fft.fft(_times(_complex(x), _turns(n, 0, x)), 2 * n)[..., :n]
    return 2 * real_p.bind(_times(spectrum, _turns(n, 0.5, x)))


_SUMS = {1: _first, 2: _second, 3: _third, 4: _fourth}


def _turns(n, shift, x):
    """Return ``exp(-pi i (k + shift) / (2 n))`` for k = 0 .. n - 1, in the precision of `x`."""
    turns = np.exp(-0.5j * np.pi * (np.arange(n) + shift) / n)
    return turns.astype(np.result_type(x.aval.dtype, np.complex64))


def _complex(x):
    return convert(x, np.result_type(x.aval.dtype, np.complex64))


def _times(x, weights):
    """Multiply the last axis by numbers of the host, of the dtype of `x`."""
    return ufuncs.multiply(*aligned(x, from_host(weights)))
