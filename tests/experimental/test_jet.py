"""jet: coefficients against nested derivatives and against series known in closed form."""

import math

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn
from evertrace.experimental.jet import jet
from evertrace.scipy import special


def nested(fun, x, order):
    """Return the derivatives of a function of one number, by nested `jvp`."""
    derivatives = []
    for _ in range(order):
        fun = pushed(fun)
        derivatives.append(fun(x))
    return derivatives


def pushed(fun):
    return lambda x: ev.jvp(fun, (x,), (jnp.ones_like(x),))[1]


@ev.custom_jvp
def doubled_derivative(x):
    return jnp.sin(x)


@doubled_derivative.defjvp
def _(primals, tangents):
    return jnp.sin(primals[0]), 2 * jnp.cos(primals[0]) * tangents[0]


def matrix(x):
    return jnp.array([[3.0, 1.0], [1.0, 2.0]]) + x * jnp.eye(2)


FUNCTIONS = {
    "polynomial": lambda x: x**5 - 3 * x**2 + x * x,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "sin cos": lambda x: jnp.sin(x) * jnp.cos(2 * x),
    "tan": jnp.tan,
    "hyperbolic": lambda x: jnp.sinh(x) + jnp.cosh(x) * jnp.tanh(x),
    "inverse": lambda x: jnp.arcsin(x) + jnp.arccos(x / 2) + jnp.arctan(x),
    "quotient": lambda x: (1 + x) / (2 + x**2) / 3,
    "reciprocal": lambda x: 1 / x,
    "sqrt": lambda x: jnp.sqrt(x) + lax.rsqrt(x) + jnp.cbrt(x),
    "power": lambda x: x**x + x**0.3 + 2.0**x,
    "special": lambda x: special.erf(x) + special.gammaln(x) + special.digamma(x),
    "logistic": lambda x: nn.sigmoid(x) + nn.softplus(x) + nn.gelu(x),
    "where": lambda x: jnp.where(x > 0, jnp.exp(x), x) + jnp.maximum(x, 0.1) + abs(x),
    "reductions": lambda x: jnp.sum(jnp.stack([x, x**2, jnp.exp(x)])[::-1] ** 2) + x.sum(),
    "cumulative": lambda x: jnp.cumsum(jnp.arange(1.0, 4.0) ** x)[1],
    "maximum": lambda x: jnp.max(jnp.stack([x, x**3, jnp.exp(x)])),
    "matrix": lambda x: (matrix(x) @ matrix(x**2)).sum() + (jnp.ones(2) @ matrix(x)).prod(),
    "solve": lambda x: jnp.linalg.solve(matrix(x), jnp.ones(2)).sum(),
    "cholesky": lambda x: jnp.linalg.cholesky(matrix(x)).sum(),
    "indexing": lambda x: (jnp.arange(3.0) * x).at[1].multiply(x)[jnp.array([1, 2])].sum(),
    "jit": ev.jit(lambda x: jnp.sin(jnp.exp(x))),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.sin(c) * x, None), x, None, length=3)[0],
    "while": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + i, x),
    "cond": lambda x: lax.cond(x > 0, jnp.exp, jnp.sin, x),
    "custom_jvp": doubled_derivative,
    "constant": lambda x: jnp.zeros(()) + jnp.floor(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_nested_jvp(name):
    fun, order = FUNCTIONS[name], 4
    with ev.enable_x64():
        x = jnp.asarray(0.7, "float64")
        value, found = jet(fun, (x,), ([1.0] + [0.0] * (order - 1),))
        np.testing.assert_allclose(value, fun(x), rtol=1e-12)
        np.testing.assert_allclose(found, nested(fun, x, order), rtol=1e-9, atol=1e-11)


# function, where, its derivatives of order n there
KNOWN = {
    "exp": (jnp.exp, 0.5, lambda n: math.exp(0.5)),
    "log": (jnp.log, 2.0, lambda n: (-1) ** (n - 1) * math.factorial(n - 1) / 2.0**n),
    "sin": (jnp.sin, 0.3, lambda n: math.sin(0.3 + n * math.pi / 2)),
    "reciprocal": (lambda x: 1 / x, 0.5, lambda n: (-1) ** n * math.factorial(n) * 2.0 ** (n + 1)),
    "sqrt": (
        jnp.sqrt,
        1.0,
        lambda n: math.prod(0.5 - k for k in range(n)),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_twenty_derivatives_in_closed_form(name):
    fun, at, expected = KNOWN[name]
    with ev.enable_x64():
        _, found = jet(fun, (jnp.asarray(at, "float64"),), ([1.0] + [0.0] * 19,))
    np.testing.assert_allclose(found, [expected(n) for n in range(1, 21)], rtol=1e-10)


def test_curves_of_several_arguments_and_trees():
    def fun(x, p):
        return {"product": x * p["a"], "a": p["a"] + 1}

    value, found = jet(fun, (2.0, {"a": 3.0}), ([1.0, 4.0], [{"a": 2.0}, {"a": 1.0}]))
    assert {k: float(v) for k, v in value.items()} == {"product": 6.0, "a": 4.0}
    np.testing.assert_allclose(found["product"], [2 * 2 + 1 * 3, 2 * 1 + 2 * 1 * 2 + 4 * 3])
    np.testing.assert_allclose(found["a"], [2, 1])


def test_coefficients_instead_of_derivatives():
    _, found = jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)
    np.testing.assert_allclose(found, [1, 1 / 2, 1 / 6], rtol=1e-6)


def test_arrays_jit_vmap_and_grad():
    x, v = jnp.array([0.1, 0.4]), jnp.array([1.0, -2.0])

    def third(x):
        return jet(jnp.sin, (x,), ([v, 0 * v, 0 * v],))[1][2]

    expected = -np.cos(x) * np.asarray(v) ** 3
    np.testing.assert_allclose(third(x), expected, rtol=1e-5)
    np.testing.assert_allclose(ev.jit(third)(x), expected, rtol=1e-5)

    def of_one(x):
        return jet(jnp.sin, (x,), ([1.0, 0.0],))[1][1]

    np.testing.assert_allclose(ev.vmap(of_one)(x), -np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(ev.grad(of_one)(0.4), -np.cos(0.4), rtol=1e-5)


MISTAKES = [
    (lambda: jet(jnp.sin, (1.0,), ()), ValueError, "1 primals and 0 series"),
    (lambda: jet(jnp.add, (1.0, 1.0), ([1.0], [1.0, 2.0])), ValueError, "of one length"),
    (lambda: jet(jnp.sin, (1.0,), (1.0,)), TypeError, "not sequences"),
    (lambda: jet(jnp.sin, (1.0,), ([jnp.ones(2)],)), TypeError, "structure or shape"),
    (lambda: jet(3, (1.0,), ([1.0],)), TypeError, "expected a function"),
]


@pytest.mark.parametrize(("run", "cls", "text"), MISTAKES)
def test_mistakes(run, cls, text):
    with pytest.raises(cls, match=text):
        run()
