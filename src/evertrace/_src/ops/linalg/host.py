"""Host rules of linear algebra: kernels in C++, and SciPy's LAPACK and BLAS where there are none.

`import evertrace` must not load SciPy, so it is imported lazily here. LAPACK knows single matrices:
`each` goes over a stack. Kernels and the XLA engine call the same routines, which they find through
SciPy, so that all agree to the last bits, signs of vectors included; but Cholesky and LU factors
and triangular systems of small matrices are loops of ours. What fails to converge, or is not
positive definite, gives NaN.
"""

import functools
import importlib

import numpy as np

from evertrace._src import config, extension, kernels
from evertrace._src.ops.linalg import algorithms
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm
from evertrace._src.ops.linalg.matrices import real_dtype

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}

# Columns that LAPACK's blocked algorithms treat at once: the factor of their work arrays.
BLOCK = 32


def routine(name, x):
    """Return a BLAS or LAPACK routine of SciPy for arrays like `x`."""
    return _routine(name, x.dtype.char)


@functools.cache
def _routine(name, char):
    library = importlib.import_module(f"scipy.linalg.{'blas' if name == 'trsm' else 'lapack'}")
    if char in "FD":
        name = _COMPLEX_NAMES.get(name, name)
    return getattr(library, _PREFIXES[char] + name)


_LOOPS = ("cholesky", "lu", "triangular_solve")  # where matrices are small
_WITHOUT_LAPACK = ("cholesky_update", "permutation")
_LARGEST = 1 << 14  # for more rows or columns, sizes of working memory may not fit into 32 bits


def has_kernel(name, shapes):
    """Whether the kernel of this name is there, for stacks of matrices of these shapes."""
    if not extension.is_built():
        return False
    sizes = [n for shape in shapes for n in shape[-2:]]
    if name in _WITHOUT_LAPACK or (name in _LOOPS and kernels.are_small(sizes)):
        return True
    return 0 not in sizes and max(sizes) < _LARGEST and kernels.has_lapack()


def each(fun, batch, operands, outs, name, *options):
    """Apply a kernel to a stack, or `fun` to its examples.

    Args:
      fun: function of the example's ndarrays; returns a sequence of ndarrays, the outputs.
      batch: leading dimensions.
      operands: ndarrays with these leading dimensions.
      outs: pairs (shape of an example's output, dtype).
      name: of the kernel.
      *options: that the kernel takes.

    Returns:
      A list of ndarrays.
    """
    outs = [((*batch, *shape), dtype) for shape, dtype in outs]
    matrices = [x.shape for x in operands if x.ndim == len(batch) + 2]
    if config.current().native_kernels and has_kernel(name, matrices):
        return kernels.run(name, operands, outs, *map(int, options))
    results = [np.empty(*out) for out in outs]
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

    def one(x):
        factor, info = routine("potrf", x)(x, lower=1, clean=1)
        return np.tril(or_nan(info, factor))

    return each(one, a.shape[:-2], [a], [(a.shape[-2:], a.dtype)], "cholesky")[0]


