"""Functions of matrices: the exponential, the square root, any function, and Sylvester's equation.

All but the exponential start from the complex Schur form, and find a triangular matrix column by
column: each column solves a triangular system of the columns before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.autodiff import jvp
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.lax import linalg as lax
from evertrace._src.lax.branches import cond
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.linalg.common import complex_dtype, shape_error
from evertrace._src.lax.loops import fori_loop
from evertrace._src.lax.solves import custom_linear_solve
from evertrace._src.numpy import (
    creation,
    decompositions,
    elementary,
    inspection,
    products,
    reductions,
    spectra,
    ufuncs,
)
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.linalg import matrix_norm
from evertrace._src.numpy.promotion import aligned, broadcast_to, common_shape
from evertrace._src.ops.linalg import matrices
from evertrace._src.scipy.linalg.arguments import adjoint, as_square, choice, public
from evertrace._src.scipy.linalg.spectra import rsf2csf, schur

mul = products.matmul

# ---------------------------------------------------------------- the exponential
# A. H. Al-Mohy, N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential"
# (2009), with one degree m of the Pade approximant per precision, so that all matrices of a stack
# take the same operations. theta is the largest size of a matrix for which its backward error is
# below the unit roundoff: from that paper for float64, from N. J. Higham, "The scaling and squaring
# method for the matrix exponential revisited" (2005) for float32.

_DEGREE_AND_THETA = {"float32": (7, 3.925724783138660), "float64": (13, 4.25)}


@public
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Return the exponentials of square matrices, by scaling and squaring.

    Args:
      A: ``[..., n, n]``.
      upper_triangular: whether the matrices are upper triangular, which saves an LU factorisation.
      max_squarings: how often to square at most, an int: norms of up to about ``2 **
        (max_squarings + 2)`` are taken; beyond, results are NaN.

    Returns:
      ``[..., n, n]``. Differentiable at any order. The number of squarings is that of Al-Mohy and
      Higham (2009), often less than the norm asks for; JAX takes it from the norm.

    Example:
      >>> ev.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]]))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    (a,) = as_square("expm", A)
    max_squarings = static_int("expm", "max_squarings", max_squarings)
    if not a.aval.size:
        return a
    real = matrices.real_dtype(a.dtype)
    degree, theta = _DEGREE_AND_THETA[real.name]
    # Powers are of b = a / 2^k with a norm of at most 1, which can neither over- nor underflow
    # before they matter.
    exponent = _ceil_log2(matrix_norm(stop_gradient(a), ord=1))
    b = a * ufuncs.exp2(-exponent)[..., None, None].astype(a.dtype)
    b2 = mul(b, b)
    b4 = mul(b2, b2)
    powers = [b2, b4, mul(b4, b2)]
    stopped = [stop_gradient(x) for x in (b, *powers)]
    squarings = _squarings(stopped, exponent, degree, theta)
    scale = ufuncs.exp2(exponent - squarings)[..., None, None].astype(a.dtype)
    powers = [_times(x, scale, 2 + 2 * i) for i, x in enumerate(powers)]
    odd, even = _pade_parts(b * scale, powers, degree)
    if upper_triangular:
        out = lax.triangular_solve(even - odd, even + odd, left_side=True)
    else:
        out = decompositions.solve(even - odd, even + odd)
    out = _squared(out, squarings, max_squarings)
    # No NaN is made where none is in the result: the option debug_nans would find it.
    valid = ufuncs.sqrt(elementary.where(squarings > max_squarings, real.type(-1), real.type(1)))
    return out * valid[..., None, None].astype(out.dtype)


def _times(x, scale, count):
    """Multiply several times by a number, whose power might overflow where the product does not."""
    for _ in range(count):
        x = x * scale
    return x


def _log2(x):
    """Return logarithms to base 2; for zeros, which have none, one below all that is added here."""
    return elementary.where(x > 0, ufuncs.log2(elementary.where(x > 0, x, 1)), -1e6)


def _ceil_log2(x):
    """Return logarithms to base 2 rounded up; 0 where there is none."""
    there = (x > 0) & elementary.isfinite(x)
    return elementary.ceil(ufuncs.log2(elementary.where(there, x, 1)))


def _pade_parts(x, powers, degree):
    """Return the odd and the even part of the numerator, given powers 2, 4 and 6."""
    m = degree
    weights = [
        math.comb(m, j) * math.factorial(2 * m - j) / math.factorial(2 * m) for j in range(m + 1)
    ]
    powers = [creation.eye(x.aval.shape[-1], dtype=x.dtype), *powers]

    def part(start):
        low = _combined(weights[start::2], powers)
        high = weights[start + 8 :: 2]
        if not high:
            return low
        return low + mul(powers[3], _combined(high, powers[1:]))

    return mul(x, part(1)), part(0)


def _combined(weights, matrices):
    """Return the sum of products, the first of which may be one matrix among stacks."""
    terms = aligned(*[w * x for w, x in zip(weights, matrices, strict=False)])
    return sum(terms[1:], terms[0])


def _squarings(powers, exponent, degree, theta):
    """Return how often to square: algorithm 5.1 of Al-Mohy and Higham, with estimates exact.

    Sizes are roots of norms of powers, which for matrices that are not normal are much smaller
    than the norm; the last line makes up for what rounding adds then.
    """

    def size(power, x):
        return matrix_norm(x, ord=1) ** (1 / power)

    b, _, b4, b6 = powers
    d6, d8 = size(6, b6), size(8, mul(b4, b4))
    d10 = size(10, mul(b4, b6))
    smaller = ufuncs.minimum(ufuncs.maximum(d6, d8), ufuncs.maximum(d8, d10))
    s = ufuncs.maximum(elementary.ceil(_log2(smaller / theta)) + exponent, 0)
    m = degree
    error = math.factorial(m) ** 2 / (math.factorial(2 * m) * math.factorial(2 * m + 1))
    row = creation.ones((*b.aval.shape[:-2], 1, b.aval.shape[-1]), matrices.real_dtype(b.dtype))
    for _ in range(2 * m + 1):
        row = mul(row, ufuncs.absolute(b))
    term = _log2(reductions.max(row, (-2, -1))) + 2 * m * (exponent - s)
    unit = float(np.finfo(b.dtype).eps) / 2
    more = elementary.ceil((term + math.log2(error / unit)) / (2 * m))
    return s + elementary.where(more > 0, more, 0)


def _squared(x, squarings, max_squarings):
    """Square each matrix as often as it needs, with a fixed number of turns, for derivatives."""

    def turn(i, x):
        wanted = i < squarings
        return cond(
            reductions.any(wanted),
            lambda x: elementary.where(wanted[..., None, None], mul(x, x), x),
            lambda x: x,
            x,
        )

    return fori_loop(0, max_squarings, turn, x)


@public
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """Return the exponential of matrices, and its derivative in a direction.

    Args:
      A: ``[..., n, n]``.
      E: the direction, of the same shape.
      method: has no effect; the derivative of `expm` is taken.
      compute_expm: whether to return the exponential.

    Returns:
      The exponential and its derivative, or the derivative alone.

    Raises:
      ShapeError: the matrices are not square, or shapes differ.

    Example:
      >>> ev.scipy.linalg.expm_frechet(jnp.eye(1), jnp.ones((1, 1)), compute_expm=False).round(4)
      Array([[2.7183]], dtype=float32)
    """
    a, e = as_square("expm_frechet", A, E)
    matrices.check_square("expm_frechet", e.aval)
    matrices.check_like("expm_frechet", e.aval, a.aval.shape, a.dtype)
    out, tangent = jvp(expm, (a,), (e,))
    return (out, tangent) if compute_expm else tangent


# ---------------------------------------------------------------- column by column


def _columns(start, column):
    """Fill the part above the diagonal of matrices, one column after the other.

    Args:
      start: ``[..., n, n]``, with the diagonal.
      column: function of a column's number j and the matrices so far, in which later columns have
        their diagonal only; returns vectors ``[..., n]``, whose first j elements are used.
    """
    n = start.aval.shape[-1]
    places = np.arange(n)

    def fill(j, x):
        above = ufuncs.logical_and(
            *aligned(ufuncs.less(places[:, None], j), ufuncs.equal(places, j))
        )
        return elementary.where(above, column(j, x)[..., None], x)

    return fori_loop(1, n, fill, start) if n > 1 else start


def _solve_shifted(t, shift, rhs, j):
    """Solve ``(t + shift) x = rhs`` for the first j rows and columns of triangular matrices.

    Elements j and following of x are zero. A zero on the diagonal counts as 1.
    """
    n = t.aval.shape[-1]
    inside = ufuncs.less(np.arange(n), j)
    eye = np.eye(n, dtype=bool)
    system = elementary.where(ufuncs.logical_and(*aligned(inside[:, None], inside)), t, 0)
    shifted = ufuncs.logical_and(*aligned(eye, inside))
    shifts = elementary.where(shifted, shift[..., None, None], 0)
    system = ufuncs.add(*aligned(system, shifts))
    empty = ufuncs.logical_and(*aligned(eye, ufuncs.equal(system, 0)))
    system = elementary.where(empty, 1, system)
    rhs = elementary.where(inside, rhs, 0)[..., None]
    return lax.triangular_solve(system, rhs, left_side=True)[..., 0]


def _diagonal_matrix(v):
    return elementary.where(np.eye(v.aval.shape[-1], dtype=bool), v[..., None], 0)


@public
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Return the principal square roots of matrices.

    Args:
      A: ``[..., n, n]``.
      blocksize: must be 1; columns are found one by one.

    Returns:
      ``[..., n, n]``, complex: X with ``X @ X == A``, of eigenvalues right of the imaginary axis;
      NaN where a singular matrix has no root. Differentiable, and there may be stacks of matrices,
      unlike in JAX. A. Bjorck, S. Hammarling, "A Schur method for the square root of a matrix"
      (1983).

    Raises:
      NotImplementedError: `blocksize` is not 1.

    Example:
      >>> ev.scipy.linalg.sqrtm(jnp.array([[4.0, 5.0], [0.0, 9.0]])).real.round(4)
      Array([[2., 1.],
             [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise errors.unsupported(
            "sqrtm", "blocksize", blocksize, "leave it out: it would change the speed alone."
        )
    (a,) = as_square("sqrtm", A)
    return _sqrtm(a) if a.aval.size else a.astype(complex_dtype(a.dtype))


def _complex_schur(a):
    """Return complex Schur factors, in which real eigenvalues have no imaginary part.

    Rounding must not decide on which side of a branch cut those of a real matrix are.
    """
    t, q = lax.schur(a)
    return (t, q) if inspection.iscomplexobj(a) else rsf2csf(t, q)


@custom_jvp
def _sqrtm(a):
    t, q = _complex_schur(a)
    root = _diagonal_matrix(ufuncs.sqrt(matrices.diagonal(t)))
    rounding = float(dtypes.finfo(t.dtype).eps) * t.shape[-1] * abs(t).max((-2, -1))[..., None]

    def column(j, root):
        shift = root[..., j, j]
        x = _solve_shifted(root, shift, t[..., j], j)
        is_free = matrices.diagonal(root) + shift[..., None] == 0  # any number, if x is zero
        return elementary.where(is_free, elementary.where(abs(x) > rounding, np.nan, 0), x)

    return mul(mul(q, _columns(root, column)), adjoint(q))


@_sqrtm.defjvp
def _sqrtm_jvp(primals, tangents):
    """Return the tangent dX of ``X X = A``: ``X dX + dX X = dA``."""
    root = _sqrtm(*primals)
    return root, solve_sylvester(root, root, tangents[0].astype(root.dtype), tol=0.0)


@public
def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """Return any function of matrices, by the recurrence of Parlett.

    Args:
      A: ``[..., n, n]``.
      func: function of arrays, elementwise, such as `jnp.log`; it is given eigenvalues.
      disp: whether to leave out the estimated error.

    Returns:
      ``[..., n, n]``, complex; without `disp` also an estimate of the relative error in the
      1-norm, ``[...]``. Eigenvalues that are close make the recurrence inexact. It has no
      derivative. G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition (2013),
      algorithm 9.1.1.

    Example:
      >>> ev.scipy.linalg.funm(jnp.array([[1.0, 3.0], [0.0, 2.0]]), jnp.square).real
      Array([[1., 9.],
             [0., 4.]], dtype=float32)
    """
    (a,) = as_square("funm", A)
    if not a.aval.size:
        a = a.astype(complex_dtype(a.dtype))
        return a if disp else (a, creation.zeros(a.aval.shape[:-2], matrices.real_dtype(a.dtype)))
    t, q = _complex_schur(a)
    values = matrices.diagonal(t)

    def column(j, f):
        above = elementary.where(np.arange(t.aval.shape[-1]) < j, t[..., j], 0)
        rhs = above * f[..., j, j][..., None] - mul(f, above[..., None])[..., 0]
        return _solve_shifted(-t, t[..., j, j], rhs, j)

    f = _columns(_diagonal_matrix(func(values)).astype(t.dtype), column)
    out = mul(mul(q, f), adjoint(q))
    return out if disp else (out, _funm_error(t, values, out))


def _funm_error(t, values, out):
    """Estimate the relative error: it grows as the distance between eigenvalues falls."""
    eps = np.finfo(t.dtype).eps
    n = t.aval.shape[-1]
    gaps = ufuncs.absolute(values[..., :, None] - values[..., None, :])
    off = ~np.eye(n, dtype=bool)
    gap = reductions.min(elementary.where(off, gaps, np.inf), (-2, -1), initial=1.0)
    gap = elementary.where(gap == 0, eps, gap)
    error = ufuncs.maximum(eps, eps / gap * matrix_norm(matrices.triu(t, 1), ord=1))
    finite = reductions.any(elementary.isfinite(out), (-2, -1))
    return elementary.where(finite, ufuncs.minimum(error, 1), np.inf)


# ---------------------------------------------------------------- Sylvester's equation


@public
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Return X with ``A @ X + X @ B == C``.

    Args:
      A: ``[..., m, m]``.
      B: ``[..., n, n]``.
      C: ``[..., m, n]``; leading dimensions are broadcast.
      method: "schur", see below, or "eigen", which diagonalises `A` and `B`: faster, and inexact
        where their eigenvectors are nearly dependent.
      tol: where an eigenvalue of `A` and one of `B` add up to less than this, results are NaN.

    Returns:
      ``[..., m, n]``. A derivative, of any order, takes another solution with the same factors.
      R. H. Bartels, G. W. Stewart, "Solution of the matrix equation AX + XB = C" (1972), with the
      complex Schur form.

    Example:
      >>> a, b, c = jnp.array([[2.0]]), jnp.array([[1.0]]), jnp.array([[6.0]])
      >>> ev.scipy.linalg.solve_sylvester(a, b, c)
      Array([[2.]], dtype=float32)
    """
    choice("solve_sylvester", "method", method, tuple(_SYLVESTER))
    factors, values, solve = _SYLVESTER[method]
    a, b, c = as_square("solve_sylvester", A, B, C)
    matrices.check_square("solve_sylvester", b.aval)
    m, n = a.aval.shape[-1], b.aval.shape[-1]
    if c.aval.shape[-2:] != (m, n):
        raise shape_error(
            f"solve_sylvester: matrices of shapes {a.aval.shape} and {b.aval.shape} do not fit a "
            f"right-hand side of shape {c.aval.shape}.",
            f"pass a right-hand side [..., {m}, {n}].",
        )
    leading = common_shape("solve_sylvester", [x.aval.shape[:-2] for x in (a, b, c)])
    a, b, c = (broadcast_to(x, (*leading, *x.aval.shape[-2:])) for x in (a, b, c))
    if not c.aval.size:
        return c
    of_a, of_b = factors(stop_gradient(a)), factors(stop_gradient(b))

    def solved(of_a, of_b, c):
        x = solve(of_a, of_b, c.astype(of_a[0].dtype))
        return x if inspection.iscomplexobj(c) else elementary.real(x)

    x = custom_linear_solve(
        lambda x: mul(a, x) + mul(x, b),
        c,
        lambda _, c: solved(of_a, of_b, c),
        # The transposed equation, transposed, is the one with A and B exchanged.
        lambda _, c: matrices.transposed(solved(of_b, of_a, matrices.transposed(c))),
    )
    sums = values(of_a)[..., :, None] + values(of_b)[..., None, :]
    unsolvable = reductions.any(ufuncs.absolute(sums) < tol, (-2, -1))
    return elementary.where(unsolvable[..., None, None], np.nan, x)


def _solve_by_schur(of_a, of_b, c):
    (r, u), (s, v) = of_a, of_b
    f = mul(mul(adjoint(u), c), v)
    n = f.aval.shape[-1]

    def column(k, y):
        rhs = f[..., k] - mul(y, s[..., k, None])[..., 0]
        x = _solve_shifted(r, s[..., k, k], rhs, r.aval.shape[-1])
        return elementary.where(ufuncs.equal(np.arange(n), k), x[..., None], y)

    y = fori_loop(0, n, column, creation.zeros_like(f))
    return mul(mul(u, y), adjoint(v))


def _solve_by_eigenvectors(of_a, of_b, c):
    (w, p), (z, q) = of_a, of_b
    f = decompositions.solve(p, mul(c, q))
    y = f / (w[..., :, None] + z[..., None, :])
    right = decompositions.solve(matrices.transposed(q), matrices.transposed(mul(p, y)))
    return matrices.transposed(right)


_SYLVESTER = {
    "schur": (lambda a: schur(a, "complex"), lambda f: matrices.diagonal(f[0]), _solve_by_schur),
    "eigen": (spectra.eig, lambda f: f[0], _solve_by_eigenvectors),
}
