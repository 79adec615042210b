"""Systems of equations by factors that are kept, and the factorisations that make them.

Arguments named `overwrite_a`, `check_finite` and so on are accepted and have no effect: arrays are
not changed, and their contents raise nothing.
"""

from __future__ import annotations

from typing import Any

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax import linalg as lax
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.solves import custom_linear_solve
from evertrace._src.numpy import creation, decompositions, elementary, products, shape, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import aligned, broadcast_to, common_shape
from evertrace._src.ops.linalg import matrices, solving
from evertrace._src.scipy.linalg.arguments import as_matrices, as_square, choice, public

# ---------------------------------------------------------------- any matrices


@public
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return determinants; see `numpy.linalg.det`.

    Args:
      a: ``[..., n, n]``.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      ``[...]``.

    Example:
      >>> ev.scipy.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    """
    return decompositions.det(a)


@public
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the inverses of square matrices; see `numpy.linalg.inv`.

    Args:
      a: ``[..., n, n]``.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      ``[..., n, n]``; infinities or NaN where there is no inverse.

    Example:
      >>> ev.scipy.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    return decompositions.inv(a)


@public
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Return x with ``a @ x == b``.

    Args:
      a: ``[..., n, n]``.
      b: a vector ``[n]``, or ``[..., n, k]``; leading dimensions are broadcast.
      lower: has no effect, both triangles being read.
      overwrite_a: has no effect.
      overwrite_b: has no effect.
      debug: has no effect.
      check_finite: has no effect.
      assume_a: "gen"; "pos" for Hermitian positive definite matrices, by Cholesky factors; "sym"
        and "her" are treated like "gen".

    Returns:
      ``[n]`` or ``[..., n, k]``; infinities or NaN for a singular matrix.

    Example:
      >>> ev.scipy.linalg.solve(jnp.array([[2.0, 1.0], [1.0, 2.0]]), jnp.array([4.0, 5.0]))
      Array([1., 2.], dtype=float32)
    """
    choice("solve", "assume_a", assume_a, ("gen", "sym", "her", "pos"))
    if assume_a != "pos":
        return decompositions.solve(a, b)
    return _on_columns("solve", *as_square("solve", a, b), _solve_positive)


def _solve_positive(a, b):
    """Solve with Cholesky factors, which carry no tangents: those follow from the equation."""
    factors = cho_factor(stop_gradient(a), lower=True)
    return custom_linear_solve(
        lambda x: products.matmul(a, x),
        b,
        lambda _, b: cho_solve(factors, b),
        lambda _, b: elementary.conj(cho_solve(factors, elementary.conj(b))),
    )


# ---------------------------------------------------------------- triangular systems


_TRANSPOSED = {0: (False, False), "N": (False, False), 1: (True, False), "T": (True, False),
               2: (True, True), "C": (True, True)}  # fmt: skip


@public
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: bool | None = None,
    check_finite: bool = True,
) -> Array:
    """Return x with ``op(a) @ x == b`` for triangular matrices.

    Args:
      a: ``[..., n, n]``; the other triangle is not read.
      b: a vector ``[n]``, or ``[..., n, k]``; leading dimensions are broadcast.
      trans: 0 or "N"; 1 or "T" for the transposed; 2 or "C" for the adjoint matrix.
      lower: whether `a` is lower triangular.
      unit_diagonal: whether the diagonal is taken to be ones, and not read.
      overwrite_b: has no effect.
      debug: has no effect.
      check_finite: has no effect.

    Returns:
      ``[n]`` or ``[..., n, k]``; infinities or NaN for a zero on the diagonal.

    Example:
      >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
      >>> ev.scipy.linalg.solve_triangular(a, jnp.array([2.0, 9.0]), lower=True)
      Array([1., 2.], dtype=float32)
    """
    choice("solve_triangular", "trans", trans, tuple(_TRANSPOSED))
    transpose_a, conjugate_a = _TRANSPOSED[trans]
    a, b = as_square("solve_triangular", a, b)
    return _on_columns(
        "solve_triangular",
        a,
        b,
        lambda a, b: lax.triangular_solve(
            a,
            b,
            left_side=True,
            lower=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
            unit_diagonal=unit_diagonal,
        ),
    )


def _on_columns(name, a, b, solve, *others):
    """Solve with operands of equal leading dimensions, a vector `b` being one column.

    `others` are further operands ``[..., k]`` that go with the matrices.
    """
    n = a.aval.shape[-1]
    is_vector = b.aval.ndim == 1
    columns = shape.expand_dims(b, -1) if is_vector else b
    if columns.aval.ndim < 2 or columns.aval.shape[-2] != n:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: right-hand sides of shape {b.aval.shape} do not fit matrices of shape "
            f"{a.aval.shape}.",
            fix=f"pass a vector of {n} elements, or matrices of {n} rows.",
            anchor="shape-linalg",
        )
    leading = common_shape(name, [x.aval.shape[:-2] for x in (a, columns)])
    spread = [broadcast_to(x, (*leading, x.aval.shape[-1])) for x in others]
    a, columns = (broadcast_to(x, (*leading, *x.aval.shape[-2:])) for x in (a, columns))
    out = solve(a, *spread, columns)
    return shape.squeeze(out, -1) if is_vector else out


