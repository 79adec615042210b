"""Polynomials, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.numpy import polynomial
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
    "np.poly(sq).real",
    "np.polyfit(np.arange(4.0), v, 2)",
    "np.polyfit(v, sq, 1, w=np.array([1.0, 2, 3, 4]))",
    "np.polyfit(v, v * v * v, 1, full=True)[:4]",
    "np.polyfit(v, v * v * v, 1, cov=True)",
    "np.polyfit(v, sq, 1, cov='unscaled')",
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


@pytest.mark.parametrize("shape", [(80,), (75, 2)])
def test_long_divisions_are_loops_of_the_same_steps(shape, monkeypatch):
    u = jnp.asarray(np.random.default_rng(0).normal(size=shape), "float32")
    v = u[:4] + 3
    long = [jnp.polydiv(u, v), jnp.polyval(u, v[0])]
    monkeypatch.setattr(polynomial, "_WRITTEN_OUT", 100)
    for found, wanted in zip(
        *map(ev.tree.leaves, (long, [jnp.polydiv(u, v), jnp.polyval(u, v[0])])), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.engine
def test_polynomials_of_a_million_coefficients():
    # A hang: each step was an operation, and a copy of all.
    u = np.broadcast_to(1.0, (2**20, 3))
    quotient, rest = jnp.polydiv(u, jnp.ones((2, 3)))
    assert quotient.shape == (2**20 - 1, 3)
    assert rest[-1].tolist() == [1 - quotient[-1, 0]] * 3
    assert jnp.polyval(u, 1).tolist() == [2**20] * 3


@pytest.mark.parametrize("p", [[1.0, -6, 11, -6], [0.0, 1, -3, 2, 0, 0], [5.0], [0.0, 0], [2, 2]])
def test_roots(p):
    found, wanted = np.asarray(jnp.roots(jnp.asarray(p))), np.roots(p)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), atol=1e-4)


def test_roots_whose_number_depends_on_contents_cannot_be_traced():
    with pytest.raises(ev.errors.ConcretizationTypeError, match="strip_zeros"):
        ev.jit(jnp.roots)(jnp.ones(3))
    found = ev.jit(lambda p: jnp.roots(p, strip_zeros=False))(jnp.asarray([1.0, 0, -4]))
    np.testing.assert_allclose(np.sort(np.asarray(found).real), [-2, 2], atol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "float16", "complex64"])
def test_a_table_of_powers_has_the_dtype_of_its_vector(dtype):
    table = jnp.vander(jnp.array([1, 2, 3]).astype(dtype))
    assert table.dtype == dtype
    np.testing.assert_array_equal(table, np.vander([1, 2, 3]))
