"""Convolutions, compared with NumPy."""

import pytest

from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.convolve(v, x[0])",
    'np.convolve(v, x[0, :3], "same")',
    'np.convolve(x[0, :3], v, "same")',
    'np.convolve(x[0, :2], v, "valid")',
    'np.correlate(v, x[0, :3], "full")',
    'np.correlate(v, x[0, :3], "same")',
    "np.correlate(v, x[0, :3])",
    'np.correlate(x[0, :3], v, "full")',
    'np.correlate(x[0, :3], v, "same")',
    'np.correlate(z[0], z[1], "full")',
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)
