"""What is computed from captured NumPy arrays alone: traced, and what NumPy would have."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as enp
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.prologue import Prologue
from evertrace._src.jit.lifting.standins import type_stand_in
from evertrace.errors import (
    TracerArrayConversionError,
    TracerBoolConversionError,
    UnexpectedTracerError,
)
from tests.jit.captured import MATRIX, VECTOR, Recorder, X, check

# ---------------------------------------------------------------- temporaries

NUMPY_RESULTS = {
    "h * 2": lambda h: h * 2,
    "2.5 - h": lambda h: 2.5 - h,
    "h * f64": lambda h: h * np.float64(2),
    "array + h": lambda h: np.arange(3) + h,
    "h > 1": lambda h: h > 1,
    "-h": lambda h: -h,
    "h // 2": lambda h: divmod(h, 2)[0],
    "h @ h": lambda h: h @ h,
    "sum": lambda h: h.sum(),
    "mean": lambda h: h.mean(axis=0),
    "argsort": lambda h: h.argsort(),
    "astype": lambda h: h.astype(np.int16),
    "copy": lambda h: h.copy(),
    "h[0]": lambda h: h[0],
    "h[[0, 2]]": lambda h: h[[0, 2]],
    "h[h > 1]": lambda h: h[h > 1],
    "h[i]": lambda h: h[h.argmin()],
    "h[ints]": lambda h: h[h.argsort()],
    "h[:n]": lambda h: h[: h.argmax() + 2] + 1,
    "repeat": lambda h: h.repeat(h.argsort()),
    "compress": lambda h: h.compress(h > 1),
    "list": lambda h: [1, 2, 3] - h,
    "chain": lambda h: ((h - h.mean()) / h.std()).clip(-1, 1).cumsum()[1:],
    "scalar": lambda h: abs(h.min() ** 2 - 7) * h.max(),
}


@pytest.mark.parametrize("name", NUMPY_RESULTS)
def test_what_numpy_computes_has_its_type_and_value(name):
    def fun(h):
        out = NUMPY_RESULTS[name](h)
        assert isinstance(out, type(wanted))
        np.testing.assert_array_equal(np.asarray(out), wanted, strict=True)
        return out

    wanted = NUMPY_RESULTS[name](VECTOR)
    recorder = Recorder(VECTOR.copy())
    found = recorder.run(fun)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert recorder.demands > 0


DECISIONS = {
    "if all": lambda h: 1 if (h > 0).all() else 2,
    "if sum": lambda h: 1 if h.sum() > 3 else 2,
    "if item": lambda h: 1 if h[0] == 3 else 2,
    "chained": lambda h: 1 if 0 < h[0] < 9 else 2,
    "int": lambda h: int(h[0]) + 1,
    "float": lambda h: float(h.mean()),
    "round": lambda h: (round(h.mean()), round(h.mean(), 1)),
    "range": lambda h: list(range(h.argmax() + 2)),
    "index": lambda h: "abc"[h.argmin()] * h.argmin(),
    "key": lambda h: {3: "three", 2: "two"}[h.astype(int)[0]],
    "text": lambda h: f"{h[0]:.2f} {h * 2}",
    "list": lambda h: (h + 1).tolist(),
    "sorted": lambda h: [float(x) for x in sorted(h * -1)],
    "in": lambda h: 1.0 in h * 1,
    "length": lambda h: len(h[h > 1]),
    "nonzero": lambda h: len((h > 1).nonzero()[0]),
    "scalar's own": lambda h: (h.max().is_integer(), h.astype(int).max().bit_count()),
    "numpy": lambda h: float(np.linalg.norm(h * 2)),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_value_that_is_asked_for_is_guarded(name):
    recorder = Recorder(VECTOR.copy())
    assert recorder.run(DECISIONS[name]) == DECISIONS[name](VECTOR)
    assert recorder.demands > 0


@pytest.mark.parametrize(
    "fun",
    [
        lambda h, x: h * 2 + x,
        lambda h, x: x[0] - h.mean(),
        lambda h, x: enp.where(h > 1, x, h.min()),
        lambda h, x: enp.stack([h * 2, x]),
        lambda h, x: ev.grad(lambda y: (y * (h + 1)).sum())(x),
        lambda h, x: ev.lax.scan(lambda c, _: (c + h * 2, None), x, None, length=2)[0],
    ],
)
def test_temporaries_are_traced_beside_arrays(fun):
    recorder = Recorder(VECTOR.copy())
    found = recorder.run(fun, X)
    np.testing.assert_allclose(found, fun(enp.asarray(VECTOR), enp.asarray(X)), rtol=1e-6)
    assert (recorder.demands, recorder.inputs) == (0, 1)


def test_temporaries_are_written_in_place():
    def fun(h):
        t = h * 2
        alias, rest = t, t[1:]
        t += 1
        t[0] = 9
        t -= h.mean()
        assert alias is t
        return rest + alias[0]

    check(fun, VECTOR)


def test_in_place_operators_give_way_to_arrays():
    def fun(h, x):
        before = h
        h += x
        assert h is not before
        return h

    recorder = Recorder(VECTOR.copy())
    np.testing.assert_array_equal(recorder.run(fun, X), VECTOR + X)
    np.testing.assert_array_equal(recorder.original, VECTOR)


def test_a_temporary_keeps_its_value_when_its_source_is_written():
    def fun(h):
        before = h * 2
        h[0] = 100
        after = h * 2
        assert before.sum() == 12
        return before + after

    check(fun, VECTOR, demands=1)


@pytest.mark.parametrize("ask", [lambda t: bool(t.any()), np.linalg.norm, lambda t: f"{t[0]:.2f}"])
def test_what_is_computed_from_a_written_array_is_not_known(ask):
    def fun(h):
        h[0] = 100
        return ask(h * 2)

    with pytest.raises((TracerBoolConversionError, TracerArrayConversionError, TypeError)):
        Recorder(VECTOR.copy()).run(fun)


def test_a_host_scalar_is_an_operand_and_guarded_when_asked_for():
    prologue = Prologue()
    n = prologue.leaf(2)
    prologue.as_input = lambda host: enp.asarray(host.present)

    def fun(h):
        t = n * h
        assert not prologue.freeze().steps
        assert t.max() == 6
        return t

    np.testing.assert_array_equal(Recorder(VECTOR.copy()).run(fun), VECTOR * 2)
    assert prologue.freeze().run([2]) is not None
    assert prologue.freeze().run([3]) is None


def test_the_range_of_a_host_scalar_is_guarded():
    prologue = Prologue()
    n = prologue.leaf(100)
    prologue.as_input = lambda host: enp.asarray(host.present)
    original = np.uint8([1, 2])
    np.testing.assert_array_equal(Recorder(original).run(lambda h: h + n), original + 100)
    assert prologue.freeze().run([255]) is not None
    assert prologue.freeze().run([256]) is None  # NumPy raises
    with pytest.raises(OverflowError):
        Recorder(original).run(lambda h: h + 256)


def test_a_row_by_a_traced_index_is_a_view():
    def fun(h, i):
        row = h[i]
        row += 1
        row *= row
        return h[i].sum()

    recorder = Recorder(MATRIX.copy())
    assert recorder.run(fun, np.int32(1)) == 16 + 25 + 36
    np.testing.assert_array_equal(recorder.original, [[0, 1, 2], [16, 25, 36]])


def test_large_arrays_are_not_computed_twice():
    def fun(h):
        t = h * 2
        assert t.original.dtype == (t @ t).original.dtype == np.float64
        assert isinstance(t.sum(), np.float64)
        assert isinstance(t.take(np.array([3, 5])), np.ndarray)
        assert t.argmax(axis=0).original.dtype == np.intp
        assert not t.original.any()
        h += t
        with pytest.raises(TracerArrayConversionError, match="it is large"):
            np.linalg.norm(t)
        return t[0, :2]

    recorder = Recorder(np.ones((400, 400)))
    np.testing.assert_array_equal(recorder.run(fun), [2, 2])
    np.testing.assert_array_equal(recorder.original, np.full((400, 400), 3.0), strict=True)


# ---------------------------------------------------------------- what is stored


@pytest.mark.parametrize("name", [n for n in NUMPY_RESULTS if n != "list"])
def test_a_temporary_is_rebuilt_as_numpy_has_it(name):
    def fun(h):
        make, base = NUMPY_RESULTS[name](h).rebuild()
        if isinstance(base, HostArray):  # of a view
            view, (make, base) = make, base.rebuild()
            kept.append(lambda x: view(make(x)))
        else:
            kept.append(make)
        return base

    kept, wanted = [], NUMPY_RESULTS[name](VECTOR)
    base = Recorder(VECTOR.copy()).run(fun)
    found = kept[0](enp.asarray(base))
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.ndim(found) == 0 or found.flags.writeable


@pytest.mark.parametrize(
    "take", [lambda h: h[1:], lambda h: h.T, lambda h: h[0, 1:], lambda h: h.reshape(3, 2)]
)
def test_a_stored_view_shares_memory(take):
    kept, recorder = [], Recorder(MATRIX.copy())

    def fun(h):
        view = take(h)
        while isinstance(view, HostArray) and view is not h:
            fn, view = view.rebuild()
            kept.append(fn)
        assert view is h

    recorder.run(fun)
    found = recorder.original
    for fn in reversed(kept):
        found = fn(found)
    assert np.shares_memory(found, recorder.original)
    np.testing.assert_array_equal(found, take(MATRIX), strict=True)


def test_a_stored_row_at_a_traced_index_is_taken_at_the_call():
    def fun(h, i):
        fn, base, hole = h[i].rebuild()
        assert base is h
        assert hole is i
        kept.append(fn)

    kept, recorder = [], Recorder(MATRIX.copy())
    recorder.run(fun, np.int32(1))
    found = kept[0](recorder.original, enp.int32(1))
    assert np.shares_memory(found, recorder.original)
    np.testing.assert_array_equal(found, MATRIX[1], strict=True)


# ---------------------------------------------------------------- scalars


def test_a_scalar_is_a_number_and_an_input():
    def fun(n, x):
        assert isinstance(n, np.int64)
        assert type_stand_in(n) is np.int64
        kept = n
        n += 1
        assert n is not kept
        assert isinstance(n, np.int64)
        return x * kept + n

    recorder = Recorder(np.int64(3))
    np.testing.assert_array_equal(recorder.run(fun, X), X * 3 + 4)
    assert (recorder.demands, recorder.inputs) == (0, 1)


def test_the_value_of_a_scalar_is_asked_for():
    def fun(n):
        assert [0] * n == [0, 0, 0]
        assert ["a", "b", "c", "d"][n] == "d"
        assert {3: "three"}[n] == "three"
        assert n in {1, 3}
        assert (list(range(n)), f"{n:02d}", round(n), hash(n)) == ([0, 1, 2], "03", 3, hash(3))
        assert np.zeros(n).shape == (3,)
        return "yes" if n > 2 and n % 2 else "no"

    recorder = Recorder(np.int64(3))
    assert recorder.run(fun) == "yes"
    assert recorder.demands > 0


def test_a_boolean_of_numpy_is_a_condition():
    for value in (np.True_, np.False_):
        recorder = Recorder(value)
        assert recorder.run(lambda on: "on" if on else "off") == ("on" if value else "off")
        assert recorder.demands > 0


def test_a_temporary_is_not_used_after_its_trace():
    kept = []
    Recorder(VECTOR.copy()).run(lambda h: kept.extend([h * 2, (h * 2)[1:]]))
    for leaked in kept:
        with pytest.raises(UnexpectedTracerError):
            enp.sin(leaked)
        with pytest.raises(UnexpectedTracerError):
            np.sum(leaked)
        assert repr(leaked).startswith("HostArray<f32[")
