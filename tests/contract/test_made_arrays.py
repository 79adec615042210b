"""Arrays that a call has made: each call has its own, whatever the program knows beforehand."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X

pytestmark = pytest.mark.engine

MADE = {
    "zeros": lambda: jnp.zeros(3),
    "array": lambda: jnp.array([1.0, 2.0]),
    "asarray": lambda: jnp.asarray(2.0),
    "of NumPy": lambda: jnp.asarray(np.arange(3.0)),
    "a number": lambda: 3,
    "a scalar of NumPy": lambda: np.float32(3),
    "an array of NumPy": lambda: np.arange(3.0, dtype=np.float32),
    "a key": lambda: ev.random.key(0),
    "in a tuple": lambda: (jnp.array([1.0, 2.0]), 3),
    "in a list": lambda: [1, [2.0, jnp.array(True)]],
}


@pytest.mark.parametrize("what", MADE)
def test_array_that_is_the_same_in_all_calls_is_made_by_each(what):
    f = ev.jit(lambda x: MADE[what]())
    first, second = ev.tree.leaves(f(X)), ev.tree.leaves(f(X))
    assert not any(a is b for a, b in zip(first, second, strict=True))
    before = [str(x) for x in second]
    for x in first:
        if isinstance(x, np.ndarray):
            x[...] = 7
        else:
            x.delete()
    assert [str(x) for x in second] == before
    assert [str(x) for x in ev.tree.leaves(f(X))] == before
    assert f.cache_info().misses == 1


def test_array_that_is_stored_is_made_by_each_call_and_is_one_within_it():
    s = Record(kept=None, others=None)

    def f(x):
        made = jnp.array([1.0, 2.0])
        s.kept, s.others = made, [made, jnp.asarray(3)]
        return made, made

    f = ev.jit(f)
    for _ in range(2):
        before = s.kept
        first, second = f(X)
        assert first is second is s.kept is s.others[0]
        assert s.kept is not before
        s.others[1].delete()
    f(X)
    assert s.others[1].tolist() == 3


def test_array_that_was_there_before_is_that_array():
    kept = jnp.array([1.0, 2.0])
    s = Record(kept=kept, table={"a": kept})
    f = ev.jit(lambda x: (kept, s.kept, s.table["a"], x))
    for _ in range(2):
        out = f(X)
        assert all(x is kept for x in out[:3])
        assert out[3] is X


@pytest.mark.parametrize(
    "number",
    [
        *(0, 1, -1, 2**31 - 1, -(2**31), 0.0, -0.0, 1.5, 1e-42, -1e-60, 3.4e38),
        *(-np.inf, np.nan, 2j, complex(1e-60, 1e30), True, False),
    ],
)
def test_number_of_any_size_that_is_returned_is_the_array_of_it(number):
    s = Record(n=number)
    f = ev.jit(lambda x: (x, s.n))
    with np.errstate(all="ignore"):
        expected = np.asarray(jnp.asarray(number))
    with np.errstate(all="raise"):
        for _ in range(2):
            out = f(X)[1]
            assert out.dtype == expected.dtype
            assert out.weak_type == (type(number) is not bool)
            assert np.asarray(out).tobytes() == expected.tobytes()


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 10**30, 3.5e38, -1e300, 1e60j])
def test_number_that_no_dtype_holds_is_returned_as_it_is(number):
    s = Record(n=number)
    for f in (ev.jit(lambda x: (x, s.n)), ev.jit(lambda x: (x, number * 1))):
        out = f(X)[1]
        assert type(out) is type(number)
        assert out == number
