"""Captured NumPy arrays are inputs to our operations, and guarded contents to NumPy's."""

import copy
import operator
import threading

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as enp
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.prologue import Prologue
from evertrace._src.jit.lifting.standins import type_stand_in
from evertrace.errors import (
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
)
from tests.jit.captured import MATRIX, VECTOR, Recorder, X, check

# ---------------------------------------------------------------- operands

OPERATIONS = {
    "h * 2": lambda h: h * 2.0,
    "2 - h": lambda h: 2 - h,
    "-h": lambda h: -h,
    "h ** 2": lambda h: h**2,
    "h @ h.T": lambda h: h @ h.T,
    "h < 2": lambda h: h < 2,
    "numpy * h": lambda h: np.float32([1, 2, 3]) * h,
    "h + h": lambda h: h + h,
    "sum": lambda h: h.sum(axis=0),
    "reshape": lambda h: h.reshape(-1),
    "astype": lambda h: h.astype(np.int32),
    "h[0]": lambda h: h[0],
    "h[...]": lambda h: h[...],
    "h[::-1]": lambda h: h[::-1],
    "h[None, 1:]": lambda h: h[None, 1:],
    "h[[1, 0]]": lambda h: h[[1, 0]] if h.ndim == 1 else h[np.array([1, 0])],
    "iteration": lambda h: sum(row * 2 for row in h),
    "reversed": lambda h: next(reversed(h)) * 1,
    "copy": lambda h: copy.copy(h),
    "shape": lambda h: h * h.shape[0] * len(h) * h.ndim * h.size,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("original", [VECTOR, MATRIX], ids=["vector", "matrix"])
def test_our_operations_take_it_as_an_input(name, original):
    if name == "h[[1, 0]]" and original.ndim == 1:
        original = original[:2]
        fun = lambda h: h[np.array([1, 0])]  # noqa: E731
    else:
        fun = OPERATIONS[name]
    recorder = check(fun, original)
    assert recorder.inputs == 1


@pytest.mark.parametrize(
    "fun",
    [
        lambda h, x: x * h,
        lambda h, x: h * x,
        lambda h, x: enp.sin(h) + x,
        lambda h, x: enp.asarray(h) + x,
        lambda h, x: enp.concatenate([h, x]),
        lambda h, x: enp.where(x > 15, h, x),
        lambda h, x: ev.grad(lambda y: (y * h).sum())(x),
        lambda h, x: ev.vmap(lambda y: y * h[0])(x),
    ],
)
def test_functions_of_arrays_take_it_as_an_input(fun):
    recorder = Recorder(VECTOR.copy())
    found = recorder.run(fun, X)
    np.testing.assert_array_equal(found, fun(enp.asarray(VECTOR), enp.asarray(X)))
    assert (recorder.demands, recorder.inputs) == (0, 1)


def test_it_is_an_index():
    recorder = Recorder(np.array([2, 0]))
    np.testing.assert_array_equal(recorder.run(lambda h, x: x[h], X), X[[2, 0]])
    assert recorder.demands == 0


def test_its_type_is_that_of_the_array():
    def fun(h):
        assert isinstance(h, np.ndarray)
        assert not isinstance(h, ev.Array)
        assert not isinstance(h, Tracer)
        assert type_stand_in(h) is np.ndarray
        assert (h.shape, h.dtype, h.weak_type) == ((3,), np.float64, False)
        assert aval_of(h) is h.aval
        return h

    Recorder(np.float64([1, 2, 3])).run(fun)


@pytest.mark.parametrize(
    "is_above", [lambda h, x: (h * x).sum() > 2, lambda h, x: x[0] > 2, lambda h, x: h[x > 15] > 2]
)
def test_a_condition_with_an_array_is_the_usual_error(is_above):
    with pytest.raises((TracerBoolConversionError, NonConcreteBooleanIndexError)):
        Recorder(VECTOR.copy()).run(lambda h, x: 1 if is_above(h, x) else 2, X)


def test_indices_out_of_bounds_are_numpy_errors():
    for index in 5, (0, 0), [7]:
        with pytest.raises(IndexError):
            Recorder(VECTOR.copy()).run(operator.itemgetter(index))


# ---------------------------------------------------------------- contents


@pytest.mark.parametrize(
    "fun",
    [
        np.sum, np.sin, np.argmax, np.asarray, np.array, np.median,
        lambda h: np.concatenate([h, [1.0]]),
        lambda h: np.maximum(h, 1),
        lambda h: np.add.reduce(h),
        lambda h: np.interp(1.5, [1, 2, 3], h),
        lambda h: h.tolist(),
        lambda h: h.tobytes(),
        lambda h: 3.0 in h,
        lambda h: repr(h) + str(h) + f"{h}",
        lambda h: np.array([1, 2, 3])[h.argsort() * 0 if h is None else np.argsort(h)],
    ],
)  # fmt: skip
def test_numpy_sees_the_contents_and_they_are_guarded(fun):
    recorder = Recorder(VECTOR.copy())
    found = recorder.run(fun)
    np.testing.assert_array_equal(found, fun(VECTOR), strict=not isinstance(found, str | bytes))
    assert recorder.demands > 0


def test_numbers_of_one_element_are_contents():
    def fun(h):
        assert (int(h), float(h), bool(h), h.item(), complex(h)) == (3, 3.0, True, 3, 3 + 0j)
        assert range(9)[h] == 3
        return f"{h:03d}"

    assert Recorder(np.array(3)).run(fun) == "003"


@pytest.mark.parametrize("fun", [np.shape, np.ndim, np.size, np.zeros_like, np.result_type])
def test_the_type_alone_is_no_content(fun):
    recorder = Recorder(VECTOR.astype(float))
    np.testing.assert_array_equal(recorder.run(fun), fun(VECTOR.astype(float)))
    assert recorder.demands == 0


def test_numpy_cannot_write_to_the_contents():
    with pytest.raises(ValueError, match="read-only"):
        Recorder(MATRIX.copy()).run(lambda h: operator.setitem(np.asarray(h), 0, 5))


def test_a_copy_of_numpy_belongs_to_the_caller():
    def fun(h):
        mine = np.array(h)
        mine[0] = 7
        h[1] = 9
        return mine

    recorder = check(fun, VECTOR, demands=1)
    np.testing.assert_array_equal(recorder.original, [3, 9, 2])


# ---------------------------------------------------------------- writes


def do(*names):
    """Return a function that calls methods of the array, with results left out."""
    return lambda h: [getattr(h, name)(*args) for name, *args in names] and None


def augmented(fn, value):
    def fun(h):
        before = h
        h = fn(h, value)
        assert h is before

    return fun


def loop(h):
    for i in range(1, len(h)):
        h[i] = h[i] + h[i - 1] * 2
    return h[-1]


def accumulate(h):
    h[1:] += 1
    h[0] *= 3
    h[::2] -= h[1]
    return h * 1


def through_views(h):
    rest, flat = h[1:], h.reshape(-1)
    h[1] = 50.0
    return rest.sum() + flat[1] * 2


def while_iterating(h):
    total = 0.0
    for i, x in enumerate(h):
        h[-1] = 7.0
        total = total + x * (i + 1)
    return total


WRITES = {
    "item": lambda h: operator.setitem(h, 0, 5.0),
    "negative item": lambda h: operator.setitem(h, -1, 5),
    "slice": lambda h: operator.setitem(h, slice(1, None), [7, 8]),
    "all": lambda h: operator.setitem(h, ..., h * 2),
    "leading ones": lambda h: operator.setitem(h, slice(0, 1), np.float32([[4]])),
    "mask": lambda h: operator.setitem(h, h > 1.5, 0.0),
    "indices": lambda h: operator.setitem(h, np.array([0, 2]), [8, 9]),
    "fill": do(["fill", 3]),
    "sort": do(["sort"]),
    "put": do(["put", [0, -1], [5, 6]]),
    "put wrapped": do(["put", [4, 7, 0], [5.5], "wrap"]),
    "partition": do(["partition", 1]),
    "+=": augmented(operator.iadd, 1),
    "-=": augmented(operator.isub, 0.5),
    "*=": augmented(operator.imul, np.float32([1, 2, 3])),
    "/=": augmented(operator.itruediv, 2),
    "**=": augmented(operator.ipow, 2),
    "//=": augmented(operator.ifloordiv, 2),
    "%=": augmented(operator.imod, 2),
    "loop": loop,
    "accumulate": accumulate,
    "views": through_views,
    "iterating": while_iterating,
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_reach_the_original(name):
    check(WRITES[name], VECTOR)


def test_integers_are_written_as_numpy_does():
    check(lambda h: operator.setitem(h, 0, 2.7), np.int32([1, 2]))
    check(lambda h: operator.setitem(h, slice(None), np.float32([1.5, -1.5])), np.int32([1, 2]))
    check(augmented(operator.iadd, np.int64(3)), np.int8([1, 2]))
    check(augmented(operator.ior, 4), np.int32([1, 2]))
    check(augmented(operator.ilshift, 1), np.int32([1, 2]))


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (augmented(operator.iadd, 0.5), TypeError),
        (augmented(operator.itruediv, 2), TypeError),
        (augmented(operator.iadd, np.int32([[1, 2], [3, 4]])), ValueError),
        (lambda h: operator.setitem(h, 5, 0), IndexError),
        (lambda h: operator.setitem(h, slice(0, 1), [1, 2]), ValueError),
        (lambda h: operator.setitem(h, 0, 2**40), OverflowError),
        (lambda h: operator.setitem(h, 0, 1j), TypeError),
        (lambda h: h.put([5], 1), IndexError),
    ],
)
def test_writes_fail_where_numpy_fails(write, error):
    plain, recorder = np.int32([1, 2]), Recorder(np.int32([1, 2]))
    with pytest.raises(error):
        write(plain)
    with pytest.raises(error):
        recorder.run(write)
    np.testing.assert_array_equal(recorder.original, [1, 2])


