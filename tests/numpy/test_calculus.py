"""Differences, gradients and interpolation, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.diff(x)",
    "np.diff(x, 2, 0)",
    "np.diff(v, prepend=0, append=v[:2])",
    "np.diff(b)",
    "np.ediff1d(x, to_end=9, to_begin=np.array([1, 2]))",
    "np.gradient(x)",
    "np.gradient(x, 2.0, axis=1)",
    "np.gradient(v, np.array([0, 1, 3, 4.]))",
    "np.gradient(x, 1.0, 2.0)",
    "np.trapezoid(x)",
    "np.trapezoid(x, np.array([0, 1, 3, 4.]))",
    "np.trapezoid(x, dx=.5, axis=0)",
    "np.interp(x, np.sort(v), v)",
    "np.interp(x, np.sort(v), v, left=-3, right=9)",
    "np.interp(x, np.array([0, .3, .5, .9]), v, period=1.0)",
    "np.unwrap(np.cumsum(np.full(10, 2.0)) % 6.283185307)",
    "np.unwrap(np.array([0, 1, 2, -1, 0]), period=4)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_interpolation_may_extrapolate():
    x, xp = jnp.asarray([-1.0, 0.5, 3.0]), jnp.asarray([0.0, 1.0, 2.0])
    fp = jnp.asarray([0.0, 2.0, 3.0])
    found = jnp.interp(x, xp, fp, left="extrapolate", right="extrapolate")
    np.testing.assert_allclose(found, [-2, 1, 4])
    with pytest.raises(ValueError, match="extrapolate"):
        jnp.interp(x, xp, fp, left="magic")


def test_gradient_of_interpolation_over_a_jump_is_finite():
    fp = jnp.asarray([0.0, 1.0, 2.0])
    grads = ev.grad(lambda xp: jnp.interp(jnp.asarray([0.5, 1.0]), xp, fp).sum())
    assert np.isfinite(grads(jnp.asarray([0.0, 1.0, 1.0]))).all()


def test_short_axes_have_no_gradient():
    with pytest.raises(ev.errors.ShapeError, match="too small"):
        jnp.gradient(jnp.ones(1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
def test_unwrapping_integers_gives_the_default_float_unless_the_period_is_an_integer(dtype):
    steps = np.array([0, 1, 1]).astype(dtype)
    with ev.enable_x64():
        around = jnp.unwrap(jnp.asarray(steps))
        turned = jnp.unwrap(jnp.asarray(steps), period=4)
    assert around.dtype == np.float64
    assert turned.dtype == (np.int64 if dtype == "bool" else dtype)
    np.testing.assert_array_equal(around, np.unwrap(steps.astype(float)))
    np.testing.assert_array_equal(turned, [0, 1, 1])
