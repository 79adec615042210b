"""Gamma numbers, and those made from them, are differentiable in the exponent."""

import numpy as np
import pytest
import scipy.special

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random

KEY = random.key(3)
ALPHA = np.array([0.05, 0.3, 1.0, 2.5, 7.0, 50.0])


@pytest.fixture(autouse=True)
def _doubles():
    with ev.enable_x64(True):
        yield


def moved(alpha, x, step):
    """Return the number that has the quantile of `x` for an exponent that is larger."""
    upper = scipy.special.gammainccinv(alpha + step, scipy.special.gammaincc(alpha, x))
    lower = scipy.special.gammaincinv(alpha + step, scipy.special.gammainc(alpha, x))
    return np.where(x > alpha, upper, lower)


@pytest.mark.parametrize("mode", [ev.jacfwd, ev.jacrev])
def test_derivatives_keep_the_quantile(mode):
    def draw(a):
        return random.gamma(KEY, a)

    x, step = np.asarray(draw(ALPHA)), 1e-5 * ALPHA
    want = (moved(ALPHA, x, step) - moved(ALPHA, x, -step)) / (2 * step)
    found = mode(draw)(jnp.asarray(ALPHA))
    np.testing.assert_allclose(found, np.diag(want), rtol=1e-6, atol=1e-12)


def test_logarithms_have_the_derivative_of_the_numbers():
    slope = ev.grad(lambda a: random.loggamma(KEY, a).sum())(jnp.asarray(ALPHA[1:]))
    logarithms = random.loggamma(KEY, ALPHA[1:])
    want = ev.lax.random_gamma_grad(jnp.asarray(ALPHA[1:]), jnp.exp(logarithms))
    np.testing.assert_allclose(slope, want / jnp.exp(logarithms), rtol=1e-12)


@pytest.mark.parametrize(("dtype", "at"), [("float16", 1e-2), ("float32", 1e-3), ("float64", 1e-3)])
def test_logarithms_of_vanishing_numbers(dtype, at):
    """Where x is 0 in any dtype, log(x) is (log(u) + lgamma(a + 1)) / a for a quantile u."""
    a = jnp.full((4,), at, dtype)
    x, pushed = ev.jvp(lambda a: random.loggamma(KEY, a, dtype=dtype), (a,), (jnp.ones_like(a),))
    want = (scipy.special.psi(1 + at) - np.asarray(x, np.float64)) / at
    np.testing.assert_allclose(np.asarray(pushed, np.float64), want, rtol=4e-3)


MADE = [
    ("beta", lambda a: random.beta(KEY, a, 2.0)),
    ("chisquare", lambda a: random.chisquare(KEY, a)),
    ("dirichlet", lambda a: random.dirichlet(KEY, jnp.stack([a, 2 * a]))[0]),
    ("f", lambda a: random.f(KEY, a, 3.0)),
    ("generalized_normal", lambda a: random.generalized_normal(KEY, a)),
    ("loggamma", lambda a: random.loggamma(KEY, a)),
    ("t", lambda a: random.t(KEY, a)),
]


@pytest.mark.parametrize(("name", "draw"), MADE, ids=[name for name, _ in MADE])
def test_distributions_made_from_gamma_numbers_follow(name, draw):
    """The derivative is not 0, and batches and forward mode have the same."""
    slope = ev.grad(draw)(1.7)
    assert np.isfinite(slope)
    assert slope != 0
    np.testing.assert_allclose(ev.vmap(ev.grad(draw))(jnp.full(2, 1.7)), [slope] * 2, rtol=1e-13)
    np.testing.assert_allclose(ev.jvp(draw, (1.7,), (1.0,))[1], slope, rtol=1e-13)


def test_there_is_no_second_derivative():
    with pytest.raises(NotImplementedError, match="no derivative by its argument a"):
        ev.grad(ev.grad(lambda a: random.gamma(KEY, a)))(1.7)
