"""Copies, reductions and matrix products in C++, against NumPy's."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from evertrace._src import kernels

pytestmark = pytest.mark.usefixtures("needs_native")

INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
BOOL = [np.dtype(bool)]
rng = np.random.default_rng(0)


def sample(shape, dtype, high=100):
    """Return an array of numbers of a dtype; integers over all bits."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)
    values = rng.normal(size=shape) * high
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


# ---------------------------------------------------------------- copies

# From an array of items, a view to copy; each also to a destination with other strides.
VIEWS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.transpose(2, 0, 1),
    "reversed axes": lambda x: x.transpose(),
    "swapped inner": lambda x: x.swapaxes(1, 2),
    "every second": lambda x: x[::2, 1::3, ::2],
    "backwards": lambda x: x[::-1, :, ::-1],
    "backwards transposed": lambda x: x[:, ::-1].transpose(1, 2, 0),
    "slice": lambda x: x[1:-1, 2:, 1:3],
    "broadcast inner": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "broadcast outer": lambda x: np.broadcast_to(x[:1], x.shape),
    "broadcast middle": lambda x: np.broadcast_to(x[:, :1].transpose(2, 1, 0), x.shape[::-1]),
    "one item": lambda x: np.broadcast_to(x[:1, :1, :1], x.shape),
    "empty": lambda x: x[:, :0],
    "a row": lambda x: x[1, 2],
    "rank 0": lambda x: x[0, 0, 0],
}
DESTINATIONS = {
    "dense": lambda shape, dtype: np.zeros(shape, dtype),
    "in reverse order": lambda shape, dtype: np.zeros(shape[::-1], dtype).T,
    "with gaps": lambda shape, dtype: np.zeros([2 * n for n in shape], dtype)[
        (*[slice(None, None, 2)] * len(shape), ...)
    ],
    "backwards": lambda shape, dtype: np.zeros(shape, dtype)[
        (*[slice(None, None, -1)] * len(shape), ...)
    ],
}


@pytest.mark.parametrize("item", ["u1", "u2", "u4", "u8", "c16", "S3", "S24"])
@pytest.mark.parametrize("shape", [(5, 4, 7), (20, 33, 70), (2, 130, 3)])
def test_a_copy_has_the_items_of_the_view(item, shape):
    count = int(np.prod(shape)) * np.dtype(item).itemsize
    x = np.frombuffer(rng.bytes(count), item).reshape(shape)
    for (name, view), (where, make) in itertools.product(VIEWS.items(), DESTINATIONS.items()):
        source = np.asarray(view(x))
        out = make(source.shape, source.dtype)
        kernels.copy(source, out)
        assert source.tobytes() == out.tobytes(), (name, where)


def test_a_copy_leaves_alone_what_is_between():
    out = np.zeros((40, 40), np.float32)
    kernels.copy(np.ones((20, 20), np.float32).T, out[::2, ::2])
    assert out.sum() == 400
    assert out[::2, ::2].all()


def test_large_copies_are_shared_among_threads():
    x = sample((700, 900), np.float32)
    out = np.empty((900, 700), np.float32)
    kernels.copy(x.T, out)
    np.testing.assert_array_equal(out, x.T)


def test_unaligned_items_are_copied():
    memory = np.frombuffer(rng.bytes(8 * 600 + 1), np.uint8)[1:]
    x = np.ndarray((20, 30), np.float64, memory)
    out = np.empty((30, 20))
    kernels.copy(x.T, out)
    assert out.tobytes() == x.T.tobytes()


def test_a_copy_of_many_dimensions():
    x = sample((2,) * 14, np.int16)
    out = np.empty((2,) * 14, np.int16)
    kernels.copy(x.transpose(*range(0, 14, 2), *range(1, 14, 2)), out)
    np.testing.assert_array_equal(out, x.transpose(*range(0, 14, 2), *range(1, 14, 2)))


# ---------------------------------------------------------------- reductions

