"""SciPy's LAPACK and BLAS as host rules, loaded when one is first called.

`import evertrace` must not load SciPy, so it is imported lazily here. LAPACK knows single matrices:
`each` goes over a stack. The XLA engine calls the same routines, which jaxlib finds through SciPy,
so that eager and compiled programs agree to the last bits, signs of vectors included. What fails to
converge, or is not positive definite, gives NaN.
"""

import functools
import importlib

import numpy as np

from evertrace._src.ops.linalg.algorithms import SvdAlgorithm
from evertrace._src.ops.linalg.matrices import real_dtype

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}

# Columns that LAPACK's blocked algorithms treat at once: the factor of their work arrays.
BLOCK = 32


@functools.cache
def routine(name, char):
    """Return a BLAS or LAPACK routine for arrays of a dtype, given by its character code."""
    library = importlib.import_module(f"scipy.linalg.{'blas' if name == 'trsm' else 'lapack'}")
    if char in "FD":
        name = _COMPLEX_NAMES.get(name, name)
    return getattr(library, _PREFIXES[char] + name)


def each(fun, batch, operands, outs):
    """Apply `fun` to the examples of a stack.

    Args:
      fun: function of the example's ndarrays; returns a sequence of ndarrays, the outputs.
      batch: leading dimensions.
      operands: ndarrays with these leading dimensions.
      outs: pairs (shape of an example's output, dtype).

    Returns:
      A list of ndarrays.
    """
    results = [np.empty((*batch, *shape), dtype) for shape, dtype in outs]
    for index in np.ndindex(*batch):
        for result, value in zip(results, fun(*[x[index] for x in operands]), strict=True):
            result[index] = value
    return results


def or_nan(info, *outs):
    """Return outputs of a LAPACK routine, or NaNs if it failed."""
    return outs if info == 0 else [np.full_like(x, _NAN[x.dtype.kind]) for x in outs]


_NAN = {"f": np.nan, "c": complex(np.nan, np.nan)}


# ---------------------------------------------------------------- factors and solutions


def cholesky(a):
    """Return lower triangular factors; the upper triangles of `a` are not read."""
    n, call = a.shape[-1], routine("potrf", a.dtype.char)

    def one(x):
        factor, info = call(x, lower=1, clean=1)
        return np.tril(or_nan(info, factor))

    return each(one, a.shape[:-2], [a], [((n, n), a.dtype)])[0]


