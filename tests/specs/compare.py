"""Rows of comparisons."""

import numpy as np

from evertrace._src.lax import compare as lax
from evertrace._src.ops import compare as ops
from tests.specs.opspec import ALL, BITS, FLOATING, OpSpec, elementwise_cases

SPECS = [
    OpSpec(
        prim.name, [prim], fun, oracle, elementwise_cases(2), dtypes, domain=(-2, 2), wide=False,
        special=True, grads=(),
    )
    for prim, fun, oracle, dtypes in (
        (ops.eq_p, lax.eq, np.equal, ALL),
        (ops.ne_p, lax.ne, np.not_equal, ALL),
        (ops.lt_p, lax.lt, np.less, BITS + FLOATING),
        (ops.le_p, lax.le, np.less_equal, BITS + FLOATING),
        (ops.gt_p, lax.gt, np.greater, BITS + FLOATING),
        (ops.ge_p, lax.ge, np.greater_equal, BITS + FLOATING),
    )
]  # fmt: skip
SPECS += [
    OpSpec(
        "is_finite", [ops.is_finite_p], lax.is_finite, np.isfinite, elementwise_cases(1), FLOATING,
        special=True, grads=(),
    )
]  # fmt: skip
