"""Polynomials, compared with NumPy."""

import pytest

import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.polyval(v, x)",
    "np.polyadd(v, v[:2])",
    "np.polysub(v[:2], v)",
    "np.polymul(v, v[:2])",
    "np.polyder(v)",
    "np.polyder(v, 2)",
    "np.polyint(v)",
    "np.polyint(v, 2, np.array([1, 2]))",
    "np.poly(v)",
    "np.vander(v)",
    "np.vander(u, 3, increasing=True)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_division():
    u, v = jnp.asarray([1.0, 2, 3, 4]), jnp.asarray([1.0, 1])
    quotient, rest = jnp.polydiv(u, v)
    assert (quotient.tolist(), rest.tolist()) == ([1, 1, 2], [0, 0, 0, 2])
    assert jnp.polydiv(u, v, trim_leading_zeros=True)[1].tolist() == [2]
    assert [p.tolist() for p in jnp.polydiv(v, u)] == [[0], [1, 1]]
