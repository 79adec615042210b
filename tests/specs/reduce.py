"""Rows of reductions."""

import numpy as np

from evertrace._src.control.reduction import reduce_p
from evertrace._src.lax import elementwise
from evertrace._src.lax import reduce as lax
from evertrace._src.ops import reduce as ops
from evertrace._src.ops.structural import reduce_sum_p
from tests.specs.opspec import ALL, BITS, NUMERIC, REAL, WIDE_FLOATING, OpSpec, case


def axes_cases():
    """Return calls with none, one, several and all axes, and with an empty dimension left."""
    return [case((3, 4, 5), axes=axes) for axes in ((), (1,), (0, 2), (2, 0), (0, 1, 2))] + [
        case((0, 3), axes=(1,)),
        case((), axes=()),
    ]


def over_axes(ufunc):
    """Return the oracle of a reduction by a ufunc."""
    return lambda x, axes: ufunc.reduce(x, axis=axes, dtype=x.dtype)


def product_of_sums(x, axes):
    """Return the product of 1 + x along axes, less 1."""
    return np.prod(x + 1, axis=axes, dtype=x.dtype) - 1


def reduce_by_function(x, axes):
    """Reduce by (a, b) -> a + b + a b, which no named reduction computes."""
    return lax.reduce(
        x,
        0,
        lambda a, b: elementwise.add(elementwise.add(a, b), elementwise.mul(a, b)),
        axes,
    )


INDEX_CASES = [
    case((4, 5), axis=0, index_dtype=np.dtype(np.int32)),
    case((2, 7, 3), axis=1, index_dtype=np.dtype(np.int32)),
    case((0, 3), axis=1, index_dtype=np.dtype(np.uint8)),
]


def index_oracle(find):
    """Return the oracle of argmax or argmin."""
    return lambda x, axis, index_dtype: find(x, axis=axis).astype(index_dtype)


SPECS = [
    OpSpec(
        "reduce_sum", [reduce_sum_p], lax.reduce_sum, over_axes(np.add), axes_cases(), NUMERIC,
        ulps=32, ulps_of="array",
    ),
    OpSpec(
        "reduce_max", [ops.reduce_max_p], lax.reduce_max, over_axes(np.maximum), axes_cases(), ALL,
        ulps=0,
    ),
    OpSpec(
        "reduce_min", [ops.reduce_min_p], lax.reduce_min, over_axes(np.minimum), axes_cases(), ALL,
        ulps=0,
    ),
    OpSpec(
        "reduce_prod", [ops.reduce_prod_p], lax.reduce_prod, over_axes(np.multiply), axes_cases(),
        NUMERIC, domain=(-2, 2), ulps=32, ulps_of="array",
    ),
    OpSpec(
        "reduce_and", [ops.reduce_and_p], lax.reduce_and, over_axes(np.bitwise_and), axes_cases(),
        BITS, domain=(0, 127), ulps=0, grads=(),
    ),
    OpSpec(
        "reduce_or", [ops.reduce_or_p], lax.reduce_or, over_axes(np.bitwise_or), axes_cases(), BITS,
        domain=(0, 127), ulps=0, grads=(),
    ),
    OpSpec(
        "reduce_xor", [ops.reduce_xor_p], lax.reduce_xor, over_axes(np.bitwise_xor), axes_cases(),
        BITS, domain=(0, 127), ulps=0, grads=(),
    ),
    OpSpec(
        "argmax", [ops.argmax_p], lax.argmax, index_oracle(np.argmax), INDEX_CASES, REAL, ulps=0,
        grads=(), wide=False,
    ),
    OpSpec(
        "argmin", [ops.argmin_p], lax.argmin, index_oracle(np.argmin), INDEX_CASES, REAL, ulps=0,
        grads=(), wide=False,
    ),
    OpSpec(
        "reduce", [reduce_p], reduce_by_function, product_of_sums,
        [case((3, 4, 2), axes=(0, 2)), case((5,), axes=(0,)), case((2, 3), axes=())],
        WIDE_FLOATING, domain=(-1, 1), ulps=64, ulps_of="array",
    ),
]  # fmt: skip
