"""Reductions, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import ARRAYS, check_agreement, check_compiled, evaluate

EXPRESSIONS = [
    "np.sum(x)",
    "np.sum(x, 0)",
    "np.sum(x, axis=(0, -1), keepdims=True)",
    "np.sum(i8)",
    "np.sum(b, 1)",
    "np.sum(x, where=b, initial=2.0)",
    "np.prod(x, 1)",
    "np.prod(i, 0)",
    "np.max(x, 0)",
    "np.min(i)",
    "np.max(x, 1, where=b, initial=-9)",
    "np.any(b, 0)",
    "np.all(i, 1)",
    "np.argmax(x)",
    "np.argmin(x, 1, keepdims=True)",
    "np.argmax(n, 1)",
    "np.ptp(x, 0)",
    "np.count_nonzero(b, 1)",
    "np.mean(x)",
    "np.mean(i, 0)",
    "np.mean(x, 1, where=b)",
    "np.var(x)",
    "np.var(x, 0, ddof=1, keepdims=True)",
    "np.std(i, 1)",
    "np.var(z)",
    "np.average(x, 1, weights=v)",
    "np.average(x, weights=y)",
    "np.average(x)",
    "np.std(x, where=b)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("np.sum(i8)", "int32"),
        ("np.sum(i8, promote_integers=False)", "int8"),
        ("np.prod(i8.astype('uint8'))", "uint32"),
        ("np.sum(b)", "int32"),
        ("np.sum(i8, dtype='float16')", "float16"),
        ("np.max(i8)", "int8"),
        ("np.mean(i8)", "float32"),
        ("np.mean(x.astype('bfloat16'))", "bfloat16"),
        ("np.mean(x, dtype='int32')", "int32"),
        ("np.var(z)", "float32"),
        ("np.std(i8, dtype='float16')", "float16"),
        ("np.average(i8)", "float32"),
        ("np.argmax(x)", "int32"),
        ("np.count_nonzero(x)", "int32"),
        ("np.sum(2.0)", "float32"),
    ],
)
def test_dtypes_are_those_of_jax(expression, dtype):
    (out,) = evaluate(expression, jnp, {name: jnp.asarray(x) for name, x in ARRAYS.items()})
    assert out.dtype == jnp.dtype(dtype)
    assert not out.weak_type


def test_16_bit_floats_are_added_in_32_bits():
    x = jnp.full(3000, 1, jnp.bfloat16)
    assert jnp.sum(x) == 3008  # the nearest bfloat16; added in 8 bits it would stay at 256
    text = str(ev.make_jaxpr(lambda x: jnp.sum(x, axis=0))(x))
    assert "f32[] = reduce_sum" in text


def test_sum_is_one_equation():
    jaxpr = ev.make_jaxpr(jnp.sum)(jnp.ones((3, 4)))
    assert [e.primitive.name for e in jaxpr.eqns] == ["reduce_sum"]


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2)])
def test_bad_axes_are_axis_errors(axis):
    with pytest.raises(ev.errors.AxisError, match="sum: "):
        jnp.sum(jnp.ones((3, 4)), axis=axis)


def test_max_of_nothing_needs_initial():
    with pytest.raises(ValueError, match="zero-size"):
        jnp.max(jnp.zeros((0, 3)), axis=0)
    with pytest.raises(ValueError, match="initial"):
        jnp.max(jnp.ones(3), where=jnp.ones(3, bool))
    assert jnp.max(jnp.zeros((0,)), initial=2.0) == 2.0
    assert jnp.max(jnp.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(ValueError, match="empty"):
        jnp.argmax(jnp.zeros((0, 3)), axis=0)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "amin", "nanmax", "nansum"])
def test_initial_is_one_number(name):
    reduce = getattr(jnp, name)
    with pytest.raises(ValueError, match=r"`initial` must be a scalar, not an array of shape"):
        reduce(True, initial=jnp.zeros(1))
    with pytest.raises(ValueError, match=r"not an array of shape \(3,\)"):
        reduce(jnp.ones((2, 3)), axis=0, initial=np.ones(3))
    assert reduce(jnp.ones((2, 3)), axis=0, initial=jnp.ones(())).shape == (3,)


def test_lists_and_out_are_refused():
    with pytest.raises(TypeError, match="list"):
        jnp.sum([1, 2])
    with pytest.raises(NotImplementedError, match="out"):
        jnp.sum(jnp.ones(3), out=np.zeros(()))


def test_variance_without_degrees_of_freedom_is_nan():
    assert np.isnan(jnp.var(jnp.ones(3), ddof=3))
    assert np.isnan(jnp.var(jnp.ones(3), where=jnp.zeros(3, bool)))
    with pytest.raises(ValueError, match="ddof"):
        jnp.var(jnp.ones(3), ddof=1, correction=1)


def test_gradients_of_mean_and_variance():
    x = jnp.asarray(ARRAYS["x"])
    np.testing.assert_allclose(ev.grad(jnp.mean)(x), np.full((3, 4), 1 / 12), rtol=1e-6)
    wanted = 2 * (ARRAYS["x"] - ARRAYS["x"].mean()) / 12
    np.testing.assert_allclose(ev.grad(jnp.var)(x), wanted, rtol=1e-4, atol=1e-6)
