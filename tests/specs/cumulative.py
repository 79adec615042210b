"""Rows of cumulative operations."""

import numpy as np

from evertrace._src.lax import cumulative as lax
from evertrace._src.ops import cumulative as ops
from tests.specs.opspec import INEXACT, NUMERIC, REAL, OpSpec, case

CASES = [
    case((7,), axis=0, reverse=False),
    case((3, 6), axis=1, reverse=True),
    case((4, 2, 3), axis=0, reverse=True),
    case((5, 2), axis=0, reverse=False),
    case((0, 3), axis=0, reverse=False),
    case((1, 2), axis=0, reverse=True),
]


def running(ufunc):
    """Return the oracle of the running reduction by a ufunc."""

    def oracle(x, axis, reverse):
        x = np.flip(x, axis) if reverse else x
        y = ufunc.accumulate(x, axis=axis, dtype=x.dtype)
        return np.flip(y, axis) if reverse else y

    return oracle


def log_sum_exp(x, axis, reverse):
    """Return the logarithm of the running sum of exponentials, directly."""
    return np.log(running(np.add)(np.exp(x), axis, reverse))


SPECS = [
    OpSpec(
        "cumsum",
        [ops.cumsum_p],
        lax.cumsum,
        running(np.add),
        CASES,
        NUMERIC,
        linear=[(0,)],
        ulps=8,
        ulps_of="array",
    ),
    OpSpec(
        "cumprod",
        [ops.cumprod_p],
        lax.cumprod,
        running(np.multiply),
        CASES,
        NUMERIC,
        domain=(-2, 2),
        ulps=16,
        ulps_of="array",
    ),
    OpSpec("cummax", [ops.cummax_p], lax.cummax, running(np.maximum), CASES, REAL, ulps=0),
    OpSpec("cummin", [ops.cummin_p], lax.cummin, running(np.minimum), CASES, REAL, ulps=0),
    OpSpec(
        "cumlogsumexp",
        [ops.cumlogsumexp_p],
        lax.cumlogsumexp,
        log_sum_exp,
        CASES,
        INEXACT,
        domain=(-1, 1),
        ulps=16,
        ulps_of="array",
    ),
]
