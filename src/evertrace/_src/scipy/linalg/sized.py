"""Matrices given by their size alone: of Hilbert, Pascal, Hadamard and others.

They are computed in NumPy, exactly where elements are integers, and rounded once.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import DTypeLike
from evertrace._src.numpy import creation
from evertrace._src.numpy.arguments import static_int
from evertrace._src.scipy.linalg.arguments import choice, public


def _rounded(values):
    """Return a NumPy array of numbers as an array of the default float dtype."""
    with np.errstate(over="ignore"):  # what is beyond that dtype is infinite
        return creation.asarray(np.asarray(values, np.float64), dtypes.default_dtype(float))


def _table(n, rows):
    """Return the ``n x n`` matrix of exact integers that `rows` gives, rounded."""
    n = max(n, 0)
    try:
        out = np.zeros((n, n))
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than there are addresses
        raise errors.out_of_memory() from error
    for values, row in zip(out, rows, strict=False):
        values[:] = [_to_float(x) for x in row[:n]]
    return _rounded(out)


def _to_float(x):
    """Return the float next to an integer, infinity where floats end."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


_BEYOND = 1 << 1100
"""An integer beyond all floats, as good as any larger one."""


def _sums(n):
    """Yield the rows of the symmetric Pascal matrix: the running sums of the row above."""
    row = [1] * n
    for _ in range(n):
        yield row
        row = [min(x, _BEYOND) for x in itertools.accumulate(row)]


def _choices(n, sign=1):
    """Yield the rows of the lower Pascal matrix, ``comb(i, j)``, times ``sign ** (i + j)``."""
    row = [1] + [0] * (n - 1)
    for _ in range(n):
        yield row
        below = [sign * row[0], *[a + sign * b for a, b in itertools.pairwise(row)]]
        row = [max(min(x, _BEYOND), -_BEYOND) for x in below]


def _inverse_sums(n):
    """Yield the rows of the inverse of the symmetric matrix: of ``sum_k comb(k, i) comb(k, j)``.

    As ``comb(k + 1, i)`` is ``comb(k, i) + comb(k, i - 1)``, a row follows from that above.
    """
    choose = [math.comb(n, j) for j in range(n + 1)]
    row = [0] * (n + 1)
    for i in range(n):
        row = [choose[i] * choose[j + 1] - row[j] - row[j + 1] for j in range(n)] + [0]
        yield [-x if (i + j) % 2 else x for j, x in enumerate(row)]


