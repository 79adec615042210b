"""Matrices with a structure, made of a few numbers: Toeplitz, companion and so on."""

from __future__ import annotations

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, elementary, joining, shape, ufuncs
from evertrace._src.numpy.arguments import operand, static_int
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from evertrace._src.scipy.linalg.arguments import choice, public


def _vectors(name, a, at_least=0):
    """Return an argument as vectors ``[..., n]``, a scalar as one element."""
    x = operand(name, a)
    x = shape.expand_dims(x, 0) if x.aval.ndim == 0 else x
    if x.aval.shape[-1] < at_least:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes vectors of {at_least} or more elements; got shape {x.aval.shape}.",
            fix="check the last dimension.",
            anchor="shape-linalg",
        )
    return x


@public
def block_diag(*arrs: ArrayLike) -> Array:
    """Put matrices along the diagonal of a larger one, with zeros elsewhere.

    Args:
      *arrs: matrices; vectors count as rows, scalars as 1 x 1. Dtypes are promoted.

    Returns:
      A matrix with the sums of the numbers of rows and of columns; ``[1, 0]`` of no matrices.

    Raises:
      ShapeError: an array has more than 2 dimensions.

    Example:
      >>> ev.scipy.linalg.block_diag(jnp.ones((1, 2), int), 3)
      Array([[1, 1, 0],
             [0, 0, 3]], dtype=int32)
    """
    arrs = arrs or (creation.zeros((1, 0)),)
    xs = promote_dtypes("block_diag", *[operand("block_diag", a) for a in arrs])
    for i, x in enumerate(xs):
        if x.aval.ndim > 2:
            raise errors.user_error(
                errors.ShapeError,
                f"block_diag: takes arrays of at most 2 dimensions; number {i} has shape "
                f"{x.aval.shape}.",
                fix="pass the matrices of a stack one by one: `block_diag(*x)`.",
                anchor="shape-linalg",
            )
    xs = [shape.atleast_2d(x) for x in xs]
    widths = [x.aval.shape[1] for x in xs]
    total = sum(widths)
    before = [sum(widths[:i]) for i in range(len(xs))]
    rows = [
        pad(x, ((0, 0), (start, total - start - width)))
        for x, start, width in zip(xs, before, widths, strict=True)
    ]
    return joining.concatenate(rows, 0)


@public
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Make matrices with constant diagonals.

    Args:
      c: first columns ``[..., n]``.
      r: first rows ``[..., m]``, whose first elements are not used; default ``conj(c)``.

    Returns:
      ``[..., n, m]``; leading dimensions are broadcast. Differs from SciPy before 1.17, which
      flattened its arguments.

    Example:
      >>> ev.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 4]))
      Array([[1, 4],
             [2, 1],
             [3, 2]], dtype=int32)
    """
    c = _vectors("toeplitz", c)
    r = elementary.conj(c) if r is None else _vectors("toeplitz", r)
    c, r = promote_dtypes("toeplitz", c, r)
    # r[m-1] ... r[1] c[0] ... c[n-1]: element (i, j) is number m - 1 + i - j of these.
    line = _joined("toeplitz", shape.flip(r[..., 1:], -1), c)
    n, m = c.aval.shape[-1], r.aval.shape[-1]
    return _spread(line, m - 1 + np.arange(n)[:, None] - np.arange(m)).astype(line.dtype)


def _spread(x, places):
    """Return matrices of the elements with these places; of vectors without any, empty ones."""
    if not places.size:
        return creation.zeros((*x.aval.shape[:-1], *places.shape), x.dtype)
    return x[..., places]


def _joined(name, *parts):
    """Concatenate vectors along their last dimension, broadcasting the others."""
    parts = promote_dtypes(name, *parts)
    leading = np.broadcast_shapes(*[x.aval.shape[:-1] for x in parts])
    spread = [shape.broadcast_to(x, (*leading, x.aval.shape[-1])) for x in parts]
    return joining.concatenate(spread, -1)


@public
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Make matrices with constant anti-diagonals.

    Args:
      c: first columns ``[..., n]``.
      r: last rows ``[..., m]``, whose first elements are not used; default zeros like `c`.

    Returns:
      ``[..., n, m]``; leading dimensions are broadcast.

    Raises:
      ShapeError: `c` or `r` is a scalar.

    Example:
      >>> ev.scipy.linalg.hankel(jnp.array([1, 2, 3]))
      Array([[1, 2, 3],
             [2, 3, 0],
             [3, 0, 0]], dtype=int32)
    """
    c = operand("hankel", c)
    r = creation.zeros_like(c) if r is None else operand("hankel", r)
    for x in (c, r):
        if x.aval.ndim == 0:
            raise errors.user_error(
                errors.ShapeError,
                "hankel: takes vectors; got a scalar.",
                fix="pass an array of rank 1, e.g. `x[None]`.",
                anchor="shape-linalg",
            )
    n, m = c.aval.shape[-1], r.aval.shape[-1]
    return _spread(_joined("hankel", c, r[..., 1:]), np.arange(n)[:, None] + np.arange(m))


@public
def circulant(c: ArrayLike) -> Array:
    """Make matrices whose columns are shifted by one place each, around the end.

    Args:
      c: first columns ``[..., n]``.

    Returns:
      ``[..., n, n]``.

    Example:
      >>> ev.scipy.linalg.circulant(jnp.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    """
    c = _vectors("circulant", c)
    places = np.arange(c.aval.shape[-1])
    return _spread(c, (places[:, None] - places) % max(len(places), 1))


