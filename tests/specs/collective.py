"""Rows of collective operations, each under the vmap that gives its axis a name.

Staged, they are the operations that they turn into: so no row names a primitive. What they are
before, under transformations inside of the vmap, is tested in `tests/lax/test_collective.py`.
"""

import functools

import numpy as np

from evertrace._src.api.vectorize import vmap
from evertrace._src.lax import collective as lax
from tests.specs.opspec import ALL, FLOATING, NUMERIC, REAL, OpSpec, case


def mapped(fun, **fixed):
    """Return a collective over the first axis of an array."""

    def over_axis(x, **kwargs):
        one = functools.partial(fun, axis_name="i", **fixed, **kwargs)
        return vmap(one, axis_name="i")(x)

    return over_axis


def to_all(fun):
    """Return the oracle of a collective that gives all examples the same result."""

    def oracle(x, **kwargs):
        out = np.asarray(fun(x, **kwargs))
        return np.broadcast_to(out, (len(x), *out.shape))

    return oracle


def permuted(x, perm):
    """Return zeros with the rows of `x` at their destinations."""
    out = np.zeros_like(x)
    for source, destination in perm:
        out[destination] = x[source]
    return out


def gathered(x, axis=0, tiled=False):
    """Return the rows of `x` joined along an axis."""
    return (np.concatenate if tiled else np.stack)(list(x), axis)


def scattered(x, scatter_dimension=0, tiled=False):
    """Return the parts of the sum of the rows of `x`."""
    parts = np.split(np.sum(x, 0, dtype=x.dtype), len(x), scatter_dimension)
    return np.stack(parts if tiled else [p.squeeze(scatter_dimension) for p in parts])


def exchanged(x, split_axis, concat_axis, tiled=False):
    """Return, per row of `x`, the parts that all rows send to it, joined."""
    parts = [np.split(row, len(x), split_axis) for row in x]
    if not tiled:
        parts = [[p.squeeze(split_axis) for p in row] for row in parts]
    join = np.concatenate if tiled else np.stack
    return np.stack([join(received, concat_axis) for received in zip(*parts, strict=True)])


SHAPES = [case((4, 2, 3)), case((3,)), case((1, 2)), case((2, 0))]

SPECS = [
    OpSpec(
        "psum", [], mapped(lax.psum), to_all(lambda x: np.sum(x, 0, dtype=x.dtype)), SHAPES,
        NUMERIC, linear=[(0,)], ulps=8, ulps_of="array",
    ),
    OpSpec(
        "pmean", [], mapped(lax.pmean), to_all(lambda x: np.mean(x, 0)), SHAPES, FLOATING,
        linear=[(0,)], ulps=8, ulps_of="array",
    ),
    OpSpec("pmax", [], mapped(lax.pmax), to_all(lambda x: np.max(x, 0)), SHAPES, REAL, ulps=0),
    OpSpec("pmin", [], mapped(lax.pmin), to_all(lambda x: np.min(x, 0)), SHAPES, REAL, ulps=0),
    OpSpec(
        "ppermute", [], mapped(lax.ppermute), permuted,
        [
            case((4, 2), perm=[(0, 1), (1, 2), (2, 3), (3, 0)]),
            case((5,), perm=[(4, 0), (0, 4), (2, 1)]),
            case((3, 2), perm=[]),
            case((2, 0), perm=[(1, 0)]),
        ],
        ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "pshuffle", [], mapped(lax.pshuffle), lambda x, perm: x[list(perm)],
        [case((4, 2), perm=(3, 1, 0, 2)), case((1,), perm=(0,))], ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "pbroadcast", [], mapped(lax.pbroadcast), to_all(lambda x, source: x[source]),
        [case((4, 2), source=3), case((3,), source=0)], ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "all_gather", [], mapped(lax.all_gather), to_all(gathered),
        [
            case((2, 3, 4)), case((2, 3, 4), axis=1), case((2, 3, 4), axis=-1), case((3,)),
            case((2, 3, 4), tiled=True), case((2, 3, 4), axis=1, tiled=True),
        ],
        ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "psum_scatter", [], mapped(lax.psum_scatter), scattered,
        [
            case((3, 3, 2)), case((2, 3, 2), scatter_dimension=1), case((3, 3)),
            case((2, 4, 3), tiled=True), case((2, 3, 4), scatter_dimension=-1, tiled=True),
        ],
        NUMERIC, linear=[(0,)], ulps=8, ulps_of="array",
    ),
    OpSpec(
        "all_to_all", [], mapped(lax.all_to_all), exchanged,
        [
            case((3, 3, 2), split_axis=0, concat_axis=0),
            case((2, 3, 2), split_axis=1, concat_axis=0),
            case((2, 2, 3, 4), split_axis=0, concat_axis=1),
            case((2, 4, 3), split_axis=0, concat_axis=0, tiled=True),
            case((2, 4, 3), split_axis=0, concat_axis=1, tiled=True),
            case((2, 3, 4), split_axis=-1, concat_axis=0, tiled=True),
        ],
        ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "pswapaxes", [], mapped(lax.pswapaxes), lambda x, axis: np.swapaxes(x, 0, axis + 1),
        [case((3, 3, 2), axis=0), case((2, 3, 2), axis=1)], ALL, linear=[(0,)], ulps=0,
    ),
    OpSpec(
        "axis_index", [], mapped(lambda x, axis_name: lax.axis_index(axis_name)),
        lambda x: np.arange(len(x), dtype=np.int32), [case((4,))], ["float32"], ulps=0, grads=(),
    ),
]  # fmt: skip
