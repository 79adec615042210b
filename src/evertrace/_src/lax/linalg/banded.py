"""Systems with tridiagonal matrices, singular ones included."""

from __future__ import annotations

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.elementwise import abs as magnitude
from evertrace._src.lax.elementwise import max as larger
from evertrace._src.lax.linalg.common import as_matrices, is_empty, public
from evertrace._src.lax.loops import scan
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.linalg.matrices import real_dtype
from evertrace._src.ops.reduce import reduce_max_p
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim
from evertrace._src.ops.structural import (
    broadcast_in_dim_p,
    expand_dims,
    full,
    moveaxis,
    zeros,
)


@public
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solve systems with tridiagonal matrices.

    Args:
      dl: ``[..., n]``, the diagonal below: row i has ``dl[i]`` left of the diagonal; ``dl[0]`` is
        not read.
      d: ``[..., n]``, the diagonal.
      du: ``[..., n]``, the diagonal above; ``du[n - 1]`` is not read.
      b: ``[..., n, k]``.
      perturb_singular: whether to replace pivots too small to divide by with the machine epsilon
        times the largest element of U, so that solutions are finite (though large): what inverse
        iteration needs. LAPACK's gtsv, which is used otherwise, is faster.

    Returns:
      The solutions ``[..., n, k]``; NaN for a singular matrix unless `perturb_singular`. In
      the perturbed case JAX's values differ by a factor of the order of one.

    Example:
      >>> ones = jnp.ones(3)
      >>> lax.linalg.tridiagonal_solve(ones, 4 * ones, ones, jnp.array([[5.0], [6.0], [5.0]]))
      Array([[1.],
             [1.],
             [1.]], dtype=float32)
    """
    dl, d, du = operands = [as_array(x, "tridiagonal_solve") for x in (dl, d, du)]
    b = as_matrices("tridiagonal_solve", b)
    for x in operands:
        if x.aval.shape != b.aval.shape[:-1] or x.aval.dtype != b.aval.dtype:
            raise errors.user_error(
                errors.ShapeError if x.aval.dtype == b.aval.dtype else errors.DTypeError,
                "tridiagonal_solve: takes diagonals [..., n] and sides [..., n, k] of one dtype; "
                f"got {x.aval.str_short()} beside {b.aval.str_short()}.",
                fix="fill up the diagonals beside the main one to n elements, and convert dtypes.",
                anchor="shape-linalg",
            )
    if is_empty(b):
        return b
    if perturb_singular:
        return _solve_perturbed(dl, d, du, b)
    return ops.tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=False)


def _solve_perturbed(dl, d, du, b):
    """Solve by elimination with partial pivoting, row by row; U has two diagonals above its own.

    A row is ``(u0, u1, u2, side)``: its elements from the diagonal on, and its right-hand side.
    """
    rows = [expand_dims(x, (x.aval.ndim,)) for x in (dl, d, du)]
    below, d, u, b = (moveaxis(x, x.aval.ndim - 2, 0) for x in (*rows, b))
    u = concatenate_p.bind(_all_but_last(u), zeros(u[0:1].aval), dimension=0)
    none = zeros(d[0].aval)

    def eliminate(upper, lower):
        swap = magnitude(lower[0]) > magnitude(upper[0])
        first = [_where(swap, x, y) for x, y in zip(lower, upper, strict=True)]
        second = [_where(swap, x, y) for x, y in zip(upper, lower, strict=True)]
        is_zero = first[0] == none
        factor = second[0] / _where(is_zero, full(none.aval, 1), first[0])
        _, u0, u1, side = (y - _spread(factor, y) * x for x, y in zip(first, second, strict=True))
        return (u0, u1, none, side), tuple(first)

    start = (d[0], u[0], none, b[0])
    last, done = scan(eliminate, start, tuple(x[1:] for x in (below, d, u, b)))
    u0, u1, u2, sides = (
        concatenate_p.bind(x, expand_dims(y, (0,)), dimension=0)
        for x, y in zip(done, last, strict=True)
    )
    return moveaxis(_substituted(_pivots(u0, u1, u2), u1, u2, sides), 0, sides.aval.ndim - 2)


def _substituted(pivots, u1, u2, sides):
    """Return solutions of upper triangular systems, from the last row on."""

    def substitute(later, row):
        (x1, x2), (u0, u1, u2, side) = later, row
        x = (side - _spread(u1, side) * x1 - _spread(u2, side) * x2) / _spread(u0, side)
        return (x, x1), x

    none = zeros(sides[0].aval)
    return scan(substitute, (none, none), (pivots, u1, u2, sides), reverse=True)[1]


def _pivots(u0, u1, u2):
    """Return diagonals of U, in which what is too small to divide by is replaced."""
    real = real_dtype(u0.aval.dtype)
    size = larger(larger(magnitude(u0), magnitude(u1)), magnitude(u2))
    largest = reduce_max_p.bind(size, axes=(0,))
    tiny = full(largest.aval, float(np.finfo(real).tiny))
    replacement = larger(largest * full(largest.aval, float(np.finfo(real).eps)), tiny)
    too_small = magnitude(u0) < full(size.aval, float(np.finfo(real).tiny))
    replacement = convert(_spread(expand_dims(replacement, (0,)), u0), u0.aval.dtype)
    return select(too_small, replacement, u0)


def _all_but_last(x):
    return slice_in_dim(x, 0, x.aval.shape[0] - 1, 0)


def _spread(x, like):
    """Return an array with dimensions of size 1 spread over another one of the same rank."""
    if x.aval.shape == like.aval.shape:
        return x
    return broadcast_in_dim_p.bind(
        x, shape=like.aval.shape, broadcast_dimensions=tuple(range(x.aval.ndim)), sharding=None
    )


def _where(chosen, x, y):
    return select(_spread(chosen, x), x, y)
