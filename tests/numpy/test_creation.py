"""Arrays from values, filled, counting, and in grids."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.support.runtime import ENGINES


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (1, "int32", True), (1.0, "float32", True), (1j, "complex64", True), (True, "bool", False),
        ([1, 2.0, True], "float32", False), ([], "float32", False), ([[1], [2]], "int32", False),
        (np.float64(1), "float32", False), ([np.float16(1), 2.0], "float16", False),
        (np.arange(3, dtype=np.uint8), "uint8", False), (range(3), "int32", False),
        pytest.param(memoryview(b"ab"), "uint8", False, id="memoryview"),
    ],
    ids=repr,
)  # fmt: skip
def test_array_of_values(value, dtype, weak):
    x = jnp.array(value)
    assert (x.dtype, x.weak_type) == (np.dtype(dtype), weak)
    np.testing.assert_array_equal(x, np.asarray(value))


def test_array_of_arrays():
    x = jnp.array([jnp.ones(2), np.zeros(2, np.float32), [3, 4]])
    np.testing.assert_array_equal(x, [[1, 1], [0, 0], [3, 4]])
    f = ev.jit(lambda x: jnp.array([[x, 1], [2, x]]))
    np.testing.assert_array_equal(f(5.0), [[5, 1], [2, 5]])
    assert jnp.array([jnp.int8(1), 2]).dtype == np.int8


def test_array_copies_numpy_memory():
    given = np.ones(3, np.float32)
    x, y = jnp.array(given), jnp.asarray(given)
    given[0] = 5
    assert float(x[0]) == float(y[0]) == 1


def test_asarray_and_copies_of_arrays():
    x = jnp.ones(3)
    assert jnp.asarray(x) is x
    assert jnp.asarray(x, "float32") is x
    assert jnp.array(x) is not x
    assert not jnp.asarray(jnp.asarray(1.0), "float32").weak_type
    assert jnp.array(3, ndmin=2).shape == (1, 1)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, ValueError), ([None], ValueError), ("a", TypeError), ([2**40], OverflowError),
        ([[1, 2], [3]], ValueError), (object(), TypeError),
    ],
)  # fmt: skip
def test_what_is_no_array(value, error):
    with pytest.raises(error):
        jnp.array(value)


def test_conversions_saturate():
    np.testing.assert_array_equal(jnp.array([3.7, 1e20, np.nan], int), [3, 2**31 - 1, 0])
    np.testing.assert_array_equal(jnp.array([300.0, -1.0]).astype("uint8"), [255, 0])
    assert jnp.array([3_000_000_000], "uint32").dtype == np.uint32


def test_a_dtype_that_is_not_available_is_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="float64 is not available"):
        assert jnp.zeros(2, "float64").dtype == np.float32
    with ev.enable_x64():
        assert jnp.zeros(2, "float64").dtype == np.float64
        assert jnp.arange(3).dtype == np.int64


# ---------------------------------------------------------------- filled


@pytest.mark.parametrize(("function", "value"), [(jnp.zeros, 0), (jnp.ones, 1), (jnp.empty, 0)])
@pytest.mark.parametrize("shape", [3, (2, 3), (), (0, 2)])
def test_filled(function, value, shape):
    np.testing.assert_array_equal(function(shape, "int8"), np.full(shape, value, np.int8))
    assert function(shape).dtype == np.float32


def test_full_and_its_like():
    assert jnp.full(2, jnp.array(1.5), dtype=jnp.int32).tolist() == [1, 1]
    assert jnp.full(3, 1.5).weak_type
    assert jnp.full(3, 1.5, "int32").tolist() == [1, 1, 1]
    np.testing.assert_array_equal(jnp.full((2, 2), jnp.arange(2)), [[0, 1], [0, 1]])
    x = jnp.ones((2, 3), "int8")
    assert jnp.zeros_like(x).aval is x.aval
    assert jnp.full_like(x, 2.7).tolist() == [[2] * 3] * 2
    assert jnp.ones_like(x, dtype=float, shape=(4,)).aval.str_short() == "f32[4]"
    assert jnp.zeros_like(jnp.asarray(1.0)).weak_type
    assert jnp.zeros_like(ev.ShapeDtypeStruct((2,), "int32")).shape == (2,)


def test_shapes_are_static():
    with pytest.raises(TypeError, match=r"[Ss]hape"):
        ev.make_jaxpr(lambda n: jnp.zeros(n))(3)
    with pytest.raises(ValueError, match="negative"):
        jnp.zeros(-1)


# ---------------------------------------------------------------- counting and spaced


@pytest.mark.parametrize(
    "args",
    [(3,), (1, 5), (1, 8, 3), (5, 1, -2), (0,), (5, 1), (3.0,), (0, 1, 0.3), (1.5, 4), (-3,)],
)
def test_arange(args):
    want = np.arange(*args)
    got = jnp.arange(*args)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got.dtype == (np.float32 if want.dtype == float else np.int32)


def test_arange_of_traced_values_names_the_argument():
    with pytest.raises(ev.errors.ConcretizationTypeError, match="arange: stop"):
        ev.make_jaxpr(lambda n: jnp.arange(0, n))(3)
    assert jnp.arange(np.int8(3)).dtype == np.int8
    assert jnp.arange(jnp.int32(3)).shape == (3,)
    assert jnp.arange(3, dtype=float).dtype == np.float32


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
def test_spaced(num, endpoint):
    np.testing.assert_allclose(
        jnp.linspace(-1, 2, num, endpoint), np.linspace(-1, 2, num, endpoint), atol=1e-6
    )
    for name in ("logspace", "geomspace"):
        np.testing.assert_allclose(
            getattr(jnp, name)(1, 3, num, endpoint),
            getattr(np, name)(1, 3, num, endpoint),
            rtol=1e-5,
        )


def test_linspace_of_arrays():
    low, high = np.zeros((2, 1), np.float32), np.ones(3, np.float32)
    for axis in (0, -1, 1):
        np.testing.assert_allclose(
            jnp.linspace(low, high, 5, axis=axis), np.linspace(low, high, 5, axis=axis), rtol=1e-6
        )
    out, step = jnp.linspace(0, 1, 5, retstep=True)
    assert float(out[-1]) == 1
    assert float(step) == 0.25
    assert jnp.linspace(0, 10, 4, dtype=int).tolist() == [0, 3, 6, 10]


ENDS = [(-1, 1), (-0.7, 0.7), (0, 0.1), (-0.7, 0.9), (1, 1000), (-3e38, 3e38), (1e-36, 1e-35)]


@pytest.mark.engine
@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_at_equal_distances_are_the_same_on_all_engines(engine):
    for low, high in ENDS:
        low, high = np.float32(low), np.float32(high)
        for steps in (2, 7, 10, 49, 98):
            found = jnp.linspace(low, high, steps + 1)
            wanted = np.linspace(float(low), float(high), steps + 1)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * float(high))
            compiled = ev.jit(lambda a, b, n=steps: jnp.linspace(a, b, n + 1), engine=engine)
            np.testing.assert_array_equal(compiled(low, high), found)


@pytest.mark.parametrize("steps", [2, 10, 14, 98])
def test_the_middle_between_a_number_and_its_negative_is_zero(steps):
    for end in (0.1, 0.3, 0.7, 1.0, np.pi):
        assert jnp.linspace(-end, end, steps + 1)[steps // 2] == 0


def test_round_numbers_come_out_round():
    np.testing.assert_array_equal(jnp.linspace(0, 15, 4), [0, 5, 10, 15])
    np.testing.assert_array_equal(jnp.linspace(-1, 6, 8), np.arange(-1, 7))
    np.testing.assert_array_equal(jnp.linspace(0, 1, 11), (np.arange(11) / 10).astype(np.float32))


def test_numbers_of_few_bits_are_rounded_once():
    found = jnp.linspace(jnp.bfloat16(0), jnp.bfloat16(1), 301)
    wanted = (np.arange(301) / 300).astype(jnp.bfloat16)
    np.testing.assert_array_equal(np.asarray(found), wanted)


# ---------------------------------------------------------------- matrices, grids, triangles


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_matrices_by_diagonals(k):
    x = np.arange(12).reshape(3, 4)
    for name in ("tril", "triu", "diag"):
        np.testing.assert_array_equal(getattr(jnp, name)(x, k), getattr(np, name)(x, k))
    np.testing.assert_array_equal(jnp.eye(3, 4, k), np.eye(3, 4, k))
    np.testing.assert_array_equal(jnp.tri(3, 4, k), np.tri(3, 4, k))
    np.testing.assert_array_equal(jnp.diag(np.arange(3), k), np.diag(np.arange(3), k))
    np.testing.assert_array_equal(jnp.diagflat(x, k), np.diagflat(x, k))
    for name in ("tril_indices", "triu_indices"):
        np.testing.assert_array_equal(getattr(jnp, name)(3, k, 4), getattr(np, name)(3, k, 4))


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing, sparse):
    vectors = np.arange(2), np.arange(3), np.arange(4)
    got = jnp.meshgrid(*vectors, indexing=indexing, sparse=sparse)
    want = np.meshgrid(*vectors, indexing=indexing, sparse=sparse)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_grids():
    np.testing.assert_array_equal(jnp.mgrid[0:2, 1:7:2], np.mgrid[0:2, 1:7:2])
    np.testing.assert_allclose(jnp.mgrid[0:1:5j], np.mgrid[0:1:5j])
    assert [g.shape for g in jnp.ogrid[0:2, 0:3]] == [(2, 1), (1, 3)]
    np.testing.assert_array_equal(jnp.indices((2, 3)), np.indices((2, 3)))
    rows, columns = jnp.ix_(np.array([True, False, True]), [1, 0])
    assert (rows.tolist(), columns.tolist()) == ([[0], [2]], [[1, 0]])
    np.testing.assert_array_equal(
        jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int), [[0, 1, 2], [10, 11, 12]]
    )


def test_flat_indices():
    shape, flat = (3, 4, 5), np.array([0, 37, 59, -1])
    columns = jnp.unravel_index(flat, shape)
    for got, want in zip(columns, np.unravel_index(flat % 60, shape), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(jnp.ravel_multi_index(columns, shape), flat % 60)
    pair = np.array([1, 2]), np.array([3, 0])
    for order in "CF":
        np.testing.assert_array_equal(
            jnp.ravel_multi_index(pair, (3, 4), order=order),
            np.ravel_multi_index(pair, (3, 4), order=order),
        )
    with pytest.raises(ValueError, match="out of bounds"):
        jnp.ravel_multi_index((np.array([5]),), (3,))


# ---------------------------------------------------------------- dtypes by name


def test_scalar_types_make_arrays():
    x = jnp.float16([1, 2])
    assert isinstance(x, jnp.ndarray)
    assert x.dtype == jnp.float16 == np.float16
    assert np.dtype(jnp.bfloat16).name == "bfloat16"
    assert hash(jnp.int8) == hash(np.int8)
    assert isinstance(np.float32(1), jnp.float32)
    for kind in (jnp.float32, jnp.bool_, jnp.complex64, jnp.bfloat16, jnp.int4, jnp.uint8):
        zero = kind()  # as NumPy's
        assert zero.shape == ()
        assert zero.dtype == kind
        assert zero == 0
    assert jnp.zeros(2, jnp.uint8).dtype == np.uint8


def test_questions_about_dtypes():
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.isdtype("int8", "integral")
    assert jnp.isdtype(jnp.float32, ("bool", jnp.float32))
    assert not jnp.isdtype(np.uint8, "signed integer")
    assert jnp.can_cast("int8", "int16")
    assert jnp.result_type(jnp.ones(2, "float16"), 1.0) == np.float16
    with pytest.raises(ValueError, match="neither a kind nor a dtype"):
        jnp.isdtype("int8", "vague")


def test_questions_about_arrays():
    x = jnp.ones((2, 3))
    assert (jnp.shape(x), jnp.ndim(x), jnp.size(x), jnp.size(x, 1)) == ((2, 3), 2, 6, 3)
    assert jnp.shape([[1, 2]]) == (1, 2)
    assert jnp.isscalar(1.0)
    assert jnp.isscalar(jnp.float32(1))
    assert not jnp.isscalar(x)
    assert jnp.iterable(x)
    assert not jnp.iterable(jnp.float32(1))
    assert not jnp.iterable(np.zeros(()))
    assert not ev.jit(jnp.iterable)(np.zeros(()))
    assert jnp.iscomplexobj(jnp.complex64(1))
    assert jnp.isrealobj([1.0])


def test_scalar_types_are_not_what_an_array_is():
    # Found by hostile calls: NumPy's own raise, as the array answers, and looks for what wraps it.
    for array in (np.zeros(3), np.zeros((1,) * 40)):
        assert (jnp.float32 == array) is False
        assert jnp.float32 != array
    assert jnp.float32 == np.float32
    assert jnp.float32 == np.dtype("float32")
