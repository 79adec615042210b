"""The polar decomposition by QDWH, the dynamically weighted Halley iteration.

Y. Nakatsukasa, Z. Bai, F. Gygi, "Optimizing Halley's iteration for computing the matrix polar
decomposition" (2010). An iterate X of singular values within ``[l, 1]`` is replaced by
``X (a + b X^H X) (1 + c X^H X)^-1``, with the weights that bring the smallest one closest to 1. The
bound l starts at the machine epsilon and follows from itself: so weights are known beforehand, and
an iteration is a list of steps, of which those after convergence are passed over. The first steps,
where c is large, take a QR factorisation for stability, the others a Cholesky one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.lax.branches import cond
from evertrace._src.lax.convert import stop_gradient
from evertrace._src.lax.linalg import cholesky, svd, triangular_solve
from evertrace._src.lax.linalg import qr as qr_factors
from evertrace._src.lax.loops import scan
from evertrace._src.numpy import (
    creation,
    decompositions,
    elementary,
    joining,
    products,
    reductions,
    shape,
    ufuncs,
)
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.linalg import matrix_norm
from evertrace._src.numpy.promotion import aligned
from evertrace._src.ops.linalg import matrices
from evertrace._src.scipy.linalg.arguments import adjoint, as_matrices, choice, public
from evertrace._src.scipy.linalg.functions import solve_sylvester
from evertrace._src.support import set_module

MOST_ITERATIONS = 1000  # that may be asked for
MAX_ITERATIONS = 10  # convergence takes 6 in float64, whatever the condition number


@set_module("evertrace.lax.linalg")
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: Any = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the polar decomposition of matrices, by QR-based Halley iteration.

    Args:
      x: ``[..., m, n]`` with m >= n, of full rank.
      is_hermitian: has no effect.
      max_iterations: how many iterations to make at most; default 10.
      eps: iteration ends when X changes by less than ``(4 * eps) ** (1 / 3)`` of its norm; default
        the machine epsilon.
      dynamic_shape: pair of numbers, which may be traced: the shape of the matrix that `x` holds in
        its upper left corner; what is beyond is not read.

    Returns:
      ``(u, h, num_iters, is_converged)``: u with orthonormal columns and h positive semidefinite
      ``[..., n, n]``, ``x == u @ h``; the number of iterations, int32; and whether they converged.
      Differentiable, unlike in JAX, where there are no stacks of matrices either.
      Y. Nakatsukasa, Z. Bai, F. Gygi, "Optimizing Halley's iteration for computing the matrix polar
      decomposition" (2010).

    Example:
      >>> u, h, _, is_converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
      >>> u.round(4), h.round(4)
      (Array([[ 0., -1.],
             [ 1.,  0.]], dtype=float32), Array([[3., 0.],
             [0., 2.]], dtype=float32))
    """
    (x,) = as_matrices("qdwh", x)
    m, n = x.aval.shape[-2:]
    if m < n:
        raise errors.user_error(
            errors.ShapeError,
            f"qdwh: takes matrices [..., m, n] with m >= n; got shape {x.aval.shape}.",
            fix="decompose the adjoint.",
            anchor="shape-linalg",
        )
    if dynamic_shape is not None:
        rows, columns = (as_array(size, "qdwh") for size in dynamic_shape)
        in_rows = ufuncs.greater(rows, np.arange(m)[:, None])
        in_columns = ufuncs.greater(columns, np.arange(n))
        inside = ufuncs.logical_and(*aligned(in_rows, in_columns))
        x = elementary.where(inside, x, 0).astype(x.dtype)
    count = MAX_ITERATIONS if max_iterations is None else max_iterations
    count = static_int("qdwh", "max_iterations", count)
    if count > MOST_ITERATIONS:
        raise errors.user_error(
            ValueError,
            f"qdwh: max_iterations is {count:,}.",
            fix=f"ask for up to {MOST_ITERATIONS:,}: what has not converged after ten will not.",
            anchor="arguments",
        )
    real = np.finfo(x.dtype)
    tolerance = (4 * (float(real.eps) if eps is None else eps)) ** (1 / 3)
    u, num_iters, converged = _iterate(stop_gradient(x), count, real, tolerance)
    u = _unitary(x, u)
    return u, matrices.hermitian_part(products.matmul(adjoint(u), x)), num_iters, converged


@custom_jvp
def _unitary(x, u):
    """Return the unitary factors `u`, which carry no tangents, as functions of matrices `x`."""
    return u


@_unitary.defjvp
def _unitary_jvp(primals, tangents):
    """Return the tangent of U, where ``X = U H``.

    With the skew ``W = U^H dU``: ``W H + H W = U^H dX - dX^H U``, from the product and its adjoint;
    what leaves the space of U is that part of ``dX H^-1``.
    """
    (x, _), dx, mul = primals, tangents[0], products.matmul
    u = _unitary(*primals)
    h = matrices.hermitian_part(mul(adjoint(u), x))
    inner = mul(adjoint(u), dx)
    du = mul(u, solve_sylvester(h, h, inner - adjoint(inner), tol=0.0))
    if x.aval.shape[-2] > x.aval.shape[-1]:
        du = du + adjoint(decompositions.solve(h, adjoint(dx - mul(u, inner))))
    return u, du