def triangular_solve(a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    """Solve systems with triangular matrices."""
    call = routine("trsm", a.dtype.char)
    if conjugate_a and not transpose_a:
        a = np.conj(a)
    trans = (2 if conjugate_a else 1) if transpose_a else 0

    def one(a, b):
        return [call(1, a, b, side=not left_side, lower=lower, trans_a=trans, diag=unit_diagonal)]

    return each(one, b.shape[:-2], [a, b], [(b.shape[-2:], b.dtype)])[0]


def lu(a):
    """Return packed factors, pivots and permutations."""
    m, n = a.shape[-2:]
    call = routine("getrf", a.dtype.char)

    def one(x):
        factors, pivots, _ = call(x)
        return factors, pivots

    outs = [((m, n), a.dtype), ((min(m, n),), np.int32)]
    factors, pivots = each(one, a.shape[:-2], [a], outs)
    return factors, pivots, permutation(pivots, m)


def permutation(pivots, size):
    """Return the permutation that successive swaps ``i <-> pivots[i]`` amount to."""

    def one(swaps):
        rows = list(range(size))
        for i, p in enumerate(swaps.tolist()):
            rows[i], rows[p] = rows[p], rows[i]
        return [rows]

    return each(one, pivots.shape[:-1], [pivots], [((size,), np.int32)])[0]


def tridiagonal_solve(dl, d, du, b, *, perturb_singular):
    """Solve systems with tridiagonal matrices; the first of `dl` and last of `du` are not read."""
    call = routine("gtsv", b.dtype.char)

    def one(dl, d, du, b):
        if d.size == 1:
            return [b / d]
        *_, x, info = call(dl[1:], d, du[:-1], b)
        return or_nan(info, x)

    return each(one, b.shape[:-2], [dl, d, du, b], [(b.shape[-2:], b.dtype)])[0]


def symmetric_product(a, c, *, alpha, beta):
    """Return ``alpha * a @ transpose(a) + beta * c``."""
    dtype = a.dtype.type
    return dtype(alpha) * np.matmul(a, np.swapaxes(a, -1, -2)) + dtype(beta) * c


def cholesky_update(r, w):
    """Return upper triangular factors of ``r^T r + w w^T``, by one rotation per row.

    G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition (2013), section 6.5.4.
    """
    r, w = np.triu(r), w.copy()
    for i in range(r.shape[-1]):
        x, y = r[..., i, i], w[..., i]
        size = np.hypot(x, y)
        safe = np.where(size == 0, 1, size)
        c, s = np.where(size == 0, 1, x / safe)[..., None], (y / safe)[..., None]
        row = r[..., i, :].copy()
        r[..., i, :] = c * row + s * w
        w = c * w - s * row
    return r


# ---------------------------------------------------------------- orthogonal factors


def geqrf(a):
    """Return packed Householder reflectors below R, and their factors."""
    m, n = a.shape[-2:]
    call = routine("geqrf", a.dtype.char)
    outs = [((m, n), a.dtype), ((min(m, n),), a.dtype)]
    return each(lambda x: call(x, lwork=BLOCK * n)[:2], a.shape[:-2], [a], outs)


def geqp3(a):
    """Return the same of matrices with permuted columns, and the permutations."""
    m, n = a.shape[-2:]
    call = routine("geqp3", a.dtype.char)

    def one(x):
        packed, pivots, factors, _, _ = call(x, lwork=BLOCK * (n + 1))
        return packed, factors, pivots - 1

    outs = [((m, n), a.dtype), ((min(m, n),), a.dtype), ((n,), np.int32)]
    return each(one, a.shape[:-2], [a], outs)


def householder_product(a, taus):
    """Return the first columns of products of Householder reflectors."""
    n, call = a.shape[-1], routine("orgqr", a.dtype.char)
    outs = [(a.shape[-2:], a.dtype)]
    return each(lambda x, t: call(x, t, lwork=BLOCK * n)[:1], a.shape[:-2], [a, taus], outs)[0]


def ormqr(a, taus, c, *, left, transpose):
    """Return products with the Q of Householder reflectors."""
    call = routine("ormqr", a.dtype.char)
    adjoint = "C" if a.dtype.kind == "c" else "T"

    def one(a, taus, c):
        side, trans = "L" if left else "R", adjoint if transpose else "N"
        return call(side, trans, a, taus, c, BLOCK * max(c.shape))[:1]

    return each(one, c.shape[:-2], [a, taus, c], [(c.shape[-2:], c.dtype)])[0]


def qr(a, *, pivoting, full_matrices, use_magma):
    """Return orthogonal and triangular factors, and the permutation with `pivoting`."""
    m, n = a.shape[-2:]
    packed, taus, *pivots = geqp3(a) if pivoting else geqrf(a)
    k = m if full_matrices else min(m, n)
    reflectors = np.zeros((*a.shape[:-2], m, k), a.dtype)
    reflectors[..., : min(n, k)] = packed[..., : min(n, k)]
    return [householder_product(reflectors, taus), np.triu(packed[..., :k, :]), *pivots]


# ---------------------------------------------------------------- spectra


def eigh(a, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """Return eigenvectors and ascending eigenvalues of Hermitian matrices."""
    n, call = a.shape[-1], routine("syevd", a.dtype.char)

    def one(x):
        w, v, info = call(x, compute_v=1, lower=lower)
        return or_nan(info, v, w)

    return each(one, a.shape[:-2], [a], [((n, n), a.dtype), ((n,), real_dtype(a.dtype))])


def svd(a, *, full_matrices, compute_uv, subset_by_index, algorithm):
    """Return singular values, left vectors and adjoint right vectors."""
    m, n = a.shape[-2:]
    k = min(m, n)
    call = routine("gesvd" if algorithm is SvdAlgorithm.QR else "gesdd", a.dtype.char)

    def one(x):
        u, s, vt, info = call(x, compute_uv=compute_uv, full_matrices=full_matrices)
        return or_nan(info, s, u, vt)[: len(outs)]

    outs = [((k,), real_dtype(a.dtype))]
    if compute_uv:
        outs += [((m, m if full_matrices else k), a.dtype)]
        outs += [((n if full_matrices else k, n), a.dtype)]
    return each(one, a.shape[:-2], [a], outs)


def eig(
    a,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    """Return eigenvalues, and left and right eigenvectors if they are asked for."""
    n, call = a.shape[-1], routine("geev", a.dtype.char)
    dtype = np.result_type(a.dtype, np.complex64)
    wanted = [True, compute_left_eigenvectors, compute_right_eigenvectors]

    def one(x):
        if not np.isfinite(x).all():  # LAPACK would complain on stderr
            return [_NAN["c"]] * len(outs)
        *w, left, right, info = call(
            x, compute_vl=compute_left_eigenvectors, compute_vr=compute_right_eigenvectors
        )
        if len(w) == 1:
            found = (w[0], left, right)
        else:
            found = (w[0] + 1j * w[1], _joined(left, w[1]), _joined(right, w[1]))
        kept = [x for x, keep in zip(found, wanted, strict=True) if keep]
        return or_nan(info, *kept)

    shapes = [(n,), (n, n), (n, n)]
    outs = [(shape, dtype) for shape, keep in zip(shapes, wanted, strict=True) if keep]
    return each(one, a.shape[:-2], [a], outs)


def _joined(vectors, imaginary):
    """Return complex eigenvectors: of each conjugate pair LAPACK gives real and imaginary part."""
    out = vectors.astype(np.result_type(vectors.dtype, np.complex64))
    if not vectors.size:
        return out
    first = np.nonzero(imaginary > 0)[0]
    out[:, first] = vectors[:, first] + 1j * vectors[:, first + 1]
    out[:, first + 1] = np.conj(out[:, first])
    return out


def schur(a, *, compute_schur_vectors, sort_eig_vals, select_callable):
    """Return (quasi-)triangular factors, and the Schur vectors if they are asked for."""
    n, call = a.shape[-1], routine("gees", a.dtype.char)

    def one(x):
        found = call(_never, x, compute_v=compute_schur_vectors, sort_t=0)
        return or_nan(found[-1], found[0], found[-3])[: len(outs)]

    outs = [((n, n), a.dtype)] * (2 if compute_schur_vectors else 1)
    return each(one, a.shape[:-2], [a], outs)


def _never(*eigenvalue):
    """Serve as LAPACK's selection of eigenvalues, which is not asked for without sorting."""
    return False


def hessenberg(a):
    """Return packed Hessenberg matrices and reflectors, and the reflectors' factors."""
    n, call = a.shape[-1], routine("gehrd", a.dtype.char)

    def one(x):
        packed, taus, info = call(x, lo=0, hi=n - 1, lwork=BLOCK * n)
        return or_nan(info, packed, taus)

    return each(one, a.shape[:-2], [a], [((n, n), a.dtype), ((max(n - 1, 0),), a.dtype)])


def tridiagonal(a, *, lower):
    """Return packed tridiagonal matrices, both diagonals, and the factors of the reflectors."""
    n, call = a.shape[-1], routine("sytrd", a.dtype.char)

    def one(x):
        *found, info = call(x, lower=lower, lwork=BLOCK * n)
        return or_nan(info, *found)

    real = real_dtype(a.dtype)
    outs = [((n, n), a.dtype), ((n,), real), ((n - 1,), real), ((n - 1,), a.dtype)]
    return each(one, a.shape[:-2], [a], outs)
