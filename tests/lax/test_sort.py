"""Sorting: what the laws over the op tables do not see."""

import numpy as np
import pytest

from evertrace import errors
from evertrace._src.lax import sort as lax
from evertrace._src.transforms.linearize import tape_flat
from evertrace._src.transforms.transpose import pull
from tests.support.runtime import array, flat, run_compiled, to_numpy

SPECIAL = np.float32([0.0, -0.0, np.nan, -np.inf, 1.0, -np.nan, np.inf, -0.0, 1e-45, -1e-45])


def both(fun, *args):
    """Return the results of the host engine, having checked that XLA's have the same bits."""
    args = list(map(array, args))
    eager = [to_numpy(x) for x in flat(fun)(*args)]
    for x, y in zip(eager, run_compiled(fun, *args), strict=True):
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()
    return eager


def test_a_single_array_is_in_total_order():
    (out,) = both(lax.sort, SPECIAL)
    np.testing.assert_array_equal(out[:-2], np.sort(SPECIAL)[:-2])
    np.testing.assert_array_equal(np.signbit(out[2:6]), [True, True, False, False])
    assert np.isnan(out[-2:]).all()


def test_zeros_and_nans_are_equal_as_keys():
    keys, order = both(
        lambda x, i: lax.sort_key_val(x, i), SPECIAL, np.arange(len(SPECIAL), dtype=np.int32)
    )
    np.testing.assert_array_equal(order, [3, 9, 0, 1, 7, 8, 4, 6, 2, 5])
    assert keys.tobytes() == SPECIAL[order].tobytes()


def test_many_equal_keys_keep_their_order():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 5, 1000).astype(np.float32)
    _, order = both(lambda x, i: lax.sort((x, i)), keys, np.arange(1000, dtype=np.int32))
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64", "float64"])
@pytest.mark.parametrize("size", [2047, 2048, 100_000])
@pytest.mark.parametrize("spread", [0, 5, 1e6])
def test_few_and_many_keys_with_any_digits_in_common(dtype, size, spread):
    """Few keys are compared, many sorted by digits, except where all keys have the same."""
    rng = np.random.default_rng(size)
    x = (spread * rng.standard_normal((2, size))).astype(np.int64).astype(dtype)
    keys, places = both(lambda x, i: lax.sort((x, i)), x, np.broadcast_to(np.arange(size), x.shape))
    np.testing.assert_array_equal(places, np.argsort(x, axis=-1, kind="stable"))
    np.testing.assert_array_equal(keys, np.sort(x, axis=-1))
    np.testing.assert_array_equal(both(lax.sort, x)[0], keys)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint32", "int64", "float16"])
@pytest.mark.parametrize("k", [0, 1, 7, 200])
def test_top_k_of_many_equal_elements(dtype, k):
    x = np.random.default_rng(0).integers(0, 9, 200).astype(dtype)
    values, order = both(lambda x: lax.top_k(x, k), x)
    want = np.argsort(-x.astype(np.float64), kind="stable")[:k]
    np.testing.assert_array_equal(order, want)
    np.testing.assert_array_equal(values, x[want])
    assert order.dtype == np.int32


def test_top_k_puts_nan_first_and_zeros_in_order():
    values, order = both(lambda x: lax.top_k(x, 5), np.float32([-0.0, 0.0, np.nan, 1, -0.0]))
    np.testing.assert_array_equal(order, [2, 3, 1, 0, 4])
    assert np.isnan(values[0])


def test_approximate_search_is_exact():
    x = np.float32([[3, 1, 2], [0, 5, -4]])
    np.testing.assert_array_equal(both(lambda x: lax.approx_max_k(x, 2), x)[0], [[3, 2], [5, 0]])
    np.testing.assert_array_equal(both(lambda x: lax.approx_min_k(x, 2), x)[0], [[1, 2], [-4, 0]])


@pytest.mark.parametrize("dtype", ["int4", "int8", "int32", "uint8", "bool"])
def test_the_least_are_found_where_the_lowest_has_no_negative(dtype):
    x = np.array([3, 1, 0, 2]).astype(dtype)
    if np.issubdtype(dtype, np.signedinteger):
        x[1] = np.iinfo(dtype).min
    values, order = both(lambda x: lax.approx_min_k(x, 2), x)
    np.testing.assert_array_equal(values, np.sort(x)[:2])
    np.testing.assert_array_equal(x[order], values)


def test_sort_is_done_once_when_differentiated():
    x = array(np.float32([3, 1, 2]))
    tape, (node,), ((out, out_node),) = tape_flat(lambda x: [lax.sort(x)], [x], [True])
    assert [entry.prim.name for entry in tape.entries] == ["gather"]
    np.testing.assert_array_equal(to_numpy(out), [1, 2, 3])
    (ct,) = pull(tape.entries, [out_node], [array(np.float32([10, 20, 30]))], [node])
    np.testing.assert_array_equal(to_numpy(ct), [30, 10, 20])


@pytest.mark.parametrize(
    ("call", "cls", "text"),
    [
        (lambda: lax.sort(SPECIAL, 1), errors.AxisError, "out of range"),
        (lambda: lax.sort((SPECIAL, SPECIAL[1:])), errors.ShapeError, "(10,), (9,)"),
        (lambda: lax.sort((SPECIAL,), num_keys=2), ValueError, "num_keys"),
        (lambda: lax.sort(()), ValueError, "at least one operand"),
        (lambda: lax.top_k(SPECIAL, 11), errors.ShapeError, "from 0 to 10"),
        (lambda: lax.top_k(SPECIAL.astype(np.complex64), 1), errors.DTypeError, "complex64|c64"),
    ],
)
def test_errors(call, cls, text):
    with pytest.raises(cls) as caught:
        call()
    assert any(part in str(caught.value) for part in text.split("|"))
