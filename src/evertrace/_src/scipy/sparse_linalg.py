"""Krylov methods: linear systems of which only products with vectors are known.

Solutions are differentiated as such (`lax.custom_linear_solve`), not through the iterations. Here a
tree of arrays is one vector; the methods below are about that.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.api.autodiff import linear_transpose
from evertrace._src.arrays.interop import as_array
from evertrace._src.lax.loops import fori_loop, while_loop
from evertrace._src.lax.solves import custom_linear_solve
from evertrace._src.numpy import creation, decompositions, elementary, linalg, products, ufuncs
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.promotion import is_arraylike, promote_dtypes_inexact
from evertrace._src.numpy.raveling import ravel_pytree
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.scipy.linalg.systems import solve_triangular
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.sparse.linalg")


@public
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, Any]:
    """Solve ``A x = b`` for a Hermitian, positive definite operator by conjugate gradients.

    Args:
      A: square matrix ``[n, n]``, or linear function of a tree of arrays that returns one of the
        same structure, shapes and dtypes.
      b: the right side: an array, or a tree of arrays that together are one vector.
      x0: where to start, a tree like `b`. Default: zeros.
      tol: relative tolerance, see `atol`.
      atol: absolute tolerance: iteration ends when ``norm(b - A x) <= max(tol * norm(b), atol)``.
      maxiter: greatest number of iterations. Default: 10 times the number of elements.
      M: preconditioner, an approximation of the inverse of `A`, given like `A`.

    Returns:
      ``(x, None)``: a tree like `b`; nothing is said about convergence.

    Raises:
      TypeError: `A` or `M` is neither matrix nor function, or the types of trees differ.
      ValueError: a matrix is not square, or shapes differ.

    The derivative solves the same system with another right side, in both modes and by this method;
    it is exact as far as both converge.

    Source: M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear
    systems", Journal of Research of the National Bureau of Standards 49 (1952).

    Example:
      >>> from evertrace.scipy.sparse import linalg
      >>> x, _ = linalg.cg(jnp.array([[4.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> x.round(3).tolist()
      [0.091, 0.636]
    """
    return _solve("cg", _cg, A, b, x0, M, tol, atol, maxiter, is_hermitian=True), None


@public
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, Any]:
    """Solve ``A x = b`` for any invertible operator by stabilised biconjugate gradients.

    Args:
      A: square matrix ``[n, n]``, or linear function of a tree of arrays that returns one of the
        same structure, shapes and dtypes.
      b: the right side: an array, or a tree of arrays that together are one vector.
      x0: where to start, a tree like `b`. Default: zeros.
      tol: relative tolerance, see `atol`.
      atol: absolute tolerance: iteration ends when ``norm(b - A x) <= max(tol * norm(b), atol)``.
      maxiter: greatest number of iterations. Default: 10 times the number of elements.
      M: preconditioner, an approximation of the inverse of `A`, given like `A`. Its transpose
        serves reverse mode, so a function must be linear.

    Returns:
      ``(x, None)``: a tree like `b`; nothing is said about convergence.

    Raises:
      TypeError: `A` or `M` is neither matrix nor function, or the types of trees differ.
      ValueError: a matrix is not square, or shapes differ.

    Derivatives are as for `cg`.

    Source: H. A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the
    solution of nonsymmetric linear systems", SIAM Journal on Scientific and Statistical Computing
    13 (1992).

    Example:
      >>> from evertrace.scipy.sparse import linalg
      >>> x, _ = linalg.bicgstab(jnp.array([[4.0, 1.0], [2.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> x.round(3).tolist()
      [0.1, 0.6]
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, M, tol, atol, maxiter), None


@public
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: Any = 20,
    maxiter: Any = None,
    M: Any = None,
    solve_method: Any = "batched",
) -> tuple[Any, Any]:
    """Solve ``A x = b`` for any invertible operator by minimal residuals in Krylov spaces.

    Args:
      A: square matrix ``[n, n]``, or linear function of a tree of arrays that returns one of the
        same structure, shapes and dtypes.
      b: the right side: an array, or a tree of arrays that together are one vector.
      x0: where to start, a tree like `b`. Default: zeros.
      tol: relative tolerance, see `atol`.
      atol: absolute tolerance: iteration ends when ``norm(b - A x) <= max(tol * norm(b), atol)``,
        both sides in terms of ``M b`` where `M` is given.
      restart: dimension of a Krylov space, after which the next begins, as an int.
      maxiter: greatest number of spaces. Default: 10 times the number of elements.
      M: preconditioner, an approximation of the inverse of `A`, given like `A`. Its transpose
        serves reverse mode, so a function must be linear.
      solve_method: "batched" solves one least-squares problem per space; "incremental" knows the
        residual after each product with `A`, by Givens rotations, and can end within a space.

    Returns:
      ``(x, info)``: a tree like `b`, and 0, or -1 where `x` is not finite.

    Raises:
      TypeError: `A` or `M` is neither matrix nor function, or the types of trees differ.
      ValueError: a matrix is not square, shapes differ, `restart` is not positive, or there is no
        such `solve_method`.

    Derivatives are as for `cg`.

    Source: Y. Saad and M. H. Schultz, "GMRES: a generalized minimal residual algorithm for solving
    nonsymmetric linear systems", SIAM Journal on Scientific and Statistical Computing 7 (1986).

    Example:
      >>> from evertrace.scipy.sparse import linalg
      >>> x, info = linalg.gmres(jnp.array([[4.0, 1.0], [2.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> x.round(3).tolist(), int(info)
      ([0.1, 0.6], 0)
    """
    cycles = {"batched": _cycle_batched, "incremental": _cycle_incremental}
    if solve_method not in cycles:
        raise errors.user_error(
            ValueError,
            f"gmres: there is no solve_method {solve_method!r}.",
            fix='use "batched" or "incremental".',
            anchor="choice",
        )
    if restart < 1:
        raise errors.user_error(
            ValueError, f"gmres: restart must be 1 or more, got {restart}.", fix="raise it."
        )
    method = functools.partial(_gmres, cycles[solve_method], restart)
    x = _solve("gmres", method, A, b, x0, M, tol, atol, maxiter)
    is_finite = elementary.isfinite(linalg.norm(ravel_pytree(x)[0]))
    return x, where(is_finite, 0, -1).astype("int32")


# ---------------------------------------------------------------- arguments


def _solve(name, method, A, b, x0, M, tol, atol, maxiter, is_hermitian=False):
    """Solve by a method for vectors: ``method(operator, precondition, b, x, limit, maxiter)``."""
    leaves, treedef = tree.flatten(b)
    leaves = [_inexact(name, x, A) for x in leaves]
    b = tree.unflatten(treedef, leaves)
    if x0 is None:
        x0 = tree.map(creation.zeros_like, b)
    x0 = _checked_start(name, x0, b)
    operator, precondition = _operator(name, "A", A), _operator(name, "M", M)
    maxiter = 10 * sum(x.size for x in leaves) if maxiter is None else maxiter

    def solve_from(x0, precondition, matvec, b):
        flat, unravel = ravel_pytree(b)
        limit = ufuncs.maximum(tol * linalg.norm(flat), atol)
        operators = [lambda v, f=f: ravel_pytree(f(unravel(v)))[0] for f in (matvec, precondition)]
        return unravel(method(*operators, flat, ravel_pytree(x0)[0], limit, maxiter))

    is_symmetric = is_hermitian and not any(is_complex(x) for x in leaves)
    transposed = _conjugate if is_hermitian else _transpose
    return custom_linear_solve(
        operator,
        b,
        functools.partial(solve_from, x0, precondition),
        functools.partial(solve_from, tree.map(creation.zeros_like, b), transposed(precondition)),
        symmetric=is_symmetric,
    )


def _inexact(name, x, A):
    """Return a part of the right side in the dtype that products with the operator have."""
    others = (as_array(A, name),) if is_arraylike(A) else ()
    x = promote_dtypes_inexact(name, as_array(x, name), *others)[0]
    return convert(x, x.aval.dtype)


def _checked_start(name, x0, b):
    leaves, treedef = tree.flatten(x0)
    wanted, structure = tree.flatten(b)
    shapes = [np.shape(x) for x in leaves], [x.shape for x in wanted]
    if treedef != structure or shapes[0] != shapes[1]:
        raise errors.user_error(
            ValueError,
            f"{name}: x0 must be a tree like b; x0 is {treedef} with shapes {shapes[0]}, b is "
            f"{structure} with shapes {shapes[1]}.",
            fix="make one like the other, or leave x0 out to start at zeros.",
            anchor="shape",
        )
    kinds = [y.dtype for y in wanted]
    leaves = [as_array(x, name).astype(kind) for x, kind in zip(leaves, kinds, strict=True)]
    return tree.unflatten(treedef, leaves)


def _operator(name, label, A):
    """Return a linear operator as a function of trees; None is the identity."""
    if A is None:
        return lambda x: x
    if callable(A):
        return A
    if not is_arraylike(A):
        raise errors.user_error(
            TypeError,
            f"{name}: {label} must be a matrix or a function, got {type(A).__name__}.",
            fix="make an array of it, e.g. with `jnp.array`, or pass the function `v -> A v`.",
            anchor="not-an-array",
        )
    matrix = as_array(A, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise errors.user_error(
            ValueError,
            f"{name}: {label} must be a square matrix, got shape {matrix.shape}.",
            fix="pass a matrix of shape (n, n).",
            anchor="shape-linalg",
        )
    return functools.partial(products.matmul, matrix)


def _transpose(operator):
    return lambda x: linear_transpose(operator, x)(x)[0]


def _conjugate(operator):
    """Return the transpose of a Hermitian operator, which is its conjugate."""
    return lambda x: tree.map(elementary.conj, operator(tree.map(elementary.conj, x)))


# ---------------------------------------------------------------- methods


def _cg(operator, precondition, b, x, limit, maxiter):
    def goes_on(state):
        _, residual, _, _, count = state
        return (linalg.norm(residual) > limit) & (count < maxiter)

    def turn(state):
        x, residual, direction, product, count = state
        image = operator(direction)
        length = product / _inner(direction, image)
        x, residual = x + length * direction, residual - length * image
        new = precondition(residual)
        after = _inner(residual, new)
        return x, residual, new + after / product * direction, after, count + 1

    residual = b - operator(x)
    direction = precondition(residual)
    start = (x, residual, direction, _inner(residual, direction), creation.zeros((), "int32"))
    return while_loop(goes_on, turn, start)[0]


def _inner(x, y):
    """Return the product of two vectors that is real for those of a positive operator."""
    product = products.vdot(x, y)
    return product.real if is_complex(product) else product


def _bicgstab(operator, precondition, b, x, limit, maxiter):
    residual = b - operator(x)
    shadow = residual
    one, zeros = creation.ones((), b.dtype), creation.zeros_like(b)

    def goes_on(state):
        _, residual, _, _, rho, _, omega, count = state
        works = (rho != 0) & (omega != 0)
        return (linalg.norm(residual) > limit) & (count < maxiter) & works

    def turn(state):
        x, residual, direction, image, rho, alpha, omega, count = state
        before, rho = rho, products.vdot(shadow, residual)
        beta = rho / before * (alpha / omega)
        direction = residual + beta * (direction - omega * image)
        ahead = precondition(direction)
        image = operator(ahead)
        alpha = rho / products.vdot(shadow, image)
        half = residual - alpha * image
        # Nothing is left to be stabilised once the half step is enough.
        is_enough = linalg.norm(half) <= limit
        aside = precondition(half)
        other = operator(aside)
        square = products.vdot(other, other)
        omega = products.vdot(other, half) / where(is_enough, one, square)
        omega = where(is_enough, 0, omega)
        x = x + alpha * ahead + omega * aside
        return x, half - omega * other, direction, image, rho, alpha, omega, count + 1

    start = (x, residual, zeros, zeros, one, one, one, creation.zeros((), "int32"))
    return while_loop(goes_on, turn, start)[0]


# ---------------------------------------------------------------- GMRES


def _gmres(cycle, restart, operator, precondition, b, x, limit, maxiter):
    if not b.size:
        return b
    restart = min(restart, b.size)
    length = linalg.norm(b)
    share = where(length > limit, limit / where(length > 0, length, 1), 1.0)
    limit = linalg.norm(precondition(b)) * share

    def product(v):
        return precondition(operator(v))

    def residual_at(x):
        return precondition(b - operator(x))

    def goes_on(state):
        _, residual, count = state
        return (linalg.norm(residual) > limit) & (count < maxiter)

    def turn(state):
        x, residual, count = state
        x = x + cycle(product, residual, restart, limit)
        return x, residual_at(x), count + 1

    return while_loop(goes_on, turn, (x, residual_at(x), creation.zeros((), "int32")))[0]


def _first_basis(residual, restart):
    """Return an orthonormal basis in rows, of which there is the first, and the residual's norm."""
    norm = linalg.norm(residual)
    basis = creation.zeros((restart + 1, residual.size), residual.dtype)
    return basis.at[0].set(residual / norm), norm


def _arnoldi(product, basis, k):
    """Return the basis with vector ``k + 1``, and the coefficients of ``A v[k]`` in it.

    The Gram-Schmidt process is done twice, which makes it as exact as it can be (W. Hoffmann,
    "Iterative algorithms for Gram-Schmidt orthogonalization", Computing 41, 1989).
    """
    v = product(basis[k])
    length = linalg.norm(v)
    coefficients = creation.zeros(basis.shape[0], basis.dtype)
    for _ in range(2):
        part = elementary.conj(basis) @ v
        v = v - part @ basis
        coefficients = coefficients + part
    rest = linalg.norm(v)
    # What is left of a vector within the space is rounding: the space is complete.
    rest = where(rest > dtypes.finfo(rest.dtype).eps * length, rest, 0)
    unit = where(rest > 0, v / where(rest > 0, rest, 1), 0)
    return basis.at[k + 1].set(unit), coefficients.at[k + 1].set(rest.astype(v.dtype))


def _cycle_batched(product, residual, restart, limit):
    """Return the step to the least residual in the Krylov space."""
    del limit
    basis, norm = _first_basis(residual, restart)

    def turn(k, state):
        basis, columns = state
        basis, column = _arnoldi(product, basis, k)
        return basis, columns.at[k].set(column)

    columns = creation.zeros((restart, restart + 1), residual.dtype)
    basis, columns = fori_loop(0, restart, turn, (basis, columns))
    target = creation.zeros(restart + 1, residual.dtype).at[0].set(norm.astype(residual.dtype))
    return decompositions.lstsq(columns.T, target)[0] @ basis[:-1]


def _cycle_incremental(product, residual, restart, limit):
    """Return the step to the least residual in the Krylov space, or to one that is small enough.

    `upper` (by rows) and `target` are the least-squares problem after the rotations so far; the
    last element of `target` is the residual. A rotation ``[[c, s], [-s, conj(c)]]`` has a real s.
    """
    dtype = residual.dtype
    basis, norm = _first_basis(residual, restart)

    def rotate(column, i, c, s):
        a, b = column[i], column[i + 1]
        return column.at[i].set(c * a + s * b).at[i + 1].set(elementary.conj(c) * b - s * a)

    def goes_on(state):
        *_, target, k = state
        return (k < restart) & (ufuncs.absolute(target[k]) > limit)

    def turn(state):
        basis, upper, rotations, target, k = state
        basis, column = _arnoldi(product, basis, k)
        column = fori_loop(0, k, lambda i, h: rotate(h, i, *rotations[i]), column)
        pair = stack([elementary.conj(column[k]), column[k + 1]])
        length = linalg.norm(pair)
        rotation = where(length > 0, pair / where(length > 0, length, 1), identity)
        upper = upper.at[:, k].set(rotate(column, k, *rotation)[:-1])
        return (basis, upper, rotations.at[k].set(rotation), rotate(target, k, *rotation), k + 1)

    identity = creation.array([1, 0], dtype=dtype)
    target = creation.zeros(restart + 1, dtype).at[0].set(norm.astype(dtype))
    start = (
        basis,
        creation.eye(restart, dtype=dtype),
        creation.zeros((restart, 2), dtype),
        target,
        creation.zeros((), "int32"),
    )
    basis, upper, _, target, k = while_loop(goes_on, turn, start)
    known = where(creation.arange(restart) < k, target[:-1], 0)
    return solve_triangular(upper, known) @ basis[:-1]
