"""Linear algebra in compiled programs: kernels of LAPACK and CUDA, and what is made of them.

Which platform has which kernel is the table of `solvers`. Triangular solves are an operation of
StableHLO where there is none, and so are Cholesky factors.
"""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla import solvers
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import bool_attr, int_attr
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.compare import eq_p, lt_p
from evertrace._src.ops.creation import iota
from evertrace._src.ops.dynamic import dynamic_slice_p, dynamic_update_slice_p
from evertrace._src.ops.elementwise import (
    abs_p,
    add_p,
    complex_p,
    conj,
    div_p,
    max_p,
    min_p,
    mul_p,
    sub_p,
)
from evertrace._src.ops.linalg import algorithms, matrices, solving, updates
from evertrace._src.ops.linalg.algorithms import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
)
from evertrace._src.ops.reduce import spread_over
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import pad, slice_in_dim
from evertrace._src.ops.structural import full, reduce_sum_p, reshape, spread, zeros
from evertrace._src.transforms.staging import stage


def composed_all(b, fun, *operands):
    """Write a function of primitives that returns a list of arrays."""
    staged = stage(fun, [x.aval for x in operands])
    assert not staged.captured
    return b.inline(staged.jaxpr, operands)


def composed(b, fun, *operands):
    """Write a function of primitives that returns one array."""
    return composed_all(b, lambda *xs: [fun(*xs)], *operands)[0]


def _info(aval):
    """Return the aval of the codes that say how a stack of matrices fared."""
    return ShapedArray(aval.shape[:-2], np.int32)


# ---------------------------------------------------------------- systems


@lowering.define(ops.cholesky_p)
def _cholesky(b, out, a):
    if not solvers.has(b, solvers.CHOLESKY):
        factor = b.op("stablehlo.cholesky", [a], out, {"lower": "true"})
        return composed(b, matrices.tril, factor)
    outs, batch = [out, _info(out)], a.aval.ndim - 2
    factor, info = solvers.call(b, solvers.CHOLESKY, [a], outs, batch, {0: 0}, lower=True)
    return composed(b, matrices.tril, *solvers.or_nan(b, info, [factor]))


@lowering.define(ops.symmetric_product_p)
def _symmetric_product(b, out, *operands, **params):
    return composed(b, lambda *xs: updates.symmetric_product(*xs, **params), *operands)


@lowering.define(ops.cholesky_update_p)
def _cholesky_update(b, out, r, w):
    """Write the loop over the rows of the factor."""
    counter = ShapedArray((), np.int32)
    avals = [counter, out, w.aval]

    def go_on(i, r, w):
        return [b.compare("LT", i, b.constant(out.shape[-1], counter))]

    def rotate(i, r, w):
        following = b.op("stablehlo.add", [i, b.constant(1, counter)], counter)
        return [following, *composed_all(b, _rotated, i, r, w)]

    regions = [b.region(avals, go_on), b.region(avals, rotate)]
    start = [b.constant(0, counter), composed(b, matrices.triu, r), w]
    return b.op("stablehlo.while", start, avals, regions=regions)[1]


def _rotated(i, r, w):
    """Rotate row i of the factor and the vector, so that element i of the vector vanishes."""
    rows, last = w.aval.ndim - 1, w.aval.ndim - 1
    in_row = eq_p.bind(iota(np.int32, r.aval.shape, rows), spread(i, r.aval.shape))
    in_vector = eq_p.bind(iota(np.int32, w.aval.shape, last), spread(i, w.aval.shape))
    row = reduce_sum_p.bind(select(in_row, r, zeros(r.aval)), axes=(rows,), out_sharding=None)

    def element(v):
        return _sum_last(select(in_vector, v, zeros(v.aval)), v.aval.shape)

    x, y = element(row), element(w)
    size = abs_p.bind(complex_p.bind(x, y))  # without overflow of squares
    is_zero = eq_p.bind(size, zeros(size.aval))
    one = full(size.aval, 1)
    safe = select(is_zero, one, size)
    c, s = select(is_zero, one, div_p.bind(x, safe)), div_p.bind(y, safe)
    new_row = add_p.bind(mul_p.bind(c, row), mul_p.bind(s, w))
    new_w = sub_p.bind(mul_p.bind(c, w), mul_p.bind(s, row))
    return [select(in_row, matrices.along_rows(new_row, r.aval), r), new_w]


