"""Linear systems: triangular and tridiagonal ones, LU and Cholesky factors, and general ones.

Solutions are linear in the right-hand side. Their tangents by the matrix come from
``A X = B  =>  A dX = dB - dA X``; see M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008), section 2.3, for this and the other rules.

A general system is an operation of its own, `lu_solve`, which takes the factors beside the matrix.
The factors say how to solve but carry no tangents: so a derivative costs another solution with the
same factors, at any order, rather than the derivative of a factorisation.
"""

import numpy as np

from evertrace._src import errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import batched
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.builders import no_tangent
from evertrace._src.ops.compare import ge_p
from evertrace._src.ops.convert import stop_gradient_p
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import add_any, add_p, conj, is_complex, mul_p, neg_p, scale
from evertrace._src.ops.linalg import host
from evertrace._src.ops.linalg.matrices import (
    along_columns,
    batched_leading,
    check_like,
    check_matrices,
    check_square,
    identity,
    on_diagonal,
    product,
    resized,
    shaped,
    take_rows,
    transposed,
    tril,
    triu,
)
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import pad
from evertrace._src.ops.sort import sort_p
from evertrace._src.ops.structural import moveaxis, reshape

# ---------------------------------------------------------------- what systems have in common


def check_system(name, a, b, *, left_side=True):
    """Raise unless `a` are square matrices and `b` sides that fit them."""
    check_square(name, a)
    check_like(name, b, a.shape[:-2], a.dtype)
    fits = b.ndim == a.ndim and b.shape[-2 if left_side else -1] == a.shape[-1]
    if not fits:
        rows = "rows" if left_side else "columns"
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: right-hand sides of shape {b.shape} do not fit matrices of shape {a.shape}.",
            fix=f"pass as many {rows} as the matrices have, with the same leading dimensions.",
            anchor="shape-linalg",
        )


def _not_linear_error(name):
    return errors.user_error(
        errors.NotLinearError,
        f"{name}: transposed with respect to the matrix, in which its solution is not linear.",
        fix="transpose only functions that are linear in their arguments.",
        anchor="not-linear",
    )


def batched_columns(solve, b, dim, *, left_side=True):
    """Solve for a batch of sides with one matrix: they are further columns (or rows) of one side.

    Returns the solution and its batch dimension.
    """
    last = b.aval.ndim - 1
    place = last if left_side else last - 1
    b = moveaxis(b, dim, place)
    *rest, i, j, k = b.aval.shape
    joined = (*rest, i, j * k) if left_side else (*rest, i * j, k)
    return reshape(solve(reshape(b, joined)), b.aval.shape), place


def _applied(a, transpose_a, conjugate_a):
    """Return the matrix that a system is about."""
    a = transposed(a) if transpose_a else a
    return conj(a) if conjugate_a and is_complex(a) else a


def _residual(da, db, x, *, left_side=True):
    """Return ``db - da x`` (or ``db - x da``), where tangents may be None."""
    terms = [] if db is None else [db]
    if da is not None:
        terms.append(neg_p.bind(product(da, x) if left_side else product(x, da)))
    return add_any(*terms)


# ---------------------------------------------------------------- triangular_solve


def _triangular_abstract(a, b, *, left_side, **params):
    check_system("triangular_solve", a, b, left_side=left_side)
    return b.strip_weak_type()


def _triangular_jvp(
    tangents, primals, x, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal
):
    da, db = tangents
    if da is not None:
        da = tril(da, -unit_diagonal) if lower else triu(da, int(unit_diagonal))
        da = _applied(da, transpose_a, conjugate_a)
    return triangular_solve(
        primals[0],
        _residual(da, db, x, left_side=left_side),
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )


def _triangular_transpose(ct, a, b, *, transpose_a, **params):
    if is_linear(a):
        raise _not_linear_error("triangular_solve")
    return None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)


def _triangular_batch(size, args, dims, **params):
    a, b = args
    if dims[0] is None:
        return batched_columns(
            lambda b: triangular_solve_p.bind(a, b, **params),
            b,
            dims[1],
            left_side=params["left_side"],
        )
    return batched_leading(triangular_solve_p)(size, args, dims, **params)


triangular_solve_p: Primitive = Primitive(
    "triangular_solve",
    flags=("conjugate_a", "left_side", "lower", "transpose_a", "unit_diagonal"),
    factors=batched(2),
    abstract=_triangular_abstract,
    host=host.triangular_solve,
    jvp=_triangular_jvp,
    transpose=_triangular_transpose,
    batch=_triangular_batch,
)