def test_a_host_scalar_is_written_and_its_range_demanded():
    prologue = Prologue()
    n = prologue.leaf(100)
    prologue.as_input = lambda host: enp.asarray(host.present)
    recorder = Recorder(np.int8([1, 2]))
    recorder.run(lambda h: operator.setitem(h, 0, n))
    np.testing.assert_array_equal(recorder.original, [100, 2])
    assert prologue.freeze().run([-128]) is not None
    assert prologue.freeze().run([128]) is None


def test_arrays_that_are_read_only_stay_so():
    original = VECTOR.copy()
    original.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        Recorder(original).run(WRITES["item"])


VIEWS = {
    "slice": lambda h: h[1:],
    "transposed": lambda h: h.T,
    "slice of a slice": lambda h: h[1:][:1],
    "reshaped": lambda h: h.reshape(-1),
    "new axis": lambda h: h[None],
    "reversed and transposed": lambda h: h[::-1].T,
}


@pytest.mark.parametrize("take", VIEWS.values(), ids=VIEWS)
def test_views_are_written_to(take):
    check(lambda h: operator.setitem(take(h), 0, 9.0), MATRIX)
    check(lambda h: operator.iadd(take(h), 1.0), MATRIX)


def test_a_view_of_another_dtype_cannot_be_written_to():
    with pytest.raises(TypeError, match="view of another dtype") as caught:
        Recorder(VECTOR.copy()).run(lambda h: operator.setitem(h.view(np.int32), 0, 1))
    assert ".at[i].set(v)" in str(caught.value)


