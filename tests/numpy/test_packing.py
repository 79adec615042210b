"""Bits of bytes, compared with NumPy."""

import pytest

from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.packbits(b)",
    "np.packbits(b, 1)",
    'np.packbits(b, 0, "little")',
    'np.unpackbits(np.array([[2], [7], [23]], "uint8"), axis=1)',
    'np.unpackbits(np.array([2, 7], "uint8"), count=11)',
    'np.unpackbits(np.array([2, 7], "uint8"), count=-3, bitorder="little")',
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)