def triangular_solve(
    a, b, *, left_side=True, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False
):
    """Bind `triangular_solve_p`; by default for upper triangular matrices on the left."""
    return triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )


# ---------------------------------------------------------------- cholesky


def _cholesky_abstract(a):
    check_square("cholesky", a)
    return a.strip_weak_type()


def cholesky_tangent(da, factor):
    """Return the tangent of L for a Hermitian tangent of ``A = L L^H``.

    ``L^-1 dA L^-H = L^-1 dL + (L^-1 dL)^H``, a lower triangular matrix and its adjoint: the first
    is the lower triangle with half of the diagonal.
    """
    both = triangular_solve(
        factor, da, left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    both = tril(triangular_solve(factor, both, lower=True))
    return product(factor, select(on_diagonal(both.aval), scale(both, 0.5), both))


cholesky_p: Primitive = Primitive(
    "cholesky",
    factors=batched(2),
    abstract=_cholesky_abstract,
    host=host.cholesky,
    jvp=lambda tangents, primals, factor: cholesky_tangent(tangents[0], factor),
    transpose=undefined("it is not linear"),
)
cholesky_p.batch = batched_leading(cholesky_p)

# ---------------------------------------------------------------- lu


def _lu_abstract(a):
    check_matrices("lu", a)
    m, n = a.shape[-2:]
    pivots = shaped(a, min(m, n), dtype=np.int32)
    return a.strip_weak_type(), pivots, shaped(a, m, dtype=np.int32)


def _lu_jvp(tangents, primals, out):
    """Return the tangent of the packed factors of ``P A = L U``.

    ``M = L^-1 P dA U^-1 = L^-1 dL + dU U^-1`` is a strictly lower plus an upper triangular matrix.
    Where A is no square, L and U are made square with rows of the identity.
    """
    factors, _, rows = out
    lower, upper = unit_lower(factors), _square_upper(factors)
    mixed = take_rows(tangents[0], rows)
    mixed = triangular_solve(lower, mixed, lower=True, unit_diagonal=True)
    mixed = triangular_solve(upper, mixed, left_side=False)
    tangent = add_p.bind(product(lower, tril(mixed, -1)), product(triu(mixed), upper))
    return tangent, None, None


def unit_lower(factors):
    """Return the square unit lower triangular matrices of packed LU factors."""
    m = factors.aval.shape[-2]
    square = resized(tril(factors, -1), m, m)
    return add_p.bind(square, identity(square.aval))


def _square_upper(factors):
    """Return the upper triangular matrices of packed LU factors, made square."""
    m, n = factors.aval.shape[-2:]
    upper = resized(triu(factors), n, n)
    if n <= m:
        return upper
    rows = iota(np.int32, upper.aval.shape, upper.aval.ndim - 2)
    is_added = ge_p.bind(rows, literal(m, rows.aval.dtype))
    return select(is_added, identity(upper.aval), upper)


lu_p: Primitive = Primitive(
    "lu",
    factors=batched(2),
    multiple_results=True,
    abstract=_lu_abstract,
    host=host.lu,
    jvp=_lu_jvp,
    transpose=undefined("it is not linear"),
)
lu_p.batch = batched_leading(lu_p)

# ---------------------------------------------------------------- lu_pivots_to_permutation


def _permutation_abstract(pivots, *, permutation_size):
    if pivots.dtype != np.int32 or not pivots.ndim or pivots.shape[-1] > permutation_size:
        raise errors.user_error(
            errors.ShapeError,
            f"lu_pivots_to_permutation: takes int32 pivots [..., k] and a size of at least k; got "
            f"{pivots.str_short()} and {permutation_size}.",
            fix="pass the pivots of `lu` and the number of rows of its operand.",
            anchor="shape-linalg",
        )
    return ShapedArray((*pivots.shape[:-1], permutation_size), np.int32)


lu_pivots_to_permutation_p: Primitive = Primitive(
    "lu_pivots_to_permutation",
    factors=batched(1),
    abstract=_permutation_abstract,
    jvp=no_tangent,
    host=lambda pivots, *, permutation_size: host.permutation(pivots, permutation_size),
    transpose=undefined("its operands are integers"),
)
lu_pivots_to_permutation_p.batch = batched_leading(lu_pivots_to_permutation_p)

# ---------------------------------------------------------------- lu_solve


def solve_by_factors(a, factors, rows, b, *, transpose_a, conjugate_a):
    """Solve ``op(a) x = b``, given ``a[rows] = L U``, with operations on triangular matrices."""
    options = {"transpose_a": transpose_a, "conjugate_a": conjugate_a}
    if not transpose_a:
        b = triangular_solve(factors, take_rows(b, rows), lower=True, unit_diagonal=True, **options)
        return triangular_solve(factors, b, **options)
    b = triangular_solve(factors, b, **options)
    b = triangular_solve(factors, b, lower=True, unit_diagonal=True, **options)
    last = rows.aval.ndim - 1
    places = iota(np.int32, rows.aval.shape, last)
    _, inverse = sort_p.bind(rows, places, dimension=last, is_stable=True, num_keys=1)
    return take_rows(b, inverse)


def _solve_abstract(a, factors, rows, b, **params):
    check_system("solve", a, b)
    return b.strip_weak_type()


def _solve_jvp(tangents, primals, x, **params):
    da, _, _, db = tangents
    if da is None and db is None:
        return None
    a, factors, rows, _ = primals
    if da is not None:
        da = _applied(da, **params)
    return lu_solve_p.bind(a, factors, rows, _residual(da, db, x), **params)


def _solve_transpose(ct, a, factors, rows, b, *, transpose_a, conjugate_a):
    if not is_linear(b) or is_linear(a):
        raise _not_linear_error("solve")
    x = lu_solve_p.bind(a, factors, rows, ct, transpose_a=not transpose_a, conjugate_a=conjugate_a)
    return None, None, None, x


def _solve_batch(size, args, dims, **params):
    if all(d is None for d in dims[:3]):
        return batched_columns(lambda b: lu_solve_p.bind(*args[:3], b, **params), args[3], dims[3])
    return batched_leading(lu_solve_p)(size, args, dims, **params)


lu_solve_p = Primitive(
    "lu_solve",
    factors=batched(2),
    abstract=_solve_abstract,
    eager=solve_by_factors,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch=_solve_batch,
)


def solve(a, b):
    """Return the solution of ``a x = b``, with the derivative of a solution."""
    factors, _, rows = lu_p.bind(stop_gradient_p.bind(a))
    return lu_solve_p.bind(a, factors, rows, b, transpose_a=False, conjugate_a=False)


# ---------------------------------------------------------------- tridiagonal_solve
# Row i reads ``dl[i] x[i-1] + d[i] x[i] + du[i] x[i+1] = b[i]``.


def _tridiagonal_abstract(dl, d, du, b, *, perturb_singular):
    check_matrices("tridiagonal_solve", b)
    for x in (dl, d, du):
        check_like("tridiagonal_solve", x, b.shape[:-1], b.dtype)
    return b.strip_weak_type()


def _shifted(x, by):
    """Return vectors moved by 1 or -1 along their last dimension, a zero coming in."""
    config = [(0, 0, 0)] * (x.aval.ndim - 1) + [(by, -by, 0)]
    return pad(x, config)


def _rows_times(dl, d, du, x):
    """Return the products of tridiagonal matrices, given by up to 3 diagonals, and matrices."""
    rows = x.aval.ndim - 2

    def neighbour(by):
        config = [(0, 0, 0)] * x.aval.ndim
        config[rows] = (by, -by, 0)
        return pad(x, config)

    terms = [(dl, neighbour(1)), (d, x), (du, neighbour(-1))]
    return add_any(*[mul_p.bind(along_columns(v, y.aval), y) for v, y in terms if v is not None])


def _tridiagonal_jvp(tangents, primals, x, **params):
    *diagonals, db = tangents
    terms = [] if db is None else [db]
    if any(v is not None for v in diagonals):
        terms.append(neg_p.bind(_rows_times(*diagonals, x=x)))
    return tridiagonal_solve_p.bind(*primals[:3], add_any(*terms), **params)


def _tridiagonal_transpose(ct, dl, d, du, b, **params):
    if any(map(is_linear, (dl, d, du))):
        raise _not_linear_error("tridiagonal_solve")
    out = tridiagonal_solve_p.bind(_shifted(du, 1), d, _shifted(dl, -1), ct, **params)
    return None, None, None, out


tridiagonal_solve_p: Primitive = Primitive(
    "tridiagonal_solve",
    flags=("perturb_singular",),
    factors=batched(1),
    abstract=_tridiagonal_abstract,
    host=host.tridiagonal_solve,
    jvp=_tridiagonal_jvp,
    transpose=_tridiagonal_transpose,
)
tridiagonal_solve_p.batch = batched_leading(tridiagonal_solve_p)
