"""Eigenvalues, singular values, and factors with orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike, Key
from evertrace._src.lax import linalg as lax
from evertrace._src.lax.linalg.common import complex_dtype
from evertrace._src.lax.loops import fori_loop
from evertrace._src.lax.slicing import dynamic_slice, dynamic_update_slice
from evertrace._src.numpy import (
    creation,
    decompositions,
    elementary,
    inspection,
    joining,
    products,
    shape,
    spectra,
    ufuncs,
)
from evertrace._src.numpy.arguments import operand, static_int
from evertrace._src.numpy.functional import vectorize
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.ops.linalg import matrices
from evertrace._src.scipy.linalg.arguments import adjoint, as_matrices, as_square, choice, public

# ---------------------------------------------------------------- Hermitian matrices


@public
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: tuple[int, int] | None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return eigenvalues and eigenvectors of Hermitian matrices, also of pairs of them.

    Args:
      a: ``[..., n, n]``; ``(a + adjoint(a)) / 2`` is taken.
      b: None, or ``[..., n, n]``, Hermitian positive definite: the generalised problem, which JAX
        has not.
      lower: has no effect, both triangles being read.
      eigvals_only: whether to return no vectors.
      overwrite_a: has no effect.
      overwrite_b: has no effect.
      turbo: has no effect.
      eigvals: must be None; take a slice of the results.
      type: 1 for ``a @ v == b @ v * w``, 2 for ``a @ b @ v == v * w``, 3 for
        ``b @ a @ v == v * w``.
      check_finite: has no effect.

    Returns:
      Ascending real eigenvalues ``[..., n]``, and vectors ``[..., n, n]`` of length 1, or with
      ``adjoint(v) @ b @ v`` (with type 3 ``adjoint(v) @ inv(b) @ v``) the identity; or eigenvalues
      alone. Derivatives of vectors are not finite where eigenvalues are equal.

    Raises:
      NotImplementedError: `eigvals` is given.
      ValueError: `type` is none of the three.

    Example:
      >>> ev.scipy.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True).round(4)
      Array([1., 3.], dtype=float32)
    """
    if eigvals is not None:
        raise errors.unsupported("eigh", "eigvals", eigvals, "take a slice of the results.")
    choice("eigh", "type", type, (1, 2, 3))
    if b is None:
        (a,) = as_square("eigh", a)
        out = spectra.eigh(a, UPLO="L" if lower else "U")
        return out.eigenvalues if eigvals_only else tuple(out)
    a, b = as_square("eigh", a, b)
    matrices.check_square("eigh", b.aval)
    factor = decompositions.cholesky(b)  # b = L L^H; a problem for L^-1 a L^-H, or for L^H a L
    if type == 1:
        half = _solve_lower(factor, a)
        reduced = adjoint(_solve_lower(factor, adjoint(half)))
    else:
        reduced = products.matmul(adjoint(factor), products.matmul(a, factor))
    w, v = spectra.eigh(reduced)
    if eigvals_only:
        return w
    if type == 3:
        return w, products.matmul(factor, v)
    return w, _solve_lower(factor, v, transpose_a=True, conjugate_a=True)


def _solve_lower(factor, b, **options):
    return lax.triangular_solve(factor, b, left_side=True, lower=True, **options)


@public
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Key | None = None,
) -> Any:
    """Return eigenvalues and eigenvectors of real symmetric tridiagonal matrices.

    Args:
      d: ``[..., n]``, diagonals, real.
      e: ``[..., n - 1]``, what stands beside them.
      eigvals_only: whether to return no vectors.
      select: "a" for all eigenvalues, "i" for those with the numbers `select_range`, from the
        smallest, number 0, to the last one included.
      select_range: pair of ints; default all of them.
      tol: has no effect: results are as exact as the dtype allows.
      key: has no effect: nothing is drawn.

    Returns:
      Ascending eigenvalues ``[..., k]``, and vectors ``[..., n, k]`` unless `eigvals_only`. The
      matrices are made and given to `eigh`, which takes O(n^3) operations and has derivatives.

    Raises:
      NotImplementedError: `select` is "v": the number of results would depend on contents.

    Example:
      >>> d, e = jnp.array([2.0, 2.0]), jnp.array([1.0])
      >>> ev.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True).round(4)
      Array([1., 3.], dtype=float32)
    """
    if select in ("v", 1):
        raise errors.unsupported("eigh_tridiagonal", "select", select, "use select='a' or 'i'.")
    choice("eigh_tridiagonal", "select", select, ("a", 0, "i", 2))
    d, e = promote_dtypes_inexact(
        "eigh_tridiagonal", operand("eigh_tridiagonal", d), operand("eigh_tridiagonal", e)
    )
    n = d.aval.shape[-1] if d.aval.ndim else 0
    if inspection.iscomplexobj(d) or e.aval.shape != (*d.aval.shape[:-1], n - 1):
        raise errors.user_error(
            errors.ShapeError,
            f"eigh_tridiagonal: takes real diagonals [..., n] and [..., n - 1], got "
            f"{d.aval.str_short()} and {e.aval.str_short()}.",
            fix="leave out the element of `e` that is outside of the matrix.",
            anchor="shape-linalg",
        )
    places = np.arange(n)
    e = pad(e, [(0, 0)] * (e.aval.ndim - 1) + [(1, 0)])  # e[i] stands left of d[i], and above it
    right = places - places[:, None]
    matrix = elementary.where(right == 0, d[..., None], 0)
    matrix = elementary.where(right == -1, e[..., :, None], matrix)
    matrix = elementary.where(right == 1, e[..., None, :], matrix)
    v, w = lax.eigh(matrix.astype(d.dtype), symmetrize_input=False)
    start, stop = 0, n
    if select in ("i", 2):
        first, last = (0, n - 1) if select_range is None else select_range
        start = static_int("eigh_tridiagonal", "select_range", first)
        stop = static_int("eigh_tridiagonal", "select_range", last) + 1
        if not 0 <= start < stop <= n:
            raise errors.user_error(
                ValueError,
                f"eigh_tridiagonal: select_range must be a pair of numbers from 0 to {n - 1}, got "
                f"{(first, last)}.",
                fix="count eigenvalues from 0; the last one is included.",
            )
    w = w[..., start:stop]
    return w if eigvals_only else (w, v[..., start:stop])


