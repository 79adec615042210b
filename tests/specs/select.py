"""Rows of select_n."""

import numpy as np

from evertrace._src.lax import select as lax
from evertrace._src.ops import select as ops
from tests.specs.opspec import ALL, OpSpec, case


def which(shape, num_cases):
    """Return a drawer of `which`: booleans for two cases, else int32."""

    def draw(rng, _):
        chosen = rng.integers(0, num_cases, shape)
        return chosen.astype(bool) if num_cases == 2 else chosen.astype(np.int32)

    return draw


def chosen(which, *cases):
    """Choose element by element."""
    return np.choose(which.astype(int), cases)


SPECS = [
    OpSpec(
        "select_n",
        [ops.select_n_p],
        lax.select_n,
        chosen,
        [
            case(which((3, 2), 2), (3, 2), (3, 2)),
            case(which((), 2), (3, 2), (3, 2)),
            case(which((), 2), (), ()),
            case(which((0, 2), 2), (0, 2), (0, 2)),
        ],
        ALL,
        ulps=0,
        wide=False,
        linear=[(1, 2)],
        order=1,
    ),
    OpSpec(
        "select_n of many",
        [ops.select_n_p],
        lax.select_n,
        chosen,
        [
            case(which((4,), 3), (4,), (4,), (4,)),
            case(which((), 5), (2,), (2,), (2,), (2,), (2,)),
        ],
        ALL,
        ulps=0,
        wide=False,
        order=1,
    ),
    OpSpec(
        "select_n out of range",
        [ops.select_n_p],
        lax.select_n,
        lambda which, *cases: chosen(np.clip(which, 0, 2), *cases),
        [case(np.array([-7, 1, 99], np.int32), (3,), (3,), (3,))],
        ulps=0,
        wide=False,
        grads=(),
    ),
    OpSpec(
        "select",
        [ops.select_n_p],
        lax.select,
        np.where,
        [case(which((3, 2), 2), (3, 2), (3, 2))],
        ALL,
        ulps=0,
        wide=False,
        linear=[(1, 2)],
        order=1,
    ),
]
