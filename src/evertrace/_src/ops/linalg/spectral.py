"""Eigenvalues and singular values, and the Schur and Hessenberg forms.

Tangents follow M. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), section 3. Eigenvectors are functions of a matrix only where
eigenvalues differ: with repeated ones tangents of vectors are infinite or NaN, those of values are
right. The same holds for singular values, with zeros among them, too.
"""

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.core.factors import batched
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import (
    abs_p,
    add_p,
    complex_p,
    conj,
    const,
    div_p,
    imag_p,
    is_complex,
    mul_p,
    real_p,
    scale,
    sub_p,
)
from evertrace._src.ops.linalg import host
from evertrace._src.ops.linalg.matrices import (
    adjoint,
    along_columns,
    along_rows,
    batched_leading,
    check_matrices,
    check_square,
    diagonal,
    on_diagonal,
    product,
    real_dtype,
    scale_columns,
    shaped,
    without_diagonal,
)
from evertrace._src.ops.linalg.solving import solve
from evertrace._src.ops.reduce import argmax_p
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import full, reduce_sum_p, zeros

_NOT_LINEAR = undefined("it is not linear")


def _real(x):
    return real_p.bind(x) if is_complex(x) else x


def _inverse_off_diagonal(x):
    """Return 1 / x off the diagonals of matrices, and zero on them."""
    safe = select(on_diagonal(x.aval), full(x.aval, 1), x)
    return without_diagonal(div_p.bind(const(x, 1), safe))


def _differences(w, aval):
    """Return matrices of differences, ``out[i, j] = w[j] - w[i]``, in the dtype of `aval`."""
    return sub_p.bind(along_rows(w, aval), along_columns(w, aval))


# ---------------------------------------------------------------- eigh


def _eigh_abstract(a, **params):
    check_square("eigh", a)
    return a.strip_weak_type(), shaped(a, a.shape[-1], dtype=real_dtype(a.dtype))


def _eigh_jvp(tangents, primals, out, **params):
    """Return tangents for a Hermitian tangent of ``A = V diag(w) V^H``.

    With ``C = V^H dA V``: ``dw = diag C`` and ``dV = V (C / (w_j - w_i))`` off the diagonal.
    """
    v, w = out
    c = product(adjoint(v), product(tangents[0], v))
    turn = mul_p.bind(c, _inverse_off_diagonal(_differences(w, c.aval)))
    return product(v, turn), _real(diagonal(c))


eigh_p: Primitive = Primitive(
    "eigh",
    flags=("lower", "sort_eigenvalues"),
    factors=batched(2),
    multiple_results=True,
    abstract=_eigh_abstract,
    host=host.eigh,
    jvp=_eigh_jvp,
    transpose=_NOT_LINEAR,
)
eigh_p.batch = batched_leading(eigh_p)

# ---------------------------------------------------------------- svd


def _svd_abstract(a, *, full_matrices, compute_uv, subset_by_index, algorithm):
    check_matrices("svd", a)
    m, n = a.shape[-2:]
    k = dims.min_of(m, n)
    s = shaped(a, k, dtype=real_dtype(a.dtype))
    if not compute_uv:
        return (s,)
    return (
        s,
        shaped(a, m, m if full_matrices else k),
        shaped(a, n if full_matrices else k, n),
    )


def _svd_jvp(tangents, primals, out, *, full_matrices, compute_uv, subset_by_index, algorithm):
    """Return the tangents of ``A = U diag(s) V^H``.

    See J. Townsend, "Differentiating the singular value decomposition" (2016).
    """
    da = tangents[0]
    m, n = da.aval.shape[-2:]
    if compute_uv and full_matrices and m != n:
        raise errors.user_error(
            NotImplementedError,
            f"svd: the complete vectors of a matrix of shape {da.aval.shape} have no derivative: "
            "the last ones are any basis of what is orthogonal to the others.",
            fix="use `full_matrices=False`.",
            anchor="degenerate-linalg",
        )
    if not compute_uv:
        out = svd_p.bind(
            primals[0],
            full_matrices=False,
            compute_uv=True,
            subset_by_index=subset_by_index,
            algorithm=algorithm,
        )
    s, u, vh = out
    v = adjoint(vh)
    dav = product(da, v)
    c = product(adjoint(u), dav)
    ds = _real(diagonal(c))
    if not compute_uv:
        return (ds,)
    du, dv = _turned(u, v, s, c)
    if m > n:
        du = add_p.bind(du, _outside(u, dav, s))
    if n > m:
        dv = add_p.bind(dv, _outside(v, product(adjoint(da), u), s))
    return ds, du, adjoint(dv)


