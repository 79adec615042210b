"""Rows of slices that begin where scalars say."""

import numpy as np

from evertrace._src.lax import slicing as lax
from evertrace._src.ops import dynamic as ops
from tests.specs.opspec import ALL, OpSpec, case


def start(low, high, dtype=np.int32):
    """Return a drawer of one start index."""
    return lambda rng, _: rng.integers(low, high, (), dtype)


def box(shape, starts, sizes):
    """Return where a box lies: negative starts count from the end, then it is moved inside."""
    places = []
    for i, n, size in zip(map(int, starts), shape, sizes, strict=True):
        first = min(max(i + n if i < 0 else i, 0), n - size)
        places.append(slice(first, first + size))
    return tuple(places)


def dynamic_slice(x, *starts, slice_sizes):
    """Cut out a box."""
    return x[box(x.shape, starts, slice_sizes)]


def dynamic_update_slice(x, update, *starts):
    """Replace a box."""
    out = x.copy()
    out[box(x.shape, starts, update.shape)] = update
    return out


SPECS = [
    OpSpec(
        "dynamic_slice",
        [ops.dynamic_slice_p],
        lambda x, *starts, slice_sizes: lax.dynamic_slice(x, starts, slice_sizes),
        dynamic_slice,
        [
            case((4, 5), start(-6, 6), start(-6, 6), slice_sizes=(2, 3)),
            case((4,), start(0, 9, np.uint8), slice_sizes=(1,)),
            case((4, 5), start(-3, 9, np.int8), start(-3, 9, np.int8), slice_sizes=(0, 5)),
            case((), slice_sizes=()),
        ],
        ALL,
        ulps=0,
        wide=False,
        linear=[(0,)],
        order=1,
    ),
    OpSpec(
        "dynamic_update_slice",
        [ops.dynamic_update_slice_p],
        lambda x, update, *starts: lax.dynamic_update_slice(x, update, starts),
        dynamic_update_slice,
        [
            case((4, 5), (2, 3), start(-6, 6), start(-6, 6)),
            case((4,), (1,), start(0, 9, np.uint8)),
            case((4, 3), (0, 3), start(-3, 9, np.int8), start(-3, 9, np.int8)),
            case((), ()),
        ],
        ALL,
        ulps=0,
        wide=False,
        linear=[(0, 1)],
        order=1,
    ),
]
