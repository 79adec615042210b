"""What the laws do not say of elementwise functions: arguments, jaxprs, edges of derivatives."""

import math

import numpy as np
import pytest

from evertrace._src.core.aval import ShapedArray
from evertrace._src.errors import DTypeError, ShapeError
from evertrace._src.lax import bits, compare, convert, creation, elementwise, functions, special
from evertrace._src.transforms.jvp import jvp_flat
from tests.support.runtime import array, flat, jaxpr_of, to_numpy

X = array(np.float32(1.5))
N = array(np.int32(3))
Z = array(np.complex64(1 + 2j))


def text_of(fun, *args):
    return " ".join(str(jaxpr_of(fun, *args).jaxpr).split())


def derivative(fun, *args, by=0):
    """Return the derivative of a scalar function by one argument, in float64."""
    args = [array(np.float64(x)) for x in args]
    tangents = [array(np.float64(1.0)) if i == by else None for i in range(len(args))]
    out = jvp_flat(flat(fun), args, tangents)[1][0]
    return float(to_numpy(out)) if out is not None else 0.0


# Printed by JAX 0.10.2 for the same calls.
@pytest.mark.parametrize(
    ("fun", "arg", "equation"),
    [
        (functions.exp, X, "b:f32[] = exp a"),
        (functions.square, X, "b:f32[] = square a"),
        (functions.reciprocal, X, "b:f32[] = integer_pow[y=-1] a"),
        (lambda x: functions.pow(x, 2), X, "b:f32[] = pow a 2:i32[]"),
        (lambda x: functions.pow(x, 2.0), X, "b:f32[] = pow a 2.0:f32[]"),
        (lambda x: elementwise.round(x, 1), X, "b:f32[] = round[rounding_method=1] a"),
        (lambda x: elementwise.div(x, 2.0), X, "b:f32[] = div a 2.0:f32[]"),
        (lambda x: elementwise.clamp(0.0, x, 1.0), X, "b:f32[] = clamp 0.0:f32[] a 1.0:f32[]"),
        (elementwise.conj, Z, "b:c64[] = conj[input_dtype=complex64] a"),
        (elementwise.conj, X, "b:c64[] = conj[input_dtype=float32] a"),
        (elementwise.abs, Z, "b:f32[] = abs a"),
        (lambda x: compare.eq(x, 1.0), X, "b:bool[] = eq a 1.0:f32[]"),
        (lambda x: bits.bitwise_and(x, 1), N, "b:i32[] = and a 1:i32[]"),
        (bits.bitwise_not, N, "b:i32[] = not a"),
        (special.erf_inv, X, "b:f32[] = erf_inv a"),
        (convert.stop_gradient, X, "b:f32[] = stop_gradient a"),
        (
            lambda x: convert.convert_element_type(x, "int32"), X,
            "b:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a",
        ),
        (
            lambda x: convert.bitcast_convert_type(x, "int32"), X,
            "b:i32[] = bitcast_convert_type[new_dtype=int32] a",
        ),
        (
            lambda x: convert.reduce_precision(x, 5, 10), X,
            "b:f32[] = reduce_precision[exponent_bits=5 mantissa_bits=10] a",
        ),
    ],
)  # fmt: skip
def test_prints_as_jax_does(fun, arg, equation):
    assert f"let {equation} in (b,)" in text_of(fun, arg)


def test_conversion_to_the_same_dtype_is_nothing():
    assert text_of(lambda x: convert.convert_element_type(x, "float32"), X) == (
        "{ lambda ; a:f32[]. let in (a,) }"
    )


@pytest.mark.parametrize("value", [1, 1.0])
def test_python_scalar_takes_the_dtype_of_the_array(value):
    out = elementwise.add(array(np.float16(1.5)), value)
    assert out.aval == ShapedArray((), np.float16)


def test_scalars_alone_keep_their_weak_type():
    assert elementwise.add(1, 2).aval == ShapedArray((), np.int32, weak_type=True)
    assert functions.sin(1.0).aval == ShapedArray((), np.float32, weak_type=True)


