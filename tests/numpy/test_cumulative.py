"""Running sums and products, compared with NumPy."""

import pytest

from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.cumsum(x)",
    "np.cumsum(x, 1)",
    "np.cumprod(i, 0)",
    "np.cumsum(b)",
    "np.cumulative_sum(x, axis=1, include_initial=True)",
    "np.cumulative_prod(v)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)
