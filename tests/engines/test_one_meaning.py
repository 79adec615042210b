"""Host, tapes and XLA mean the same where values or sizes are special: each case states its result.

`tests/laws/test_special_values.py` has special values for all primitives.
"""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.support.closeness import assert_same

NAN, INF = np.nan, np.inf
CONV = {"window_strides": (1,), "padding": [(0, 0)]}
NARROW = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")


def f32(*values):
    """Return a float32 array."""
    return np.array(values, np.float32)


def outer(x, y):
    """Return the products of all pairs as a matrix product without contraction."""
    return lax.dot_general(x, y, (((), ()), ((), ())))


# function, operands, result
CASES = {
    "product with a boolean": (
        lambda b, x: b.astype(x.dtype) * x, [np.array([False, True]), f32(NAN, NAN)], f32(NAN, NAN),
    ),
    "boolean over zero": (
        lambda b, x: b.astype(x.dtype) / x, [np.array([False, True]), f32(0, 0)], f32(NAN, INF),
    ),
    "outer products of zero and NaN": (
        outer, [f32(0, 1, INF), f32(NAN, 1, 0)], f32([NAN, 0, 0], [NAN, 1, 0], [NAN, INF, NAN]),
    ),
    "zero times NaN": (outer, [f32(0)[0], f32(1, NAN, INF)], f32(0, NAN, NAN)),
    "minus zero times NaN": (outer, [f32(NAN, -1, 2), f32(-0.0)[0]], f32(NAN, 0, -0.0)),
    "larger of zeros": (lax.max, [f32(0, -0.0, -0.0), f32(-0.0, 0, -0.0)], f32(0, 0, -0.0)),
    "smaller of zeros": (lax.min, [f32(0, -0.0, 0), f32(-0.0, 0, 0)], f32(-0.0, -0.0, 0)),
    "zeros between zeros": (
        lax.clamp, [f32(-0.0, 0, -0.0), f32(0, -0.0, 0), f32(0, 0, -0.0)], f32(0, 0, -0.0),
    ),
    "polygamma of other orders": (
        lax.polygamma, [f32(0.5, 1.5, -1, NAN, INF), f32(1, 2, 2, 2, 2)], f32(*[NAN] * 5),
    ),
    "incomplete gamma function far out": (
        lambda a, x: jnp.stack([lax.igamma(a, x), lax.igammac(a, x)]),
        [f32(0.5, 1e-30, 1e38, 0.5), f32(3.4e38, 3e38, 3.4e38, INF)], f32([1] * 4, [0] * 4),
    ),
    "kernel of no size": (
        lambda x, k: lax.conv_general_dilated(x, k, **CONV),
        [np.ones((1, 2, 3), np.float32), np.ones((4, 2, 0), np.float32)],
        np.zeros((1, 4, 4), np.float32),
    ),
    "no features": (
        lambda x, k: lax.conv_general_dilated(x, k, **CONV),
        [np.ones((1, 0, 3), np.float32), np.ones((4, 0, 2), np.float32)],
        np.zeros((1, 4, 2), np.float32),
    ),
    "no kernels": (
        lambda x, k: lax.conv_general_dilated(x, k, **CONV),
        [np.ones((1, 2, 3), np.float32), np.ones((0, 2, 2), np.float32)],
        np.zeros((1, 0, 2), np.float32),
    ),
    "window of rank 0": (
        lambda x: lax.reduce_window(x, f32(0)[0], lax.add, (), (), "VALID"), [f32(3)[0]], f32(3)[0],
    ),
    "negative padding of a window": (
        lambda x: lax.reduce_window(x, f32(-INF)[0], lax.max, (2,), (1,), [(-1, -1)]),
        [f32(9, 2, 3, 9)], f32(3),
    ),
    "power of an int beyond C's": (
        lambda x: lax.integer_pow(x, 2**63), [f32(-1, 1, 0, 2)], f32(1, 1, 0, INF),
    ),
    "power of a negative int beyond C's": (
        lambda x: lax.integer_pow(x, -(2**63) - 1), [f32(-1, 1, 2)], f32(-1, 1, 0),
    ),
    "scatter to no places": (
        lambda x, i, y: x.at[i].max(y),
        [f32(1, NAN), np.zeros(0, np.int32), np.zeros(0, np.float32)], f32(1, NAN),
    ),
}  # fmt: skip

FAR = [2**31, 2**32, 2**32 + 1, -(2**32), 2**63, -(2**70)]