def test_sizes_of_one_broadcast():
    out = elementwise.add(array(np.ones((2, 1), np.float32)), array(np.ones((1, 3), np.float32)))
    assert out.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: elementwise.add(X, N), DTypeError, "add: operands must have the same dtype"),
        (lambda: elementwise.add(N, 1.0), DTypeError, "got int32, float32"),
        (lambda: elementwise.add(array(np.int8(1)), 300), OverflowError, "300"),
        (lambda: functions.exp(N), DTypeError, "exp: does not accept dtype int32"),
        (lambda: functions.exp(X, accuracy=3), NotImplementedError, "accuracy"),
        (lambda: functions.integer_pow(N, -1), DTypeError, "negative power -1"),
        (lambda: functions.pow(X, array(np.float64(2))), DTypeError, "exponent float64"),
        (
            lambda: elementwise.add(array(np.ones((2, 3))), array(np.ones(3))),
            ShapeError, r"\(2, 3\) and \(3,\)",
        ),
        (
            lambda: elementwise.clamp(array(np.ones(1)), array(np.ones(3)), array(np.ones(3))),
            ShapeError, "clamp: bounds of shapes",
        ),
        (
            lambda: convert.bitcast_convert_type(array(np.ones(3, bool)), "int8"),
            DTypeError, "bits of bool",
        ),
        (
            lambda: convert.bitcast_convert_type(array(np.ones((3, 2), np.int8)), "int32"),
            ShapeError, "4 pieces",
        ),
        (lambda: convert.reduce_precision(X, 0, 3), ValueError, "0 exponent bits"),
    ],
)  # fmt: skip
def test_bad_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("fun", "args", "by", "want"),
    [
        (elementwise.max, (1, 1), 0, 0.5),
        (elementwise.min, (1, 1), 1, 0.5),
        (elementwise.max, (2, 1), 1, 0.0),
        (elementwise.abs, (0,), 0, 1.0),
        (functions.sqrt, (0,), 0, math.inf),
        (functions.cbrt, (0,), 0, math.inf),
        (functions.pow, (0, 2), 0, 0.0),
        (functions.pow, (0, 1), 0, 1.0),
        (functions.pow, (0, 0), 0, 0.0),
        (functions.pow, (0, 2), 1, 0.0),
        (functions.pow, (0, 0), 1, 0.0),
        (functions.pow, (-1, 2), 0, -2.0),
        (elementwise.rem, (-7, 2), 1, 3.0),
        (special.bessel_i1e, (0,), 0, 0.5),
        (elementwise.clamp, (0, -1, 1), 0, 1.0),
        (elementwise.clamp, (0, 0, 1), 1, 0.0),
        (elementwise.clamp, (0, 0.5, 1), 1, 1.0),
        (elementwise.clamp, (0, 2, 1), 2, 1.0),
        (elementwise.floor, (1.5,), 0, 0.0),
        (convert.stop_gradient, (1.5,), 0, 0.0),
        (lambda x: functions.integer_pow(x, 0), (0,), 0, 0.0),
        (lambda x: functions.integer_pow(x, 1), (0,), 0, 1.0),
    ],
)
def test_derivative_at_an_edge(fun, args, by, want):
    assert derivative(fun, *args, by=by) == want


def test_stop_gradient_takes_a_tree():
    out = convert.stop_gradient({"a": (X, 2)})
    assert float(to_numpy(out["a"][0])) == 1.5
    assert out["a"][1].dtype == np.int32


def test_order_of_a_polygamma_function_has_no_derivative():
    with pytest.raises(NotImplementedError, match="polygamma: has no derivative by its argument m"):
        derivative(special.polygamma, 1, 2)


def test_nextafter_has_no_derivative():
    with pytest.raises(NotImplementedError, match="nextafter"):
        derivative(elementwise.nextafter, 1, 2)


def test_float8_is_computed():
    x = array(np.array([0.5, 1.5], "float8_e4m3fn"))
    assert to_numpy(functions.exp(elementwise.mul(x, x))).dtype == np.dtype("float8_e4m3fn")


def test_complex_numbers_of_python_are_true_unless_they_are_zero():
    for make in (
        lambda v: creation.full((), v, bool),
        lambda v: creation.full_like(True, v),
        lambda v: convert.convert_element_type(v, bool),
    ):
        assert [bool(make(v)) for v in (1j, 0j, 1 + 0j)] == [True, False, True]
