"""Norms, powers and chains of matrices, compared with NumPy."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.linalg.norm(x)",
    "np.linalg.norm(x, axis=1)",
    "np.linalg.norm(x, 1)",
    "np.linalg.norm(x, np.inf)",
    "np.linalg.norm(v, 3)",
    "np.linalg.norm(v, 0)",
    "np.linalg.norm(v, -np.inf)",
    "np.linalg.norm(c, -1, axis=(1, 2), keepdims=True)",
    "np.linalg.vector_norm(c, axis=(0, 1))",
    "np.linalg.matrix_norm(c)",
    "np.linalg.matrix_power(sq, 3)",
    "np.linalg.matrix_power(c[:, :, :3], 0)",
    "np.linalg.multi_dot([x, sq, sq, v])",
    "np.linalg.cross(x[:, :3], y[:, :3])",
    "np.linalg.outer(v, v)",
    "np.linalg.diagonal(c)",
    "np.linalg.trace(c, offset=1)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_norms_that_do_not_exist():
    with pytest.raises(ValueError, match="norm"):
        jnp.linalg.norm(jnp.ones((2, 2)), ord=7)
    with pytest.raises(ValueError, match="norm"):
        jnp.linalg.norm(jnp.ones((2, 2, 2)), ord=1)


def test_chains_of_matrices_that_do_not_exist():
    with pytest.raises(ev.errors.ShapeError, match="multi_dot"):
        jnp.linalg.multi_dot([jnp.ones((2, 2))])


def test_cheapest_order_of_a_chain():
    x = [jnp.ones(s) for s in ((2, 50), (50, 50), (50, 50), (50, 1))]
    jaxpr = ev.make_jaxpr(jnp.linalg.multi_dot)(x)
    assert all(min(e.outvars[0].aval.shape) == 1 for e in jaxpr.eqns)