# ---------------------------------------------------------------- cholesky


@public
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Factor Hermitian positive definite matrices as ``adjoint(U) @ U``, or ``L @ adjoint(L)``.

    Args:
      a: ``[..., n, n]``; ``(a + adjoint(a)) / 2`` is taken. Differs from SciPy, which reads one
        triangle.
      lower: whether to return L rather than U.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      A triangular factor ``[..., n, n]``, NaN where the matrix is not positive definite.

    Example:
      >>> ev.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 1.],
             [0., 2.]], dtype=float32)
    """
    return decompositions.cholesky(a, upper=not lower)


@public
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Return what `cho_solve` takes: a Cholesky factor, and which one it is.

    Args:
      a: ``[..., n, n]``, Hermitian positive definite.
      lower: see `cholesky`.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      The pair ``(cholesky(a, lower), lower)``; the other triangle is zero, unlike in SciPy.

    Example:
      >>> factor, lower = ev.scipy.linalg.cho_factor(jnp.array([[4.0]]))
      >>> factor, lower
      (Array([[2.]], dtype=float32), False)
    """
    return cholesky(a, lower=lower), lower


@public
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve systems with Cholesky factors.

    Args:
      c_and_lower: what `cho_factor` returns.
      b: a vector ``[n]``, or ``[..., n, k]``; leading dimensions are broadcast.
      overwrite_b: has no effect.
      check_finite: has no effect.

    Returns:
      ``[n]`` or ``[..., n, k]``.

    Example:
      >>> factor = ev.scipy.linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      >>> ev.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0]))
      Array([1., 2.], dtype=float32)
    """
    c, lower = c_and_lower
    c, b = as_square("cho_solve", c, b)
    first, second = (0, "C") if lower else ("C", 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


# ---------------------------------------------------------------- lu


@public
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Factor matrices as ``P @ L @ U`` with partial pivoting; k is the smaller of m and n.

    Args:
      a: ``[..., m, n]``.
      permute_l: whether to return ``P @ L`` and U.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      P ``[..., m, m]``, a real permutation matrix, unit lower triangular L ``[..., m, k]``, upper
      triangular U ``[..., k, n]``. Differentiable where all pivots differ from zero.

    Example:
      >>> p, l, u = ev.scipy.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> l
      Array([[1.  , 0.  ],
             [0.25, 1.  ]], dtype=float32)
    """
    (a,) = as_matrices("lu", a)
    m, n = a.aval.shape[-2:]
    k = min(m, n)
    factors, _, rows = lax.lu(a)
    real = matrices.real_dtype(a.dtype)
    places = creation.arange(m, dtype=rows.dtype)[:, None]
    p = ufuncs.equal(*aligned(rows[..., None, :], places)).astype(real)
    eye = creation.eye(m, k, dtype=a.dtype)
    lower = ufuncs.add(*aligned(matrices.tril(factors[..., :k], -1), eye))
    upper = matrices.triu(factors[..., :k, :])
    return (products.matmul(p.astype(a.dtype), lower), upper) if permute_l else (p, lower, upper)


@public
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Return what `lu_solve` takes: packed LU factors, and pivots.

    Args:
      a: ``[..., m, n]``.
      overwrite_a: has no effect.
      check_finite: has no effect.

    Returns:
      U with L (without its diagonal of ones) below it, ``[..., m, n]``, and int32 pivots
      ``[..., min(m, n)]``: row i was swapped with row ``pivots[i]``.

    Example:
      >>> factors, pivots = ev.scipy.linalg.lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> pivots
      Array([1, 1], dtype=int32)
    """
    (a,) = as_matrices("lu_factor", a)
    factors, pivots, _ = lax.lu(a)
    return factors, pivots


@public
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve systems with LU factors.

    Args:
      lu_and_piv: what `lu_factor` returns for square matrices.
      b: a vector ``[n]``, or ``[..., n, k]``; leading dimensions are broadcast.
      trans: 0; 1 for the transposed, 2 for the adjoint matrix.
      overwrite_b: has no effect.
      check_finite: has no effect.

    Returns:
      ``[n]`` or ``[..., n, k]``; infinities or NaN for a singular matrix.

    Example:
      >>> factors = ev.scipy.linalg.lu_factor(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> ev.scipy.linalg.lu_solve(factors, jnp.array([4.0, 5.0])).round(4)
      Array([1., 2.], dtype=float32)
    """
    factors, pivots = lu_and_piv
    choice("lu_solve", "trans", trans, (0, 1, 2))
    factors, b = as_square("lu_solve", factors, b)
    rows = lax.lu_pivots_to_permutation(operand("lu_solve", pivots), factors.aval.shape[-1])

    def by_factors(factors, rows, b):
        return solving.solve_by_factors(
            None, factors, rows, b, transpose_a=trans > 0, conjugate_a=trans == 2
        )

    return _on_columns("lu_solve", factors, b, by_factors, rows)
