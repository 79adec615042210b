"""Rows that threads share, of numbers that are hard to divide evenly, against the host rules."""

import numpy as np
import pytest

from evertrace._src import kernels
from evertrace._src.ops import sort

SIZE = 40_001  # shared, and of no whole number of vectors or pieces
DTYPES = ["int32", "uint32", "float32", "int64", "uint64", "float64"]


def _edges(raw, dtype):
    if dtype.kind != "f":
        return np.array([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)[(raw % 2).astype(int)]
    return np.array([0.0, -0.0, np.nan, -np.nan, -np.inf, np.inf], dtype)[raw % 6]


ROWS = {
    "of all bits": lambda raw, dtype: raw.astype(f"u{dtype.itemsize}").view(dtype),
    "of few values": lambda raw, dtype: (raw % 5).astype(dtype),
    "of one value": lambda raw, dtype: np.ones(SIZE, dtype),
    "nearly all alike": lambda raw, dtype: np.where(raw % 999 == 0, raw % 7, 3).astype(dtype),
    "of edges": _edges,
    "in order": lambda raw, dtype: np.arange(SIZE).astype(dtype),
    "in reverse": lambda raw, dtype: np.arange(SIZE)[::-1].astype(dtype),
}

pytestmark = pytest.mark.usefixtures("needs_native")


@pytest.fixture(params=DTYPES)
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(params=ROWS)
def row(request, dtype):
    raw = np.random.default_rng(0).integers(0, 1 << 64, SIZE, dtype=np.uint64)
    return ROWS[request.param](raw, dtype)


def test_values_are_sorted_to_the_bit(row):
    keys = np.sort(sort.to_sort_keys(row)) if row.dtype.kind == "f" else np.sort(row)
    want = sort.flip_negative(keys).view(row.dtype) if row.dtype.kind == "f" else keys
    assert kernels.sort([row], 1)[0].tobytes() == want.tobytes()


def test_records_are_sorted_stably(row):
    order = np.argsort(row, kind="stable")
    values, places = kernels.sort([row, np.arange(SIZE, dtype=np.int32)], 1)
    np.testing.assert_array_equal(places, order)
    assert values.tobytes() == row[order].tobytes()


@pytest.mark.parametrize("last", ["float32", "int64"])
def test_several_keys_count_one_after_the_other(last):
    raw = np.random.default_rng(0).integers(0, 50, (2, SIZE))
    first, last = raw[0].astype(np.float32), raw[1].astype(last)
    places = kernels.sort([first, last, np.arange(SIZE)], 2)[2]
    np.testing.assert_array_equal(places, np.lexsort((last, first)))


@pytest.mark.parametrize("size", [2047, 2048, 2049, 70_000])
def test_few_and_many_numbers_are_in_the_same_order(size, dtype):
    """Of what differs in high digits, in low ones, or in few."""
    raw = np.random.default_rng(0).integers(0, 1 << 64, size, dtype=np.uint64)
    for shift in (0, 20, 40, 63):
        x = (raw >> shift).astype(f"u{dtype.itemsize}").astype(dtype)
        for y in (x, np.sort(x), np.sort(x)[::-1]):
            order = np.argsort(y, kind="stable")
            values, places = kernels.sort([y, np.arange(size)], 1)
            np.testing.assert_array_equal(places, order)
            np.testing.assert_array_equal(values, y[order])
            np.testing.assert_array_equal(kernels.sort([y], 1)[0], y[order])


@pytest.mark.parametrize("k", [1, 5, 16, 17, 200])
@pytest.mark.parametrize("rows", [1, 8], ids=["shared row", "shared rows"])
def test_the_largest_of_a_row_and_where_they_are(row, k, rows):
    """Of few and of many, and of equal ones the first."""
    size = SIZE * 4 // rows
    x = np.stack([np.roll(np.tile(row, 4)[:size], 7 * i) for i in range(rows)])
    keys = x
    if x.dtype.kind == "f":  # all bits count: -0.0 is below 0.0, and NaNs are at both ends
        bits = x.view(f"i{x.dtype.itemsize}")
        keys = np.where(bits < 0, np.iinfo(bits.dtype).min - bits - 1, bits)
    order = size - 1 - np.argsort(keys[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :k]
    values, places = kernels.top_k(x, k)
    np.testing.assert_array_equal(places, order)
    assert values.tobytes() == np.take_along_axis(x, order, 1).tobytes()
