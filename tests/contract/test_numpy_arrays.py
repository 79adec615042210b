"""NumPy arrays: read anew at each call, written in place, or refused with the reason."""

import hashlib
import io
import operator

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case
from tests.support.runtime import lends_buffers

pytestmark = pytest.mark.engine


def table():
    """Return an array of the user's."""
    return np.arange(3, dtype=np.float32)


@case(traces=1)
def test_captured_array_is_read_anew(jit):
    a = table()
    f = jit(lambda x: x + a)
    yield f(X), a
    a[0] = 10
    yield f(X), a
    a += 1
    yield f(X), a


@case(traces=1)
def test_attribute_is_replaced(jit):
    s = Record(a=table())
    f = jit(lambda x: x * s.a + s.a.sum())
    for s.a in (table(), table() + 1, np.ones(3, np.float32)):
        yield f(X), s


@case(traces=3)
def test_shape_and_dtype_are_guarded(jit):
    s = Record(a=table())
    f = jit(lambda x: x * s.a)
    for s.a in (table(), table()[:1], table().astype(np.int32), table()):
        yield f(X)


@case(traces=1)
def test_shape_dtype_and_length_are_static(jit):
    s = Record(a=np.zeros((2, 3), np.float32))
    f = jit(lambda x: x * len(s.a) + s.a.shape[1] + s.a.ndim + s.a.size * (s.a.dtype == np.float32))
    yield f(X)
    s.a[0] = 5
    yield f(X)


@case(at_most=2)
def test_numpy_function_guards_the_contents(jit):
    a = table()
    f = jit(lambda x: x * float(np.sum(a)) + np.prod(a.shape))
    yield f(X)
    a[0] = 7
    yield f(X)
    a[0] = 0
    yield f(X)


@case(traces=1)
def test_numpy_function_of_static_things(jit):
    f = jit(lambda x: x.reshape((int(np.prod(x.shape)), 1)) * np.float32(np.pi))
    yield f(X), f(X + 1)


@case(traces=1)
def test_written_in_place(jit):
    a = table()

    def step(x):
        a[0] = x.sum()
        a[1:] = x[1:] * 2
        return x + a

    step = jit(step)
    alias = a
    for k in range(3):
        yield step(X + k), a, alias is a
    a[:] = 0
    yield step(X), a


@case(traces=1)
def test_changed_by_in_place_operators(jit):
    s = Record(a=table(), b=table() + 1, k=3)

    def step(x):
        s.a += s.k
        s.a *= s.b
        return s.a - x

    step = jit(step)
    a = s.a
    for _ in range(3):
        yield step(X), s, s.a is a


@case(traces=2)
def test_in_place_operator_with_an_array_gives_a_new_array(jit):
    s = Record(a=table())

    def step(x):
        s.a += x
        return s.a - 1

    step = jit(step)
    a = s.a
    for _ in range(3):
        yield step(X), s, a


@case(traces=1)
def test_filled_inside(jit):
    s = Record(a=table(), n=0)

    def step(x):
        s.n += 1
        s.a.fill(s.n)
        return x * s.a

    step = jit(step)
    for _ in range(2):
        yield step(X), s


@case(traces=1)
def test_array_argument_is_written_to(jit):
    @jit
    def step(a, x):
        a[0] = 5.0
        a[1] = x[0]
        return a.sum()

    for a in (table(), table() + 1):
        yield step(a, X), a


@case(traces=2)
def test_written_array_seen_by_two_names(jit):
    a = table()
    s = Record(a=a, b=a)

    def step(x):
        s.a[0] = s.a[0] + 1
        return x * s.b

    step = jit(step)
    for _ in range(2):
        yield step(X), s
    s.b = table()
    yield step(X), s


@case(traces=1)
def test_array_is_stored_elsewhere(jit):
    a = table()
    s = Record(kept=None)

    def step(x):
        s.kept = a
        return x

    step = jit(step)
    step(X)
    yield s, s.kept is a


@case(traces=1)
def test_array_argument_is_kept_as_it_is(jit):
    s = Record(kept=None)

    @jit
    def step(a):
        s.kept = a
        return a * 2

    for a in (table(), table() + 1):
        yield step(a), s, s.kept is a


@case(traces=1)
def test_numpy_scalars_in_state(jit):
    s = Record(k=np.float32(2), n=np.int32(1))
    f = jit(lambda x: x * s.k + s.n)
    for s.k, s.n in ((np.float32(2), np.int32(1)), (np.float32(3), np.int32(4))):
        yield f(X), s


@case(at_most=2)
def test_array_of_strings_is_guarded(jit):
    s = Record(names=np.array(["a", "b"]))
    f = jit(lambda x: x * len(s.names[0]))
    yield f(X)
    s.names[0] = "c"
    yield f(X)


