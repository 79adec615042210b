"""Threads and lifetimes: nothing is kept alive, and a trace is invisible from other threads."""

import copy
import functools
import gc
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine


class Model:
    """A counter and a weight; a class of the module, so that it can be pickled."""

    def __init__(self, k=2.0):
        self.k, self.n, self.w = k, 0, jnp.ones(3)

    def step(self, x):
        self.n += 1
        self.w = self.w + x * self.k
        return self.w

    @ev.jit
    def decorated(self, x):
        self.n += 1
        return x * self.k


def is_gone(ref):
    """Whether what a weak reference meant is gone, after a collection at the latest."""
    if ref() is not None:
        gc.collect()
    return ref() is None


# ------------------------------------------------------------------------------- lifetime


def test_object_dies_after_a_decorated_call():
    m = Model()
    m.decorated(X)
    m.decorated(X)
    ref = weakref.ref(m)
    del m
    assert is_gone(ref)


def test_object_dies_with_its_jitted_method():
    m = Model()
    step = ev.jit(m.step)
    step(X)
    step(X)
    ref = weakref.ref(m)
    del m, step
    assert is_gone(ref)


def test_argument_dies_while_the_function_lives():
    f = ev.jit(lambda m, x: m.step(x))
    m = Model()
    f(m, X)
    f(m, X)
    ref = weakref.ref(m)
    del m
    assert is_gone(ref)
    assert f(Model(), X).shape == (3,)


def test_captured_object_dies_when_it_is_replaced():
    s = Record(inner=Record(k=2.0))
    f = ev.jit(lambda x: x * s.inner.k)
    f(X)
    ref = weakref.ref(s.inner)
    s.inner = Record(k=3.0)
    assert is_gone(ref)
    assert f(X).tolist() == (X * 3).tolist()


def test_captured_array_dies_when_it_is_replaced():
    s = Record(w=jnp.ones(3))
    f = ev.jit(lambda x: x * s.w)
    f(X)
    ref = weakref.ref(s.w)
    s.w = jnp.zeros(3)
    assert is_gone(ref)


def test_captured_numpy_array_dies_when_it_is_replaced():
    s = Record(w=np.ones(3, np.float32))
    f = ev.jit(lambda x: x * s.w)
    f(X)
    ref = weakref.ref(s.w)
    s.w = np.zeros(3, np.float32)
    f(X)  # the engine lets go of what it has read from when it runs again
    assert is_gone(ref)


def test_object_compared_by_identity_dies():
    s = Record(now=Record())
    f = ev.jit(lambda x: x + 1 if s.now is s.best else x)
    s.best = s.now
    f(X)
    ref = weakref.ref(s.now)
    s.now = s.best = Record()
    f(X)
    assert is_gone(ref)


def test_function_dies_with_its_closure():
    def make():
        m = Model()
        return ev.jit(lambda x: m.step(x)), weakref.ref(m)

    f, ref = make()
    f(X)
    assert ref() is not None
    del f
    assert is_gone(ref)


def test_object_that_made_a_call_fail_dies():
    f = ev.jit(lambda m, x: m.step(x) + jnp.ones(7))
    m = Model()
    with pytest.raises(ev.errors.ShapeError):
        f(m, X)
    ref = weakref.ref(m)
    del m
    assert is_gone(ref)


def test_object_made_inside_dies_when_it_is_dropped():
    s = Record(made=None)

    def step(x):
        s.made = Record(x=x, child=Record(x=x))

    f = ev.jit(step)
    f(X)
    refs = [weakref.ref(s.made), weakref.ref(s.made.child)]
    f(X)
    assert all(map(is_gone, refs))


def test_class_dies_with_its_jitted_method():
    def make():
        class Local:
            k = 2.0

            @ev.jit
            def step(self, x):
                return x * self.k

        Local().step(X)
        return weakref.ref(Local)

    assert is_gone(make())