def _turned(u, v, s, c):
    """Return how singular vectors turn within the spaces they span, where ``c = U^H dA V``.

    The phases of complex vectors are fixed by leaving those of V alone.
    """
    across, down = along_rows(s, c.aval), along_columns(s, c.aval)
    gaps = mul_p.bind(add_p.bind(across, down), sub_p.bind(across, down))
    inverse = _inverse_off_diagonal(gaps)

    def hermitian(x):
        return mul_p.bind(inverse, add_p.bind(x, adjoint(x)))

    turn_u, turn_v = hermitian(mul_p.bind(c, across)), hermitian(mul_p.bind(down, c))
    if is_complex(c):
        phases = scale(sub_p.bind(c, adjoint(c)), 0.5)
        phases = select(on_diagonal(c.aval), _divided(phases, across), zeros(c.aval))
        turn_u = add_p.bind(turn_u, phases)
    return product(u, turn_u), product(v, turn_v)


def _divided(x, s):
    """Return x / s, and zero where s is zero."""
    is_zero = eq_p.bind(s, zeros(s.aval))
    quotient = div_p.bind(x, select(is_zero, full(s.aval, 1), s))
    return select(is_zero, zeros(x.aval), quotient)


def _outside(u, moved, s):
    """Return how vectors `u` leave the space they span: the part of ``moved / s`` outside of it."""
    outside = sub_p.bind(moved, product(u, product(adjoint(u), moved)))
    return div_p.bind(outside, along_rows(s, outside.aval))


svd_p: Primitive = Primitive(
    "svd",
    flags=("compute_uv", "full_matrices"),
    factors=batched(2),
    multiple_results=True,
    abstract=_svd_abstract,
    host=host.svd,
    jvp=_svd_jvp,
    transpose=_NOT_LINEAR,
)
svd_p.batch = batched_leading(svd_p)

# ---------------------------------------------------------------- eig


