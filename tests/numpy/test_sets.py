"""Set operations, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement

EXPRESSIONS = [
    "np.unique(i)",
    "np.unique(i, True, True, True)",
    "np.unique(np.array([[1, 2], [1, 2], [0, 1]]), axis=0, return_counts=True)",
    "np.unique(n)",
    "np.union1d(u, np.array([7, 1]))",
    "np.intersect1d(u, np.array([1, 3, 9]))",
    "np.intersect1d(u, np.array([3, 1]), return_indices=True)",
    "np.setdiff1d(u, np.array([3]))",
    "np.setxor1d(u, np.array([3, 8]))",
    "np.isin(u, np.array([3, 8]))",
    "np.isin(u, np.arange(3, 40), invert=True)",
    "np.unique_counts(u)",
    "np.unique_all(u)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


def test_unique_with_a_size():
    x = jnp.asarray([3, 1, 3, 2])
    unique = ev.jit(jnp.unique, static_argnames=("size", "return_counts", "return_inverse"))
    np.testing.assert_array_equal(unique(x, size=3), [1, 2, 3])
    np.testing.assert_array_equal(unique(x, size=5), [1, 2, 3, 1, 1])
    values, counts = unique(x, size=2, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 2], [1, 1])
    values, inverse = unique(x, size=4, return_inverse=True)
    np.testing.assert_array_equal(values[inverse], x)
    with pytest.raises(ev.errors.ConcretizationTypeError, match="size="):
        unique(x)


def test_unique_slices_with_a_size():
    x = jnp.asarray([[1, 2], [0, 5], [1, 2]])
    found, counts = jnp.unique(x, axis=0, size=3, fill_value=-1, return_counts=True)
    np.testing.assert_array_equal(found, [[0, 5], [1, 2], [-1, -1]])
    np.testing.assert_array_equal(counts, [1, 2, 0])


def test_set_operations_with_a_size():
    x, y = jnp.asarray([4, 1, 4, 2]), jnp.asarray([2, 9, 4])
    assert jnp.union1d(x, y, size=5, fill_value=0).tolist() == [1, 2, 4, 9, 0]
    assert jnp.intersect1d(x, y, size=3).tolist() == [2, 4, 2]
    assert jnp.setdiff1d(x, y, size=2, fill_value=-1).tolist() == [1, -1]
    assert jnp.setxor1d(x, y, size=3, fill_value=-1).tolist() == [1, 9, -1]


@pytest.mark.parametrize("method", ["compare_all", "binary_search", "sort", "auto"])
def test_methods_of_isin_agree(method):
    x, others = jnp.arange(60) % 7, jnp.asarray([5, 2, 2])
    np.testing.assert_array_equal(jnp.isin(x, others, method=method), np.isin(x, [5, 2]))


def test_unique_of_nothing_with_a_size_is_the_fill_value():
    found = jnp.unique_all(jnp.zeros((0,), int), size=2, fill_value=3)
    assert [part.tolist() for part in found] == [[3, 3], [0, 0], [], [0, 0]]
    rows = jnp.unique(jnp.zeros((0, 3)), axis=0, size=2, fill_value=1.0)
    assert rows.tolist() == [[1.0] * 3] * 2
    assert jnp.unique(jnp.zeros((0,)), size=0).shape == (0,)
    with pytest.raises(ValueError, match="has no value to fill size 2 with"):
        jnp.unique(jnp.zeros((0,)), size=2)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda x: jnp.unique(x, size=-1), "unique: size must not be negative, got -1"),
        (lambda x: jnp.union1d(x, x, size=-2), "unique: size must not be negative, got -2"),
        (lambda x: jnp.setdiff1d(x, x, size=-1), "set operation: size must not be negative"),
        (lambda x: jnp.nonzero(x, size=-1), "nonzero: size must not be negative"),
        (lambda x: jnp.compress(x > 1, x, size=-1), "compress: size must not be negative"),
        (lambda x: jnp.bincount(x, length=-1), "bincount: length must not be negative"),
    ],
)
def test_a_number_of_results_is_not_negative(call, told):
    with pytest.raises(ev.errors.ShapeError, match=told):
        call(jnp.array([3, 1, 2]))