def test_thousands_of_short_lived_objects_leave_nothing():
    Model.decorated.clear_cache()
    refs = []
    for k in range(10_000):
        m = Model(float(k))
        m.decorated(X)
        refs.append(weakref.ref(m))
    del m
    assert sum(not is_gone(ref) for ref in refs[-1:] + refs) == 0
    assert Model.decorated.cache_info().currsize == 1


def test_thousands_of_lambdas_and_bound_methods_leave_nothing():
    def settled():
        gc.collect()
        return len(gc.get_objects())

    def use(count):
        for k in range(count):
            ev.jit(lambda x: x * k)(X)  # noqa: B023
            ev.jit(Model(float(k)).step)(X)

    use(50)
    before = settled()
    use(3000)
    assert settled() - before < 100


def test_id_of_a_dead_object_is_never_taken_for_a_live_one():
    f = ev.jit(lambda m, x: x + 1 if m is favourite[0] else x)
    favourite = [Record(k=0)]
    for _ in range(50):
        assert f(favourite[0], X).tolist() == (X + 1).tolist()
        favourite[0] = None
        other = Record(k=1)
        assert f(other, X).tolist() == X.tolist()
        del other
        favourite[0] = Record(k=2)


def test_copy_and_pickle_carry_nothing_along():
    m = Model()
    m.decorated(X)
    ev.jit(m.step)(X)
    assert list(vars(m)) == ["k", "n", "w"]
    for twin in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert list(vars(twin)) == ["k", "n", "w"]
        assert (twin.n, type(twin.n)) == (2, int)
        twin.decorated(X)
        assert (twin.n, m.n) == (3, 2)


def test_class_is_as_before_after_a_trace():
    class Plain(Record):
        k = 2.0

    before = dict(vars(Plain))
    f = ev.jit(lambda m, x: x * m.k)
    f(Plain(w=1), X)
    assert dict(vars(Plain)) == before
    assert vars(Plain)["k"] is before["k"]


def test_function_is_as_before_after_a_trace():
    def helper(x, k=2.0):
        return x * k

    code, defaults = helper.__code__, helper.__defaults__
    ev.jit(lambda x: helper(x))(X)
    assert helper.__code__ is code
    assert helper.__defaults__ is defaults
    assert helper(X).tolist() == (X * 2).tolist()


def test_world_is_as_before_after_a_trace_that_failed():
    def helper(x, k=2.0):
        raise ValueError("no")

    s = Record(w=jnp.ones(3))
    code, names, w = helper.__code__, dict(vars(Record)), s.w
    with pytest.raises(ValueError, match="no"):
        ev.jit(lambda x: helper(x * s.w))(X)
    assert helper.__code__ is code
    assert dict(vars(Record)) == names
    assert s.w is w


# --------------------------------------------------------------------------------- threads


def test_two_threads_step_different_objects():
    f = ev.jit(lambda m, x: m.step(x))
    models = [Model(float(k)) for k in range(4)]

    def run(m):
        for _ in range(25):
            f(m, X)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, models))
    for m in models:
        assert (m.n, type(m.n)) == (25, int)
        np.testing.assert_allclose(m.w, 1 + 25 * m.k * np.asarray(X), rtol=1e-5)


def test_threads_trace_at_the_same_time():
    def run(k):
        m = Model(float(k))
        f = ev.jit(lambda x: m.step(x) + k)
        return [f(X).tolist() for _ in range(3)], m.n

    want = [run(k) for k in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, range(6))) == want


