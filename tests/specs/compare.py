"""Rows of comparisons."""

import operator

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
        "is_finite",
        [ops.is_finite_p],
        lax.is_finite,
        np.isfinite,
        elementwise_cases(1),
        FLOATING,
        special=True,
        grads=(),
    )
]


def by_sort_key(compare):
    """Return an oracle that compares each pair by sign and magnitude of the bits."""

    def key(x):
        if x.dtype.kind in "biu":
            return int(x)
        bits = int(x.view(f"u{x.dtype.itemsize}"))
        width = 8 * x.dtype.itemsize
        sign, magnitude = divmod(bits, 2 ** (width - 1))
        return -magnitude - 1 if sign else magnitude

    def oracle(x, y):
        x, y = np.broadcast_arrays(x, y)
        pairs = zip(x.reshape(-1), y.reshape(-1), strict=True)
        return np.array([compare(key(a), key(b)) for a, b in pairs], bool).reshape(x.shape)

    return oracle


SPECS += [
    OpSpec(
        prim.name,
        [prim],
        prim.bind,
        by_sort_key(compare),
        elementwise_cases(2),
        BITS + FLOATING,
        domain=(-2, 2),
        wide=False,
        special=True,
        grads=(),
    )
    for prim, compare in (
        (ops.eq_to_p, operator.eq),
        (ops.le_to_p, operator.le),
        (ops.lt_to_p, operator.lt),
    )
]