SHAPES = [
    (1,), (7,), (15,), (16,), (33,), (64,), (100,), (1000,), (4097,),
    (3, 5), (9, 20), (40, 3), (200, 7), (70, 64), (33, 100), (130, 1100), (5, 17, 3), (3, 70, 5),
]  # fmt: skip
UFUNCS = {
    "reduce_sum": (np.add, INTEGERS + NARROW + FLOATS + COMPLEX),
    "reduce_prod": (np.multiply, INTEGERS + NARROW + FLOATS + COMPLEX),
    "reduce_max": (np.maximum, BOOL + INTEGERS + NARROW + FLOATS + COMPLEX),
    "reduce_min": (np.minimum, BOOL + INTEGERS + NARROW + FLOATS + COMPLEX),
    "reduce_and": (np.bitwise_and, BOOL + INTEGERS),
    "reduce_or": (np.bitwise_or, BOOL + INTEGERS),
    "reduce_xor": (np.bitwise_xor, BOOL + INTEGERS),
}


def axes_of(rank):
    """Return which dimensions to reduce: every choice."""
    return [axes for n in range(rank + 1) for axes in itertools.combinations(range(rank), n)]


def in_more_precision(x):
    """Return floats as NumPy's most precise ones."""
    if x.dtype.kind in "biu":
        return x
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, (_, dtypes) in UFUNCS.items() for dtype in dtypes],
    ids=str,
)
def test_a_reduction_is_that_of_the_ufunc(name, dtype):
    ufunc = UFUNCS[name][0]
    inexact = dtype.kind not in "biu" and name in ("reduce_sum", "reduce_prod")
    for shape in SHAPES:
        x = sample(shape, dtype)
        if name == "reduce_prod" and inexact:
            x = (1 + x / 1e4).astype(dtype)
        for axes in axes_of(len(shape)):
            out = kernels.reduce(name, x, axes, dtype)
            if not inexact:
                expected = ufunc.reduce(x, axis=axes, dtype=dtype)
                np.testing.assert_array_equal(out, expected, f"{shape} {axes}")
                continue
            wide = in_more_precision(x)
            expected = ufunc.reduce(wide, axis=axes)
            scale = np.maximum(np.add.reduce(abs(wide), axis=axes), abs(expected))
            if name == "reduce_prod":
                scale = abs(expected) * max(1, np.prod([shape[a] for a in axes]) ** 0.5)
            ulp = float(ml_dtypes.finfo(dtype).eps)
            limit = 4 * ulp * np.maximum(scale, 1e-30)
            assert (abs(in_more_precision(out) - expected) <= limit).all(), (shape, axes)


def test_sums_are_as_exact_as_pairwise_ones():
    x = rng.random(1 << 20, np.float32)
    exact = x.sum(dtype=np.float64)
    for values, axes in [(x, (0,)), (np.repeat(x[:, None], 2, 1), (0,))]:
        error = abs(kernels.reduce("reduce_sum", values, axes, x.dtype).ravel()[0] - exact)
        assert error <= 2 * abs(x.sum() - exact) + np.spacing(np.float32(exact))


def test_a_sum_does_not_depend_on_threads():
    x = rng.normal(size=(1 << 18)).astype(np.float32)
    sums = {kernels.reduce("reduce_sum", x, (0,), x.dtype).tobytes() for _ in range(5)}
    assert len(sums) == 1


