"""Rows of gather and scatter; the oracle goes element by element."""

import numpy as np

from evertrace._src.lax import indexing as lax
from evertrace._src.ops import indexing as ops
from evertrace._src.ops.dimension_numbers import GatherDimensionNumbers as Gather
from evertrace._src.ops.dimension_numbers import ScatterDimensionNumbers as Scatter
from tests.specs.opspec import ALL, FLOATING, NUMERIC, OpSpec, case


def indices(shape, dtype=np.int32, low=-2, high=8):
    """Return a drawer of indices, some of them out of range."""
    return lambda rng, _: rng.integers(low, high, shape, dtype)


def distinct(rng, _):
    """Return three different indices of four as vectors."""
    return rng.permutation(4)[:3, None].astype(np.int32)


def windows(shape, indices, dnums, sizes, mode):
    """Yield each window: its place in the indices, the indices of its elements (None: outside)."""
    _, dropped, index_map, operand_batch, indices_batch = dnums
    for at in np.ndindex(*indices.shape[:-1]):
        start = [0] * len(shape)
        for k, d in enumerate(index_map):
            start[d] = int(indices[at][k])
        inside = all(0 <= s <= n - w for s, n, w in zip(start, shape, sizes, strict=True))
        start = [min(max(s, 0), n - w) for s, n, w in zip(start, shape, sizes, strict=True)]
        for d, i in zip(operand_batch, indices_batch, strict=True):
            start[d] = at[i]
        for within in np.ndindex(*sizes):
            place = tuple(np.add(start, within))
            rest = [w for d, w in enumerate(within) if d not in (*dropped, *operand_batch)]
            yield at, rest, place if inside or mode == "clip" else None


def position(at, rest, window_dims):
    """Return the index of a window's element in a gather's result or a scatter's updates."""
    total = len(at) + len(rest)
    at, rest = iter(at), iter(rest)
    return tuple(next(rest if d in window_dims else at) for d in range(total))


def gathered(x, indices, dimension_numbers, slice_sizes, mode, fill_value=None):
    """Gather, element by element."""
    found = {}
    for at, rest, place in windows(x.shape, indices, dimension_numbers, slice_sizes, mode):
        value = fill_value if place is None else x[place]
        found[position(at, rest, dimension_numbers.offset_dims)] = value
    dropped = {*dimension_numbers.collapsed_slice_dims, *dimension_numbers.operand_batching_dims}
    rest = [s for d, s in enumerate(slice_sizes) if d not in dropped]
    out = np.zeros(position(indices.shape[:-1], rest, dimension_numbers.offset_dims), x.dtype)
    for place, value in found.items():
        out[place] = value
    return out


def scattered(combine):
    """Return a scatter that goes element by element and combines with a function."""

    def oracle(x, indices, updates, dimension_numbers, mode, **_):
        dropped = {
            *dimension_numbers.inserted_window_dims,
            *dimension_numbers.operand_batching_dims,
        }
        window = iter([updates.shape[d] for d in dimension_numbers.update_window_dims])
        sizes = [1 if d in dropped else next(window) for d in range(x.ndim)]
        out = x.copy()
        for at, rest, place in windows(x.shape, indices, dimension_numbers, sizes, mode):
            if place is not None:
                update = updates[position(at, rest, dimension_numbers.update_window_dims)]
                out[place] = combine(out[place], update)
        return out

    return oracle


# (operand shape, indices, dimension numbers, window sizes, shape of the result)
PATTERNS = [
    ((4, 3), indices((2, 1)), Gather((1,), (0,), (0,)), (1, 3), (2, 3)),
    ((3, 4), indices((2, 2, 1), np.int8), Gather((0,), (1,), (1,)), (3, 1), (3, 2, 2)),
    ((3, 4, 5), indices((4, 2)), Gather((0,), (0, 2), (2, 0)), (1, 4, 1), (4, 4)),
    ((4, 5), indices((3, 2), np.uint8, 0, 7), Gather((0, 2), (), (0, 1)), (2, 3), (2, 3, 3)),
    ((4, 5), indices((1,)), Gather((0, 1), (), (1,)), (4, 2), (4, 2)),
    ((3, 5), indices((3, 2, 1)), Gather((), (1,), (1,), (0,), (0,)), (1, 1), (3, 2)),
    ((3, 5, 2), indices((2, 3, 1)), Gather((1,), (1,), (1,), (0,), (1,)), (1, 1, 2), (2, 2, 3)),
    ((4, 3), indices((0, 1)), Gather((1,), (0,), (0,)), (1, 3), (0, 3)),
    ((4, 3), indices((2, 1)), Gather((1,), (0,), (0,)), (1, 0), (2, 0)),
    ((), indices((3, 0)), Gather((), (), ()), (), (3,)),
]
MODES = ("clip", "fill")


def gather_cases():
    """Return a case per pattern and mode."""
    return [
        case(shape, drawn, dimension_numbers=dnums, slice_sizes=sizes, mode=mode)
        for shape, drawn, dnums, sizes, _ in PATTERNS
        for mode in MODES
    ]


def scatter_cases():
    """Return a case per pattern and mode."""
    return [
        case(shape, drawn, result, dimension_numbers=Scatter(*dnums), mode=mode)
        for shape, drawn, dnums, _, result in PATTERNS
        for mode in MODES
    ]


ROWS = Scatter((1,), (0,), (0,))
UNIQUE = [
    case((4, 3), distinct, (3, 3), dimension_numbers=ROWS, mode=mode, unique_indices=True)
    for mode in MODES
]


def scatter_row(prim, fun, combine, dtypes=NUMERIC, **options):
    """Return the row of a scatter."""
    cases = [*scatter_cases(), *UNIQUE]
    return OpSpec(
        prim.name,
        [prim],
        fun,
        scattered(combine),
        cases,
        dtypes,
        **({"ulps": 0, "wide": False} | options),
    )


SUM = {"ulps": 8, "wide": True, "ulps_of": "array"}
SPECS = [
    OpSpec(
        "gather", [ops.gather_p],
        lambda x, i, **options: lax.gather(x, i, fill_value=0, **options),
        lambda x, i, **options: gathered(x, i, fill_value=0, **options), gather_cases(), ALL,
        ulps=0, wide=False, linear=[(0,)], order=1,
    ),
    scatter_row(
        ops.scatter_p, lax.scatter, lambda old, new: new, ALL, linear=[(0, 2)],
        order=1,
    ),
    scatter_row(
        ops.scatter_add_p, lax.scatter_add, lambda old, new: old + new, **SUM,
        linear=[(0, 2)], order=1,
    ),
    scatter_row(
        ops.scatter_sub_p, lax.scatter_sub, lambda old, new: old - new, **SUM,
        linear=[(0, 2)], order=1,
    ),
    scatter_row(
        ops.scatter_mul_p, lax.scatter_mul, lambda old, new: old * new, **SUM, linear=[(0,)],
        grad_cases=UNIQUE, domain=(-1.5, 1.5),
    ),
    scatter_row(ops.scatter_min_p, lax.scatter_min, min, FLOATING, order=1),
    scatter_row(ops.scatter_max_p, lax.scatter_max, max, FLOATING, order=1),
]  # fmt: skip