@public
def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Make the matrix of the discrete Fourier transform, ``exp(-2j pi i k / n)``.

    Args:
      n: its size.
      scale: None, "sqrtn" for a unitary matrix, or "n": what to divide by.
      dtype: a complex dtype; default that of Python's complex numbers.

    Returns:
      ``[n, n]``.

    Example:
      >>> ev.scipy.linalg.dft(2).real
      Array([[ 1.,  1.],
             [ 1., -1.]], dtype=float32)
    """
    n = max(static_int("dft", "n", n), 0)
    choice("dft", "scale", scale, (None, "sqrtn", "n"))
    dtype = creation.user_dtype("dft", dtype) or dtypes.default_dtype(complex)
    if not dtypes.issubdtype(dtype, np.complexfloating):
        raise errors.user_error(
            errors.DTypeError,
            f"dft: dtype must be complex, got {dtypes.short_name(dtype)}.",
            fix="leave it out.",
            anchor="dtype",
        )
    turns = np.arange(n)[:, None] * np.arange(n) % max(n, 1)  # exact, unlike large angles
    out = np.exp(-2j * np.pi * turns / max(n, 1))
    out /= {None: 1, "sqrtn": math.sqrt(max(n, 1)), "n": max(n, 1)}[scale]
    return creation.asarray(out.astype(dtype))


@public
def hadamard(n: int, dtype: Any = int) -> Array:
    """Make the Hadamard matrix of Sylvester's construction: ones and minus ones.

    Args:
      n: its size, a power of 2.
      dtype: of the result.

    Returns:
      ``[n, n]``, orthogonal columns of length ``sqrt(n)``.

    Example:
      >>> ev.scipy.linalg.hadamard(2)
      Array([[ 1,  1],
             [ 1, -1]], dtype=int32)
    """
    n = static_int("hadamard", "n", n)
    if n < 1 or n & (n - 1):
        raise errors.user_error(
            ValueError,
            f"hadamard: n must be a positive power of 2, got {n}.",
            fix=f"use e.g. {1 << max(n, 1).bit_length()}.",
        )
    dtype = creation.user_dtype("hadamard", dtype)
    try:
        out = np.ones((n, n), np.int8)
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than there are addresses
        raise errors.out_of_memory() from error
    half = 1
    while half < n:
        corner = out[:half, :half]
        out[:half, half : 2 * half] = out[half : 2 * half, :half] = corner
        out[half : 2 * half, half : 2 * half] = -corner
        half *= 2
    return creation.asarray(out, dtype)


@public
def helmert(n: int, full: bool = False) -> Array:
    """Make the Helmert matrix: orthonormal rows, each comparing an element with the mean before it.

    Args:
      n: its size, positive.
      full: whether to put the row of means, ``1 / sqrt(n)``, on top.

    Returns:
      ``[n - 1, n]``, or ``[n, n]`` with `full`.

    Example:
      >>> ev.scipy.linalg.helmert(2).round(4)
      Array([[ 0.7071, -0.7071]], dtype=float32)
    """
    n = static_int("helmert", "n", n)
    if n < 1:
        raise errors.user_error(
            ValueError, f"helmert: n must be positive, got {n}.", fix="pass the size."
        )
    k = np.arange(1, n)[:, None]
    rows = np.tri(n - 1, n) - k * np.eye(n - 1, n, 1)
    rows = rows / np.sqrt(k * (k + 1.0))
    return _rounded(np.vstack([np.full((1, n), n**-0.5), rows]) if full else rows)


@public
def hilbert(n: int) -> Array:
    """Make the Hilbert matrix, ``1 / (i + j + 1)``.

    Args:
      n: its size.

    Returns:
      ``[n, n]``.

    Example:
      >>> ev.scipy.linalg.hilbert(2).round(4)
      Array([[1.    , 0.5   ],
             [0.5   , 0.3333]], dtype=float32)
    """
    n = static_int("hilbert", "n", n)
    if n < 0:
        raise errors.user_error(
            errors.ShapeError,
            f"hilbert: n must not be negative, got {n}.",
            fix="pass the size.",
            anchor="shape",
        )
    return _rounded(1 / (np.arange(n)[:, None] + np.arange(n) + 1.0))


@public
def invhilbert(n: int) -> Array:
    """Make the inverse of the Hilbert matrix, whose elements are integers.

    Args:
      n: its size.

    Returns:
      ``[n, n]``: exact integers, rounded to floats. Differs from SciPy: there is no `exact`.

    Example:
      >>> ev.scipy.linalg.invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    """
    n = static_int("invhilbert", "n", n)

    def element(i, j):
        size = (i + j + 1) * math.comb(i + j, i) ** 2
        return (-1) ** (i + j) * size * math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1)

    return _table(n, ([element(i, j) for j in range(n)] for i in range(n)))


_KINDS = ("symmetric", "lower", "upper", None)


@public
def pascal(n: int, kind: str | None = None) -> Array:
    """Make a Pascal matrix: binomial coefficients.

    Args:
      n: its size.
      kind: "symmetric" (default) for ``comb(i + j, i)``, "lower" for ``comb(i, j)``, "upper" for
        the transpose of that.

    Returns:
      ``[n, n]``: exact integers, rounded to floats. Differs from SciPy: there is no `exact`.

    Example:
      >>> ev.scipy.linalg.pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    """
    n = static_int("pascal", "n", n)
    choice("pascal", "kind", kind, _KINDS)
    if kind in ("symmetric", None):
        return _table(n, _sums(n))
    out = _table(n, _choices(n))
    return out.T if kind == "upper" else out


@public
def invpascal(n: int, kind: str | None = None) -> Array:
    """Make the inverse of a Pascal matrix, whose elements are integers.

    Args:
      n: its size.
      kind: see `pascal`.

    Returns:
      ``[n, n]``: exact integers, rounded to floats. Differs from SciPy: there is no `exact`.

    Example:
      >>> ev.scipy.linalg.invpascal(3, kind="lower")
      Array([[ 1.,  0.,  0.],
             [-1.,  1.,  0.],
             [ 1., -2.,  1.]], dtype=float32)
    """
    n = static_int("invpascal", "n", n)
    choice("invpascal", "kind", kind, _KINDS)
    if kind in ("symmetric", None):
        return _table(n, _inverse_sums(n))
    out = _table(n, _choices(n, -1))
    return out.T if kind == "upper" else out
