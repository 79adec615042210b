"""Rows of searchsorted."""

import numpy as np

from evertrace._src.ops.search import searchsorted_p
from tests.specs.opspec import BITS, FLOATING, OpSpec, case

# Sorted, with repetitions, both zeros and NaNs; values between, on and beyond them.
ROW = np.array([-np.inf, -2, -1, -1, -0.0, 0, 0, 0.5, 2, 3, np.inf, np.nan, np.nan])
WANTED = np.array([np.nan, 3, -0.0, 0, -1, 0.25, 7, -np.inf, np.inf, 1, -2])


def searchsorted(ordered, values, *, right):
    """Bind the primitive, which has no function of its own in `lax`."""
    return searchsorted_p.bind(ordered, values, right=right, dtype=np.dtype(np.int32))


def counted(ordered, values, *, right):
    """Count the elements of each row that are below each value, one by one."""
    row, value = ranks(ordered)[..., None, :], ranks(values)[..., None]
    return (row <= value if right else row < value).sum(-1).astype(np.int32)


def ranks(x):
    """Return numbers ordered like `x`, NaN above infinity."""
    x = x.astype(np.float64)
    return np.where(np.isnan(x), np.inf, np.clip(x, -1e300, 1e300))


def as_dtype(x, *shape):
    """Return a drawer of the finite or all elements of `x`, sorted like it, in the row's dtype."""

    def draw(rng, dtype):
        whole = np.dtype(dtype).kind in "biu"
        taken = x[np.isfinite(x) & (x >= 0)] if whole else x
        y = np.broadcast_to(taken, (*shape, taken.size))
        return np.ascontiguousarray(y).astype(dtype)

    return draw


SPECS = [
    OpSpec(
        "searchsorted",
        [searchsorted_p],
        searchsorted,
        counted,
        [
            case(as_dtype(ROW), as_dtype(WANTED), right=False),
            case(as_dtype(ROW), as_dtype(WANTED), right=True),
            case(as_dtype(ROW, 2), as_dtype(WANTED, 2), right=True),
            case((0,), (3,), right=False),
            case((0,), (0,), right=False),
        ],
        (*BITS, *FLOATING),
        ulps=0,
        wide=False,
        grads=(),
    ),
]
