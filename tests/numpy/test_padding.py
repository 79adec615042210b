"""`pad` in all its modes, compared with NumPy."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.pad(x, 1)",
    "np.pad(x, ((1, 2), (0, 3)), constant_values=5)",
    "np.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4)))",
    'np.pad(x, 2, mode="edge")',
    'np.pad(x, 2, mode="reflect")',
    'np.pad(x, 5, mode="reflect")',
    'np.pad(x, 4, mode="symmetric")',
    'np.pad(x, 2, mode="reflect", reflect_type="odd")',
    'np.pad(x, 2, mode="symmetric", reflect_type="odd")',
    'np.pad(x, 7, mode="wrap")',
    'np.pad(x, 2, mode="maximum")',
    'np.pad(x, 2, mode="mean")',
    'np.pad(x, 2, mode="mean", stat_length=2)',
    'np.pad(x, 2, mode="median")',
    'np.pad(x, 2, mode="minimum")',
    'np.pad(x, 3, mode="linear_ramp")',
    'np.pad(i, 2, mode="mean")',
    'np.pad(v, (2, 1), "edge")',
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_padding_errors():
    with pytest.raises(ValueError, match="negative"):
        jnp.pad(jnp.ones(3), -1)
    with pytest.raises(NotImplementedError, match="no mode"):
        jnp.pad(jnp.ones(3), 1, mode="magic")
    with pytest.raises(ValueError, match="does not take"):
        jnp.pad(jnp.ones(3), 1, mode="edge", constant_values=1)
    with pytest.raises(ValueError, match="empty axis"):
        jnp.pad(jnp.ones(0), 1, mode="edge")


def test_padding_by_a_function():
    def fill(vector, width, axis, kwargs):
        return vector.at[: width[0]].set(axis + 1)

    found = jnp.pad(jnp.zeros((1, 1)), ((1, 0), (1, 0)), fill)
    np.testing.assert_array_equal(found, [[2, 1], [2, 0]])
