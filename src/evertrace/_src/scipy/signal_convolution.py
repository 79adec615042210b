"""Convolution and correlation in any number of dimensions, by sums or by Fourier transforms.

All of them are parts of one result, the *full* convolution, which is as large as the two arrays
reach: n1 + n2 - 1 along each axis. A mode names the part.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.conv import conv_general_dilated
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.numpy import elementary, fft, shape
from evertrace._src.numpy.arguments import canonical_axes, operand
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.signal")


@public
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two arrays of one rank.

    Element k of the full result is the sum over j of ``in1[j] in2[k - j]``.

    Args:
      in1: array of numbers.
      in2: array of numbers of the same rank.
      mode: "full" (sizes n1 + n2 - 1), "same" (the middle of it, of the shape of `in1`) or "valid"
        (sums without elements beyond the ends, sizes ``max(n1, n2) - min(n1, n2) + 1``; one array
        must then be at least as large as the other along each axis).
      method: "direct" or "auto" for sums of products, "fft" for `fftconvolve`. SciPy chooses by
        size where it is "auto"; JAX and this function do not.
      precision: see `evertrace.numpy.matmul`; "fft" has no use for it.

    Returns:
      Floating or complex array, also for integers, as in JAX.

    Raises:
      ShapeError: for arrays of different ranks, or without elements.
      ValueError: for an unknown mode or method.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])).tolist()
      [1.0, 12.0, 23.0, 30.0]
    """
    x, y = _operands("convolve", in1, in2)
    return _by_method("convolve", x, y, mode, method, precision)


@public
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the correlation of two arrays of one rank.

    It is the convolution of `in1` with the conjugate of `in2`, reversed along all axes.

    Args:
      in1: array of numbers.
      in2: array of numbers of the same rank.
      mode: see `convolve`.
      method: see `convolve`.
      precision: see `convolve`.

    Returns:
      Floating or complex array, also for integers, as in JAX.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])).tolist()
      [10.0, 21.0, 32.0, 3.0]
    """
    x, y = _operands("correlate", in1, in2)
    return _by_method("correlate", x, _reversed(y), mode, method, precision)


@public
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two matrices, `in1` being continued beyond its ends.

    Args:
      in1: matrix.
      in2: matrix.
      mode: see `convolve`.
      boundary: what lies beyond the ends of `in1`: "fill" (`fillvalue`), "wrap" (its other end) or
        "symm" (its mirror image). JAX has "fill" only.
      fillvalue: number for "fill"; JAX has 0 only.
      precision: see `convolve`.

    Returns:
      Floating or complex matrix, also for integers, as in JAX.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.convolve2d(jnp.eye(2), jnp.ones((2, 2)), "same").tolist()
      [[1.0, 1.0], [1.0, 2.0]]
    """
    x, y = _matrices("convolve2d", in1, in2)
    return _bounded("convolve2d", x, y, mode, boundary, fillvalue, precision)


