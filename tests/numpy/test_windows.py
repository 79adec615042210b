"""Window functions, compared with NumPy."""

import pytest

from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.bartlett(5)",
    "np.blackman(5)",
    "np.hamming(4)",
    "np.hanning(1)",
    "np.kaiser(6, 8.0)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)