for far in FAR:
    CASES |= {
        f"write at {far}": (lambda x, i=far: x.at[i].set(9), [f32(1, 2)], f32(1, 2)),
        f"add at {far}": (lambda x, i=far: x.at[0, i].add(9), [f32([1, 2])], f32([1, 2])),
        f"read at {far}": (
            lambda x, i=far: x.at[i].get(mode="fill", fill_value=7), [f32(1, 2)], f32(7)[0],
        ),
    }  # fmt: skip


@pytest.fixture(params=["host", "native", pytest.param("xla", marks=pytest.mark.engine)])
def engine(request):
    """The name of an engine, if it is there."""
    if request.param == "native":
        request.getfixturevalue("needs_native")
    return request.param


def run(fun, operands, engine):
    """Return the result of one engine; a program that the native engine cannot run is skipped."""
    if engine == "host":
        return np.asarray(fun(*operands))
    try:
        return np.asarray(ev.jit(fun, engine=engine)(*operands))
    except ValueError as error:
        has_none = "there is no kernel" in str(error) or "no native kernel" in str(error)
        if engine != "native" or not has_none:
            raise
    pytest.skip("no tape can be made of it")


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_result_is_the_same(name, x64, engine):
    fun, operands, want = CASES[name]
    with ev.enable_x64(x64):
        got = run(fun, [jnp.asarray(x) for x in operands], engine)
    assert_same(got, np.asarray(want), label=name)


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("out", ["the same", "int32", "float32"])
def test_products_of_parts_of_bytes(name, out, engine):
    x, y = np.array([[1, 0, 1], [1, 1, 1]]), np.array([[1, 1], [0, 1], [1, 1]])
    dtype = np.dtype(getattr(jnp, name))
    wide = None if out == "the same" else np.dtype(out)

    def products(x, y):
        dot = lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=wide)
        kernel = lax.reshape(y, (2, 1, 3))
        images = lax.reshape(x, (2, 1, 3))
        return dot, lax.conv_general_dilated(images, kernel, **CONV, preferred_element_type=wide)

    operands = [jnp.asarray(x).astype(name), jnp.asarray(y).astype(name)]
    if engine == "native":
        with pytest.raises(ValueError, match=f"no kernels for dtype {name}"):
            ev.jit(products, engine=engine)(*operands)
        return
    fun = products if engine == "host" else ev.jit(products, engine=engine)
    dot, conv = (np.asarray(z) for z in fun(*operands))
    assert dot.dtype == conv.dtype == (wide or dtype)
    exact = x @ y, (x[:, None] @ y.reshape(2, 3).T)[..., None, :].reshape(2, 2, 1)
    for got, want in zip((dot, conv), exact, strict=True):
        assert np.array_equal(got.astype(np.float32), want.astype(got.dtype).astype(np.float32))


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("fun", [lax.erfc, lax.bessel_i1e, lax.erf, lax.lgamma])
def test_special_functions_of_narrow_floats(name, fun, engine):
    x = jnp.asarray([0.5, 1.0, 2.0, 3.0]).astype(name)
    want = fun(x.astype("float32")).astype(name)
    if engine == "native":
        with pytest.raises(ValueError, match=f"no kernels for dtype {name}"):
            ev.jit(fun, engine=engine)(x)
        return
    got = fun(x) if engine == "host" else ev.jit(fun, engine=engine)(x)
    assert got.tolist() == want.tolist()


# ------------------------------------------------------------------------ zeros of both signs


def windows(x, identity, f):
    """Return extremes of windows of four elements."""
    return lax.reduce_window(x, identity, getattr(lax, f), (2, 2), (1, 1), "SAME")


ZEROS = {
    "reduction of rows": lambda x, f: getattr(x, f)(axis=1),
    "reduction of columns": lambda x, f: getattr(x, f)(axis=0),
    "reduction of all": lambda x, f: getattr(x, f)(),
    "running extremes": lambda x, f: getattr(lax, f"cum{f}")(x, axis=1),
    "from the end": lambda x, f: getattr(lax, f"cum{f}")(x, axis=0, reverse=True),
    "windows": lambda x, f: windows(x, np.asarray(-INF if f == "max" else INF, x.dtype), f),
    "updates": lambda x, f: getattr(x[0].at[np.arange(len(x)) % x.shape[1]], f)(x[:, 0]),
}  # fmt: skip