class Meeting:
    """Two threads meet in a trace: locks, which are no state, so that the trace is not aware."""

    def __init__(self):
        self.tracing, self.go_on = threading.Lock(), threading.Lock()
        self.tracing.acquire()
        self.go_on.acquire()

    def during_trace(self, jitted, act):
        """Call `jitted`, and `act` on another thread while the traced function waits.

        What it returns has to be a pair, the second whether it was released from its waiting.
        """
        results = []

        def run():
            try:
                if self.tracing.acquire(timeout=5):
                    results.append(act())
            except Exception as error:
                results.append(repr(error))
            finally:
                self.go_on.release()

        thread = threading.Thread(target=run)
        thread.start()
        _, met = jitted(X)
        thread.join()
        assert met, "the other thread came to act only when the trace was over"
        return results


def test_other_threads_read_entry_values_while_a_trace_runs():
    m, meeting = Model(), Meeting()
    tracing, go_on = meeting.tracing, meeting.go_on

    def step(x):
        y = m.step(x)
        tracing.release()
        met = go_on.acquire(timeout=5)
        return y + m.n, met

    def look():
        return m.n, type(m.n), m.k, type(m.w), m.w.tolist(), m.step.__name__

    seen = meeting.during_trace(ev.jit(step), look)
    assert seen == [(0, int, 2.0, ev.Array, [1, 1, 1], "step")]
    assert (m.n, type(m.n)) == (1, int)


class Watched:
    """What another thread reads while it is traced; each step changes all of it."""

    k = 2.5
    table = (1, 2)

    def __init__(self):
        self.n, self.f, self.s, self.none, self.big = 3, 1.5, "text", None, 10**20
        self.w, self.host, self.nan = jnp.ones(3), np.arange(3), float("nan")
        self.pair, self.aux, self.inner = (1, jnp.ones(2)), 7.5, Record(v=1.25)
        self.scale = functools.partial(jnp.multiply, self.w)

    @property
    def nth(self):
        return (self.big, self.n)[0]

    def helper(self, by=2.5):
        return self.f if by == 2.5 else self.none

    def step(self, x):
        self.n, self.f = self.n + 1, self.f * self.pair[0]
        self.w = self.scale(x * self.k * self.host) + self.nth * self.inner.v + self.helper()
        self.s, self.none, self.new = self.s + "!", self.nan, x
        type(self).k, type(self).table = self.table[0] * 1.5, x
        del self.aux
        self.inner.v = self.n
        return self.w


class WatchedSlots(Watched):
    __slots__ = ("a", "b", "c")

    def __init__(self):
        super().__init__()
        self.a, self.b = 4.5, jnp.zeros(2)

    def step(self, x):
        self.a, self.b, self.c = self.a * 2, self.b + 1, x
        return super().step(x)


class WatchedAtOnce(Watched):
    """A trace lifts all of its attributes at once, on its second try, since one is read unseen."""

    def __iter__(self):
        self.extra = 1
        yield self.n

    def step(self, x):
        block = ev.checkpoint(lambda z: z * sum(self))
        return super().step(ev.grad(lambda z: jnp.sum(block(z)))(x))


class Stopped(Exception):
    pass


@pytest.mark.parametrize("cls", [Watched, WatchedSlots, WatchedAtOnce])
def test_another_thread_reads_nothing_but_entry_values(cls):
    m = cls()
    reads = {name: functools.partial(getattr, m, name) for name in vars(m)}
    reads |= {name: functools.partial(getattr, m, name) for name in ("k", "table", "nth")}
    reads |= {name: functools.partial(getattr, m, name) for name in getattr(cls, "__slots__", ())}
    reads |= {name: functools.partial(getattr, m, name, None) for name in ("new", "c")}
    reads |= {"inner.v": lambda: m.inner.v, "helper": m.helper}
    want = {name: read() for name, read in reads.items()}
    wrong, turns, stop = [], [], threading.Event()

    def look():
        while not stop.is_set():
            for name, read in reads.items():
                try:
                    got = read()
                except Exception as error:
                    wrong.append((name, repr(error)))
                else:
                    if got is not want[name] and got != want[name]:
                        wrong.append((name, type(got)))
            turns.append(None)

    reader, interval = threading.Thread(target=look), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader.start()
    try:
        for _ in range(100):

            @ev.jit
            def f(x):
                m.step(x)
                raise Stopped  # so that the entry values stay what they are

            with pytest.raises(Stopped):
                f(X)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        reader.join()
    assert len(turns) > 100
    assert wrong == []


