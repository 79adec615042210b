"""Comparisons of whole arrays, compared with NumPy."""

import pytest

from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.isclose(x, x+1e-7)",
    "np.isclose(x > 0, x < 0, atol=2.0)",
    "np.isclose(x > 0, x < 0, np.ones((2, 1, 1)))",
    "np.allclose(x, y)",
    "np.array_equal(x, x)",
    "np.array_equiv(x, x[None])",
    "np.isclose(np.array([np.inf, np.nan, 1]), np.array([np.inf, np.nan, 2]), equal_nan=True)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)
