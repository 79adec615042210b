"""Gathers and scatters in C++, against those in NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest

from evertrace._src import kernels
from evertrace._src.ops import indexing_host
from evertrace._src.ops.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

pytestmark = pytest.mark.usefixtures("needs_native")

UFUNCS = {
    None: None, "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip
INDEX_DTYPES = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


def random_windows(rng):
    """Return shapes, dimension numbers and window sizes that fit together."""
    rank = int(rng.integers(1, 5))
    shape = tuple(int(n) for n in rng.integers(1, 6, rank))
    dims = [int(d) for d in rng.permutation(rank)]
    batched = tuple(sorted(dims[: rng.integers(0, rank)])) if rng.random() < 0.4 else ()
    others = [d for d in dims if d not in batched]
    index_map = tuple(others[: rng.integers(0, len(others) + 1)])
    dropped = tuple(sorted(d for d in others if rng.random() < 0.5))
    named = {*batched, *dropped}
    sizes = tuple(1 if d in named else int(rng.integers(1, shape[d] + 1)) for d in range(rank))
    extra = [int(n) for n in rng.integers(0, 4, rng.integers(0, 3))]
    counts = [(n, None) for n in extra] + [(shape[d], d) for d in batched]
    counts = [counts[i] for i in rng.permutation(len(counts))]
    indices_batch = tuple([d for _, d in counts].index(d) for d in batched)
    kept = [d for d in range(rank) if d not in named]
    out_rank = len(counts) + len(kept)
    window_dims = tuple(sorted(int(d) for d in rng.permutation(out_rank)[: len(kept)]))
    window, places = iter([sizes[d] for d in kept]), iter([n for n, _ in counts])
    out_shape = tuple(next(window if d in window_dims else places) for d in range(out_rank))
    indices_shape = (*[n for n, _ in counts], len(index_map))
    numbers = window_dims, dropped, index_map, batched, indices_batch
    return shape, indices_shape, numbers, sizes, out_shape


def random_indices(rng, shape, dtype):
    """Return places, some of them far outside."""
    info = np.iinfo(dtype)
    indices = rng.integers(max(-4, info.min), 9, shape).astype(dtype)
    far = rng.choice(np.array([info.min, info.max], dtype), shape)
    return np.where(rng.random(shape) < 0.1, far, indices)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64, np.complex128])
def test_windows_are_taken_as_numpy_takes_them(dtype):
    rng = np.random.default_rng(1)
    for trial in range(60):
        shape, indices_shape, numbers, sizes, out_shape = random_windows(rng)
        x = (rng.normal(size=shape) * 100).astype(dtype)
        indices = random_indices(rng, indices_shape, INDEX_DTYPES[trial % 8])
        for mode in (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP):
            fills = mode is GatherScatterMode.FILL_OR_DROP
            expected = indexing_host.gather(
                x,
                indices,
                dimension_numbers=GatherDimensionNumbers(*numbers),
                slice_sizes=sizes,
                mode=mode,
                fill_value=7,
            )
            filler = np.array(7, dtype) if fills else None
            out = kernels.gather(x, indices, numbers, sizes, out_shape, filler)
            np.testing.assert_array_equal(out, expected, f"{trial}: {numbers} {sizes}")


@pytest.mark.parametrize("loop", UFUNCS, ids=str)
@pytest.mark.parametrize("dtype", [np.int8, ml_dtypes.bfloat16, np.float32, np.float64])
def test_windows_are_put_as_numpy_puts_them(loop, dtype):
    rng = np.random.default_rng(2)
    for trial in range(32):
        shape, indices_shape, numbers, sizes, out_shape = random_windows(rng)
        x = (rng.normal(size=shape) * 10).astype(dtype)
        updates = np.array(rng.normal(size=out_shape) * 10).astype(dtype)
        indices = random_indices(rng, indices_shape, INDEX_DTYPES[trial % 8])
        for mode in (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP):
            expected = indexing_host.scatter(
                UFUNCS[loop],
                x,
                indices,
                updates,
                unique_indices=False,
                mode=mode,
                dimension_numbers=ScatterDimensionNumbers(*numbers),
            )
            drops = mode is not GatherScatterMode.CLIP
            out = kernels.scatter(loop, x, indices, updates, numbers, sizes, drops=drops)
            np.testing.assert_array_equal(
                out.astype(np.float64), expected.astype(np.float64), f"{trial}: {numbers} {sizes}"
            )


def test_many_rows_are_taken_by_threads():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 40)).astype(np.float32)
    indices = rng.integers(0, 500, (20000, 1))
    rows = (1,), (0,), (0,), (), ()
    out = kernels.gather(x, indices, rows, (1, 40), (20000, 40), None)
    np.testing.assert_array_equal(out, x[indices[:, 0]])


def test_updates_at_one_place_are_all_added():
    indices = np.random.default_rng(4).integers(0, 9, (5000, 1))
    elements = (), (0,), (0,), (), ()
    out = kernels.scatter(
        "add", np.zeros(9, np.int32), indices, np.ones(5000, np.int32), elements, (1,), drops=True
    )
    np.testing.assert_array_equal(out, np.bincount(indices[:, 0], minlength=9))


@pytest.mark.parametrize(
    ("numbers", "sizes", "shape"),
    [
        (((), (0,), (1,), (), ()), (1,), (4,)),  # a dimension that is not there
        (((), (0,), (0, 0), (), ()), (1,), (4,)),  # more components than an index has
        (((), (0,), (0,), (), ()), (2,), (4,)),  # a window that is not 1 where it must be
        (((1,), (), (0,), (), ()), (9,), (4, 9)),  # larger than the array
        (((), (), (0,), (0,), (0,)), (1,), (4,)),  # counted and indexed
        (((7,), (), (0,), (), ()), (1,), (4, 1)),
        (((0, 1), (), (0,), (), ()), (1,), (4, 1)),
        (((1,), (), (0,), (), ()), (2,), (4, 3)),  # another result
    ],
)
def test_windows_that_do_not_fit_are_an_error(numbers, sizes, shape):
    x, indices = np.zeros(8, np.float32), np.zeros((4, 1), np.int32)
    with pytest.raises(ValueError, match="windows that do not fit"):
        kernels.gather(x, indices, numbers, sizes, shape, None)
    with pytest.raises(ValueError, match="windows that do not fit"):
        kernels.scatter(None, x, indices, np.zeros(shape, x.dtype), numbers, sizes, drops=True)


def test_empty_windows_and_no_windows():
    for count, size in ((0, 2), (3, 0)):
        x, numbers = np.ones((4, 5), np.float32), ((1,), (0,), (0,), (), ())
        indices = np.zeros((count, 1), np.int32)
        out = kernels.gather(x, indices, numbers, (1, size), (count, size), None)
        assert out.shape == (count, size)
        assert math.prod(out.shape) == 0
        same = kernels.scatter("add", x, indices, out, numbers, (1, size), drops=True)
        np.testing.assert_array_equal(same, x)