def _eig_abstract(
    a,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    check_square("eig", a)
    n, dtype = a.shape[-1], np.result_type(a.dtype, np.complex64)
    vectors = bool(compute_left_eigenvectors) + bool(compute_right_eigenvectors)
    return shaped(a, n, dtype=dtype), *[shaped(a, n, n, dtype=dtype)] * vectors


def _eig_jvp(
    tangents,
    primals,
    out,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    """Return the tangents of ``A V = V diag(w)``, and of ``A^H U = U diag(conj w)``."""
    wants_vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if wants_vectors and not enable_eigvec_derivs:
        raise errors.user_error(
            NotImplementedError,
            "eig: the derivative of eigenvectors of general matrices depends on how their lengths "
            "and phases are chosen.",
            fix="differentiate eigenvalues alone (`numpy.linalg.eigvals`), use `eigh` if the "
            "matrix is symmetric, or pass `enable_eigvec_derivs=True` to `lax.linalg.eig`.",
            anchor="degenerate-linalg",
        )
    if not wants_vectors:
        out = eig_p.bind(
            primals[0],
            compute_left_eigenvectors=False,
            compute_right_eigenvectors=True,
            enable_eigvec_derivs=True,
            implementation=implementation,
        )
    w, *vectors = out
    da = convert(tangents[0], w.aval.dtype)
    dw, moved = None, []
    if compute_left_eigenvectors:
        dw, dv = _eigenvector_tangents(adjoint(da), conj(w), vectors[0])
        dw = conj(dw)
        moved.append(dv)
    if compute_right_eigenvectors or not wants_vectors:
        dw, dv = _eigenvector_tangents(da, w, vectors[-1])
        moved.append(dv)
    return (dw, *moved) if wants_vectors else (dw,)


def _eigenvector_tangents(da, w, v):
    """Return the tangents of eigenvalues and right eigenvectors.

    With ``C = V^-1 dA V``: ``dw = diag C`` and ``dV = V (C / (w_j - w_i))`` off the diagonal, plus
    a multiple of each vector, so that it keeps its length of 1, and its largest component real.
    """
    c = solve(v, product(da, v))
    turned = product(v, mul_p.bind(c, _inverse_off_diagonal(_differences(w, c.aval))))
    rows = v.aval.ndim - 2
    along = _sum_rows(mul_p.bind(conj(v), turned))
    largest = argmax_p.bind(abs_p.bind(v), axes=(rows,), index_dtype=np.dtype(np.int32))
    numbers = iota(np.int32, v.aval.shape, rows)
    is_largest = eq_p.bind(numbers, along_rows(largest, numbers.aval))
    moved, still = (_sum_rows(select(is_largest, x, zeros(x.aval))) for x in (turned, v))
    phase = div_p.bind(imag_p.bind(moved), real_p.bind(still))
    back = complex_p.bind(real_p.bind(along), phase)
    return diagonal(c), sub_p.bind(turned, scale_columns(v, back))


def _sum_rows(x):
    return reduce_sum_p.bind(x, axes=(x.aval.ndim - 2,), out_sharding=None)


eig_p: Primitive = Primitive(
    "eig",
    flags=("compute_left_eigenvectors", "compute_right_eigenvectors"),
    factors=batched(2),
    multiple_results=True,
    abstract=_eig_abstract,
    host=host.eig,
    jvp=_eig_jvp,
    transpose=_NOT_LINEAR,
)
eig_p.batch = batched_leading(eig_p)

# ---------------------------------------------------------------- schur, hessenberg


def _schur_abstract(a, *, compute_schur_vectors, sort_eig_vals, select_callable):
    check_square("schur", a)
    return (a.strip_weak_type(),) * (2 if compute_schur_vectors else 1)


schur_p: Primitive = Primitive(
    "schur",
    flags=("compute_schur_vectors", "sort_eig_vals"),
    factors=batched(2),
    multiple_results=True,
    abstract=_schur_abstract,
    host=host.schur,
    jvp=undefined("its form jumps where eigenvalues meet"),
    transpose=_NOT_LINEAR,
)
schur_p.batch = batched_leading(schur_p)


def _hessenberg_abstract(a):
    check_square("hessenberg", a)
    return a.strip_weak_type(), shaped(a, max(a.shape[-1] - 1, 0))


hessenberg_p: Primitive = Primitive(
    "hessenberg",
    factors=batched(2),
    multiple_results=True,
    abstract=_hessenberg_abstract,
    host=host.hessenberg,
    jvp=undefined("it is a packed form"),
    transpose=_NOT_LINEAR,
)
hessenberg_p.batch = batched_leading(hessenberg_p)


def _tridiagonal_abstract(a, *, lower):
    check_square("tridiagonal", a)
    n, real = a.shape[-1], real_dtype(a.dtype)
    off = max(n - 1, 0)
    return a.strip_weak_type(), shaped(a, n, dtype=real), shaped(a, off, dtype=real), shaped(a, off)


tridiagonal_p: Primitive = Primitive(
    "tridiagonal",
    flags=("lower",),
    factors=batched(2),
    multiple_results=True,
    abstract=_tridiagonal_abstract,
    host=host.tridiagonal,
    jvp=undefined("it is a packed form"),
    transpose=_NOT_LINEAR,
)
tridiagonal_p.batch = batched_leading(tridiagonal_p)
