"""What the laws do not say of products: precision, dtypes, jaxprs, forms, errors."""

import ml_dtypes
import numpy as np
import pytest

from evertrace._src import config, dtypes
from evertrace._src.errors import AxisError, ShapeError
from evertrace._src.lax import dot
from evertrace._src.ops.precision import DotAlgorithm, DotAlgorithmPreset, Precision
from evertrace._src.transforms.linearize import tape_flat
from evertrace._src.transforms.transpose import pull
from tests.support.runtime import array, flat, jaxpr_of, run_compiled, to_numpy

X = array(np.ones((2, 3), np.float32))
Y = array(np.ones((3, 4), np.float32))
HIGHEST = (Precision.HIGHEST, Precision.HIGHEST)


def params_of(fun, *args):
    (eqn,) = jaxpr_of(fun, *args).jaxpr.eqns
    return eqn.params


@pytest.mark.parametrize(
    ("given", "param"),
    [
        (None, None),
        ("highest", HIGHEST),
        ("float32", HIGHEST),
        (Precision.HIGHEST, HIGHEST),
        (("default", Precision.HIGH), (Precision.DEFAULT, Precision.HIGH)),
        ((None, "tensorfloat32"), (Precision.DEFAULT, Precision.HIGH)),
        ("BF16_BF16_F32", DotAlgorithmPreset.BF16_BF16_F32),
    ],
)
def test_precision_has_many_names(given, param):
    assert params_of(lambda x, y: dot.dot(x, y, precision=given), X, Y)["precision"] == param


def test_unknown_precision():
    with pytest.raises(ValueError, match="'exact' is neither a precision"):
        dot.dot(X, Y, precision="exact")


def test_default_precision_is_read_when_the_product_is_traced():
    with config.default_matmul_precision("highest"):
        assert params_of(dot.dot, X, Y)["precision"] == HIGHEST
        explicit = params_of(lambda x, y: dot.dot(x, y, precision="default"), X, Y)
    assert explicit["precision"] == (Precision.DEFAULT, Precision.DEFAULT)
    assert params_of(dot.dot, X, Y)["precision"] is None


# Printed by JAX 0.10.2 for the same calls.
@pytest.mark.parametrize(
    ("options", "equation"),
    [
        ({}, "c:f32[2,4] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b"),
        (
            {"precision": "highest"},
            "dot_general[ dimension_numbers=(([1], [0]), ([], [])) "
            "precision=(Precision.HIGHEST, Precision.HIGHEST) ] a b",
        ),
        (
            {"preferred_element_type": np.float32, "precision": "F32_F32_F32"},
            "dot_general[ dimension_numbers=(([1], [0]), ([], [])) precision=F32_F32_F32 "
            "preferred_element_type=float32 ] a b",
        ),
    ],
)
def test_printed_form(options, equation):
    text = str(jaxpr_of(lambda x, y: dot.dot(x, y, **options), X, Y).jaxpr)
    assert equation in " ".join(text.split())


@pytest.mark.parametrize(
    ("lhs", "rhs", "preferred", "expected"),
    [
        ("int8", "int8", None, "int8"),
        ("int8", "int8", "int32", "int32"),
        ("int8", "int32", None, "int32"),
        ("int32", "float32", None, "float32"),
        ("bool", "bool", None, "bool"),
        ("complex64", "float32", None, "complex64"),
    ],
)
def test_dtypes_and_engines_agree(lhs, rhs, preferred, expected):
    """Integers wrap around in the dtype of the result."""
    rng = np.random.default_rng(0)
    x = array(rng.integers(-120, 120, (5, 40)).astype(lhs))
    y = array(rng.integers(-120, 120, (40, 3)).astype(rhs))

    def fun(x, y):
        return dot.dot(x, y, preferred_element_type=preferred)

    out = fun(x, y)
    assert out.dtype == expected
    np.testing.assert_array_equal(to_numpy(out), run_compiled(fun, x, y)[0])


@pytest.mark.parametrize("preferred", ["int4", "int8", "uint8", "int32"])
def test_floats_summed_to_integers_stop_at_the_last_one(preferred):
    """As `convert_element_type` has it, on both engines."""
    x, y = array(np.float32([[1, 300], [-2, 1e10]])), array(np.float32([[1, -1], [3, 2.5]]))

    def fun(x, y):
        return dot.dot(x, y, preferred_element_type=preferred)

    least, greatest = dtypes.int_range(np.dtype(preferred))
    want = np.clip(np.trunc(to_numpy(x).astype(float) @ to_numpy(y)), least, greatest)
    np.testing.assert_array_equal(to_numpy(fun(x, y)).astype(float), want)
    np.testing.assert_array_equal(run_compiled(fun, x, y)[0].astype(float), want)


def test_narrow_floats_are_summed_in_float32():
    """A sum of 1000 ones in bfloat16 would stop at 256."""
    x = array(np.ones(1000, ml_dtypes.bfloat16))
    assert float(to_numpy(dot.dot(x, x))) == 1000


def test_cotangents_have_the_operands_dtypes():
    x = array(np.ones((2, 3), ml_dtypes.bfloat16))
    tape, nodes, pairs = tape_flat(
        flat(lambda x, y: dot.dot(x, y, preferred_element_type=np.float32)), [x, Y], [True, True]
    )
    ct = array(np.full((2, 4), 2, np.float32))
    dx, dy = pull(tape.entries, [pairs[0][1]], [ct], nodes)
    assert dx.aval is x.aval
    assert dy.aval is Y.aval
    np.testing.assert_array_equal(to_numpy(dx), np.full((2, 3), 8))
    np.testing.assert_array_equal(to_numpy(dy), np.full((3, 4), 4))


@pytest.mark.parametrize(
    "algorithm", ["F32_F32_F32", "BF16_BF16_F32", DotAlgorithm(np.float32, np.float32, np.float32)]
)
def test_algorithms_compile(algorithm):
    (out,) = run_compiled(lambda x, y: dot.dot(x, y, precision=algorithm), X, Y)
    np.testing.assert_array_equal(out, np.full((2, 4), 3))


def test_batch_matmul():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 5, 3, 4)), rng.normal(size=(2, 5, 4, 2))
    out = dot.batch_matmul(array(x), array(y))
    np.testing.assert_allclose(to_numpy(out), x @ y, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dot.dot(X, X), ShapeError, r"dot: shapes \(2, 3\) and \(2, 3\)"),
        (lambda: dot.dot(X, array(np.float32(1))), ShapeError, "vectors or matrices"),
        (lambda: dot.batch_matmul(X, array(np.ones(3))), ShapeError, "must have one rank"),
        (
            lambda: dot.dot_general(X, X, (((1,), (0,)), ((), ()))),
            ShapeError, r"contracting dimensions \(1,\) of lhs, shape \(2, 3\), have sizes \(3,\)",
        ),
        (
            lambda: dot.dot_general(X, Y, (((0,), (0,)), ((0,), (0,)))),
            AxisError, "must be distinct dimensions",
        ),
        (lambda: dot.dot_general(X, Y, (((2,), (0,)), ((), ()))), AxisError, "of lhs"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