@pytest.mark.parametrize("dtype", [*NARROW, *FLOATS, *COMPLEX], ids=str)
@pytest.mark.parametrize("size", [1, 5, 40, 5000])
def test_a_nan_is_the_extremum(dtype, size):
    for place, name in itertools.product({0, size // 2, size - 1}, ("reduce_max", "reduce_min")):
        for shape, axis in (((size,), 0), ((size, 3), 0), ((3, size), 1)):
            x = np.zeros(shape, dtype)
            np.moveaxis(x, axis, 0)[place] = np.nan
            assert np.isnan(kernels.reduce(name, x, (axis,), dtype)).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"])
def test_infinities(name, value):
    for dtype, size in itertools.product([*NARROW, *FLOATS], [3, 100, 3000]):
        x = np.ones(size, dtype)
        x[size // 3] = value
        ufunc = UFUNCS[name][0]
        expected = ufunc.reduce(x.astype(np.float32), initial=None)
        with np.errstate(all="ignore"):
            assert float(kernels.reduce(name, x, (0,), dtype)) == float(expected)


def test_reducing_nothing_gives_the_identity():
    for name, (ufunc, dtypes) in UFUNCS.items():
        for dtype in dtypes:
            out = kernels.reduce(name, np.zeros((3, 0, 2), dtype), (1,), dtype)
            if name in ("reduce_max", "reduce_min"):
                bound = {"b": bool, "i": np.iinfo, "u": np.iinfo}.get(dtype.kind)
                upper = name == "reduce_min"
                if dtype.kind == "b":
                    expected = upper
                elif bound:
                    expected = bound(dtype).max if upper else bound(dtype).min
                else:
                    expected = np.inf if upper else -np.inf
                    expected = complex(expected, expected) if dtype.kind == "c" else expected
                expected = np.full((3, 2), expected, dtype)
            else:
                expected = ufunc.reduce(np.zeros((3, 0, 2), dtype), axis=1, dtype=dtype)
            assert expected.tobytes() == out.tobytes(), (name, dtype)
            assert kernels.reduce(name, np.zeros((0, 5), dtype), (1,), dtype).shape == (0,)


@pytest.mark.parametrize("dtype", [*BOOL, *INTEGERS, *NARROW, *FLOATS], ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_where_an_extremum_is(name, dtype):
    find = getattr(np, name)
    for shape in SHAPES:
        for axis in range(len(shape)):
            x = sample(shape, dtype)
            candidates = [x, (x.astype(np.float64) / 50).astype(dtype), np.zeros(shape, dtype)]
            if dtype.kind not in "biu":
                y = x.copy()
                y.reshape(-1)[:: max(2, y.size // 7)] = np.nan
                candidates += [y, np.full(shape, np.nan, dtype)]
            for y in candidates:
                wide = y.astype(np.float32) if dtype in NARROW else y
                out = kernels.reduce(name, y, (axis,), np.dtype(np.int32))
                np.testing.assert_array_equal(out, find(wide, axis=axis))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_indices_come_in_any_integer_dtype(dtype):
    x = np.zeros((2, 90), np.float32)
    x[:, 77] = 1
    out = kernels.reduce("argmax", x, (1,), dtype)
    assert out.dtype == dtype
    assert out.tolist() == [77, 77]


def test_what_is_not_known_is_an_error():
    x = np.zeros((3, 4), np.float32)
    f4 = np.dtype(np.float32)
    with pytest.raises(ValueError, match="not known for these dtypes"):
        kernels.reduce("reduce_and", x, (0,), f4)
    with pytest.raises(ValueError, match="not known for these dtypes"):
        kernels.reduce("reduce_median", x, (0,), f4)
    with pytest.raises(ValueError, match="one shape"):
        kernels.copy(x, np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match="read-only"):
        kernels.copy(x, np.broadcast_to(np.float32(0), (3, 4)))
    with pytest.raises(ValueError, match="shapes do not fit"):
        kernels.matmul(x, x)


# ---------------------------------------------------------------- matrix products

SIZES = [1, 2, 3, 5, 8, 16, 31, 64, 70]
ORDERS = {
    "dense": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "every second": lambda x: np.repeat(np.repeat(x, 2, -1), 2, -2)[..., ::2, ::2],
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1],
}


def assert_is_product(out, x, y):
    """Compare with the product in more precision: within the bound of recursive summation."""
    if x.dtype.kind in "iu":
        np.testing.assert_array_equal(out, np.matmul(x, y, dtype=x.dtype))
        return
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    expected = x.astype(wide) @ y.astype(wide)
    bound = abs(x).astype(np.float64) @ abs(y).astype(np.float64)
    ulp = float(ml_dtypes.finfo(x.dtype).eps)
    depth = 2 + (x.shape[-1] / 8 if x.dtype.itemsize > 2 else 0)
    assert (abs(out.astype(wide) - expected) <= ulp * depth * bound + 1e-300).all()


@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_a_product_of_every_shape(dtype):
    for m, n, k in itertools.product(SIZES, repeat=3):
        x, y = sample((m, k), dtype, 1), sample((k, n), dtype, 1)
        assert_is_product(kernels.matmul(x, y), x, y)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [*FLOATS], ids=str)
def test_a_product_with_a_vector_of_every_length(dtype, order):
    for length in range(1, 140):
        for count in (3, 9):
            x = ORDERS[order](sample((count, length), dtype, 1))
            y, z = sample((length, 1), dtype, 1), sample((1, count), dtype, 1)
            assert_is_product(kernels.matmul(x, y), x, y)
            assert_is_product(kernels.matmul(z, x), z, x)


@pytest.mark.parametrize("dtype", [*INTEGERS, *NARROW, *FLOATS, *COMPLEX], ids=str)
@pytest.mark.parametrize(("left", "right"), [*itertools.product(ORDERS, repeat=2)])
def test_a_product_of_any_strides(dtype, left, right):
    shapes = [(1, 1, 1), (4, 5, 6), (40, 50, 33), (1, 90, 70), (70, 1, 90), (3, 80, 2), (80, 3, 9)]
    for m, n, k in shapes:
        x, y = ORDERS[left](sample((m, k), dtype, 1)), ORDERS[right](sample((k, n), dtype, 1))
        assert_is_product(kernels.matmul(x, y), x, y)


@pytest.mark.parametrize("shape", [(300, 200, 700), (130, 600, 520), (1, 2000, 2000)])
@pytest.mark.parametrize("left", ["dense", "transposed"])
@pytest.mark.parametrize("right", ["dense", "transposed"])
def test_large_products_are_shared_among_threads(shape, left, right):
    m, n, k = shape
    x, y = sample((m, k), np.float32, 1), sample((k, n), np.float32, 1)
    x, y = ORDERS[left](x), ORDERS[right](y)
    assert_is_product(kernels.matmul(x, y), x, y)
    assert_is_product(kernels.matmul(y.T, x.T), y.T, x.T)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_stacks_of_matrices(dtype):
    for count, m, n, k in [(3, 4, 5, 6), (70, 32, 33, 31), (0, 2, 2, 2), (2, 3, 4, 0)]:
        x, y = sample((count, m, k), dtype, 1), sample((count, k, n), dtype, 1)
        assert_is_product(kernels.matmul(x, y), x, y)
        shared = np.broadcast_to(sample((k, n), dtype, 1), (count, k, n))
        assert_is_product(kernels.matmul(x, shared), x, shared)


@pytest.mark.parametrize("order", ["dense", "transposed"])
def test_stacks_of_several_dimensions_lie_in_any_order(order):
    x = sample((2, 3, 4, 5), np.float32, 1).transpose(0, 2, 1, 3)
    y = sample((2, 6, 4, 5), np.float32, 1).transpose(0, 2, 3, 1)
    x, y = ORDERS[order](x), ORDERS[order](y)
    assert_is_product(kernels.matmul(x, y), x, y)
    assert_is_product(kernels.matmul(x[:0], y[:0]), x[:0], y[:0])


def test_special_values_go_through_a_product():
    for size in (3, 40):
        x = np.zeros((size, size), np.float32)
        x[1, 2] = np.inf
        out = kernels.matmul(x, np.zeros((size, size), np.float32))
        assert np.isnan(out[1]).all()
        assert (np.delete(out, 1, 0) == 0).all()