# ---------------------------------------------------------------- Schur and Hessenberg forms


@public
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Factor square matrices as ``z @ t @ adjoint(z)``, with orthogonal z.

    Args:
      a: ``[..., n, n]``.
      output: "real", which leaves blocks of 2 on the diagonal for pairs of complex eigenvalues of
        real matrices; or "complex".

    Returns:
      The pair of t, upper (quasi-)triangular, and z. They have no derivative.

    Example:
      >>> t, z = ev.scipy.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> t
      Array([[2., 1.],
             [0., 3.]], dtype=float32)
    """
    choice("schur", "output", output, ("real", "complex"))
    (a,) = as_square("schur", a)
    if output == "complex":
        a = a.astype(complex_dtype(a.dtype))
    t, z = lax.schur(a)
    return t, z


@public
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Turn real Schur factors into complex ones, by one rotation per block on the diagonal.

    Args:
      T: ``[..., n, n]``, with blocks of 2 on the diagonal.
      Z: ``[..., n, n]``; leading dimensions are broadcast.
      check_finite: has no effect.

    Returns:
      The pair of complex factors, the first one upper triangular.

    Example:
      >>> t, z = jnp.array([[1.0, 2.0], [-2.0, 1.0]]), jnp.eye(2)
      >>> t, z = ev.scipy.linalg.rsf2csf(t, z)
      >>> jnp.diag(t).round(4)
      Array([1.+2.j, 1.-2.j], dtype=complex64)
    """
    t, z = as_square("rsf2csf", T, Z)
    matrices.check_square("rsf2csf", z.aval)
    if t.aval.shape[-1] != z.aval.shape[-1]:
        raise errors.user_error(
            errors.ShapeError,
            f"rsf2csf: factors must have one size, got shapes {t.aval.shape} and {z.aval.shape}.",
            fix="pass what `schur` returned.",
            anchor="shape-linalg",
        )
    t, z = (x.astype(complex_dtype(x.dtype)) for x in (t, z))
    return vectorize(_complex_form, signature="(n,n),(n,n)->(n,n),(n,n)")(t, z)


def _complex_form(t, z):
    n = t.aval.shape[-1]
    eps = np.finfo(t.dtype).eps

    def rotate(k, factors):
        """Make element (m, m - 1) zero, from the last one on."""
        t, z = factors
        m = n - 1 - k
        (a, b), (c, d) = dynamic_slice(t, (m - 1, m - 1), (2, 2))
        half = (a - d) / 2
        above = half + ufuncs.sqrt(half * half + b * c)  # eigenvalue of the block, less d
        length = elementary.hypot(ufuncs.absolute(above), ufuncs.absolute(c))
        is_block = ufuncs.absolute(c) > eps * (ufuncs.absolute(a) + ufuncs.absolute(d))
        safe = elementary.where(is_block, length, 1).astype(t.dtype)
        cos, sin = above / safe, c / safe
        turn = joining.stack([elementary.conj(cos), sin, -sin, cos]).reshape(2, 2)
        turn = elementary.where(is_block, turn, np.eye(2, dtype=t.dtype))
        rows = products.matmul(turn, dynamic_slice(t, (m - 1, 0), (2, n)))
        t = dynamic_update_slice(t, rows, (m - 1, 0))
        t, z = (
            dynamic_update_slice(
                x, products.matmul(dynamic_slice(x, (0, m - 1), (n, 2)), adjoint(turn)), (0, m - 1)
            )
            for x in (t, z)
        )
        return t.at[m, m - 1].set(0), z

    return fori_loop(0, n - 1, rotate, (t, z)) if n > 1 else (t, z)


