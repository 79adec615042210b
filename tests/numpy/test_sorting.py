"""Sorting, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.sort(x)",
    "np.sort(x, 0)",
    "np.sort(x, None)",
    "np.sort(n, 1)",
    "np.argsort(x)",
    "np.argsort(i, 0, stable=True)",
    "np.lexsort((i[0], i[1]))",
    "np.partition(v, 2)",
    "np.sort_complex(np.array([3, 1, 2.]))",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_descending_keeps_the_order_of_equal_elements():
    x = jnp.asarray([1, 2, 1, 2])
    assert jnp.argsort(x, descending=True).tolist() == [1, 3, 0, 2]
    assert jnp.sort(x, descending=True).tolist() == [2, 2, 1, 1]


def test_gradient_of_sort_goes_back_to_the_places():
    x = jnp.asarray([3.0, 1.0, 2.0])
    grad = ev.grad(lambda x: jnp.dot(jnp.sort(x), jnp.asarray([1.0, 10.0, 100.0])))(x)
    np.testing.assert_array_equal(grad, [100, 1, 10])


def test_sorting_errors():
    with pytest.raises(NotImplementedError, match="kind"):
        jnp.sort(jnp.ones(3), kind="heapsort")
    with pytest.raises(ev.errors.AxisError):
        jnp.partition(jnp.ones(3), 3)
