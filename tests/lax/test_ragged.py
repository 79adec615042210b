"""Products by group: against a loop over the groups, in all three modes."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace.errors import AxisError, DTypeError, ShapeError
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((6, 3)).astype(np.float32)
MATRICES = RNG.standard_normal((3, 3, 2)).astype(np.float32)
SIZES = ([1, 2, 3], [0, 6, 0], [2, 2, 0], [0, 0, 0], [4, 4, 4])
Numbers = lax.RaggedDotDimensionNumbers
CONTRACTED = Numbers((((0,), (0,)), ((), ())), (0,), ())


def groups(sizes, count):
    """Return the slices of the groups."""
    ends = np.cumsum(sizes)
    return [slice(min(e - s, count), min(e, count)) for s, e in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("how", ["eager", pytest.param("jit", marks=pytest.mark.engine)])
def test_each_group_of_rows_has_its_matrix(sizes, how):
    expected = np.zeros((6, 2), np.float32)
    for i, rows in enumerate(groups(sizes, 6)):
        expected[rows] = ROWS[rows] @ MATRICES[i]
    product = ev.jit(lax.ragged_dot) if how == "jit" else lax.ragged_dot
    found = product(ROWS, MATRICES, np.array(sizes))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_each_group_of_terms_has_its_sum(sizes):
    expected = [ROWS[rows].T @ ROWS[rows] for rows in groups(sizes, 6)]
    found = lax.ragged_dot_general(ROWS, ROWS, np.array(sizes), CONTRACTED)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_sizes_may_differ_from_batch_to_batch():
    rows, matrices = np.stack([ROWS, 2 * ROWS]), np.stack([MATRICES, -MATRICES])
    sizes = np.array([[1, 2, 3], [3, 0, 2]])
    numbers = Numbers((((2,), (2,)), ((0,), (0,))), (1,), (1,))
    found = lax.ragged_dot_general(rows, matrices, sizes, numbers)
    for out, *args in zip(found, rows, matrices, sizes, strict=True):
        np.testing.assert_allclose(out, lax.ragged_dot(*args), rtol=1e-6)
    looped = ev.vmap(lax.ragged_dot)(rows, matrices, sizes)
    np.testing.assert_allclose(found, looped, rtol=1e-6)


def test_derivatives():
    sizes = np.array([1, 2, 2])
    with ev.enable_x64(True):
        operands = (ROWS.astype(np.float64), MATRICES.astype(np.float64))
        check_grads(lambda x, y: lax.ragged_dot(x, y, sizes), operands, order=2)


WRONG = {
    "float sizes": (lambda: lax.ragged_dot(ROWS, MATRICES, np.ones(3)), DTypeError, "integers"),
    "groups": (lambda: lax.ragged_dot(ROWS, MATRICES, np.ones(2, int)), ShapeError, r"\(2,\)"),
    "no group dimension": (
        lambda: lax.ragged_dot_general(
            ROWS, ROWS, np.ones(3, int), Numbers((((1,), (1,)), ((), ())), (0,), ())
        ),
        AxisError,
        "must be 1 of the 2",
    ),
    "two ragged": (
        lambda: lax.ragged_dot_general(
            ROWS, MATRICES, np.ones(3, int), Numbers((((1,), (1,)), ((), ())), (0, 1), (0,))
        ),
        AxisError,
        "must be one of",
    ),
    "offset": (
        lambda: lax.ragged_dot(ROWS, MATRICES, np.ones(3, int), group_offset=np.zeros(1)),
        NotImplementedError,
        "group_offset",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name):
    wrong, cls, message = WRONG[name]
    with pytest.raises(cls, match=message):
        wrong()