@lowering.define(ops.triangular_solve_p)
def _triangular_solve(b, out, a, rhs, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    is_complex = out.dtype.kind == "c"
    if conjugate_a and not transpose_a and is_complex:
        a = composed(b, conj, a)
    adjoint = transpose_a and conjugate_a and is_complex
    if not solvers.has(b, solvers.TRIANGULAR_SOLVE):
        kind = "ADJOINT" if adjoint else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
        return b.op(
            "stablehlo.triangular_solve",
            [a, rhs],
            out,
            {
                "left_side": bool_attr(left_side),
                "lower": bool_attr(lower),
                "transpose_a": f"#stablehlo<transpose {kind}>",
                "unit_diagonal": bool_attr(unit_diagonal),
            },
        )
    return solvers.call(
        b,
        solvers.TRIANGULAR_SOLVE,
        [a, rhs],
        [out],
        out.ndim - 2,
        {1: 0},
        left_side=left_side,
        lower=lower,
        kind="C" if adjoint else "T" if transpose_a else "N",
        unit_diagonal=unit_diagonal,
    )[0]


@lowering.define(ops.lu_p)
def _lu(b, outs, a):
    factors, pivots, rows = outs
    packed, pivots, _ = solvers.call(
        b, solvers.LU, [a], [factors, pivots, _info(factors)], factors.ndim - 2, {0: 0}
    )
    one = b.full_like(pivots, 1)  # kernels count from 1
    pivots = b.op("stablehlo.subtract", [pivots, one], pivots.aval)
    return [packed, pivots, _permutation(b, rows, pivots)]


@lowering.define(ops.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(b, out, pivots, *, permutation_size):
    def rows(pivots):
        """Return any numbers as rows: counted from the end, or the nearest ones."""
        aval = pivots.aval
        zero, size, last = (full(aval, n) for n in (0, permutation_size, permutation_size - 1))
        from_front = select(lt_p.bind(pivots, zero), add_p.bind(pivots, size), pivots)
        return min_p.bind(max_p.bind(from_front, zero), last)

    return _permutation(b, out, composed(b, rows, pivots))


def _permutation(b, out, pivots):
    """Write the swaps ``i <-> pivots[i]`` of an identity permutation: a kernel, or the loop."""
    if solvers.has(b, solvers.LU_PIVOTS_TO_PERMUTATION):
        return solvers.call(b, solvers.LU_PIVOTS_TO_PERMUTATION, [pivots], [out], out.ndim - 1)[0]
    counter = ShapedArray((), np.int32)
    last, number = out.ndim - 1, pivots.shape[-1]
    start = b.op("stablehlo.iota", [], out, {"iota_dimension": int_attr(last)})
    if number == 0:  # the loop's body would take one of no pivots
        return start

    def go_on(i, rows):
        return [b.compare("LT", i, b.constant(number, counter))]

    def swap(i, rows):
        following = b.op("stablehlo.add", [i, b.constant(1, counter)], counter)
        return [following, composed(b, _swapped, i, rows, pivots)]

    avals = [counter, out]
    regions = [b.region(avals, go_on), b.region(avals, swap)]
    return b.op("stablehlo.while", [b.constant(0, counter), start], avals, regions=regions)[1]


def _swapped(i, rows, pivots):
    """Return `rows`, one permutation or a stack of them, with elements i and ``pivots[i]`` swapped.

    In stacks elements are found by comparing all positions: that vectorises, and needs no gather.
    """
    shape, last = rows.aval.shape, rows.aval.ndim - 1
    if last == 0:
        pivot = reshape(_item(pivots, i), ())
        row, other = _item(rows, i), _item(rows, pivot)
        rows = dynamic_update_slice_p.bind(rows, row, pivot)
        return dynamic_update_slice_p.bind(rows, other, i)

    def at(x, place):
        found = eq_p.bind(iota(np.int32, x.aval.shape, last), spread(place, x.aval.shape))
        return found, _sum_last(select(found, x, zeros(x.aval)), shape)

    at_i, row_i = at(rows, i)
    _, pivot = at(pivots, i)
    at_pivot, row_pivot = at(rows, pivot)
    return select(at_i, row_pivot, select(at_pivot, row_i, rows))


def _item(x, i):
    """Return element i of a vector as an array of one element."""
    return dynamic_slice_p.bind(x, i, slice_sizes=(1,))


def _sum_last(x, shape):
    """Sum over the last dimension, and spread the sums to `shape`."""
    last = x.aval.ndim - 1
    return spread_over(reduce_sum_p.bind(x, axes=(last,), out_sharding=None), shape, (last,))


@lowering.define(ops.lu_solve_p)
def _lu_solve(b, out, *operands, **params):
    return composed(b, lambda *xs: solving.solve_by_factors(*xs, **params), *operands)


@lowering.define(ops.tridiagonal_solve_p)
def _tridiagonal_solve(b, out, dl, d, du, rhs, *, perturb_singular):
    operands, batch = [dl, d, du, rhs], out.ndim - 2
    if b.module.platform != "cpu":  # the kernel spoils nothing but the sides, and returns no code
        return solvers.call(b, solvers.TRIDIAGONAL_SOLVE, operands, [out], batch, {3: 0})[0]
    outs = [*[x.aval for x in operands], _info(out)]
    same = {i: i for i in range(4)}
    *_, x, info = solvers.call(b, solvers.TRIDIAGONAL_SOLVE, operands, outs, batch, same)
    return solvers.or_nan(b, info, [x])[0]


# ---------------------------------------------------------------- orthogonal factors


@lowering.define(ops.geqrf_p)
def _geqrf(b, outs, a):
    return solvers.call(b, solvers.GEQRF, [a], outs, a.aval.ndim - 2, {0: 0})


@lowering.define(ops.householder_product_p)
def _householder_product(b, out, a, taus):
    return solvers.call(b, solvers.HOUSEHOLDER_PRODUCT, [a, taus], [out], out.ndim - 2, {0: 0})[0]


@lowering.define(ops.ormqr_p)
def _ormqr(b, out, a, taus, c, *, left, transpose):
    operands, batch = [a, taus, c], out.ndim - 2
    return solvers.call(
        b, solvers.ORMQR, operands, [out], batch, {2: 0}, left=left, transpose=transpose
    )[0]


@lowering.define(ops.qr_p)
def _qr(b, outs, a, *, pivoting, full_matrices, use_magma):
    q, _, *columns = outs
    m, n = a.shape[-2:]
    k = q.shape[-1]
    batch = a.aval.ndim - 2
    packed_taus = [a.aval, a.aval.update(shape=(*a.shape[:-2], min(m, n)))]
    if pivoting:
        packed, taus, columns = _pivoted(b, a, packed_taus, columns[0], use_magma)
    else:
        packed, taus = solvers.call(b, solvers.GEQRF, [a], packed_taus, batch, {0: 0})

    def reflectors(x):
        x = slice_in_dim(x, 0, min(n, k), batch + 1)
        return pad(x, [(0, 0, 0)] * (batch + 1) + [(0, k - min(n, k), 0)])

    def upper(x):
        return matrices.triu(slice_in_dim(x, 0, k, batch))

    start = composed(b, reflectors, packed)
    (q,) = solvers.call(b, solvers.HOUSEHOLDER_PRODUCT, [start, taus], [q], batch, {0: 0})
    return [q, composed(b, upper, packed), *columns]


_MAGMA = {None: "auto", True: "on", False: "off"}


def _pivoted(b, a, packed_taus, columns, use_magma):
    """Write a QR factorisation with pivoting: reflectors, factors, and a list of the columns."""
    free = b.constant(0, columns)  # no column is bound to stay in front
    packed, taus = packed_taus
    packed, chosen, taus = solvers.call(
        b,
        solvers.PIVOTED_QR,
        [a, free],
        [packed, columns, taus],
        a.aval.ndim - 2,
        {0: 0, 1: 1},
        magma=_MAGMA[use_magma],
    )
    one = b.full_like(chosen, 1)  # kernels count from 1
    return packed, taus, [b.op("stablehlo.subtract", [chosen, one], columns)]


# ---------------------------------------------------------------- spectra


@lowering.define(ops.eigh_p)
def _eigh(b, outs, a, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    algorithms.check("eigh", algorithm, b.module.platform, b.src)
    v, w, info = solvers.call(
        b,
        solvers.EIGH,
        [a],
        [*outs, _info(a.aval)],
        a.aval.ndim - 2,
        {0: 0},
        lower=lower,
        algorithm=(None, EighImplementation.QR, EighImplementation.JACOBI).index(algorithm),
    )
    return solvers.or_nan(b, info, [v, w])


@lowering.define(ops.svd_p)
def _svd(b, outs, a, *, full_matrices, compute_uv, subset_by_index, algorithm):
    algorithms.check("svd", algorithm, b.module.platform, b.src)
    if b.module.platform == "gpu":
        return _svd_on_gpu(b, outs, a, full_matrices, compute_uv, algorithm)
    if not compute_uv:
        outs = [outs[0], *[matrices.shaped(a.aval, size, size) for size in a.shape[-2:]]]
    solver = solvers.SVD_BY_QR if algorithm is SvdAlgorithm.QR else solvers.SVD
    return _svd_by(b, solver, a, outs, compute_uv=compute_uv, full_matrices=full_matrices)


def _svd_by(b, solver, a, outs, row_major=False, *, compute_uv, **options):
    """Call a kernel that returns what is left of the matrix, values, two sets of vectors, a code.

    Returns:
      The values, and with `compute_uv` the vectors; NaN where the kernel failed.
    """
    outs, batch = [a.aval, *outs, _info(a.aval)], a.aval.ndim - 2
    _, *found, info = solvers.call(
        b, solver, [a], outs, batch, {0: 0}, row_major, compute_uv=compute_uv, **options
    )
    return solvers.or_nan(b, info, found if compute_uv else found[:1])


_LARGEST_TO_ROTATE = 1024  # rows and columns up to which CUDA's default are Jacobi's rotations
_LARGEST_TO_ROTATE_WHOLE = 32  # up to which these compute complete vectors, whatever is asked


def _svd_on_gpu(b, outs, a, full_matrices, compute_uv, algorithm):
    """Write the singular values of CUDA's kernels, and the vectors if they are asked for."""
    m, n = a.shape[-2:]
    if algorithm in (None, SvdAlgorithm.DEFAULT):
        rotates = m <= _LARGEST_TO_ROTATE and n <= _LARGEST_TO_ROTATE
        algorithm = SvdAlgorithm.JACOBI if rotates else SvdAlgorithm.QR
    if algorithm is SvdAlgorithm.QR:
        return _svd_by_qr_on_gpu(b, outs, a, full_matrices, compute_uv)
    is_whole = full_matrices or not compute_uv
    solver = solvers.SVD_BY_POLAR
    if algorithm is SvdAlgorithm.JACOBI:
        solver, is_whole = solvers.SVD, is_whole or min(m, n) <= _LARGEST_TO_ROTATE_WHOLE
    k = min(m, n)
    shapes = [(m, m if is_whole else k), (n, n if is_whole else k)]
    made = [outs[0], *[matrices.shaped(a.aval, *shape) for shape in shapes]]
    s, *vectors = _svd_by(b, solver, a, made, compute_uv=compute_uv, full_matrices=is_whole)
    if not compute_uv:
        return [s]
    columns = a.aval.ndim - 1
    if not full_matrices:
        vectors = [composed(b, lambda x: slice_in_dim(x, 0, k, columns), x) for x in vectors]
    u, v = vectors
    return [s, u, composed(b, matrices.adjoint, v)]


def _svd_by_qr_on_gpu(b, outs, a, full_matrices, compute_uv):
    """Write CUDA's iteration for matrices of at least as many rows as columns, or transposed ones.

    A transposed matrix has the vectors of the other side: they come first.
    """
    m, n = a.shape[-2:]
    transposed = m < n
    vectors = outs[1:] if compute_uv else [ShapedArray((), a.dtype)] * 2
    order = slice(None, None, -1 if transposed else 1)
    s, *found = _svd_by(
        b,
        solvers.SVD_BY_QR,
        a,
        [outs[0], *vectors[order]],
        row_major=transposed,
        compute_uv=compute_uv,
        full_matrices=full_matrices or not compute_uv,
        transposed=transposed,
    )
    return [s, *found[order]]


@lowering.define(ops.eig_p)
def _eig(
    b,
    outs,
    a,
    *,
    compute_left_eigenvectors,
    compute_right_eigenvectors,
    enable_eigvec_derivs,
    implementation,
):
    algorithms.check("eig", implementation, b.module.platform, b.src)
    values = outs[0]
    vectors = values.update(shape=a.shape)
    wanted = [compute_left_eigenvectors, compute_right_eigenvectors]
    parts = _eigenvalue_avals(a.aval, values)
    use_magma = implementation is EigImplementation.MAGMA if implementation else None
    solver = solvers.EIG
    if b.module.platform == "gpu":
        solver = solvers.EIG_OF_REAL if len(parts) == 2 else solvers.EIG_OF_COMPLEX
    *w, left, right, info = solvers.call(
        b,
        solver,
        [a],
        [*parts, vectors, vectors, _info(a.aval)],
        a.aval.ndim - 2,
        left=compute_left_eigenvectors,
        right=compute_right_eigenvectors,
        magma=_MAGMA[use_magma],
    )
    w = w[0] if len(w) == 1 else b.op("stablehlo.complex", w, values)
    kept = [x for x, on in zip((left, right), wanted, strict=True) if on]
    return solvers.or_nan(b, info, [w, *kept])


def _eigenvalue_avals(a, values):
    """Return the avals of eigenvalues as kernels return them: of real matrices, in two parts."""
    return [values] if a.dtype.kind == "c" else [values.update(dtype=a.dtype)] * 2


@lowering.define(ops.schur_p)
def _schur(b, outs, a, *, compute_schur_vectors, sort_eig_vals, select_callable):
    aval = a.aval
    parts = _eigenvalue_avals(aval, aval.update(shape=aval.shape[:-1]))
    t, z, *_, info = solvers.call(
        b,
        solvers.SCHUR,
        [a],
        [aval, aval, *parts, _info(aval), _info(aval)],
        aval.ndim - 2,
        {0: 0},
        compute_schur_vectors=compute_schur_vectors,
    )
    return solvers.or_nan(b, info, [t, z][: len(outs)])


@lowering.define(ops.hessenberg_p)
def _hessenberg(b, outs, a):
    outs, batch = [*outs, _info(a.aval)], a.aval.ndim - 2
    *packed, info = solvers.call(b, solvers.HESSENBERG, [a], outs, batch, {0: 0}, size=a.shape[-1])
    return solvers.or_nan(b, info, packed)


@lowering.define(ops.tridiagonal_p)
def _tridiagonal(b, outs, a, *, lower):
    outs, batch = [*outs, _info(a.aval)], a.aval.ndim - 2
    *packed, info = solvers.call(b, solvers.TRIDIAGONAL, [a], outs, batch, {0: 0}, lower=lower)
    return solvers.or_nan(b, info, packed)
