"""Derivatives of running products and extremes, by the linear recurrence that they obey."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax


def slopes_of_products(x):
    """Return ``d(sum of running products) / dx`` by differences of the products without x[k]."""
    return [sum(np.prod(np.delete(x[: m + 1], k)) for m in range(k, x.size)) for k in range(x.size)]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 13, 16, 17])
def test_slopes_of_running_products_of_any_length(length):
    x = np.random.default_rng(length).uniform(0.5, 1.5, length)
    x[length // 2] = 0  # nothing is divided by
    with ev.enable_x64(True):
        for reverse in (False, True):
            given = x[::-1] if reverse else x
            slope = ev.grad(lambda x, r=reverse: lax.cumprod(x, reverse=r).sum())(given)
            want = slopes_of_products(x)
            np.testing.assert_allclose(slope[::-1] if reverse else slope, want, rtol=1e-12)


def test_the_work_of_a_slope_is_linear_in_the_length():
    def elements(n):
        jaxpr = ev.make_jaxpr(ev.grad(lambda x: lax.cummax(x).sum()))(np.ones(n, np.float32))
        return sum(v.aval.size for eqn in jaxpr.jaxpr.eqns for v in eqn.outvars)

    assert elements(4096) < 1.1 * 4 * elements(1024)


@pytest.mark.parametrize("call", [lambda f, x: f(x), lambda f, x: ev.jit(f)(x)])
def test_a_direction_is_a_bool(call):
    """One that is not was backwards on the host, and forwards for XLA."""
    with pytest.raises(TypeError, match="cumsum: `reverse` is True or False, not 1e-07"):
        call(lambda x: lax.cumsum_p.bind(x, axis=0, reverse=1e-7), jnp.arange(3.0))
