"""Rows of operations that move elements around."""

import numpy as np

from evertrace._src.lax import structural as lax
from evertrace._src.ops import structural as ops
from tests.specs.opspec import ALL, OpSpec, case


def moved(name, prim, fun, oracle, cases):
    """Return the row of an operation that is linear in its one operand and exact."""
    return OpSpec(
        name,
        [prim],
        fun,
        oracle,
        cases,
        ALL,
        linear=[(0,)],
        wide=False,
        ulps=0,
        special=False,
        order=1,
    )


def broadcast_in_dim(x, shape, broadcast_dimensions):
    """Broadcast as `lax.broadcast_in_dim` does."""
    out = np.zeros(shape, x.dtype)
    for index in np.ndindex(*shape):
        source = [
            index[d] if n > 1 else 0 for n, d in zip(x.shape, broadcast_dimensions, strict=True)
        ]
        out[index] = x[tuple(source)]
    return out


def reshape(x, new_sizes, dimensions=None):
    """Permute and reshape."""
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


SPECS = [
    moved(
        "broadcast_in_dim", ops.broadcast_in_dim_p, lax.broadcast_in_dim, broadcast_in_dim,
        [
            case((), shape=(2, 3), broadcast_dimensions=()),
            case((3,), shape=(2, 3, 2), broadcast_dimensions=(1,)),
            case((3, 1), shape=(2, 3, 4), broadcast_dimensions=(1, 2)),
            case((3, 4), shape=(2, 4, 3), broadcast_dimensions=(2, 1)),
            case((1, 2), shape=(2, 0, 3), broadcast_dimensions=(2, 0)),
        ],
    ),
    moved(
        "reshape", ops.reshape_p, lax.reshape, reshape,
        [
            case((2, 6), new_sizes=(3, 4)),
            case((), new_sizes=(1, 1)),
            case((0, 3), new_sizes=(5, 0)),
            case((2, 3, 4), new_sizes=(4, 6), dimensions=(2, 0, 1)),
        ],
    ),
    moved(
        "transpose", ops.transpose_p, lax.transpose,
        lambda x, permutation: x.transpose(permutation),
        [
            case((2, 3), permutation=(1, 0)),
            case((2, 3, 4), permutation=(1, 2, 0)),
            case((2, 0, 4), permutation=(2, 1, 0)),
        ],
    ),
    moved(
        "squeeze", ops.squeeze_p, lax.squeeze, lambda x, dimensions: np.squeeze(x, dimensions),
        [case((1, 3, 1), dimensions=(0, -1)), case((2, 1), dimensions=(1,))],
    ),
    moved(
        "expand_dims", ops.broadcast_in_dim_p, lax.expand_dims,
        lambda x, dimensions: np.expand_dims(x, dimensions),
        [case((3,), dimensions=(0, -1)), case((), dimensions=(0,)), case((2, 3), dimensions=(1,))],
    ),
    moved(
        "rev", ops.rev_p, lax.rev, lambda x, dimensions: np.flip(x, dimensions),
        [
            case((2, 3), dimensions=(0, 1)),
            case((2, 3, 2), dimensions=(1,)),
            case((0,), dimensions=(0,)),
        ],
    ),
    moved(
        "collapse", ops.reshape_p, lax.collapse,
        lambda x, start_dimension, stop_dimension: x.reshape(2, 12, 1),
        [case((2, 3, 4, 1), start_dimension=1, stop_dimension=3)],
    ),
    moved(
        "broadcast", ops.broadcast_in_dim_p, lax.broadcast,
        lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape)),
        [case((3,), sizes=(2, 2)), case((), sizes=(0,))],
    ),
    moved(
        "broadcast_to_rank", ops.broadcast_in_dim_p, lax.broadcast_to_rank,
        lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape),
        [case((3,), rank=3), case((3, 2), rank=2)],
    ),
]  # fmt: skip