@public
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the correlation of two matrices, `in1` being continued beyond its ends.

    It is the convolution of `in1` with the conjugate of `in2`, reversed along both axes.

    Args:
      in1: matrix.
      in2: matrix.
      mode: see `convolve`.
      boundary: see `convolve2d`.
      fillvalue: see `convolve2d`.
      precision: see `convolve`.

    Returns:
      Floating or complex matrix, also for integers, as in JAX.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.correlate2d(jnp.eye(2), jnp.ones((2, 2)), "valid").tolist()
      [[2.0]]
    """
    x, y = _matrices("correlate2d", in1, in2)
    return _bounded("correlate2d", x, _reversed(y), mode, boundary, fillvalue, precision)


@public
def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """Return the convolution of two arrays along axes, by Fourier transforms.

    The number of operations grows as n log n, where that of `convolve` is n1 n2; the error of each
    element is relative to the largest one.

    Args:
      in1: array of numbers.
      in2: array of numbers of the same rank.
      mode: see `convolve`.
      axes: int or sequence of ints: axes to convolve along. Along the others sizes are equal, or 1.
        Default: all.

    Returns:
      Floating or complex array.

    Raises:
      ShapeError: for arrays of different ranks, or that do not broadcast along the other axes.

    Example:
      >>> from evertrace.scipy import signal
      >>> signal.fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])).round(3).tolist()
      [1.0, 12.0, 23.0, 30.0]
    """
    x, y = _operands("fftconvolve", in1, in2)
    return _by_transforms("fftconvolve", x, y, mode, axes)


# ---------------------------------------------------------------- arguments


def _operands(name, in1, in2):
    x, y = promote_dtypes_inexact(name, operand(name, in1), operand(name, in2))
    if x.aval.ndim != y.aval.ndim:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes two arrays of one rank, got shapes {x.aval.shape} and {y.aval.shape}.",
            fix="add axes of size 1, e.g. with `y[None]`.",
            anchor="shape",
        )
    if not x.aval.size or not y.aval.size:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes arrays with elements, got shapes {x.aval.shape} and {y.aval.shape}.",
            fix="check the shapes.",
            anchor="shape",
        )
    return x, y


def _matrices(name, in1, in2):
    x, y = _operands(name, in1, in2)
    if x.aval.ndim != 2:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes matrices, got shapes {x.aval.shape} and {y.aval.shape}.",
            fix=f"use `{name[:-2]}`, which takes arrays of any rank.",
            anchor="shape",
        )
    return x, y


def _reversed(y):
    return elementary.conj(shape.flip(y))


def _parts(name, mode, n1, n2):
    """Return, per axis, where the part starts in the full convolution, and its size."""
    if mode == "full":
        return [(0, a + b - 1) for a, b in zip(n1, n2, strict=True)]
    if mode == "same":
        return [((b - 1) // 2, a) for a, b in zip(n1, n2, strict=True)]
    if mode != "valid":
        raise errors.user_error(
            ValueError,
            f"{name}: no mode {mode!r}.",
            fix='use "full", "same" or "valid".',
            anchor="choice",
        )
    pairs = list(zip(n1, n2, strict=True))
    if any(a < b for a, b in pairs) and any(a > b for a, b in pairs):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: no array contains the other, with sizes {tuple(n1)} and {tuple(n2)}.",
            fix='use mode "full" or "same", which continue `in1` beyond its ends.',
            anchor="shape",
        )
    return [(min(a, b) - 1, abs(a - b) + 1) for a, b in pairs]


# ---------------------------------------------------------------- sums of products


def _by_method(name, x, y, mode, method, precision):
    if method == "fft":
        return _by_transforms(name, x, y, mode, None)
    if method not in ("auto", "direct"):
        raise errors.user_error(
            ValueError,
            f"{name}: no method {method!r}.",
            fix='use "auto", "direct" or "fft".',
            anchor="choice",
        )
    return _by_sums(x, y, _parts(name, mode, x.aval.shape, y.aval.shape), precision)


def _by_sums(x, y, parts, precision):
    """Return a part of the full convolution, the smaller array sliding over the larger one."""
    if x.aval.size < y.aval.size:
        x, y = y, x
    padding = [
        (k - 1 - start, start + size - n)
        for (start, size), n, k in zip(parts, x.aval.shape, y.aval.shape, strict=True)
    ]
    out = conv_general_dilated(
        x[None, None], shape.flip(y)[None, None], (1,) * len(parts), padding, precision=precision
    )
    return out[0, 0]


_CONTINUATIONS = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _bounded(name, x, y, mode, boundary, fillvalue, precision):
    if boundary not in _CONTINUATIONS:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: no boundary {boundary!r}.",
            fix='use "fill", "wrap" or "symm".',
            anchor="choice",
        )
    parts = _parts(name, mode, x.aval.shape, y.aval.shape)
    if name == "correlate2d" and mode == "same":  # SciPy's middle of even sizes is another here
        parts = [(k // 2, size) for (_, size), k in zip(parts, y.aval.shape, strict=True)]
    is_zero = boundary == "fill" and isinstance(fillvalue, int | float) and fillvalue == 0
    if is_zero or mode == "valid":
        return _by_sums(x, y, parts, precision)
    reach = [(k - 1, k - 1) for k in y.aval.shape]
    values = {"constant_values": fillvalue} if boundary == "fill" else {}
    x = pad(x, reach, _CONTINUATIONS[boundary], **values)
    parts = [(start + k - 1, size) for (start, size), k in zip(parts, y.aval.shape, strict=True)]
    return _by_sums(x, y, parts, precision)


# ---------------------------------------------------------------- Fourier transforms


def _by_transforms(name, x, y, mode, axes):
    axes = canonical_axes(name, axes, x.aval.ndim)
    dtype = x.aval.dtype
    parts = _parts(name, mode, *[[z.aval.shape[axis] for axis in axes] for z in (x, y)])
    _check_other_axes(name, x.aval.shape, y.aval.shape, axes)
    if not axes:
        return x * y
    forward, inverse = (fft.fftn, fft.ifftn) if is_complex(x) else (fft.rfftn, fft.irfftn)
    lengths = [_fast_length(x.aval.shape[i] + y.aval.shape[i] - 1) for i in axes]
    out = inverse(forward(x, lengths, axes) * forward(y, lengths, axes), lengths, axes)
    for axis, (start, size) in zip(axes, parts, strict=True):
        out = slice_in_dim(out, start, start + size, axis)
    return convert(out, dtype)


def _check_other_axes(name, n1, n2, axes):
    others = [(n1[i], n2[i]) for i in range(len(n1)) if i not in axes]
    if any(a != b and 1 not in (a, b) for a, b in others):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shapes {n1} and {n2} do not broadcast along the axes other than {axes}.",
            fix="name all axes to convolve along in `axes`.",
            anchor="shape-broadcast",
        )


_ODD = [3**i * 5**j for i in range(41) for j in range(28) if 3**i * 5**j < 2**64]


@functools.lru_cache(maxsize=1024)
def _fast_length(size):
    """Return the smallest number from `size` on whose prime factors are 2, 3 and 5."""
    return min(odd << (-(-size // odd) - 1).bit_length() for odd in _ODD)
