"""Rows of linear algebra.

Signs and phases of singular vectors and eigenvectors are LAPACK's choice, so the rows return what
does not depend on them.
"""

import numpy as np
import scipy.linalg

from evertrace._src.lax import linalg as lax
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.elementwise import abs as magnitude
from evertrace._src.lax.elementwise import add, mul
from evertrace._src.lax.functions import square
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.linalg import matrices, solving
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import expand_dims, squeeze, zeros
from tests.specs.opspec import COMPLEX, WIDE_FLOATING, OpSpec, case

DTYPES = (*WIDE_FLOATING, *COMPLEX)
SHAPES = [case((3, 3)), case((2, 4, 4)), case((1, 1)), case((0, 3, 3))]
TALL_AND_WIDE = [*SHAPES, case((5, 3)), case((2, 3, 5))]
SYSTEMS = [case((3, 3), (3, 2)), case((2, 4, 4), (2, 4, 1)), case((1, 1), (1, 3))]


def numbers(rng, shape, dtype):
    """Draw numbers, complex ones for a complex dtype."""
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if dtype.kind == "c" else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def dominant(rng, shape, dtype):
    """Draw matrices that are well conditioned: their diagonal, all different, dominates."""
    x = numbers(rng, shape, dtype) / 4
    m, n = shape[-2:]
    return x + np.eye(m, n) * (1 + np.arange(n))


def positive(rng, shape, dtype):
    """Draw Hermitian positive definite matrices with different eigenvalues."""
    x = dominant(rng, shape, dtype)
    return x @ adjoint(x)


def inverse_times(a, b):
    return np.linalg.solve(a, b)


def lu_product(a):
    """Return what LU factors and the permutation say of a matrix, and the factors."""
    packed, pivots, rows = lax.lu(a)
    m, n = a.aval.shape[-2:]
    upper = matrices.triu(packed)
    if m != n:
        return [packed, pivots, rows]
    return [packed, pivots, rows, matrices.product(solving.unit_lower(packed), upper)]


def numpy_lu(a):
    """Return the same with SciPy, matrix by matrix."""
    outs = []
    for x in a.reshape(-1, *a.shape[-2:]):
        packed, pivots = scipy.linalg.lu_factor(x)
        rows = np.arange(x.shape[0])
        for i, p in enumerate(pivots):
            rows[[i, p]] = rows[[p, i]]
        outs.append([packed, pivots, rows, x[rows]])
    m, n = a.shape[-2:]
    shapes = [(m, n), (min(m, n),), (m,), (m, n)]
    found = [
        np.reshape([out[i] for out in outs], (*a.shape[:-2], *shape))
        for i, shape in enumerate(shapes)
    ]
    return found if m == n else found[:3]


def triangular_solve(a, b, **options):
    return lax.triangular_solve(a, b, left_side=True, **options)


def numpy_triangular_solve(
    a, b, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False
):
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        eye = np.eye(a.shape[-1])
        a = a * (1 - eye) + eye
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    return np.linalg.solve(np.conj(a) if conjugate_a else a, b)


def transposed_options(function):
    """Return a function that solves from the right by solving the transposed system."""

    def from_right(a, b, **options):
        return np.swapaxes(
            function(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), **options), -1, -2
        )

    return from_right


def tridiagonal(dl, d, du):
    """Return matrices with these diagonals."""
    n = d.shape[-1]
    out = d[..., None] * np.eye(n)
    out[..., range(1, n), range(n - 1)] = dl[..., 1:]
    out[..., range(n - 1), range(1, n)] = du[..., :-1]
    return out


def eigh_invariants(a, **options):
    v, w = lax.eigh(a, **options)
    return [w, square(magnitude(v))]


def numpy_eigh_invariants(a, lower=True, **options):
    w, v = np.linalg.eigh((a + adjoint(a)) / 2)
    return [w, np.abs(v) ** 2]


