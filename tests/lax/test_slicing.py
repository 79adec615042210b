"""Slices, padding, joining: what the laws over the op tables do not see."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import errors
from evertrace._src.arrays.array import from_host
from evertrace._src.core.aval import ShapedArray
from evertrace._src.dtypes import KeyType
from evertrace._src.lax import slicing as lax
from evertrace._src.lax.indexing import gather, scatter
from evertrace._src.lax.select import select_n
from evertrace._src.lax.shapes import broadcast_shapes
from evertrace._src.lax.structural import (
    broadcast_in_dim,
    collapse,
    expand_dims,
    reshape,
    rev,
    squeeze,
    transpose,
)
from evertrace._src.ops.dimension_numbers import GatherDimensionNumbers, ScatterDimensionNumbers
from tests.support.runtime import array, flat, jaxpr_of, run_compiled, to_numpy

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("call", "cls", "text"),
    [
        (lambda x: lax.slice(x, (0, 0), (3, 5)), errors.ShapeError, "no slice of shape (3, 4)"),
        (lambda x: lax.slice(x, (0,), (3,)), errors.ShapeError, "no slice"),
        (lambda x: lax.pad(x, 0.0, [(0, 0, -1), (0, 0, 0)]), errors.ShapeError, "padding_config"),
        (lambda x: lax.pad(x, 0.0, [(-4, 0, 0), (0, 0, 0)]), errors.ShapeError, "padding_config"),
        (lambda x: lax.pad(x, np.int32(0), [(0, 0, 0)] * 2), errors.DTypeError, "i32[] for f32"),
        (lambda x: lax.concatenate([x, x[:2]], 1), errors.ShapeError, "(3, 4), (2, 4)"),
        (lambda x: lax.concatenate([x, X.astype(np.int32)], 0), errors.DTypeError, "f32, i32"),
        (lambda x: lax.concatenate([x, x], 2), errors.AxisError, "dimension 2 is out of range"),
        (lambda x: lax.concatenate([], 0), ValueError, "at least one array"),
        (lambda x: lax.split(x, (1, 1), 0), errors.ShapeError, "do not add up to 3"),
        (lambda x: lax.tile(x, (2,)), errors.ShapeError, "reps (2,) do not fit"),
        (lambda x: lax.dynamic_slice(x, (0, 0), (4, 1)), errors.ShapeError, "does not fit"),
        (lambda x: lax.dynamic_slice(x, (0,), (1, 1)), errors.ShapeError, "2 dimensions"),
        (lambda x: lax.dynamic_slice(x, (0.5, 0), (1, 1)), errors.DTypeError, "integers"),
        (lambda x: lax.dynamic_update_slice(x, x[0], (0, 0)), errors.ShapeError, "does not fit"),
        (lambda x: lax.index_in_dim(x, 3), IndexError, "3 is out of range"),
        (lambda x: reshape(x, (5, 2)), errors.ShapeError, "size 12"),
        (lambda x: reshape(x, (-1, 2)), errors.ShapeError, "reshape"),
        (lambda x: transpose(x, (0, 0)), errors.AxisError, "not a permutation"),
        (lambda x: squeeze(x, (0,)), errors.ShapeError, "not all of size 1"),
        (lambda x: expand_dims(x, (0, 0)), errors.AxisError, "not all different"),
        (lambda x: collapse(x, 2, 1), ValueError, "no range"),
    ],
)
def test_errors_name_the_operation_and_the_shapes(call, cls, text):
    """`x` is a NumPy array, so that tests can index it."""
    with pytest.raises(cls) as caught:
        call(X)
    assert text in str(caught.value)
    assert "Fix:" in str(caught.value)


@pytest.mark.parametrize("start", [0, 1, -1, -3, 7, np.int64(-2)])
@pytest.mark.parametrize("allow", [True, False])
def test_static_traced_and_concrete_starts_agree(start, allow):
    def cut(x, i):
        return lax.dynamic_slice_in_dim(x, i, 2, 0, allow_negative_indices=allow)

    first = start + 3 if start < 0 and allow else start
    first = min(max(first, 0), 1)
    want = X[first : first + 2]
    np.testing.assert_array_equal(to_numpy(cut(X, start)), want)
    np.testing.assert_array_equal(to_numpy(cut(X, array(np.int32(start)))), want)
    (compiled,) = run_compiled(cut, array(X), array(np.int8(start)))
    np.testing.assert_array_equal(compiled, want)


def test_starts_may_be_a_vector():
    starts = array(np.array([1, -2], np.int32))
    want = X[1:3, 2:4]
    np.testing.assert_array_equal(to_numpy(lax.dynamic_slice(X, starts, (2, 2))), want)
    (compiled,) = run_compiled(lambda x, i: lax.dynamic_slice(x, i, (2, 2)), array(X), starts)
    np.testing.assert_array_equal(compiled, want)


def test_narrow_indices_reach_beyond_their_range():
    x = np.arange(300, dtype=np.int32)
    (out,) = run_compiled(lambda x, i: lax.dynamic_index_in_dim(x, i), array(x), array(np.int8(-1)))
    assert out == [299]


def test_starts_of_different_dtypes_go_together():
    out = run_compiled(
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (1, 1)),
        array(X),
        array(np.int8(2)),
        array(np.uint16(1)),
    )
    np.testing.assert_array_equal(out[0], [[9]])


def test_update_index_takes_updates_with_and_without_the_dimension():
    row = np.full(4, -1, np.float32)
    want = X.copy()
    want[2] = row
    for update in (row, row[None]):
        out = lax.dynamic_update_index_in_dim(X, update, -1, 0)
        np.testing.assert_array_equal(to_numpy(out), want)


def test_operands_are_never_written_to():
    x = array(X)
    lax.dynamic_update_slice(x, np.zeros((1, 1), np.float32), (0, 1))
    lax.pad(x, 0.0, [(-1, 0, 0), (0, 0, 0)])
    np.testing.assert_array_equal(to_numpy(x), X)


def test_dynamic_slice_prints_as_in_jax():
    jaxpr, _ = jaxpr_of(
        lambda x, i: lax.dynamic_slice(x, (i, -1), (2, 2)), array(X), array(np.int32(0))
    )
    assert str(jaxpr) == (
        "{ lambda ; a:f32[3,4] b:i32[]. let\n"
        "    c:bool[] = lt b 0:i32[]\n"
        "    d:i32[] = add b 3:i32[]\n"
        "    e:i32[] = select_n c b d\n"
        "    f:f32[2,2] = dynamic_slice[slice_sizes=(2, 2)] a e 3:i32[]\n"
        "  in (f,) }"
    )


def test_nothing_is_staged_where_nothing_happens():
    def identity(x):
        x = reshape(transpose(x, (0, 1)), (3, 4))
        return squeeze(expand_dims(lax.concatenate([x], 0), ()), ())

    jaxpr, _ = jaxpr_of(identity, array(X))
    assert not jaxpr.eqns


def test_broadcast_shapes():
    assert broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(errors.ShapeError, match="do not broadcast"):
        broadcast_shapes((2, 3), (2,))


PLACES = np.arange(12, dtype=np.int32).reshape(3, 4)
ROWS = np.array([[2], [0]], np.int32)
TWO = np.array(2, np.int32)
MASK = np.array([[True, False, True, False]] * 3)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: broadcast_in_dim(x, (2, 4, 3), (2, 1)),
        lambda x: reshape(x, (4, 3), (1, 0)),
        lambda x: transpose(x, (1, 0)),
        lambda x: squeeze(lax.slice(x, (0, 1), (1, 4), (1, 2)), (0,)),
        lambda x: expand_dims(x, (1,)),
        lambda x: rev(x, (1,)),
        lambda x: lax.concatenate([x, x], 1),
        lambda x: lax.split(x, (1, 2), 0),
        lambda x: lax.stack([x, x], 1),
        lambda x: lax.unstack(x, 1),
        lambda x: lax.tile(x, (2, 1)),
        lambda x: lax.dynamic_slice(x, (array(TWO), -2), (1, 2)),
        lambda x: lax.dynamic_update_slice(x, lax.slice(x, (0, 0), (1, 2)), (array(TWO), 1)),
        lambda x: select_n(MASK, x, rev(x, (0,))),
        lambda x: select_n(np.True_, x, rev(x, (0,))),
        lambda x: gather(x, ROWS, GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)),
        lambda x: scatter(
            x, ROWS, lax.slice(x, (1, 0), (3, 4)), ScatterDimensionNumbers((1,), (0,), (0,))
        ),
    ],
)
def test_keys_are_moved_as_numbers_are(fun):
    words = np.arange(24, dtype=np.uint32).reshape(12, 2)
    aval = ShapedArray(PLACES.shape, KeyType("threefry2x32"))
    keys = from_host(words.reshape(3, 4, 2), aval)
    eager = flat(fun)(keys)
    wants = [words[to_numpy(x)] for x in flat(fun)(array(PLACES))]
    for want, out, compiled in zip(wants, eager, run_compiled(fun, keys), strict=True):
        assert out.dtype == aval.dtype
        np.testing.assert_array_equal(to_numpy(out), want)
        np.testing.assert_array_equal(compiled, want)


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
def test_rows_of_an_array_are_joined_as_one(kind):
    rows = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(lax.concatenate(kind(rows), axis), np.concatenate(rows, axis))
        np.testing.assert_array_equal(lax.stack(kind(rows), axis), np.stack(rows, axis))
    # Found by hostile calls: a million rows are no million arrays.
    many = np.broadcast_to(np.float32(1), (2**20, 3))
    assert lax.concatenate(kind(many), 0).shape == (3 * 2**20,)
    assert lax.stack(kind(many), 1).shape == (3, 2**20)
    with pytest.raises(errors.AxisError, match="concatenate: dimension 0 is out of range"):
        lax.concatenate(kind(many[:, 0]), 0)
    with pytest.raises(ValueError, match="at least one array"):
        lax.stack(kind(many[:0]))