def _iterate(x, count, real, tolerance):
    """Return the limit, the largest number of steps that a matrix took, and what converged."""
    bound = float(real.eps)
    scale = ufuncs.sqrt(matrix_norm(x, ord=1) * matrix_norm(x, ord=np.inf))  # at least norm 2
    scale = elementary.where(scale == 0, 1, scale)[..., None, None]
    u = x / scale.astype(x.dtype)

    def step(u, converged, taken, by_qr, keep, turn, weight, may_stop):
        keep, turn, weight = (w.astype(u.dtype) for w in (keep, turn, weight))
        new = cond(by_qr, _step_by_qr, _step_by_cholesky, u, keep, turn, weight)
        close = (matrix_norm(new - u) <= tolerance * matrix_norm(new)) & may_stop
        new = elementary.where(converged[..., None, None], u, new)
        return new, converged | close, taken + np.int32(1)

    def turn(state, weights):
        done = reductions.all(state[1])
        return cond(done, lambda *args: args[:3], step, *state, *weights), None

    start = u, creation.zeros(x.aval.shape[:-2], bool), creation.zeros((), np.int32)
    (u, converged, taken), _ = scan(turn, start, _weights(bound, count, real.dtype))
    return u, taken, converged


def _weights(bound, count, dtype):
    """Return what each step takes, given a lower bound of all singular values, as arrays.

    Whether by QR; the weights b / c and a - b / c, the latter over the root of c for QR; and c or
    its root; whether the bound that follows is 1, since before a small change means nothing.
    """
    rows, eps = [], bound
    for _ in range(count):
        square = bound * bound
        d = (4 * max(1 - square, 0) / square**2) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        by_qr = c > 100
        weight = math.sqrt(c) if by_qr else c
        bound = min(bound * (a + b * square) / (1 + c * square), 1.0)
        turn = (a - b / c) / (weight if by_qr else 1)
        rows.append((by_qr, b / c, turn, weight, 1 - bound <= 5 * eps))
    columns = np.array(rows).reshape(count, 5).T
    return tuple(x.astype(t) for x, t in zip(columns, (bool, *[dtype] * 3, bool), strict=True))


def _step_by_qr(u, keep, turn, weight):
    m, n = u.aval.shape[-2:]
    eye = shape.broadcast_to(creation.eye(n, dtype=u.dtype), (*u.aval.shape[:-2], n, n))
    q, _ = qr_factors(joining.concatenate([weight * u, eye], -2), full_matrices=False)
    turned = products.matmul(q[..., :m, :], adjoint(q[..., m:, :]), precision="highest")
    return keep * u + turn * turned


def _step_by_cholesky(u, keep, turn, weight):
    gram = products.matmul(adjoint(u), u, precision="highest")
    eye = creation.eye(u.aval.shape[-1], dtype=u.dtype)
    lower = cholesky(ufuncs.add(*aligned(eye, weight * gram)), symmetrize_input=False)
    options = {"left_side": False, "lower": True}
    half = triangular_solve(lower, u, transpose_a=True, conjugate_a=True, **options)
    return keep * u + turn * triangular_solve(lower, half, **options)


@public
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Factor matrices into one with orthonormal columns (or rows) and a semidefinite one.

    Args:
      a: ``[..., m, n]``.
      side: "right" for ``a == u @ p``, p ``[..., n, n]``; "left" for ``a == p @ u``, p
        ``[..., m, m]``.
      method: "qdwh" for Halley's iteration, see `lax.linalg.qdwh`, or "svd". Where p would be the
        larger factor (m < n on the right, m > n on the left) singular values are used anyway; JAX
        raises an error.
      eps: see `qdwh`.
      max_iterations: see `qdwh`.

    Returns:
      u ``[..., m, n]`` and p, Hermitian and positive semidefinite. Derivatives exist for full rank;
      by "svd" for distinct singular values only.

    Example:
      >>> u, p = ev.scipy.linalg.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
      >>> p.round(4)
      Array([[3., 0.],
             [0., 2.]], dtype=float32)
    """
    (a,) = as_matrices("polar", a)
    choice("polar", "side", side, ("right", "left"))
    choice("polar", "method", method, ("qdwh", "svd"))
    x = a if side == "right" else adjoint(a)
    m, n = x.aval.shape[-2:]
    if method == "svd" or m < n or not n:
        u, s, vh = svd(x, full_matrices=False)
        u, p = products.matmul(u, vh), products.matmul(adjoint(vh) * s[..., None, :], vh)
    else:
        u, p, *_ = qdwh(x, eps=eps, max_iterations=max_iterations)
    return (u, p.astype(a.dtype)) if side == "right" else (adjoint(u), p.astype(a.dtype))