def triangular_solve(a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    """Solve systems with triangular matrices; from the right, after all is transposed."""
    if not left_side:
        options = (lower, not transpose_a, conjugate_a, unit_diagonal)
        return np.swapaxes(_solve_triangular(a, np.swapaxes(b, -1, -2), *options), -1, -2)
    return _solve_triangular(a, b, lower, transpose_a, conjugate_a, unit_diagonal)


def _solve_triangular(a, b, *options):
    lower, transpose_a, conjugate_a, unit_diagonal = options
    trans = (2 if conjugate_a else 1) if transpose_a else 0

    def one(a, b):
        a = np.conj(a) if conjugate_a and not transpose_a else a
        return [routine("trsm", a)(1, a, b, lower=lower, trans_a=trans, diag=unit_diagonal)]

    outs = [(b.shape[-2:], b.dtype)]
    return each(one, b.shape[:-2], [a, b], outs, "triangular_solve", *options)[0]


def lu(a):
    """Return packed factors, pivots and permutations."""
    m, n = a.shape[-2:]
    outs = [((m, n), a.dtype), ((min(m, n),), np.int32)]
    factors, pivots = each(lambda x: routine("getrf", x)(x)[:2], a.shape[:-2], [a], outs, "lu")
    return factors, pivots, permutation(pivots, m)


def permutation(pivots, size):
    """Return the permutation that successive swaps ``i <-> pivots[i]`` amount to.

    Any numbers are pivots: negative ones count from the end, and what is no row is the nearest.
    """

    def one(swaps):
        rows = list(range(size))
        for i, p in enumerate(np.clip(np.where(swaps < 0, swaps + size, swaps), 0, size - 1)):
            rows[i], rows[p] = rows[p], rows[i]
        return [rows]

    return each(one, pivots.shape[:-1], [pivots], [((size,), np.int32)], "permutation")[0]


def tridiagonal_solve(dl, d, du, b, *, perturb_singular):
    """Solve systems with tridiagonal matrices; the first of `dl` and last of `du` are not read."""

    def one(dl, d, du, b):
        if d.size == 1:
            return [b / d]
        *_, x, info = routine("gtsv", b)(dl[1:], d, du[:-1], b)
        return or_nan(info, x)

    outs = [(b.shape[-2:], b.dtype)]
    return each(one, b.shape[:-2], [dl, d, du, b], outs, "tridiagonal_solve")[0]


def symmetric_product(a, c, *, alpha, beta):
    """Return ``alpha * a @ transpose(a) + beta * c``."""
    dtype = a.dtype.type
    return dtype(alpha) * np.matmul(a, np.swapaxes(a, -1, -2)) + dtype(beta) * c


def cholesky_update(r, w):
    """Return upper triangular factors of ``r^T r + w w^T``, by one rotation per row.

    G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition (2013), section 6.5.4.
    """

    def one(r, w):
        r, w = np.triu(r), w.copy()
        for i in range(len(r)):
            size = np.hypot(r[i, i], w[i])
            c, s = (r[i, i] / size, w[i] / size) if size != 0 else (1, 0)
            r[i], w = c * r[i] + s * w, c * w - s * r[i]
        return [r]

    return each(one, r.shape[:-2], [r, w], [(r.shape[-2:], r.dtype)], "cholesky_update")[0]


# ---------------------------------------------------------------- orthogonal factors


def geqrf(a):
    """Return packed Householder reflectors below R, and their factors."""
    m, n = a.shape[-2:]
    outs = [((m, n), a.dtype), ((min(m, n),), a.dtype)]
    return each(_geqrf, a.shape[:-2], [a], outs, "geqrf")


def _geqrf(x):
    return routine("geqrf", x)(x, lwork=BLOCK * x.shape[1])[:2]


def _geqp3(x):
    """Return the same of a matrix with permuted columns, and the permutation."""
    packed, pivots, factors, _, _ = routine("geqp3", x)(x, lwork=BLOCK * (x.shape[1] + 1))
    return packed, factors, pivots - 1


def householder_product(a, taus):
    """Return the first columns of products of Householder reflectors."""
    outs = [(a.shape[-2:], a.dtype)]
    return each(_complete, a.shape[:-2], [a, taus], outs, "householder_product")[0]


def _complete(x, taus):
    return routine("orgqr", x)(x, taus, lwork=BLOCK * x.shape[1])[:1]


def ormqr(a, taus, c, *, left, transpose):
    """Return products with the Q of Householder reflectors."""
    adjoint = "C" if a.dtype.kind == "c" else "T"

    def one(a, taus, c):
        side, trans = "L" if left else "R", adjoint if transpose else "N"
        return routine("ormqr", a)(side, trans, a, taus, c, BLOCK * max(c.shape))[:1]

    outs = [(c.shape[-2:], c.dtype)]
    return each(one, c.shape[:-2], [a, taus, c], outs, "ormqr", left, transpose)[0]


def qr(a, *, pivoting, full_matrices, use_magma):
    """Return orthogonal and triangular factors, and the permutation with `pivoting`."""
    m, n = a.shape[-2:]
    k = m if full_matrices else min(m, n)

    def one(x):
        packed, taus, *columns = _geqp3(x) if pivoting else _geqrf(x)
        reflectors = np.zeros((m, k), x.dtype)
        reflectors[:, : min(n, k)] = packed[:, : min(n, k)]
        return [*_complete(reflectors, taus), np.triu(packed[:k]), *columns]

    outs = [((m, k), a.dtype), ((k, n), a.dtype), *[((n,), np.int32)] * pivoting]
    return each(one, a.shape[:-2], [a], outs, "qr")


# ---------------------------------------------------------------- spectra


def eigh(a, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    """Return eigenvectors and ascending eigenvalues of Hermitian matrices."""
    algorithms.check("eigh", algorithm, "cpu")
    n = a.shape[-1]

    def one(x):
        w, v, info = routine("syevd", x)(x, compute_v=1, lower=lower)
        return or_nan(info, v, w)

    outs = [((n, n), a.dtype), ((n,), real_dtype(a.dtype))]
    return each(one, a.shape[:-2], [a], outs, "eigh", lower)


def svd(a, *, full_matrices, compute_uv, subset_by_index, algorithm):
    """Return singular values, left vectors and adjoint right vectors."""
    algorithms.check("svd", algorithm, "cpu")
    m, n = a.shape[-2:]
    k = min(m, n)
    by_iteration = algorithm is SvdAlgorithm.QR

    def one(x):
        call = routine("gesvd" if by_iteration else "gesdd", x)
        u, s, vt, info = call(x, compute_uv=bool(compute_uv), full_matrices=bool(full_matrices))
        return or_nan(info, s, u, vt)[: len(outs)]

    outs = [((k,), real_dtype(a.dtype))]
    if compute_uv:
        outs += [((m, m if full_matrices else k), a.dtype)]
        outs += [((n if full_matrices else k, n), a.dtype)]
    return each(one, a.shape[:-2], [a], outs, "svd", by_iteration)


def eig(
    a,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    """Return eigenvalues, and left and right eigenvectors if they are asked for."""
    algorithms.check("eig", implementation, "cpu")
    n = a.shape[-1]
    dtype = np.result_type(a.dtype, np.complex64)
    vectors = compute_left_eigenvectors, compute_right_eigenvectors
    wanted = [True, *vectors]

    def one(x):
        if not np.isfinite(x).all():  # LAPACK would complain on stderr
            return [_NAN["c"]] * len(outs)
        *w, left, right, info = routine("geev", x)(
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
    return each(one, a.shape[:-2], [a], outs, "eig", *vectors)


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

    def one(x):
        found = routine("gees", x)(_never, x, compute_v=compute_schur_vectors, sort_t=0)
        return or_nan(found[-1], found[0], found[-3])[: len(outs)]

    outs = [(a.shape[-2:], a.dtype)] * (2 if compute_schur_vectors else 1)
    return each(one, a.shape[:-2], [a], outs, "schur")


def _never(*eigenvalue):
    """Serve as LAPACK's selection of eigenvalues, which is not asked for without sorting."""
    return False


def hessenberg(a):
    """Return packed Hessenberg matrices and reflectors, and the reflectors' factors."""
    n = a.shape[-1]

    def one(x):
        packed, taus, info = routine("gehrd", x)(x, lo=0, hi=n - 1, lwork=BLOCK * n)
        return or_nan(info, packed, taus)

    outs = [((n, n), a.dtype), ((max(n - 1, 0),), a.dtype)]
    return each(one, a.shape[:-2], [a], outs, "hessenberg")


def tridiagonal(a, *, lower):
    """Return packed tridiagonal matrices, both diagonals, and the factors of the reflectors."""
    n = a.shape[-1]

    def one(x):
        *found, info = routine("sytrd", x)(x, lower=lower, lwork=BLOCK * n)
        return or_nan(info, *found)

    real = real_dtype(a.dtype)
    outs = [((n, n), a.dtype), ((n,), real), ((n - 1,), real), ((n - 1,), a.dtype)]
    return each(one, a.shape[:-2], [a], outs, "tridiagonal", lower)
