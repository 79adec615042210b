"""Gather and scatter: what the laws over the op tables do not see."""

import numpy as np
import pytest

from evertrace import errors
from evertrace._src.core.rules import LinearArg
from evertrace._src.lax import indexing as lax
from evertrace._src.ops.dimension_numbers import GatherDimensionNumbers, ScatterDimensionNumbers
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.transpose import transpose_flat
from tests.support.runtime import array, flat, jaxpr_of, run_compiled, to_numpy

ROWS = GatherDimensionNumbers((1,), (0,), (0,))
ELEMENTS = ScatterDimensionNumbers((), (0,), (0,))
X = np.arange(6, dtype=np.float32).reshape(3, 2)
OUTSIDE = np.array([[-1], [1], [7]], np.int32)


def rows(x, indices, **options):
    """Gather rows."""
    return lax.gather(x, indices, ROWS, (1, 2), **options)


def both(fun, *args):
    """Return the one result of the host engine, having checked that XLA's is the same."""
    args = list(map(array, args))
    (eager,) = [to_numpy(x) for x in flat(fun)(*args)]
    (compiled,) = run_compiled(fun, *args)
    np.testing.assert_array_equal(compiled, eager)
    assert compiled.dtype == eager.dtype
    return eager


def test_modes_of_gather():
    nan = [np.nan, np.nan]
    clipped = [[0, 1], [2, 3], [4, 5]]
    np.testing.assert_array_equal(both(lambda x, i: rows(x, i), X, OUTSIDE), clipped)
    np.testing.assert_array_equal(both(lambda x, i: rows(x, i, mode="clip"), X, OUTSIDE), clipped)
    filled = both(lambda x, i: rows(x, i, mode="fill"), X, OUTSIDE)
    np.testing.assert_array_equal(filled, [nan, [2, 3], nan])
    filled = both(lambda x, i: rows(x, i, mode="fill", fill_value=9), X, OUTSIDE)
    np.testing.assert_array_equal(filled, [[9, 9], [2, 3], [9, 9]])


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("int8", -128), ("uint8", 255), ("bool", True), ("float16", np.nan), ("complex64", np.nan)],
)
def test_default_fill(dtype, fill):
    out = both(lambda x, i: rows(x, i, mode="fill"), X.astype(dtype), OUTSIDE)
    np.testing.assert_array_equal(out[0], np.full(2, fill, dtype))


def test_modes_of_scatter():
    x, updates = np.zeros(3, np.float32), np.array([1, 2, 3], np.float32)

    def put(mode):
        return both(lambda *xs: lax.scatter(*xs, ELEMENTS, mode=mode), x, OUTSIDE, updates)

    np.testing.assert_array_equal(put("clip"), [1, 2, 3])
    for mode in ("drop", "promise_in_bounds", None):
        np.testing.assert_array_equal(put(mode), [0, 2, 0])


def test_windows_are_dropped_whole():
    windows = ScatterDimensionNumbers((1,), (), (0,))
    x, updates = np.zeros(4, np.float32), np.ones((2, 3), np.float32)
    indices = np.array([[2], [0]], np.int32)
    out = both(lambda *xs: lax.scatter_add(*xs, windows), x, indices, updates)
    np.testing.assert_array_equal(out, [1, 1, 1, 0])


