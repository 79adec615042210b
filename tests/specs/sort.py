"""Rows of sort and top_k."""

import numpy as np

from evertrace._src.lax import sort as lax
from evertrace._src.ops import sort as ops
from tests.specs.opspec import ALL, BITS, FLOATING, OpSpec, case

REAL = (*BITS, *FLOATING)
SPECIAL = (np.nan, np.inf, -np.inf, 1.0, -1.0, 1.5, 0.0, 3.0)


def spaced(rng, shape, dtype):
    """Draw different numbers, far enough apart for finite differences."""
    size = int(np.prod(shape, dtype=int))
    return (rng.permutation(size).reshape(shape) - size / 2) / 4


def key(x):
    """Return a number as something Python orders as `sort` does."""
    x = x.item()
    parts = (x.real, x.imag) if isinstance(x, complex) else (float(x),)
    return [(part != part, 0 if part != part else part) for part in parts]


def arranged(*xs, dimension, num_keys=1):
    """Sort each lane with Python's stable sort."""
    moved = [np.moveaxis(x, dimension, -1) for x in xs]
    outs = [np.empty_like(x) for x in moved]
    for lane in np.ndindex(*moved[0].shape[:-1]):
        size = moved[0].shape[-1]
        order = sorted(range(size), key=lambda i: [key(x[lane][i]) for x in moved[:num_keys]])
        for out, x in zip(outs, moved, strict=True):
            out[lane] = x[lane][order]
    return [np.moveaxis(out, -1, dimension) for out in outs]


def largest(x, k, axis):
    """Take the largest by a stable sort of what is reversed."""
    negated = [np.inf if v != v else float(v) for v in x.reshape(-1)]
    negated = -np.array(negated).reshape(x.shape)
    order = np.argsort(negated, axis, kind="stable").take(range(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


def repeated(shape):
    """Return a drawer of numbers with many equal ones."""
    return lambda rng, dtype: rng.integers(0, 3, shape).astype(dtype)


def positions(shape):
    """Return a drawer of the numbers of elements."""
    return lambda rng, dtype: np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


SPECS = [
    OpSpec(
        "sort",
        [ops.sort_p],
        lax.sort,
        arranged,
        [
            case((7,), dimension=0),
            case((3, 4), dimension=0),
            case((3, 4, 2), dimension=-2),
            case((0, 3), dimension=0),
            case((1,), dimension=0),
        ],
        ALL,
        ulps=0,
        wide=False,
        special=SPECIAL,
        grad_domain=spaced,
        order=1,
    ),
    OpSpec(
        "sort of several",
        [ops.sort_p],
        lambda *xs, **options: lax.sort(xs, **options),
        arranged,
        [
            case(repeated((3, 8)), positions((3, 8)), dimension=1),
            case(repeated((3, 8)), repeated((3, 8)), positions((3, 8)), dimension=1, num_keys=2),
        ],
        ALL,
        ulps=0,
        wide=False,
        grads=(),
    ),
    OpSpec(
        "sort with values",
        [ops.sort_p],
        lambda *xs, **options: lax.sort(xs, **options),
        arranged,
        [case((6,), (6,), dimension=0)],
        ulps=0,
        wide=False,
        domain=[spaced, (-3, 3)],
        grad_domain=[spaced, (-3, 3)],
        order=1,
    ),
    OpSpec(
        "top_k",
        [ops.top_k_p],
        lax.top_k,
        largest,
        [
            case((7,), k=3, axis=-1),
            case((4, 3), k=2, axis=0),
            case((3, 4), k=4, axis=1),
            case((2, 3), k=0, axis=1),
            case(repeated((9,)), k=5, axis=0),
        ],
        REAL,
        ulps=0,
        wide=False,
        special=SPECIAL,
        grad_domain=spaced,
        order=1,
        grad_cases=[case((7,), k=3, axis=-1), case((4, 3), k=2, axis=0)],
    ),
]