@case(at_most=2)
def test_array_of_bools_selects(jit):
    mask = np.array([True, False, True])
    f = jit(lambda x: jnp.where(mask, x, 0.0))
    yield f(X)
    mask[1] = True
    yield f(X)


@case(at_most=2)
def test_array_of_bools_as_an_index(jit):
    mask = np.array([True, False, True])
    f = jit(lambda x: x[np.flatnonzero(mask)])
    yield f(X)
    mask[1] = True
    yield f(X)


@case(traces=1)
def test_write_through_a_view(jit):
    a = table()

    def step(x):
        view = a[1:]
        view[0] = 5.0
        return x + a

    step = jit(step)
    for _ in range(2):
        yield step(X), a
        a[:] = 0


@case(traces=1)
def test_default_rng_is_used_outside(jit):
    rng = np.random.default_rng(0)
    f = jit(lambda x: x * 2)
    yield f(rng.standard_normal(3)), f(rng.standard_normal(3))


def test_array_written_inside_cannot_be_seen_by_numpy_in_the_same_call():
    a = table()

    def step(x):
        a[0] = x.sum()
        return x * np.linalg.norm(a)

    with pytest.raises(ev.errors.TracerArrayConversionError):
        ev.jit(step)(X)
    assert a.tolist() == [0, 1, 2]


def test_large_array_that_numpy_asks_for_is_an_error():
    a = np.zeros(10**7, np.float32)
    with pytest.raises(Exception, match=r"sum|bytes|NumPy|large"):
        ev.jit(lambda x: x * float(np.sum(a)))(X)


@case(at_most=3)
def test_array_is_compared_with_what_numpy_does_not_know(jit):
    class Key:
        pass

    a, key = np.ones(2, np.float32), Key()

    def step(x):
        for ask in (operator.eq, operator.ne, operator.lt):
            try:
                told = bool(ask(a, key))
            except (TypeError, ValueError) as error:
                told = str(error)
            s.told.append(told)
        return x

    s = Record(told=[])
    step = jit(step)
    yield step(X), s.told
    a[0] = 2.0
    yield step(X), s.told


WRITE = {
    "copyto": np.copyto,
    "putmask": lambda a, v: np.putmask(a, [True, False], v),
    "fill": lambda a, v: a.fill(v),
    "put": lambda a, v: np.put(a, [0], v),
}
WRITTEN = {
    repr(v): v
    for v in (
        1.5, 1, 2**40, True, 1j, np.float64(1.5), np.float32(1), np.int64(3), np.arange(2.0),
        np.arange(2),
    )
}  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("write", WRITE)
def test_what_numpy_casts_where_it_writes(write, written):
    """Each function has rules of its own, of Python's numbers, NumPy's and arrays."""
    write, value = WRITE[write], WRITTEN[written]

    def computed(a, v):
        write(a, v * 1 if type(v) in (int, float, complex) else v)

    for dtype in ("i8", "i1", "u1", "f4", "b1", "c8"):
        plain, told = np.zeros(2, dtype), None
        try:
            write(plain, value)
        except (TypeError, ValueError, OverflowError) as error:
            told = error
        for f in (write, computed):
            made, step = np.zeros(2, dtype), ev.jit(lambda a, v, f=f: f(a, v))
            if told is None:
                step(made, value)
            else:
                with pytest.raises(type(told)):
                    step(made, value)
            np.testing.assert_array_equal(made, plain)


BYTES = {
    "a hash": lambda a: hashlib.md5(a, usedforsecurity=False).hexdigest(),
    "a view of the bytes": lambda a: memoryview(a).nbytes,
    "of a scalar": lambda a: bytes(a[0]),
    "bytes that are joined": lambda a: b"".join([a, a]),
}


@lends_buffers
@pytest.mark.parametrize("what", BYTES)
def test_bytes_of_an_array_are_guarded_by_the_contents(what):
    @case(at_most=3)
    def program(jit):
        f = jit(lambda x, a: (x, BYTES[what](a)))
        for a in (np.arange(3.0), np.arange(3.0), np.ones(3), np.arange(3)):
            yield f(X, a)

    program()


@lends_buffers
@case(at_most=2)
def test_memory_of_an_array_is_that_of_plain_python_before_and_after_writes(jit):
    def f(x, a):
        a[0] = 7
        before = hashlib.md5(a, usedforsecurity=False).hexdigest()
        io.BytesIO(b"\0" * 8).readinto(a)
        return x, before

    f = jit(f)
    for n in (3, 4):
        a = np.arange(n, dtype=np.float64)
        yield f(X, a), a


@lends_buffers
@case(at_most=2)
def test_memory_that_a_handler_would_do_without_is_lent(jit):
    def f(x, a):
        try:
            return x, memoryview(a).nbytes + 0
        except TypeError:
            return x, 0

    f = jit(f)
    yield f(X, np.ones(3)), f(X, np.ones(4))