def test_numbers_in_containers_are_their_values_on_other_threads():
    items, meeting = [3, 1.5, {"k": 2}], Meeting()
    tracing, go_on = meeting.tracing, meeting.go_on

    def step(x):
        y = x * items[0] + items[2]["k"]
        tracing.release()
        met = go_on.acquire(timeout=5)
        return y, met

    def look():
        n, f, inner = items
        return n + 1, f * 2, isinstance(n, int), f"{inner['k']}", [0, 1, 2, 3][n], n == 3

    assert meeting.during_trace(ev.jit(step), look) == [(4, 3.0, True, "2", 3, True)]
    assert [type(x) for x in items] == [int, float, dict]


def test_other_threads_see_what_a_trace_puts_into_containers_globals_and_cells():
    """The limit of what is promised: nothing stands between a reader and a list, dict or cell."""
    m = module("total = 0\ndef count():\n    global total\n    total += 1")
    n, items, d, meeting = 0, [jnp.ones(3)], {"w": jnp.ones(3)}, Meeting()
    tracing, go_on = meeting.tracing, meeting.go_on

    def step(x):
        nonlocal n
        n += 1
        m.count()
        items.append(n)
        y = x * items[0] + d["w"]
        tracing.release()
        met = go_on.acquire(timeout=5)
        return y, met

    def look():
        arrays = items[0], d["w"]
        return n, m.total, len(items), [type(x) is ev.Array for x in arrays]

    assert meeting.during_trace(ev.jit(step), look) == [(1, 1, 2, [False, False])]
    assert look() == (1, 1, 2, [True, True])


def test_another_thread_calls_while_one_traces():
    m, other, meeting = Model(), Model(), Meeting()
    tracing, go_on = meeting.tracing, meeting.go_on
    hit = ev.jit(lambda x: other.step(x))
    hit(X)

    def step(x):
        tracing.release()
        met = go_on.acquire(timeout=5)
        return m.step(x), met

    got = meeting.during_trace(ev.jit(step), lambda: hit(X).tolist())
    assert got == [(1 + 2 * other.k * X).tolist()]
    assert (m.n, other.n) == (1, 2)


def test_plain_call_on_another_thread_while_one_traces():
    m, meeting = Model(), Meeting()
    tracing, go_on = meeting.tracing, meeting.go_on

    def helper(x, k=2.0):
        return x * k

    def step(x):
        tracing.release()
        met = go_on.acquire(timeout=5)
        return helper(m.step(x)), met

    got = meeting.during_trace(ev.jit(step), lambda: (helper(X).tolist(), Model().step(X).tolist()))
    assert got == [((X * 2).tolist(), (1 + 2 * X).tolist())]
    assert m.n == 1


@case(traces=1)
def test_callback_sees_the_world_after_the_call(jit):
    s, seen = Record(n=0), []

    def step(x):
        s.n += 1
        ev.debug.callback(lambda value: seen.append(value.tolist()), x * s.n)
        return x

    step = jit(step)
    for _ in range(3):
        step(X)
        ev.effects_barrier()
    yield seen, s


@case(traces=1)
def test_callback_reads_the_cell_of_its_own_function(jit):
    def make(k):
        return jit(lambda x: ev.pure_callback(lambda y: y * k, x, x))

    functions = [make(float(k)) for k in range(3)]
    for f in functions * 2:
        yield f(X)


@case(traces=1)
def test_lock_held_outside_is_not_needed_inside(jit):
    lock = threading.Lock()
    s = Record(k=2.0)
    f = jit(lambda x: x * s.k)
    with lock:
        yield f(X), f(X)
    yield lock.locked()