def test_the_contents_of_a_written_array_are_not_known():
    def fun(h):
        h[0] = 1.0
        return np.linalg.norm(h)

    with pytest.raises(TracerArrayConversionError, match="was written to") as caught:
        Recorder(VECTOR.copy()).run(fun)
    assert "evertrace.numpy" in str(caught.value)


def test_contents_may_be_read_before_a_write():
    def fun(h):
        scale = float(np.sum(h))
        h[0] = scale
        return h * scale

    check(fun, VECTOR, demands=1)


def test_a_write_is_refused_while_numpy_holds_the_contents():
    def fun(h):
        seen = np.asarray(h)[1:]
        h[1] = 1.0
        return seen[0]

    with pytest.raises(TypeError, match="is in use"):
        Recorder(VECTOR.copy()).run(fun)


@pytest.mark.parametrize("use", [lambda h: h.strides, lambda h: h.flags, lambda h: h.resize(2)])
def test_what_depends_on_the_memory_is_refused(use):
    with pytest.raises(TypeError, match="not available of a NumPy array"):
        Recorder(VECTOR.copy()).run(use)


def test_unknown_attributes_are_absent():
    def fun(h):
        assert not hasattr(h, "colour")
        assert not hasattr(h, "__array_interface__")

    Recorder(VECTOR.copy()).run(fun)


# ---------------------------------------------------------------- outside of the trace


def check_plain(host, original):
    assert type(host * 2) is np.ndarray
    assert type(2 * host) is np.ndarray
    assert type(host.sum()) is type(original.sum())
    assert float(host[0]) == original[0]
    assert host.strides == original.strides
    np.testing.assert_array_equal(np.asarray(host), original)
    np.testing.assert_array_equal(np.cumsum(host), np.cumsum(original))
    np.testing.assert_array_equal(enp.sin(host), enp.sin(original))
    assert np.shares_memory(np.asarray(host), original)
    assert host.dtype == original.dtype
    np.copyto(host, 2)
    host[0] = 5
    host += 1
    assert host is original
    assert original[0] == 6


def test_after_its_trace_it_is_the_original_array():
    recorder = Recorder(VECTOR.astype(np.float64))
    recorder.run(lambda h: h * 2)
    check_plain(recorder.host, recorder.original)
    assert recorder.demands == 0


def test_on_another_thread_it_is_the_original_array():
    recorder, failures = Recorder(VECTOR.copy()), []

    def elsewhere(h):
        try:
            check_plain(h, recorder.original)
        except BaseException as error:
            failures.append(error)

    def fun(h):
        thread = threading.Thread(target=elsewhere, args=(h,))
        thread.start()
        thread.join()
        return h * 2

    recorder.run(fun)
    assert failures == []
    assert recorder.demands == 0
