"""Rows of matrix products."""

import numpy as np

from evertrace._src.lax import dot as lax
from evertrace._src.ops import dot as ops
from tests.specs.opspec import ALL, OpSpec, case


def dot_oracle(lhs, rhs, dimension_numbers):
    """Return the product as an einsum."""
    (lc, rc), (lb, rb) = dimension_numbers
    left = list(range(lhs.ndim))
    right = [lhs.ndim + d for d in range(rhs.ndim)]
    for pairs in (zip(lc, rc, strict=True), zip(lb, rb, strict=True)):
        for a, b in pairs:
            right[b] = left[a]
    out = [left[d] for d in lb]
    out += [x for d, x in enumerate(left) if d not in (*lc, *lb)]
    out += [x for d, x in enumerate(right) if d not in (*rc, *rb)]
    return np.einsum(lhs, left, rhs, right, out)


CASES = [
    case((3, 4), (4, 5), dimension_numbers=(((1,), (0,)), ((), ()))),
    case((4,), (4,), dimension_numbers=(((0,), (0,)), ((), ()))),
    case((2, 3, 4), (4, 2, 5), dimension_numbers=(((2,), (0,)), ((0,), (1,)))),
    case((2, 3, 4, 5), (4, 5, 3), dimension_numbers=(((1, 3), (2, 1)), ((), ()))),
    case((2, 3, 4), (4, 3, 2), dimension_numbers=(((1,), (1,)), ((0, 2), (2, 0)))),
    case((2,), (3, 2), dimension_numbers=(((), ()), ((0,), (1,)))),
    case((), (3,), dimension_numbers=(((), ()), ((), ()))),
    case((3, 0), (0, 2), dimension_numbers=(((1,), (0,)), ((), ()))),
]

SPECS = [
    OpSpec(
        "dot_general",
        [ops.dot_general_p],
        lax.dot_general,
        dot_oracle,
        CASES,
        ALL,
        linear=[(0,), (1,)],
        ulps=8,
        ulps_of="array",
    ),
    OpSpec(
        "dot_general_wider",
        [ops.dot_general_p],
        lambda x, y, **params: lax.dot_general(x, y, preferred_element_type=np.float32, **params),
        lambda x, y, dimension_numbers: dot_oracle(x, y, dimension_numbers).astype(np.float32),
        CASES[:3],
        ("bfloat16", "float16", "float32"),
        grads=(),
        ulps=8,
        ulps_of="array",
    ),
]
