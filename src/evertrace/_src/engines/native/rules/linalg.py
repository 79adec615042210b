"""Factors of matrices, solutions of systems, spectra: kernels on stacks of matrices."""

import math

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import CODES, NotNative, emission, kind_of
from evertrace._src.engines.native.rules.reduce import kernel
from evertrace._src.engines.native.rules.structural import permuted
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.linalg import algorithms, host, solving, updates
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm
from evertrace._src.transforms.staging import stage

_NS_PER_STEP = 0.1  # of a multiplication and a subtraction


def _called(e, name, arrays, outs, ns, options=()):
    """Call a kernel whose steps for m by n matrices are m n min(m, n), of so many nanoseconds."""
    shape = max([shape for _, shape in arrays], key=math.prod)
    if not host.has_kernel(name, [shape for _, shape in arrays if len(shape) > 1]):
        raise NotNative(f"{name} of matrices of shape {shape} is not for a kernel")
    steps = math.prod(shape) * min(shape[-2:], default=1)
    compilation = costs.XLA_NS_TO_COMPILE_FACTOR
    return kernel(e, name, arrays, outs, tuple(map(int, options)), ns * steps, compilation)


def _kernel(prim, ns, options=lambda params: (), algorithm=None):
    """Make the kernel of its name the rule of a primitive.

    Args:
      prim: the primitive.
      ns: nanoseconds of a step.
      options: function from its params to the numbers that the kernel takes.
      algorithm: name of the param that says by which algorithm it is computed.
    """

    def rule(e, eqn, xs):
        if algorithm is not None:
            algorithms.check(prim.name, eqn.params[algorithm], "cpu", eqn.src)
        arrays = [(x, v.aval.shape) for x, v in zip(xs, eqn.invars, strict=True)]
        outs = [(kind_of(v.aval)[0], v.aval.shape) for v in eqn.outvars]
        ys = _called(e, prim.name, arrays, outs, ns, options(eqn.params))
        return ys if prim.multiple_results else ys[0]

    emission.define(prim)(rule)


_kernel(ops.cholesky_p, _NS_PER_STEP / 4)
_kernel(ops.cholesky_update_p, 6 * _NS_PER_STEP)
_kernel(ops.tridiagonal_solve_p, 10 * _NS_PER_STEP)
_kernel(ops.geqrf_p, _NS_PER_STEP)
_kernel(ops.householder_product_p, _NS_PER_STEP)
_kernel(ops.ormqr_p, _NS_PER_STEP, lambda p: (p["left"], p["transpose"]))
_kernel(ops.qr_p, 2 * _NS_PER_STEP)
_kernel(ops.eigh_p, 3.0, lambda p: (p["lower"],), "algorithm")
_kernel(ops.svd_p, 0.6, lambda p: (p["algorithm"] is SvdAlgorithm.QR,), "algorithm")
_kernel(
    ops.eig_p,
    10.0,
    lambda p: (p["compute_left_eigenvectors"], p["compute_right_eigenvectors"]),
    "implementation",
)
_kernel(ops.schur_p, 10.0)
_kernel(ops.hessenberg_p, 1.0)
_kernel(ops.tridiagonal_p, 1.0, lambda p: (p["lower"],))


@emission.define(ops.lu_p)
def _lu(e, eqn, xs):
    aval, (_, pivots, rows) = eqn.invars[0].aval, [v.aval for v in eqn.outvars]
    outs = [(kind_of(aval)[0], aval.shape), (CODES["int32"], pivots.shape)]
    factors, swaps = _called(e, "lu", [(xs[0], aval.shape)], outs, _NS_PER_STEP)
    return [factors, swaps, _permutation(e, swaps, pivots, rows)]


@emission.define(ops.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(e, eqn, xs):
    return _permutation(e, xs[0], eqn.invars[0].aval, eqn.outvars[0].aval)


def _permutation(e, swaps, pivots, rows):
    outs = [(CODES["int32"], rows.shape)]
    return kernel(e, "permutation", [(swaps, pivots.shape)], outs, (), rows.size)[0]


@emission.define(ops.triangular_solve_p)
def _triangular_solve(e, eqn, xs):
    """Solve from the left: what is solved from the right is so when all is transposed."""
    p, (a, b) = eqn.params, [v.aval for v in eqn.invars]
    on_left = p["left_side"]
    turn = (*range(b.ndim - 2), b.ndim - 1, b.ndim - 2)
    shape = b.shape if on_left else tuple(b.shape[d] for d in turn)
    side = xs[1] if on_left else permuted(e, xs[1], b.shape, turn)
    is_transposed = bool(p["transpose_a"]) == bool(on_left)  # 1 and NumPy's True are true, too
    options = (p["lower"], is_transposed, p["conjugate_a"], p["unit_diagonal"])
    arrays = [(xs[0], a.shape), (side, shape)]
    outs = [(kind_of(a)[0], shape)]
    (x,) = _called(e, "triangular_solve", arrays, outs, _NS_PER_STEP / 3, options)
    return x if on_left else permuted(e, x, shape, turn)


def _composed(prim, fun):
    """Make a function of primitives, of operands and params, the rule of a primitive."""

    def rule(e, eqn, xs):
        staged = stage(lambda *xs: [fun(*xs, **eqn.params)], [v.aval for v in eqn.invars])
        assert not staged.captured
        return e.inline(staged.jaxpr, xs)[0]

    emission.define(prim)(rule)


_composed(ops.lu_solve_p, solving.solve_by_factors)
_composed(ops.symmetric_product_p, updates.symmetric_product)
