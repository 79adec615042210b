"""Elementwise functions against NumPy, with JAX's dtypes."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

FLOATS = np.array([-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 1.5, 2.5], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -1.5, 1e-40, 3e38], np.float32)
INTS = np.array([-7, -2, -1, 0, 1, 3, 8], np.int32)
COMPLEX = np.array([1 + 2j, -1.5j, 0.5, -2 - 1j], np.complex64)


def check(ours, theirs, *args, rtol=1e-6):
    with np.errstate(all="ignore"):
        want = theirs(*args)
    got = ours(*args)
    wanted = want if isinstance(want, tuple) else (want,)
    for g, w in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=rtol, atol=1e-7)


UNARY_FLOAT = [
    "abs",
    "absolute",
    "arcsin",
    "arccos",
    "arctan",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "i0",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "modf",
    "negative",
    "positive",
    "rad2deg",
    "radians",
    "reciprocal",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "frexp",
]


@pytest.mark.parametrize("name", UNARY_FLOAT)
def test_unary_functions_of_floats(name):
    check(getattr(jnp, name), getattr(np, name), FLOATS, rtol=3e-6)


@pytest.mark.parametrize(
    "name", ["isfinite", "isinf", "isnan", "signbit", "trunc", "frexp", "fabs", "floor", "rint"]
)
def test_special_floats(name):
    check(getattr(jnp, name), getattr(np, name), SPECIAL)


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "negative",
        "square",
        "sign",
        "bitwise_count",
        "invert",
        "logical_not",
        "floor",
        "ceil",
        "trunc",
    ],
)
def test_unary_functions_of_integers(name):
    check(getattr(jnp, name), getattr(np, name), INTS)


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "exp",
        "sin",
        "sqrt",
        "square",
        "conj",
        "real",
        "imag",
        "angle",
        "reciprocal",
        "negative",
        "isreal",
    ],
)
def test_functions_of_complex_numbers(name):
    check(getattr(jnp, name), getattr(np, name), COMPLEX, rtol=3e-6)


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "power",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "heaviside",
    "copysign",
    "nextafter",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_of_floats(name):
    x, y = FLOATS[:, None], FLOATS[None, [0, 2, 5, 8]]
    check(getattr(jnp, name), getattr(np, name), x, y, rtol=3e-6)


@pytest.mark.parametrize("divisor", [-3, -1, 2, 5])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divmod"])
def test_integer_division_has_numpys_signs(name, divisor):
    check(getattr(jnp, name), getattr(np, name), INTS, np.int32(divisor))


def test_integer_division_by_zero():
    x = jnp.array([0, 1, -1])
    np.testing.assert_array_equal(x // 0, [-1, -2, -2])
    np.testing.assert_array_equal(x % 0, [0, 0, 0])
    np.testing.assert_array_equal(jnp.fmod(x, jnp.zeros(3, int)), [0, 0, 0])


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
)
def test_functions_of_integers(name):
    check(getattr(jnp, name), getattr(np, name), INTS[:, None], np.array([1, 3, 6], np.int32))


@pytest.mark.parametrize("exponent", [-3, 0, 1, 2, 5])
def test_static_integer_powers_are_products(exponent):
    x = jnp.asarray(FLOATS[FLOATS != 0])
    np.testing.assert_allclose(x**exponent, np.asarray(x) ** exponent, rtol=1e-6)
    assert [e.primitive.name for e in ev.make_jaxpr(lambda x: x**exponent)(x).eqns] == [
        "integer_pow"
    ]


def test_integer_powers_wrap_around():
    x, n = np.array([3, -1, 2, 7, 0], np.int32), np.array([100, 101, 31, 11, 0], np.int32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(jnp.power(jnp.asarray(x), jnp.asarray(n)), x**n)


def test_integers_have_no_negative_powers():
    with pytest.raises(TypeError, match="negative power"):
        jnp.arange(3) ** -1


def test_a_float_to_a_power_of_integers():
    x, n = jnp.asarray([-2.0, 0.5]), jnp.asarray([3, -2])
    np.testing.assert_allclose(x**n, [-8.0, 4.0])
    (eqn,) = ev.make_jaxpr(jnp.power)(x, n).eqns
    assert eqn.primitive.name == "pow"


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logical_and", "bitwise_or"])
def test_booleans(name):
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    out = getattr(jnp, name)(x, y)
    np.testing.assert_array_equal(out, getattr(np, name)(x, y))
    assert out.dtype == bool


@pytest.mark.parametrize("name", ["subtract", "bitwise_and", "sin"])
def test_dtypes_that_have_no_such_operation(name):
    args = {"subtract": (True, False), "bitwise_and": (1.5, 2), "sin": (np.array("a"),)}[name]
    with pytest.raises(TypeError):
        getattr(jnp, name)(*args)


def test_functions_of_integers_are_floats():
    assert jnp.sin(jnp.int8(1)).dtype == np.float32
    assert jnp.divide(1, 2).weak_type
    assert jnp.sin(np.float16(1)).dtype == np.float16


# ---------------------------------------------------------------- of several operations


def test_where():
    x = jnp.asarray(FLOATS)
    np.testing.assert_array_equal(jnp.where(x > 0, x, 0), np.where(FLOATS > 0, FLOATS, 0))
    np.testing.assert_array_equal(jnp.where(INTS, 1, 2), np.where(INTS, 1, 2))
    column, row = jnp.arange(2)[:, None], jnp.arange(3)
    np.testing.assert_array_equal(jnp.where(column > 0, row, -1.5), [[-1.5, -1.5, -1.5], [0, 1, 2]])
    np.testing.assert_array_equal(jnp.where(INTS > 0)[0], np.where(INTS > 0)[0])
    assert jnp.where(True, 1, 2.0).weak_type
    with pytest.raises(ValueError, match="condition alone"):
        jnp.where(x > 0, x)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (None, 0), (0.5, None), (2, -2)])
def test_clip(low, high):
    np.testing.assert_array_equal(
        jnp.clip(FLOATS, low, high), np.clip(FLOATS, low, high).astype(np.float32)
    )


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round(decimals):
    x = np.array([123.456, -55.5, 0.25, 1250.0], np.float32)
    np.testing.assert_allclose(jnp.round(x, decimals), np.round(x, decimals), rtol=1e-6)
    n = np.array([125, -15, 25, 1250], np.int32)
    np.testing.assert_array_equal(jnp.round(n, decimals), np.round(n, decimals))


def test_nan_to_num():
    np.testing.assert_array_equal(jnp.nan_to_num(SPECIAL), np.nan_to_num(SPECIAL))
    np.testing.assert_array_equal(
        jnp.nan_to_num(SPECIAL, nan=1.0, posinf=2.0, neginf=3.0),
        np.nan_to_num(SPECIAL, nan=1.0, posinf=2.0, neginf=3.0),
    )


def test_frexp_and_ldexp_are_inverse():
    x = np.array([1.5, -0.1, 1e-42, 3e38, 0.0], np.float32)
    mantissa, exponent = jnp.frexp(x)
    assert exponent.dtype == np.int32
    np.testing.assert_array_equal(jnp.ldexp(mantissa, exponent), x)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_infinite_exponentials(name):
    x = np.array([np.inf, -np.inf, np.inf, 0, 200], np.float32)
    y = np.array([np.inf, -np.inf, -np.inf, -np.inf, 200], np.float32)
    check(getattr(jnp, name), getattr(np, name), x, y)


def test_derivative_of_sinc_at_zero():
    for order, want in enumerate([1.0, 0.0, -(np.pi**2) / 3]):
        f = jnp.sinc
        for _ in range(order):
            f = ev.grad(f)
        assert float(f(0.0)) == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize(("name", "unit"), [("logaddexp", 1.0), ("logaddexp2", np.log(2))])
def test_sums_of_exponentials_have_their_derivatives_where_both_are_equal(name, unit):
    fun = getattr(jnp, name)
    with ev.enable_x64(True):
        for by in (0, 1):
            slope = ev.grad(fun, by)
            np.testing.assert_allclose(slope(0.3, 0.3), 0.5, rtol=1e-12)
            np.testing.assert_allclose(ev.grad(slope, by)(0.3, 0.3), unit / 4, rtol=1e-12)
            np.testing.assert_allclose(ev.grad(slope, 1 - by)(0.3, 0.3), -unit / 4, rtol=1e-12)
        assert ev.grad(fun, (0, 1))(np.inf, 0.0) == (1, 0)
        assert ev.grad(fun, (0, 1))(0.0, -np.inf) == (1, 0)