def ordered(x):
    """Return floats as integers in their order, in which -0 is before 0."""
    bits = np.atleast_1d(np.asarray(x).astype(np.float32)).view(np.int32).reshape(np.shape(x))
    return jnp.asarray(np.where(bits < 0, ~(bits & 0x7FFFFFFF), bits))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 2), (1, 700), (700, 1), (130, 67), (5, 64), (1, 20_000)])
@pytest.mark.parametrize("name", ZEROS)
def test_of_zeros_of_both_signs_the_positive_one_is_the_greater(name, shape, dtype, engine):
    fun = ZEROS[name]
    rng = np.random.default_rng(len(name))
    for f in ("max", "min"):
        for chance in (0.02, 0.5, 0.98):
            values = np.where(rng.random(shape) < chance, -0.0, 0.0)
            worse = rng.random(shape) < 0.3
            values[worse] = -1 if f == "max" else 1
            with ev.enable_x64(dtype == "float64"):
                x = jnp.asarray(values).astype(dtype)
                got = run(lambda x, f=f: fun(x, f), [x], engine)
            numbers, limits = ordered(x), np.iinfo(np.int32)
            if name == "windows":
                want = windows(numbers, np.int32(limits.min if f == "max" else limits.max), f)
            else:
                want = fun(numbers, f)
            if engine == "xla" and "reduction" in name and x.size > 5000:
                # XLA's vectorised loops take either zero, as they do under JAX.
                assert np.array_equal(got, np.where(np.asarray(want) == -1, 0, got))
                continue
            assert np.array_equal(ordered(got), want), (f, chance)


@pytest.mark.parametrize("size", [10, 1000, 1_000_000])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_are_added_up_in_more_digits(size, reverse, engine):
    x = np.full(size, 0.1, np.float32)
    got = run(lambda x: lax.cumsum(x, reverse=reverse), [jnp.asarray(x)], engine)
    want = np.cumsum(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got[::-1] if reverse else got, want, rtol=1e-6)


def test_complex_running_sums_are_too(engine):
    x = np.full((3, 100_000), 0.1 - 0.3j, np.complex64)
    got = run(lambda x: lax.cumsum(x, axis=1), [jnp.asarray(x)], engine)
    want = np.cumsum(x.astype(np.complex128), axis=1)
    np.testing.assert_allclose(got, want.astype(np.complex64), rtol=1e-6)


def test_an_index_beyond_31_bits_is_written_as_it_is():
    x = ev.ShapeDtypeStruct((2**33,), np.int8)
    assert "4294967299:i" in str(ev.make_jaxpr(lambda x: x.at[2**32 + 3].set(1))(x))


NARROW_RESULTS = {
    "and": lambda x: x & x,
    "larger": lambda x: lax.max(x, x),
    "smaller": lambda x: lax.min(x, x),
    "square": lax.square,
    "sign": lax.sign,
    "between": lambda x: lax.clamp(x, x, x),
    "largest": lambda x: lax.reduce_max(x, (0,)),
}


@pytest.mark.parametrize("name", NARROW_RESULTS)
@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2"])
def test_integers_of_few_bits_wrap_around_in_every_result(name, dtype):
    x = jnp.array([1, -2, 7]).astype(dtype)

    def fun(x):
        out = NARROW_RESULTS[name](x)
        return out, out + out

    for got, want in zip(fun(x), ev.jit(fun, engine="xla")(x), strict=True):
        assert got.dtype == want.dtype == np.asarray(got).dtype
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
@pytest.mark.parametrize("byte", ["int8", "uint8"])
def test_what_wrapped_around_in_few_bits_is_spread_out_to_a_byte(dtype, byte):
    # XLA computes in bytes, and its conversion to one left in it what went over.
    x = jnp.array([0, 1, 2, 3, 6, 7, -8]).astype(dtype)

    def fun(x):
        return (x + x).astype(byte), lax.cummin(x + x), lax.sort(-x), lax.top_k(-x, 3)

    for got, want in zip(*map(ev.tree.leaves, (fun(x), ev.jit(fun, engine="xla")(x))), strict=True):
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "bfloat16", "int4", "bool"])
@pytest.mark.parametrize("way", ["set", "add", "mul", "min", "max"])
def test_windows_of_every_dtype_are_written(dtype, way):
    x, y = jnp.zeros((4, 3)).astype(dtype), jnp.ones((2, 3)).astype(dtype)

    def fun(x, y):
        return getattr(x.at[jnp.array([3, 0])], way)(y)

    assert fun(x, y).tolist() == ev.jit(fun, engine="xla")(x, y).tolist()
