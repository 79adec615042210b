"""Rows of slices at known places, padding, concatenation and their like."""

import numpy as np

from evertrace._src.lax import slicing as lax
from evertrace._src.ops import slicing as ops
from tests.specs.opspec import ALL, OpSpec, case


def row(name, prims, fun, oracle, cases, linear=((0,),)):
    """Return the row of an exact linear operation."""
    return OpSpec(
        name, prims, fun, oracle, cases, ALL, linear=list(linear), wide=False, ulps=0, order=1
    )


def sliced(x, start_indices, limit_indices, strides=None):
    """Slice in all dimensions."""
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def padded(x, value, padding_config):
    """Pad one dimension after the other: interior, then what is added, then what is removed."""
    for dim, (low, high, interior) in enumerate(padding_config):
        x = np.moveaxis(x, dim, 0)
        spread = np.full((len(x) + max(len(x) - 1, 0) * interior, *x.shape[1:]), value, x.dtype)
        spread[:: interior + 1] = x
        ends = [np.full((max(n, 0), *x.shape[1:]), value, x.dtype) for n in (low, high)]
        out = np.concatenate([ends[0], spread, ends[1]])
        out = out[max(-low, 0) : len(out) - max(-high, 0)]
        x = np.moveaxis(out, 0, dim)
    return x


SPECS = [
    row(
        "slice", [ops.slice_p], lax.slice, sliced,
        [
            case((4, 5), start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 2)),
            case((4, 5), start_indices=(0, 4), limit_indices=(4, 5), strides=(3, 1)),
            case((4,), start_indices=(2,), limit_indices=(2,)),
            case((0, 3), start_indices=(0, 1), limit_indices=(0, 2)),
            case((), start_indices=(), limit_indices=()),
        ],
    ),
    row(
        "slice_in_dim", [ops.slice_p], lax.slice_in_dim,
        lambda x, start_index, limit_index, stride, axis: np.moveaxis(
            np.moveaxis(x, axis, 0)[start_index:limit_index:stride], 0, axis
        ),
        [
            case((4, 5), start_index=-3, limit_index=None, stride=2, axis=-1),
            case((4, 5), start_index=None, limit_index=-1, stride=1, axis=0),
        ],
    ),
    row(
        "pad", [ops.pad_p], lax.pad, padded,
        [
            case((2, 3), (), padding_config=((1, 2, 0), (0, 1, 2))),
            case((3, 4), (), padding_config=((-1, 2, 1), (3, -2, 0))),
            case((4,), (), padding_config=((-1, -2, 0),)),
            case((2,), (), padding_config=((-2, 1, 3),)),
            case((0,), (), padding_config=((1, 1, 2),)),
            case((), (), padding_config=()),
        ],
        linear=[(0, 1)],
    ),
    row(
        "concatenate", [ops.concatenate_p], lambda *xs, dimension: lax.concatenate(xs, dimension),
        lambda *xs, dimension: np.concatenate(xs, dimension),
        [
            case((2, 3), (1, 3), dimension=0),
            case((2, 3), (2, 1), dimension=-1),
        ],
        linear=[(0, 1)],
    ),
    row(
        "concatenate of three", [ops.concatenate_p],
        lambda *xs, dimension: lax.concatenate(xs, dimension),
        lambda *xs, dimension: np.concatenate(xs, dimension),
        [case((2, 3), (1, 3), (0, 3), dimension=0)], linear=[(0, 1, 2)],
    ),
    row(
        "split", [ops.split_p], lax.split,
        lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
        [case((2, 5), sizes=(1, 0, 4), axis=1), case((3,), sizes=(3,), axis=0)],
    ),
    row(
        "stack", [ops.stack_p], lambda *xs, axis: lax.stack(xs, axis),
        lambda *xs, axis: np.stack(xs, axis),
        [case((2, 3), (2, 3), axis=1), case((), (), axis=0), case((2,), (2,), axis=-1)],
        linear=[(0, 1)],
    ),
    row(
        "unstack", [ops.unstack_p], lax.unstack, lambda x, axis: list(np.moveaxis(x, axis, 0)),
        [case((2, 3), axis=1), case((3,), axis=0), case((2, 2, 2), axis=-2)],
    ),
    row(
        "tile", [ops.tile_p], lax.tile, lambda x, reps: np.tile(x, reps),
        [case((2, 3), reps=(2, 1)), case((2,), reps=(3,)), case((2,), reps=(0,))],
    ),
]  # fmt: skip