@pytest.mark.parametrize("width", [1, 3, 64])
def test_scatter_add_of_meeting_windows(width):
    """Small windows, and those large enough to be added one by one."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (5, width), np.int32)
    indices, updates = rng.integers(0, 5, (40, 1)), rng.integers(0, 9, (40, width), np.int32)
    want = x.copy()
    np.add.at(want, indices[:, 0], updates)
    dnums = ScatterDimensionNumbers((1,), (0,), (0,))
    np.testing.assert_array_equal(
        both(lambda *xs: lax.scatter_add(*xs, dnums), x, indices, updates), want
    )


def test_the_last_of_several_updates_remains():
    x, indices = np.zeros(2, np.float32), np.zeros((4, 1), np.int32)
    updates = np.arange(4, dtype=np.float32)
    out = both(lambda *xs: lax.scatter(*xs, ELEMENTS), x, indices, updates)
    np.testing.assert_array_equal(out, [3, 0])


@pytest.mark.parametrize("unique", [True, False])
def test_only_the_update_that_remains_has_a_derivative(unique):
    indices = array(np.array([[1], [2]] if unique else [[1], [1]], np.int32))
    x, updates = (LinearArg(array(np.zeros(n, np.float32)).aval) for n in (3, 2))

    def put(x, updates):
        return [lax.scatter(x, indices, updates, ELEMENTS, unique_indices=unique)]

    from_x, from_updates = transpose_flat(put, [x, updates], [array(np.float32([3, 4, 5]))])
    np.testing.assert_array_equal(to_numpy(from_x), [3, 0, 0] if unique else [3, 0, 5])
    np.testing.assert_array_equal(to_numpy(from_updates), [4, 5] if unique else [0, 4])


def test_what_was_filled_in_has_no_tangent():
    tangent = array(np.ones((3, 2), np.float32))
    _, (out,) = jvp_flat(
        lambda x: [rows(x, array(OUTSIDE), mode="fill", fill_value=7)], [array(X)], [tangent]
    )
    np.testing.assert_array_equal(to_numpy(out), [[0, 0], [1, 1], [0, 0]])


def test_scatter_max_shares_the_derivative_among_equals():
    x, updates = array(np.float32([2, 5])), array(np.float32([2, 2, 1]))
    indices = array(np.array([[0], [0], [1]], np.int32))
    _, (out,) = jvp_flat(
        lambda x, u: [lax.scatter_max(x, indices, u, ELEMENTS)],
        [x, updates],
        [array(np.float32([3, 1])), array(np.float32([6, 9, 1]))],
    )
    np.testing.assert_array_equal(to_numpy(out), [6, 1])


def test_scatter_mul_refuses_derivatives_where_updates_may_meet():
    indices, updates = array(np.zeros((1, 1), np.int32)), array(np.float32([2]))
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp_flat(
            lambda u: [lax.scatter_mul(array(np.ones(2, np.float32)), indices, u, ELEMENTS)],
            [updates],
            [updates],
        )


@pytest.mark.parametrize(
    ("call", "cls", "text"),
    [
        (lambda: rows(X, np.zeros((2, 1), np.float32)), errors.DTypeError, "must be integers"),
        (lambda: rows(X, np.zeros((2, 2), np.int32)), errors.ShapeError, "1 components"),
        (lambda: lax.gather(X, OUTSIDE, ROWS, (2, 2)), errors.ShapeError, "must have size 1"),
        (lambda: lax.gather(X, OUTSIDE, ROWS, (1, 3)), errors.ShapeError, "do not fit into"),
        (lambda: lax.gather(X, OUTSIDE, ROWS, (1,)), errors.ShapeError, "one entry per dimension"),
        (
            lambda: lax.gather(X, OUTSIDE, ROWS._replace(offset_dims=(0, 1)), (1, 2)),
            errors.ShapeError, "window dimensions (0, 1)",
        ),
        (
            lambda: lax.gather(X, OUTSIDE, ROWS._replace(start_index_map=(3,)), (1, 2)),
            errors.ShapeError, "do not name different dimensions",
        ),
        (
            lambda: lax.scatter(X[:, 0], OUTSIDE, np.zeros(2, np.float32), ELEMENTS),
            errors.ShapeError, "not one window for each",
        ),
        (
            lambda: lax.scatter(X[:, 0], OUTSIDE, np.zeros(3, np.int32), ELEMENTS),
            errors.DTypeError, "f32 and i32",
        ),
        (lambda: rows(X, OUTSIDE, mode="wrap"), ValueError, "no mode 'wrap'"),
    ],
)  # fmt: skip
def test_errors(call, cls, text):
    with pytest.raises(cls) as caught:
        call()
    assert text in str(caught.value)


def test_scatter_mul_is_not_linear_in_its_updates():
    updates = LinearArg(array(np.float32([2])).aval)
    x, indices = array(np.ones(2, np.float32)), array(np.zeros((1, 1), np.int32))
    with pytest.raises(errors.NotLinearError, match="scatter-mul"):
        transpose_flat(lambda u: [lax.scatter_mul(x, indices, u, ELEMENTS)], [updates], [x])


def test_index_take_is_modulo_the_size():
    out = both(lambda x, i: lax.index_take(x, (i, i), (0, 1)), X, np.array([-1, 0, 4], np.int32))
    np.testing.assert_array_equal(out, [X[2, 1], X[0, 0], X[1, 0]])


def test_scatter_apply():
    dnums = ScatterDimensionNumbers((1,), (0,), (0,))
    out = both(
        lambda x, i: lax.scatter_apply(x, i, lambda w: w, dnums, update_shape=(3, 2)), X, OUTSIDE
    )
    np.testing.assert_array_equal(out, X)


def test_scatter_add_prints_as_in_jax():
    jaxpr, _ = jaxpr_of(
        lambda x, i, u: lax.scatter_add(x, i, u, ELEMENTS),
        array(np.zeros(3, np.float32)),
        array(OUTSIDE),
        array(np.zeros(3, np.float32)),
    )
    text = str(jaxpr)
    assert "scatter-add[" in text
    assert "dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), inserted" in text
    assert "mode=GatherScatterMode.FILL_OR_DROP" in text
    assert "update_jaxpr={ lambda ; e:f32[] f:f32[]. let g:f32[] = add e f in (g,) }" in text
