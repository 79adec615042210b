"""Rows of bitwise operations; the oracles of shifts and counts are Python's integers."""

import numpy as np

from evertrace._src.lax import bits as lax
from evertrace._src.ops import bits as ops
from tests.specs.opspec import BITS, INTEGER, OpSpec, elementwise_cases

FULL_RANGE = (-(2**63), 2**63)
SHIFTS = [FULL_RANGE, (-2, 40)]
WIDE_INTEGER = (*INTEGER, "int16", "uint16", "int64", "uint64")


def by_python(function):
    """Return an oracle that applies a function of (unsigned int, ..., width) to each element."""

    def oracle(*operands):
        dtype = operands[0].dtype
        width = 8 * dtype.itemsize
        unsigned = np.dtype(f"u{dtype.itemsize}")
        arrays = np.broadcast_arrays(*[x.view(unsigned) for x in operands])
        values = [
            function(*map(int, xs), width) % 2**width
            for xs in zip(*[x.reshape(-1) for x in arrays], strict=True)
        ]
        return np.array(values, unsigned).view(dtype).reshape(arrays[0].shape)

    return oracle


def _right_arithmetic(x, y, width):
    signed = x - 2**width if x >= 2 ** (width - 1) else x
    return signed >> min(y, width)


def high_product(x, y):
    """Return the high bits of products of Python's integers."""
    width = 8 * x.dtype.itemsize
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    return np.array([a * b >> width for a, b in pairs], x.dtype).reshape(x.shape)


SPECS = [
    OpSpec(
        prim.name, [prim], fun, oracle, elementwise_cases(n), dtypes, domain=domain, grads=()
    )
    for prim, fun, oracle, n, dtypes, domain in (
        (ops.and_p, lax.bitwise_and, np.bitwise_and, 2, BITS, FULL_RANGE),
        (ops.or_p, lax.bitwise_or, np.bitwise_or, 2, BITS, FULL_RANGE),
        (ops.xor_p, lax.bitwise_xor, np.bitwise_xor, 2, BITS, FULL_RANGE),
        (ops.mulhi_p, lax.mulhi, high_product, 2, WIDE_INTEGER, FULL_RANGE),
        (ops.not_p, lax.bitwise_not, np.invert, 1, BITS, FULL_RANGE),
        (
            ops.shift_left_p, lax.shift_left,
            by_python(lambda x, y, width: x << min(y, width)), 2, INTEGER, SHIFTS,
        ),
        (
            ops.shift_right_logical_p, lax.shift_right_logical,
            by_python(lambda x, y, width: x >> min(y, width)), 2, INTEGER, SHIFTS,
        ),
        (
            ops.shift_right_arithmetic_p, lax.shift_right_arithmetic,
            by_python(_right_arithmetic), 2, INTEGER, SHIFTS,
        ),
        (
            ops.population_count_p, lax.population_count,
            by_python(lambda x, width: x.bit_count()), 1, WIDE_INTEGER, FULL_RANGE,
        ),
        (
            ops.clz_p, lax.clz,
            by_python(lambda x, width: width - x.bit_length()), 1, WIDE_INTEGER, FULL_RANGE,
        ),
    )
]  # fmt: skip
