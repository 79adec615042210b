"""Factors of matrices and solutions of systems."""

from evertrace._src.engines.native.emit import CODES, NotNative, emission, kind_of
from evertrace._src.engines.native.rules.reduce import kernel
from evertrace._src.engines.native.rules.structural import permuted
from evertrace._src.ops.linalg import solving as ops
from evertrace._src.transforms.staging import stage

_INT32 = CODES["int32"]
_NS_PER_STEP = 0.3  # of a multiplication and a subtraction


def _code(aval):
    if aval.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise NotNative(f"there are no factors of matrices of {aval.dtype.name}")
    return kind_of(aval)[0]


@emission.define(ops.cholesky_p)
def _cholesky(e, eqn, xs):
    aval = eqn.invars[0].aval
    e.spend(_NS_PER_STEP * aval.size * aval.shape[-1] / 3)
    return kernel(e, "cholesky", [(xs[0], aval.shape)], [(_code(aval), aval.shape)])[0]


@emission.define(ops.lu_p)
def _lu(e, eqn, xs):
    aval, (_, pivots, rows) = eqn.invars[0].aval, [v.aval for v in eqn.outvars]
    e.spend(_NS_PER_STEP * aval.size * min(aval.shape[-2:]))
    outs = [(_code(aval), aval.shape), (_INT32, pivots.shape)]
    factors, swaps = kernel(e, "lu", [(xs[0], aval.shape)], outs)
    return [factors, swaps, _permutation(e, swaps, pivots, rows)]


@emission.define(ops.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(e, eqn, xs):
    return _permutation(e, xs[0], eqn.invars[0].aval, eqn.outvars[0].aval)


def _permutation(e, swaps, pivots, rows):
    return kernel(e, "permutation", [(swaps, pivots.shape)], [(_INT32, rows.shape)])[0]


@emission.define(ops.triangular_solve_p)
def _triangular_solve(e, eqn, xs):
    """Solve from the left: what is solved from the right is so when all is transposed."""
    p, (a, b) = eqn.params, [v.aval for v in eqn.invars]
    code, on_left = _code(a), p["left_side"]
    e.spend(_NS_PER_STEP * b.size * a.shape[-1])
    turn = (*range(b.ndim - 2), b.ndim - 1, b.ndim - 2)
    shape = b.shape if on_left else tuple(b.shape[d] for d in turn)
    side = xs[1] if on_left else permuted(e, xs[1], b.shape, turn)
    is_transposed = p["transpose_a"] is on_left
    options = (p["lower"], is_transposed, p["conjugate_a"], p["unit_diagonal"])
    arrays = [(xs[0], a.shape), (side, shape)]
    (x,) = kernel(e, "triangular_solve", arrays, [(code, shape)], tuple(map(int, options)))
    return x if on_left else permuted(e, x, shape, turn)


@emission.define(ops.lu_solve_p)
def _lu_solve(e, eqn, xs):
    staged = stage(
        lambda *xs: [ops.solve_by_factors(*xs, **eqn.params)], [v.aval for v in eqn.invars]
    )
    assert not staged.captured
    return e.inline(staged.jaxpr, xs)[0]