@public
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the upper Hessenberg form h of square matrices, ``a == q @ h @ adjoint(q)``.

    Args:
      a: ``[..., n, n]``.
      calc_q: whether to return q, too.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      h ``[..., n, n]``, or the pair ``(h, q)``. They have no derivative.

    Example:
      >>> abs(ev.scipy.linalg.hessenberg(jnp.arange(9.0).reshape(3, 3))).round(3)
      Array([[ 0.   ,  2.236,  0.   ],
             [ 6.708, 12.   ,  3.   ],
             [ 0.   ,  1.   ,  0.   ]], dtype=float32)
    """
    (a,) = as_square("hessenberg", a)
    packed, taus = lax.hessenberg(a)
    h = matrices.triu(packed, -1)
    if not calc_q:
        return h
    n = a.aval.shape[-1]
    if n < 2:
        return h, broadcast_eye(a)
    inner = lax.householder_product(packed[..., 1:, :-1], taus)
    q = pad(inner, [(0, 0)] * (a.aval.ndim - 2) + [(1, 0), (1, 0)])
    corner = np.zeros((n, n), bool)
    corner[0, 0] = True
    return h, elementary.where(corner, 1, q).astype(a.dtype)


def broadcast_eye(a):
    """Return identity matrices of the shape and dtype of square ones."""
    return shape.broadcast_to(creation.eye(a.aval.shape[-1], dtype=a.dtype), a.aval.shape)


# ---------------------------------------------------------------- qr, svd


@public
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Factor matrices as ``Q @ R``; k is the smaller of m and n.

    Args:
      a: ``[..., m, n]``.
      overwrite_a: has no effect.
      lwork: has no effect.
      mode: "full" for Q ``[..., m, m]`` and R ``[..., m, n]``, "economic" for ``[..., m, k]`` and
        ``[..., k, n]``, "r" for R ``[..., m, n]`` alone.
      pivoting: whether to permute columns so that the diagonal of R does not grow.
      check_finite: has no effect.

    Returns:
      ``(Q, R)``, ``(R,)`` with mode "r"; with `pivoting` the permutation comes last, int32
      ``[..., n]``: ``a[:, P] == Q @ R``.

    Example:
      >>> q, r, p = ev.scipy.linalg.qr(jnp.array([[1.0, 3.0]]), mode="economic", pivoting=True)
      >>> p
      Array([1, 0], dtype=int32)
    """
    choice("qr", "mode", mode, ("full", "economic", "r"))
    (a,) = as_matrices("qr", a)
    q, *rest = lax.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@public
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, Array]:
    """Factor matrices as ``Q @ R``, and multiply others by Q; k is the smaller of m and n.

    Args:
      a: ``[..., m, n]``.
      c: ``[..., p, m]`` with mode "right", ``[..., k, p]`` with mode "left"; or a vector: a row or
        a column.
      mode: "right" for ``c @ Q``, "left" for ``Q @ c``.
      pivoting: see `qr`.
      conjugate: whether to multiply by ``conj(Q)``.
      overwrite_a: has no effect.
      overwrite_c: has no effect.

    Returns:
      The product ``[..., p, k]`` or ``[..., m, p]`` (or a vector), R ``[..., k, n]``, and with
      `pivoting` the permutation. Q is formed on the way, which gives derivatives;
      `lax.linalg.ormqr` does without.

    Example:
      >>> a = jnp.array([[3.0], [4.0]])
      >>> product, r = ev.scipy.linalg.qr_multiply(a, jnp.array([3.0, 4.0]))
      >>> product.round(4)
      Array([-5.], dtype=float32)
    """
    choice("qr_multiply", "mode", mode, ("left", "right"))
    a, c = as_matrices("qr_multiply", a, c)
    q, *rest = lax.qr(a, pivoting=pivoting, full_matrices=False)
    q = elementary.conj(q) if conjugate else q
    is_vector = c.aval.ndim == 1
    inner = q.aval.shape[-1] if mode == "left" else q.aval.shape[-2]
    if not c.aval.ndim or c.aval.shape[-2 if mode == "left" and not is_vector else -1] != inner:
        raise errors.user_error(
            errors.ShapeError,
            f"qr_multiply: a factor Q of shape {q.aval.shape} cannot be multiplied from the "
            f"{'right' if mode == 'left' else 'left'} by an array of shape {c.aval.shape}.",
            fix="check `mode`; Q has as many columns as the smaller side of `a`.",
            anchor="shape-linalg",
        )
    out = products.matmul(q, c) if mode == "left" else products.matmul(c, q)
    return out, *rest


@public
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return singular values and vectors; see `numpy.linalg.svd`.

    Args:
      a: ``[..., m, n]``; k is the smaller of m and n.
      full_matrices: whether vectors are complete bases.
      compute_uv: whether to return vectors.
      overwrite_a: has no effect.
      check_finite: has no effect.
      lapack_driver: has no effect; `lax.linalg.svd` has a choice of algorithms.

    Returns:
      ``(u, s, vh)``, or s alone.

    Example:
      >>> ev.scipy.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    (a,) = as_matrices("svd", a)
    return lax.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
