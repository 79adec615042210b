"""Linear algebra of sparse matrices: solutions by factors, and the largest eigenvalues."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.callback import pure_callback
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.experimental.sparse.formats import CSR
from evertrace._src.lax.loops import while_loop
from evertrace._src.lax.solves import custom_linear_solve
from evertrace._src.numpy import decompositions, elementary, linalg, spectra
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.reductions import all as all_of
from evertrace._src.numpy.shape import matrix_transpose
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.sparse.linalg")


@public
def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: Any = 1e-6, reorder: Any = 1
) -> Array:
    """Solve a linear system with a sparse square matrix, by its factors.

    Args:
      data: the elements of a matrix in the format of `CSR`, floating.
      indices: their columns.
      indptr: where each row begins.
      b: the right side, a vector of the same dtype.
      tol: accepted; SciPy decides what is singular.
      reorder: accepted; SciPy chooses an order.

    Returns:
      The solution, a vector like `b`. A singular matrix gives NaN and SciPy's warning.

    Raises:
      ShapeError: `b` is no vector, or the arrays are not those of a square matrix of its size.
      DTypeError: the dtypes of `data` and `b` differ.

    SciPy's ``spsolve`` is called back on the host. The derivatives by `data` and `b` solve the same
    system, or the transposed one, with another right side.

    Differs from JAX: it has derivatives of all orders and `vmap`, which solves one by one.

    Example:
      >>> from evertrace.experimental import sparse
      >>> m = sparse.CSR.fromdense(jnp.array([[4.0, 1.0], [0.0, 2.0]]))
      >>> sparse.linalg.spsolve(m.data, m.indices, m.indptr, jnp.array([6.0, 4.0]))
      Array([1., 2.], dtype=float32)
    """
    del tol, reorder
    data, b = as_array(data, "spsolve"), as_array(b, "spsolve")
    if b.ndim != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"spsolve: a right side of shape {b.shape}.",
            fix="pass a vector; map over others with `vmap`.",
            anchor="sparse",
        )
    if data.dtype != b.dtype or not dtypes.issubdtype(b.dtype, np.inexact):
        raise errors.user_error(
            errors.DTypeError,
            f"spsolve: a matrix of dtype {data.dtype} and a right side of dtype {b.dtype}.",
            fix="convert both to one floating dtype.",
            anchor="dtype",
        )
    mat = CSR((data, indices, indptr), shape=(b.shape[0], b.shape[0]))
    where = (mat.data, mat.indices, mat.indptr)

    def solver(turned):
        def solve(_, b):
            like = ShapedArray(b.shape, b.dtype)
            return pure_callback(
                lambda *args: _solve(turned, *args), like, *where, b, vmap_method="sequential"
            )

        return solve

    return custom_linear_solve(lambda x: mat @ x, b, solver(False), solver(True))


def _solve(turned, data, indices, indptr, b):
    """Solve on the host; the arrays of a matrix by rows are those of the transposed by columns."""
    library = importlib.import_module("scipy.sparse")
    data, indices, indptr, b = (np.ascontiguousarray(x) for x in (data, indices, indptr, b))
    make = library.csc_matrix if turned else library.csr_matrix
    mat = make((data, indices, indptr), shape=(b.size, b.size))
    solve = importlib.import_module("scipy.sparse.linalg").spsolve
    return solve(mat.tocsc(), b).astype(b.dtype)


@public
def lobpcg_standard(A: Any, X: Any, m: Any = 100, tol: Any = None) -> tuple[Array, Array, Any]:
    """Return the largest eigenvalues of a Hermitian matrix and their eigenvectors.

    Args:
      A: a Hermitian matrix ``[n, n]``, dense or sparse, or a function that multiplies a matrix
        ``[n, k]`` by one.
      X: where to start: ``[n, k]`` with linearly independent columns and ``0 < 5 k < n``.
      m: greatest number of iterations.
      tol: when to stop: the norm of ``A v - w v`` of every pair is less than
        ``10 n tol (w + norm(A v))``. Default: the machine epsilon of the dtype.

    Returns:
      ``(w, U, i)``: the eigenvalues ``[k]``, the largest first, eigenvectors ``[n, k]``, and the
      number of iterations.

    Raises:
      ShapeError: the shapes do not fit.
      ValueError: `k` is 0, or too large for the method.
      DTypeError: `A` and `X` have different dtypes, or none that is floating.

    Each iteration takes the best vectors of the space of the vectors, their residuals, and the last
    steps, of which an orthonormal basis is made first.

    Source: A. V. Knyazev, "Toward the optimal preconditioned eigensolver: Locally optimal block
    preconditioned conjugate gradient method", SIAM Journal on Scientific Computing 23 (2001).

    Differs from JAX: the steps, and so the number of iterations, are not the same to the bit.

    Example:
      >>> from evertrace.experimental import sparse
      >>> a = jnp.diag(jnp.arange(1.0, 21.0))
      >>> w, _, _ = sparse.linalg.lobpcg_standard(a, jnp.eye(20, 2) + jnp.ones((20, 1)) * 0.1)
      >>> w.round(3)
      Array([20., 19.], dtype=float32)
    """
    X = as_array(X, "lobpcg_standard")
    _check_start(X)
    multiply: Any = A if callable(A) else lambda x: A @ x
    image = multiply(X)
    if image.shape != X.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"lobpcg_standard: A makes {image.shape} of X of shape {X.shape}.",
            fix="it is a square matrix of the size of the columns.",
            anchor="shape-linalg",
        )
    if image.dtype != X.dtype:
        raise errors.user_error(
            errors.DTypeError,
            f"lobpcg_standard: A gives {image.dtype} for X of {X.dtype}.",
            fix="convert both to one floating dtype.",
            anchor="dtype",
        )
    n, k = X.shape
    eps = dtypes.finfo(X.dtype).eps
    limit = 10 * n * (float(eps) if tol is None else tol)

    def project(basis):
        """Return the best `k` vectors in a space, by the matrix that it is on the space."""
        small = matrix_transpose(basis).conj() @ multiply(basis)
        values, vectors = spectra.eigh((small + matrix_transpose(small).conj()) / 2)
        return values[::-1][:k], vectors[:, ::-1][:, :k]

    def residuals(values, x):
        image = multiply(x)
        rest = image - x * values
        size = abs(values) + linalg.norm(image, axis=0)
        return rest, all_of(linalg.norm(rest, axis=0) < limit * size)

    def step(state):
        i, _, x, last, rest, _ = state
        basis = _orthonormal(x, concatenate([rest, last], axis=1))
        values, best = project(basis)
        new = basis @ best
        # The step is what the new vectors have beside the old: without it nothing is conjugate.
        last = basis[:, k:] @ best[k:]
        rest, done = residuals(values, new)
        return i + 1, values, new, last, rest, done

    x = decompositions.qr(X)[0]
    values, best = project(x)
    x = x @ best
    rest, done = residuals(values, x)
    start = (as_array(np.int32(0)), values, x, x * 0, rest, done)
    i, values, x, *_ = while_loop(lambda s: (s[0] < m) & ~s[5], step, start)
    return values, x, i


def _orthonormal(x, more):
    """Return the orthonormal columns of `x`, and after them a basis of what is new in `more`.

    It has as many columns as `more`: where these are dependent, columns are zero. Columns are
    scaled first, so that small residuals count as much as large steps.
    """
    for _ in range(2):  # once more: the first time leaves errors as large as what it takes away
        more = more - x @ (matrix_transpose(x).conj() @ more)
        sizes = linalg.norm(more, axis=0)
        more = more / elementary.where(sizes > 0, sizes, 1)
    left, weights, _ = spectra.svd(more, full_matrices=False)
    kept = weights > dtypes.finfo(x.dtype).eps * x.shape[0] * weights[:1]
    left = left * kept.astype(left.dtype)
    # Twice is enough: what is kept may have been small beside what was taken away.
    left = left - x @ (matrix_transpose(x).conj() @ left)
    return concatenate([x, left], axis=1)


def _check_start(X):
    if X.ndim != 2 or not 0 < 5 * X.shape[1] < X.shape[0]:
        raise errors.user_error(
            ValueError,
            f"lobpcg_standard: X of shape {X.shape}.",
            fix="pass [n, k] with 0 < 5 k < n; for more eigenvalues use `numpy.linalg.eigh`.",
            anchor="shape-linalg",
        )
    if not dtypes.issubdtype(X.dtype, np.inexact):
        raise errors.user_error(
            errors.DTypeError,
            f"lobpcg_standard: X of dtype {X.dtype}.",
            fix="convert it to a floating dtype.",
            anchor="dtype",
        )
