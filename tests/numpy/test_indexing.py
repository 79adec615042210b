"""Indexing against NumPy: static, traced, with arrays and masks, and what is out of bounds."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
MASK = X > 30
ROWS, COLUMNS = np.array([0, 1]), np.array([2, 3])

STATIC = [
    0, -1, np.int64(1), (), ..., None, slice(1, 3), slice(2, 1), slice(None, None, -1),
    slice(None, None, 2), slice(-2, None), (0, 1), (0, 1, 2), (slice(None), 0), (..., 0),
    (..., slice(None, None, -2)), (1, ..., 2), (None, 0, ..., None), (slice(3, 0, -2), None, -1),
]  # fmt: skip

ARRAYS = [
    np.array([0, 2]), np.array([-1, 0]), np.zeros((0,), int), np.zeros((2, 0), int),
    np.array([[0, 1], [1, 2]]), (ROWS, COLUMNS), (ROWS, slice(1, 3)), (slice(None), COLUMNS),
    (ROWS, slice(None), COLUMNS), (0, slice(None), COLUMNS), (slice(None), 0, COLUMNS),
    (ROWS[:, None], COLUMNS), (ROWS, None, COLUMNS), (..., COLUMNS), (None, ROWS, ..., COLUMNS),
    (slice(None, None, 2), COLUMNS), (slice(None, None, -1), COLUMNS, slice(4, 0, -2)),
    (slice(None), None, ROWS, ..., COLUMNS), (slice(1, 2), ROWS, slice(2, 4)),
    (ROWS.astype(np.uint8), COLUMNS.astype(np.int8)),
]  # fmt: skip

MASKS = [
    MASK, MASK[:, :, 0], MASK[:, 0, 0], (slice(None), MASK[0]),
    (MASK[:, :, 0], slice(None, None, 2)),
    (slice(None), MASK[1, :, 0], 1), True, False, (0, True), (None, True, 0), (..., False),
]  # fmt: skip


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=repr)
def test_indices_mean_what_they_mean_in_numpy(index):
    got = jnp.asarray(X)[index]
    assert got.shape == X[index].shape
    np.testing.assert_array_equal(got, X[index])


@pytest.mark.parametrize("index", ARRAYS, ids=repr)
def test_arrays_of_indices_may_be_traced(index):
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [p for p in parts if isinstance(p, np.ndarray)]

    def take(x, *arrays):
        left = iter(arrays)
        return x[tuple(next(left) if isinstance(p, np.ndarray) else p for p in parts)]

    closed = ev.make_jaxpr(take)(jnp.asarray(X), *arrays)
    assert closed.out_avals[0].shape == X[index].shape
    assert "gather" in [e.primitive.name for e in closed.eqns]


TRACED = [
    ("i",), ("i", 0), (slice(None), "i"), ("i", slice(1, 3)), ("i", "j"), (None, "i", ..., None),
    ("i", slice(None, None, -2), "j"), (slice(1, 3), "i", slice(None, None, 2)), ("i", ..., "j"),
    (1, "i", slice(0, 4, 3)),
]  # fmt: skip


@pytest.mark.parametrize("index", TRACED, ids=repr)
@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 2), (-1, -2)])
def test_integers_may_be_arrays(index, i, j):
    numbers = {"i": i, "j": j}
    known = tuple(numbers[p] if isinstance(p, str) else p for p in index)
    arrays = tuple(jnp.asarray(numbers[p]) if isinstance(p, str) else p for p in index)
    np.testing.assert_array_equal(jnp.asarray(X)[arrays], X[known])


def test_the_operations_are_jaxs():
    def names(f, *args):
        return [e.primitive.name for e in ev.make_jaxpr(f)(*args).eqns]

    x, i = jnp.asarray(X), jnp.int32(1)
    assert names(lambda x: x[0], x) == ["slice", "squeeze"]
    assert names(lambda x: x[::-1], x) == ["rev"]
    assert names(lambda x: x[None], x) == ["broadcast_in_dim"]
    assert names(lambda x: x[...], x) == []
    assert names(lambda x, i: x[i], x, i)[-2:] == ["dynamic_slice", "squeeze"]
    assert names(lambda x, i: x[i], x, jnp.asarray(ROWS))[-2:] == ["broadcast_in_dim", "gather"]


def test_out_of_bounds_is_moved_inside():
    x = jnp.arange(3)
    assert [int(x[i]) for i in (5, -7)] == [2, 0]
    assert int(x[jnp.int32(5)]) == 2
    np.testing.assert_array_equal(x[jnp.array([5, -7])], [2, 0])


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        ((0, 0, 0, 0), IndexError, "3-dimensional, but 4"),
        ((..., ...), IndexError, "single ellipsis"),
        ([0, 1], TypeError, "non-tuple sequence"),
        ("a", TypeError, "String indexing"),
        (1.0, TypeError, "integer or boolean type"),
        (np.ones(3), TypeError, "integer or boolean type"),
        ((np.arange(2), np.arange(3)), IndexError, "Incompatible shapes"),
    ],
)
def test_bad_indices(index, error, match):
    with pytest.raises(error, match=match):
        jnp.asarray(X)[index]


def test_an_axis_of_size_0_has_no_elements():
    with pytest.raises(IndexError, match="size 0"):
        jnp.ones((0, 2))[0]


def test_a_traced_mask_needs_values():
    with pytest.raises(ev.errors.NonConcreteBooleanIndexError, match=r"where\(mask"):
        ev.make_jaxpr(lambda x: x[x > 0])(jnp.ones(3))


def test_a_traced_slice_bound_is_an_error_with_the_cure():
    with pytest.raises(IndexError, match="dynamic_slice_in_dim"):
        ev.make_jaxpr(lambda x, n: x[:n])(jnp.ones(3), 2)


def test_a_known_mask_works_while_tracing():
    mask = jnp.array([True, False, True])
    closed = ev.make_jaxpr(lambda x: x[mask])(jnp.ones(3))
    assert closed.out_avals[0].shape == (2,)


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [1, np.array([0, 2]), np.array([[0], [-1]])])
def test_take(axis, indices):
    np.testing.assert_array_equal(jnp.take(X, indices, axis=axis), np.take(X, indices, axis=axis))


def test_modes_of_take():
    x, i = jnp.arange(3.0), jnp.array([0, 5, -1, -4])
    np.testing.assert_array_equal(jnp.take(x, i), [0, np.nan, 2, np.nan])
    np.testing.assert_array_equal(jnp.take(x, i, fill_value=9), [0, 9, 2, 9])
    np.testing.assert_array_equal(jnp.take(x, i, mode="clip"), [0, 2, 0, 0])
    np.testing.assert_array_equal(jnp.take(x, i, mode="wrap"), [0, 2, 2, 2])
    ints = jnp.arange(3)
    assert int(jnp.take(ints, 7)) == np.iinfo(np.int32).min


def test_modes_of_get():
    x = jnp.arange(3.0)
    assert np.isnan(x.at[7].get(mode="fill"))
    assert float(x.at[7].get(mode="fill", fill_value=-1)) == -1
    assert float(x.at[7].get(mode="clip")) == 2
    assert float(x.at[-1].get(mode="fill", fill_value=-1)) == 2
    assert float(x.at[-1].get(mode="fill", fill_value=-1, wrap_negative_indices=False)) == -1
    assert float(x.at[1].get()) == 1


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis(axis):
    order = np.argsort(-X, axis=axis)
    np.testing.assert_array_equal(
        jnp.take_along_axis(X, order, axis), np.take_along_axis(X, order, axis)
    )
    few = order.take([0], axis=axis)
    np.testing.assert_array_equal(
        jnp.take_along_axis(X, few, axis), np.take_along_axis(X, few, axis)
    )


@pytest.mark.parametrize("offset", [-2, 0, 1, 7])
def test_diagonal(offset):
    np.testing.assert_array_equal(jnp.diagonal(X, offset), np.diagonal(X, offset))
    np.testing.assert_array_equal(jnp.diagonal(X, offset, 2, 0), np.diagonal(X, offset, 2, 0))


def test_gradient_of_indexing_adds_what_was_taken_twice():
    grad = ev.grad(lambda x: (x[jnp.array([0, 0, 2])] * jnp.arange(1.0, 4.0)).sum())
    np.testing.assert_array_equal(grad(jnp.ones(3)), [3, 0, 3])
    grad = ev.grad(lambda x: x[1] + x[-1] + x[::2].sum())
    np.testing.assert_array_equal(grad(jnp.ones(3)), [1, 1, 2])


def test_no_index_asks_for_nothing_of_an_empty_axis():
    none = np.array([], int)
    x = jnp.zeros((0, 2))
    assert x[none].shape == x.at[none].add(1.0).shape == (0, 2)
    assert jnp.zeros((1, 0))[:, none].shape == (1, 0)
    assert ev.jit(lambda x, i: x.at[i].set(1.0)[i])(x, none).shape == (0, 2)
    assert ev.grad(lambda x: x[none].sum())(x).shape == (0, 2)


@pytest.mark.parametrize("jit", [lambda fun: fun, ev.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("indices", "axis", "want"),
    [
        ([[1, 0, 5], [-1, 2, -7]], 1, [[1, 0, 0], [5, 5, 0]]),
        ([[1, 0, 1]], 0, [[3, 1, 5]]),
        ([4, 9], None, [4, 0]),
    ],
)
def test_elements_are_taken_by_products_with_ones_and_zeros(jit, indices, axis, want):
    x = jnp.arange(6.0).reshape(2, 3)

    def take(x):
        return jnp.take_along_axis(x, jnp.array(indices), axis, mode="one_hot")

    assert jnp.array_equal(jit(take)(x), jnp.array(want))
    jaxpr = str(ev.make_jaxpr(take)(x))
    assert "dot_general" in jaxpr
    assert "gather" not in jaxpr