@public
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Make the matrices A with ``A @ v == convolve(a, v, mode)`` for vectors v of n elements.

    Args:
      a: ``[..., m]``, m at least 1.
      n: number of columns, at least 1.
      mode: "full", "same" or "valid"; see `numpy.convolve`.

    Returns:
      ``[..., k, n]`` with k = m + n - 1, max(m, n), or ``max(m, n) - min(m, n) + 1``.

    Example:
      >>> ev.scipy.linalg.convolution_matrix(jnp.array([1, 2]), 3, mode="same")
      Array([[1, 0, 0],
             [2, 1, 0],
             [0, 2, 1]], dtype=int32)
    """
    n = static_int("convolution_matrix", "n", n)
    if n < 1:
        raise errors.user_error(
            ValueError,
            f"convolution_matrix: n must be positive, got {n}.",
            fix="pass the number of columns.",
        )
    a = _vectors("convolution_matrix", a, at_least=1)
    choice("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    m = a.aval.shape[-1]
    full = np.arange(m + n - 1)[:, None] - np.arange(n)
    size = {"full": m + n - 1, "same": max(m, n), "valid": max(m, n) - min(m, n) + 1}[mode]
    start = (m + n - 1 - size) // 2
    rows = full[start : start + size]
    inside = (rows >= 0) & (rows < m)
    return elementary.where(inside, a[..., np.clip(rows, 0, m - 1)], 0)


@public
def companion(a: ArrayLike) -> Array:
    """Make matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients ``[..., n]`` from the highest power on, n at least 2.

    Returns:
      ``[..., n - 1, n - 1]``: first rows ``-a[1:] / a[0]``, ones below the diagonal. A leading
      coefficient of 0 gives infinities or NaN; SciPy raises an error.

    Example:
      >>> ev.scipy.linalg.companion(jnp.array([1.0, -3.0, 2.0]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact("companion", _vectors("companion", a, at_least=2))
    return _with_first_row(-a[..., 1:] / a[..., :1], 1)


def _with_first_row(row, below):
    """Return matrices of a first row ``[..., n]`` and what stands below the diagonal."""
    n = row.aval.shape[-1]
    rest = creation.eye(n - 1, n, dtype=row.aval.dtype)
    rest = rest * (below if isinstance(below, int) else shape.expand_dims(below, -1))
    row = shape.expand_dims(row, -2)
    leading = np.broadcast_shapes(row.aval.shape[:-2], rest.aval.shape[:-2])
    row = shape.broadcast_to(row, (*leading, 1, n))
    return joining.concatenate([row, shape.broadcast_to(rest, (*leading, n - 1, n))], -2)


@public
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Make the matrices of the age-structured population model of P. H. Leslie (1945).

    Args:
      f: fecundities ``[..., n]``, n at least 2.
      s: survivals ``[..., n - 1]``.

    Returns:
      ``[..., n, n]``: first rows `f`, and `s` below the diagonal. Leading dimensions are broadcast.

    Example:
      >>> ev.scipy.linalg.leslie(jnp.array([0, 3, 1]), jnp.array([5, 7]))
      Array([[0, 3, 1],
             [5, 0, 0],
             [0, 7, 0]], dtype=int32)
    """
    f, s = _vectors("leslie", f, at_least=2), _vectors("leslie", s)
    if s.aval.shape[-1] != f.aval.shape[-1] - 1:
        raise errors.user_error(
            errors.ShapeError,
            f"leslie: takes one survival less than fecundities; got shapes {f.aval.shape} and "
            f"{s.aval.shape}.",
            fix="leave out the survival of the last class.",
            anchor="shape-linalg",
        )
    return _with_first_row(*promote_dtypes("leslie", f, s))


@public
def fiedler(a: ArrayLike) -> Array:
    """Make the matrices of distances ``abs(a[i] - a[j])``.

    Args:
      a: ``[..., n]``.

    Returns:
      ``[..., n, n]``, real.

    Example:
      >>> ev.scipy.linalg.fiedler(jnp.array([1, 4, 9]))
      Array([[0, 3, 8],
             [3, 0, 5],
             [8, 5, 0]], dtype=int32)
    """
    a = _vectors("fiedler", a)
    return ufuncs.absolute(ufuncs.subtract(a[..., :, None], a[..., None, :]))


@public
def fiedler_companion(a: ArrayLike) -> Array:
    """Make pentadiagonal matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients ``[..., n]`` from the highest power on, n at least 1.

    Returns:
      ``[..., n - 1, n - 1]``. A leading coefficient of 0 gives infinities or NaN; SciPy raises an
      error. M. Fiedler, "A note on companion matrices" (2003).

    Example:
      >>> ev.scipy.linalg.fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact("fiedler_companion", _vectors("fiedler_companion", a, at_least=1))
    n = a.aval.shape[-1] - 1
    if n < 1:
        return creation.zeros((*a.aval.shape[:-1], 0, 0), a.aval.dtype)
    scaled = -a[..., 1:] / a[..., :1]  # number k is the coefficient k + 1
    places, numbers, ones = _fiedler_pattern(n)
    return elementary.where(places, scaled[..., numbers], ones.astype(a.dtype))


def _fiedler_pattern(n):
    """Return where a Fiedler companion matrix holds coefficients, which ones, and its ones."""
    i, j = np.indices((n, n))
    even = i % 2 == 0
    places = (even & (np.abs(i - j) == 1)) | ((i == 0) & (j == 0))
    ones = (even & (j == i + 2)) | (~even & (j == i - 2)) | ((i == 1) & (j == 0))
    return places, np.maximum(i, j), ones
