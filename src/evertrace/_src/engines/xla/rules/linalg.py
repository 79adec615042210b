"""Linear algebra in compiled programs: LAPACK's kernels on the CPU.

Triangular solves and Cholesky factors are operations of StableHLO, which other platforms have.
"""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.engines.xla import lapack
from evertrace._src.engines.xla.lapack import character
from evertrace._src.engines.xla.lower import bool_attr, ints, lowering
from evertrace._src.ops import linalg as ops
from evertrace._src.ops.elementwise import conj
from evertrace._src.ops.linalg import matrices, solving
from evertrace._src.ops.slicing import pad, slice_in_dim
from evertrace._src.transforms.staging import stage


def composed(b, fun, *operands):
    """Write a function of primitives that returns one array."""
    staged = stage(lambda *xs: [fun(*xs)], [x.aval for x in operands])
    return b.inline(staged.jaxpr, [*map(b.module.constant_of, staged.captured), *operands])[0]


def _info(aval):
    """Return the aval of the codes that LAPACK returns for a stack of matrices."""
    return ShapedArray(aval.shape[:-2], np.int32)


# ---------------------------------------------------------------- systems


@lowering.define(ops.cholesky_p)
def _cholesky(b, out, a):
    if b.module.platform != "cpu":
        factor = b.op("stablehlo.cholesky", [a], out, {"lower": "true"})
        return composed(b, matrices.tril, factor)
    attrs = {"uplo": character("L")}
    batch = a.aval.ndim - 2
    factor, info = lapack.call(b, "potrf", [a], [out, _info(out)], batch, attrs, {0: 0})
    return composed(b, matrices.tril, *lapack.or_nan(b, info, [factor]))


@lowering.define(ops.triangular_solve_p)
def _triangular_solve(
    b, out, a, rhs, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal
):
    is_complex = out.dtype.kind == "c"
    if conjugate_a and not transpose_a and is_complex:
        a = composed(b, conj, a)
    adjoint = transpose_a and conjugate_a and is_complex
    if b.module.platform != "cpu":
        kind = "ADJOINT" if adjoint else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
        return b.op(
            "stablehlo.triangular_solve", [a, rhs], out,
            {
                "left_side": bool_attr(left_side),
                "lower": bool_attr(lower),
                "transpose_a": f"#stablehlo<transpose {kind}>",
                "unit_diagonal": bool_attr(unit_diagonal),
            },
        )  # fmt: skip
    attrs = {
        "diag": character("U" if unit_diagonal else "N"),
        "side": character("L" if left_side else "R"),
        "trans_x": character("C" if adjoint else "T" if transpose_a else "N"),
        "uplo": character("L" if lower else "U"),
    }
    return lapack.call(b, "trsm", [a, rhs], [out], out.ndim - 2, attrs, {1: 0})[0]


@lowering.define(ops.lu_p)
def _lu(b, outs, a):
    factors, pivots, rows = outs
    packed, pivots, _ = lapack.call(
        b, "getrf", [a], [factors, pivots, _info(factors)], factors.ndim - 2, None, {0: 0}
    )
    one = b.full_like(pivots, 1)  # LAPACK counts from 1
    pivots = b.op("stablehlo.subtract", [pivots, one], pivots.aval)
    return [packed, pivots, _permutation(b, rows, pivots)]


@lowering.define(ops.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(b, out, pivots, *, permutation_size):
    return _permutation(b, out, pivots)


def _permutation(b, out, pivots):
    """Write the loop over the swaps ``i <-> pivots[i]`` of an identity permutation.

    A swap looks for the place, so that a stack needs no gather: it selects among positions.
    """
    counter = ShapedArray((), np.int32)
    start = b.op(
        "stablehlo.iota", [], out, {"iota_dimension": f"{out.ndim - 1} : i64"}
    )
    zero = b.constant(0, counter)
    number = pivots.shape[-1]

    def go_on(i, rows):
        return [b.compare("LT", i, b.constant(number, counter))]

    def swap(i, rows):
        following = b.op("stablehlo.add", [i, b.constant(1, counter)], counter)
        return [following, composed(b, swapped, i, rows, pivots)]

    avals = [counter, out]
    regions = [b.region(avals, go_on), b.region(avals, swap)]
    return b.op("stablehlo.while", [zero, start], avals, regions=regions)[1]