def svd_invariants(a):
    u, s, vh = lax.svd(a, full_matrices=False)
    cubed = mul(s, square(s))
    return [s, square(magnitude(u)), matrices.product(matrices.scale_columns(u, cubed), vh)]


def numpy_svd_invariants(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return [s, np.abs(u) ** 2, (u * s[..., None, :] ** 3) @ vh]


def singular_values(a):
    return lax.svd(a, compute_uv=False)


def complete_products(a):
    """Return products of complete factors, which do not depend on the choice of the last."""
    u, s, _ = lax.svd(a)
    q, r = lax.qr(a)
    p, t, columns = lax.qr(a, pivoting=True)
    unit = [matrices.product(matrices.adjoint(x), x) for x in (u, q, p)]
    return [s, matrices.product(q, r), matrices.product(p, t), columns, *unit]


def numpy_complete_products(a):
    m = a.shape[-2]
    columns = np.stack(
        [scipy.linalg.qr(x, pivoting=True)[2] for x in a.reshape(-1, *a.shape[-2:])]
    ).reshape(*a.shape[:-2], a.shape[-1])
    unit = np.broadcast_to(np.eye(m), (*a.shape[:-2], m, m)).astype(a.dtype)
    moved = np.take_along_axis(a, columns[..., None, :], -1)
    return [np.linalg.svd(a)[1], a, moved, columns.astype(np.int32), unit, unit, unit]


def eigenvalues(a):
    (w,) = lax.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return w


def eigenvectors(a):
    w, left, right = lax.eig(a, enable_eigvec_derivs=True)
    return [w, square(left), square(right)]


def numpy_eigenvectors(a):
    w, right = np.linalg.eig(a)
    left = np.stack(
        [scipy.linalg.eig(x, left=True)[1] for x in a.reshape(-1, *a.shape[-2:])]
    ).reshape(a.shape)
    return [w, left**2, right**2]


def schur_product(a):
    t, q = lax.schur(a)
    return matrices.product(matrices.product(q, t), matrices.adjoint(q))


def numpy_tridiagonal(a):
    """Return what does not depend on signs: the eigenvalues."""
    return np.linalg.eigvalsh((a + adjoint(a)) / 2)


def tridiagonal_spectrum(a):
    """Return the eigenvalues of the tridiagonal form."""
    _, d, e, _ = lax.tridiagonal(matrices.hermitian_part(a))
    n = d.aval.shape[-1]
    below = matrices.resized(expand_dims(e, (e.ndim,)), n, 1)
    full = matrices.shaped(a.aval, n, n, dtype=d.aval.dtype)
    rows = squeeze(below, (below.aval.ndim - 1,))
    lower = select(matrices.on_or_below(full, -1), matrices.along_rows(rows, full), zeros(full))
    band = select(matrices.on_or_below(full, -2), zeros(full), lower)
    diagonal = select(matrices.on_diagonal(full), matrices.along_rows(d, full), zeros(full))
    return lax.eigh(add(band, diagonal), symmetrize_input=False)[1]


def reflected_columns(a, c, **options):
    """Multiply by the Q of a QR factorisation, kept as reflectors."""
    return lax.ormqr(*ops.geqrf_p.bind(stop_gradient(a)), c, **options)


def numpy_reflected_columns(a, c, left=True, transpose=False):
    q = np.linalg.qr(a, mode="complete").Q
    q = adjoint(q) if transpose else q
    return q @ c if left else c @ q


def updated(r, w):
    """Return the factor of a matrix plus a product, given any matrix that is made a factor."""
    return lax.cholesky_update(matrices.triu(r), w)


def numpy_updated(r, w):
    r = np.triu(r)
    total = np.swapaxes(r, -1, -2) @ r + w[..., :, None] * w[..., None, :]
    return np.swapaxes(np.linalg.cholesky(total), -1, -2)


def packed_qr(a):
    packed, taus = ops.geqrf_p.bind(a)
    q = lax.householder_product(packed, taus)
    return matrices.product(q, matrices.triu(slice_in_dim(packed, 0, q.shape[-1], q.ndim - 2)))


def reflected(a):
    return lax.hessenberg(a)


def swaps(rng, dtype):
    return np.stack([rng.integers(i, 5, 2) for i in range(3)], -1).astype(np.int32)


def numpy_permutation(pivots, permutation_size):
    out = np.tile(np.arange(permutation_size), (*pivots.shape[:-1], 1))
    for row, swapped in zip(
        out.reshape(-1, permutation_size), pivots.reshape(-1, pivots.shape[-1]), strict=True
    ):
        for i, p in enumerate(swapped):
            row[[i, p]] = row[[p, i]]
    return out.astype(np.int32)


SPECS = [
    OpSpec(
        "cholesky", [ops.cholesky_p], lax.cholesky,
        lambda a: np.linalg.cholesky((a + adjoint(a)) / 2), SHAPES, DTYPES, domain=positive,
        ulps=16, ulps_of="array",
    ),
    OpSpec(
        "triangular_solve", [ops.triangular_solve_p], triangular_solve, numpy_triangular_solve,
        [
            *SYSTEMS,
            *[case((3, 3), (3, 2), lower=lower, transpose_a=t, conjugate_a=c, unit_diagonal=u)
              for lower, t, c, u in [(True, True, True, False), (False, False, True, True),
                                     (True, False, False, True), (True, True, False, True)]],
        ],
        DTYPES, domain=[dominant, (-1, 1)], ulps=32, ulps_of="array", linear=[(1,)],
    ),
    OpSpec(
        "triangular_solve from the right", [ops.triangular_solve_p], lax.triangular_solve,
        transposed_options(lambda a, b, lower: numpy_triangular_solve(a, b, lower=not lower)),
        [case((3, 3), (2, 3), lower=True), case((2, 3, 3), (2, 1, 3), lower=False)],
        DTYPES, domain=[dominant, (-1, 1)], ulps=32, ulps_of="array", linear=[(1,)],
    ),
    OpSpec(
        "cholesky_update", [ops.cholesky_update_p], updated, numpy_updated,
        [case((3, 3), (3,)), case((2, 4, 4), (2, 4)), case((1, 1), (1,)), case((0, 3, 3), (0, 3))],
        WIDE_FLOATING, domain=[dominant, (-1, 1)], ulps=32, ulps_of="array",
    ),
    OpSpec(
        "symmetric_product", [ops.symmetric_product_p], lax.symmetric_product,
        lambda a, c, alpha, beta: alpha * a @ np.swapaxes(a, -1, -2) + beta * c,
        [
            case((3, 2), (3, 3), alpha=2.0, beta=-0.5),
            case((2, 1, 4), (2, 1, 1), alpha=1.0, beta=0.0),
        ],
        WIDE_FLOATING, domain=(-1, 1), ulps=32, ulps_of="array",
    ),
    OpSpec(
        "lu", [ops.lu_p], lu_product, numpy_lu, TALL_AND_WIDE, DTYPES, domain=dominant, ulps=16,
        ulps_of="array",
    ),
    OpSpec(
        "lu_pivots_to_permutation", [ops.lu_pivots_to_permutation_p], lax.lu_pivots_to_permutation,
        numpy_permutation,
        [case(swaps, permutation_size=5), case(swaps, permutation_size=7)], ("int32",), ulps=0,
        wide=False,
    ),
    OpSpec(
        "solve", [ops.lu_solve_p], solving.solve, inverse_times, SYSTEMS, DTYPES,
        domain=[dominant, (-1, 1)], ulps=32, ulps_of="array", linear=[(1,)],
    ),
    OpSpec(
        "tridiagonal_solve", [ops.tridiagonal_solve_p], lax.tridiagonal_solve,
        lambda dl, d, du, b: np.linalg.solve(tridiagonal(dl, d, du), b),
        [case((4,), (4,), (4,), (4, 2)), case((2, 3), (2, 3), (2, 3), (2, 3, 1)),
         case((1,), (1,), (1,), (1, 2))],
        DTYPES, domain=[(-1, 1), (3, 4), (-1, 1), (-1, 1)], ulps=32, ulps_of="array",
        linear=[(3,)],
    ),
    OpSpec(
        "qr", [ops.qr_p], lambda a: lax.qr(a, full_matrices=False),
        lambda a: list(np.linalg.qr(a)), TALL_AND_WIDE, DTYPES, domain=dominant, ulps=32,
        ulps_of="array",
    ),
    OpSpec(
        "qr with pivoting", [ops.qr_p],
        lambda a: lax.qr(a, full_matrices=False, pivoting=True), None, TALL_AND_WIDE, DTYPES,
        domain=dominant, ulps=32, ulps_of="array",
    ),
    OpSpec(
        "complete factors", [ops.qr_p, ops.svd_p], complete_products, numpy_complete_products,
        [case((5, 3)), case((2, 3, 5))], DTYPES, domain=dominant, ulps=32, ulps_of="array",
        grads=(),
    ),
    OpSpec(
        "packed qr", [ops.geqrf_p, ops.householder_product_p], packed_qr, lambda a: a,
        [case((3, 3)), case((2, 5, 3))], DTYPES, domain=dominant, ulps=32, ulps_of="array",
        grads=(),
    ),
    OpSpec(
        "ormqr", [ops.ormqr_p], reflected_columns, numpy_reflected_columns,
        [
            case((3, 3), (3, 2)),
            case((4, 2), (4, 3), transpose=True),
            case((2, 4, 2), (2, 3, 4), left=False),
            case((3, 3), (2, 3), left=False, transpose=True),
        ],
        DTYPES, domain=[dominant, (-1, 1)], ulps=32, ulps_of="array", grads=(1,), linear=[(1,)],
    ),
    OpSpec(
        "tridiagonal", [ops.tridiagonal_p], tridiagonal_spectrum, numpy_tridiagonal, SHAPES,
        DTYPES, domain=positive, ulps=64, ulps_of="array", grads=(),
    ),
    OpSpec(
        "singular values by QR iteration", [ops.svd_p],
        lambda a: lax.svd(a, compute_uv=False, algorithm=SvdAlgorithm.QR),
        lambda a: np.linalg.svd(a, compute_uv=False), TALL_AND_WIDE, DTYPES, domain=dominant,
        ulps=32, ulps_of="array",
    ),
    OpSpec(
        "eigh", [ops.eigh_p], eigh_invariants, numpy_eigh_invariants,
        [*SHAPES, case((3, 3), lower=False)], DTYPES, domain=positive, ulps=64, ulps_of="array",
    ),
    OpSpec(
        "svd", [ops.svd_p], svd_invariants, numpy_svd_invariants, TALL_AND_WIDE, DTYPES,
        domain=dominant, ulps=128, ulps_of="array",
    ),
    OpSpec(
        "singular values", [ops.svd_p], singular_values,
        lambda a: np.linalg.svd(a, compute_uv=False), TALL_AND_WIDE, DTYPES, domain=dominant,
        ulps=32, ulps_of="array",
    ),
    OpSpec(
        "eig", [ops.eig_p], eigenvectors, numpy_eigenvectors,
        [case((3, 3)), case((2, 4, 4))], DTYPES, domain=dominant, ulps=128, ulps_of="array",
    ),
    OpSpec(
        "eigenvalues", [ops.eig_p], eigenvalues, lambda a: np.linalg.eig(a)[0],
        [case((3, 3)), case((2, 4, 4))], DTYPES, domain=dominant, ulps=128, ulps_of="array",
    ),
    OpSpec(
        "schur", [ops.schur_p], schur_product, lambda a: a, SHAPES, DTYPES, domain=dominant,
        ulps=64, ulps_of="array", grads=(),
    ),
    OpSpec(
        "hessenberg", [ops.hessenberg_p], reflected, None, SHAPES, DTYPES, domain=dominant,
        ulps=64, ulps_of="array", grads=(),
    ),
]  # fmt: skip
