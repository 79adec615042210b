"""Callbacks: they run on the objects of the call that they are made in, and nothing keeps these."""

import collections
import functools
import gc
import queue
import threading
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X, case, module, raised

pytestmark = pytest.mark.engine

F32 = ev.ShapeDtypeStruct((3,), jnp.float32)


class Scaler:
    """Holds a factor, and what its callbacks saw."""

    def __init__(self, k):
        self.k, self.seen = k, []

    def look(self, v, by=1.0):
        """Note a value, and return it scaled."""
        self.seen.append(float(np.sum(v)))
        return np.asarray(v) * np.float32(self.k * by)

    def note(self, v):
        """Note a value."""
        self.seen.append(float(np.sum(v)))


BINDINGS = {
    "lambda": lambda s: lambda v: s.look(v),
    "method": lambda s: s.look,
    "partial": lambda s: functools.partial(s.look, by=2.0),
    "partial of a function": lambda s: functools.partial(lambda t, v: t.look(v), s),
    "default": lambda s: lambda v, t=s: t.look(v),
    "keyword default": lambda s: lambda v, *, t=s: t.look(v),
    "nested": lambda s: lambda v: (lambda w: s.look(w))(v),
    "container": lambda s: lambda v, all={"s": [s]}: all["s"][0].look(v),
}


@pytest.mark.parametrize("how", BINDINGS)
def test_a_callback_runs_on_the_objects_of_this_call(how):
    bind = BINDINGS[how]
    f = ev.jit(lambda s, x: ev.pure_callback(bind(s), F32, x))
    two, three = Scaler(2.0), Scaler(3.0)
    for s in (two, three, two):
        np.testing.assert_array_equal(f(s, X), bind(Scaler(s.k))(X))
    two.k = 5.0
    np.testing.assert_array_equal(f(two, X), bind(Scaler(5.0))(X))
    assert two.seen == [float(X.sum())] * 3
    assert three.seen == [float(X.sum())]
    assert f.cache_info().misses == 1


KINDS = {
    "pure_callback": lambda s, x: ev.pure_callback(s.look, F32, x),
    "io_callback": lambda s, x: io_callback(s.look, F32, x),
    "ordered": lambda s, x: io_callback(s.look, F32, x, ordered=True),
    "debug.callback": lambda s, x: (ev.debug.callback(s.note, x), x)[1],
    "static": lambda s, x: (ev.debug.callback(lambda t, v: t.note(v), s, x), x)[1],
}


AROUND = {
    "jit": lambda f, s, x: f(s, x),
    "scan": lambda f, s, x: lax.scan(lambda c, _: (f(s, c), None), x, None, length=2)[0],
    "while": lambda f, s, x: lax.fori_loop(0, 2, lambda i, c: f(s, c), x),
    "cond": lambda f, s, x: lax.cond(x[0] > 0, lambda y: f(s, y), lambda y: y, x),
    "inner jit": lambda f, s, x: ev.jit(f)(s, x),
    "checkpoint": lambda f, s, x: ev.checkpoint(lambda y: f(s, y))(x),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_runs_on_the_objects_of_this_call_inside_of(around, kind):
    def body(s, x):
        return AROUND[around](KINDS[kind], s, x)

    f = ev.jit(body)
    for k in (2.0, 3.0, 2.0):
        one, other = Scaler(k), Scaler(k)
        np.testing.assert_array_equal(f(one, X), body(other, X))
        assert one.seen == other.seen != []
    assert f.cache_info().misses == 1


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap(method):
    @ev.jit
    def f(s, xs):
        return ev.vmap(lambda x: ev.pure_callback(s.look, x, x, vmap_method=method))(xs)

    for k in (2.0, 3.0):
        s = Scaler(k)
        np.testing.assert_array_equal(f(s, jnp.ones((4, 3))), np.full((4, 3), k))
        assert sum(s.seen) == 12
    assert f.cache_info().misses == 1


def test_grad_and_custom_rules():
    scaled = ev.custom_vjp(lambda s, x: ev.pure_callback(s.look, F32, x), nondiff_argnums=0)
    scaled.defvjp(
        lambda s, x: (ev.pure_callback(s.look, F32, x), None),
        lambda s, _, g: (ev.pure_callback(s.look, F32, g),),
    )
    f = ev.jit(lambda s, x: ev.value_and_grad(lambda y: scaled(s, y).sum())(x))
    for k in (2.0, 3.0):
        s = Scaler(k)
        np.testing.assert_array_equal(f(s, X)[1], np.full(3, k))
        assert len(s.seen) == 2
    assert f.cache_info().misses == 1


def test_transformed_from_outside():
    f = ev.jit(lambda s, x: (ev.debug.callback(s.note, x), s.k * (x**2).sum())[1])
    for k in (2.0, 3.0):
        s = Scaler(k)
        np.testing.assert_array_equal(ev.grad(f, argnums=1)(s, X), 2 * k * X)
        assert s.seen == [float(X.sum())]


def test_nothing_keeps_the_objects_of_a_call():
    f = ev.jit(lambda s, x: ev.pure_callback(lambda v: s.look(v), F32, x))
    gone = []
    for k in (2.0, 3.0, 4.0):
        s = Scaler(k)
        f(s, X)
        gone.append(weakref.ref(s))
        del s
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3
    assert f.cache_info().misses == 1


def test_calls_at_once_find_their_own_callbacks():
    meet = threading.Barrier(2, timeout=30)

    @ev.jit
    def f(s, x):
        return ev.pure_callback(lambda v: (meet.wait(), s.look(v))[1], F32, x)

    found = {}

    def call(k):
        found[k] = [f(Scaler(k), X).tolist() for _ in range(3)]

    threads = [threading.Thread(target=call, args=(k,)) for k in (2.0, 3.0)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: [(X * k).tolist()] * 3 for k in (2.0, 3.0)}


@case(traces=1)
def test_a_callback_closes_over_numbers_and_traced_arrays(jit):
    s = Record(n=1, w=jnp.ones(3))

    def step(x):
        n, y = s.n + 1, x * s.w
        held = [y, {"n": n}]
        s.n += 1
        return ev.pure_callback(lambda v: v * n + y + held[0] * held[1]["n"], F32, 2 * x)

    step = jit(step)
    for i in range(3):
        yield step(X * i), s


@case(traces=1)
def test_each_callback_of_a_loop_has_its_own_value(jit):
    seen = []

    def step(x):
        for i in range(3):
            y = x * i
            io_callback(lambda v: seen.append((i, float(v[0] + y[1]))), None, x)  # noqa: B023
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), seen


@case(traces=1)
def test_callbacks_share_what_the_call_makes(jit):
    def step(x):
        log, count = [], 0

        def note(v):
            nonlocal count
            count += 1
            log.append(v * count)

        io_callback(note, None, x, ordered=True)
        io_callback(note, None, 2 * x, ordered=True)
        return log

    step = jit(step)
    for _ in range(2):
        yield step(X)


@case(traces=1)
def test_an_array_of_the_call_is_filled_by_a_callback(jit):
    def step(x):
        out = np.zeros(3, np.float32)
        io_callback(lambda v: np.copyto(out, v), None, 3 * x, ordered=True)
        return out

    step = jit(step)
    for i in range(2):
        yield step(X + i)


def test_a_copy_of_what_the_function_has_made_must_not_be_changed():
    @ev.jit
    def f(x):
        log = [2 * x]
        io_callback(lambda v: log.append(v), None, x)
        return x

    with pytest.raises(ev.errors.ImpurityError, match="changes a list that the jitted function"):
        f(X)


@case(traces=1)
def test_printing_what_the_call_is_about(jit):
    s = Record(name="run", n=0)
    lines = []

    def step(x):
        ev.debug.callback(lambda r, v: lines.append((r.name, float(v))), s, x[0])
        return x

    step = jit(step)
    for name in ("a", "b"):
        s.name = name
        yield step(X), lines


@case()
def test_an_error_of_a_callback_reaches_the_caller(jit):
    s = Record(limit=2.0)

    def step(x):
        def check(v):
            if v[0] > s.limit:
                raise ValueError(f"over {s.limit}")
            return v

        return ev.pure_callback(check, F32, x)

    step = jit(step)
    yield step(X), raised(step, X + 5)
    s.limit = 0.5
    yield raised(step, X), s


def test_by_jax_rules_a_callback_is_that_of_the_trace():
    s = Scaler(2.0)
    with ev.strict():
        f = ev.jit(lambda x: ev.pure_callback(s.look, F32, x))
        assert f(X).tolist() == (2 * X).tolist()
    compiled = ev.jit(lambda x: ev.pure_callback(s.look, F32, x)).lower(X).compile()
    s.k = 3.0
    assert compiled(X).tolist() == (3 * X).tolist()


# ------------------------------------------------------------------------ what the call has changed


@case()
def test_a_callback_sees_what_the_call_has_changed_before(jit):
    s = Record(n=0, w=jnp.zeros(3), items=[1], d={"a": 1}, log=[], child=Record(k=1), gone=1)
    m = module("total = 0.0")
    table, count = np.zeros(3, np.float32), 0
    seen = []

    def look(v):
        kept = hasattr(s, "gone"), s.child.k, m.total, count, table.tolist()
        seen.append((s.n, s.w.tolist(), list(s.items), dict(s.d), len(s.log), *kept))

    def step(x):
        nonlocal count
        io_callback(look, None, x, ordered=True)
        s.n += 1
        s.w = s.w + x
        s.items.append(s.n)
        s.d["a"] = s.n
        s.d["b"] = 2
        s.log.append(x)
        s.child.k *= 2
        m.total += 1.5
        table[1] += 1
        count += 1
        if hasattr(s, "gone"):
            del s.gone
        io_callback(look, None, x, ordered=True)
        s.n += 1
        io_callback(look, None, x, ordered=True)
        return x * s.n

    step = jit(step)
    for i in range(3):
        yield step(X * i), s, m, count, table, seen


@case(traces=1)
def test_a_step_counter_in_a_callback(jit):
    s, lines = Record(step=0, loss=jnp.float32(0)), []

    def train(x):
        s.step += 1
        s.loss = (x**2).sum()
        ev.debug.callback(lambda g: lines.append((s.step, float(s.loss), float(g))), x.sum())
        return x

    train = jit(train)
    for i in range(4):
        yield train(X * i), s, lines


def test_a_callback_in_a_loop_sees_what_the_turn_has_changed():
    s, seen = Record(total=jnp.float32(0)), []

    @ev.jit
    def step(x):
        def turn(carry, y):
            s.total = s.total + y
            ev.debug.callback(lambda v: seen.append((float(s.total), float(v))), y)
            return carry, y

        return lax.scan(turn, 0.0, x)[1]

    for _ in range(2):
        step(X)
    assert seen == [(1, 1), (3, 2), (6, 3), (7, 1), (9, 2), (12, 3)]
    assert float(s.total) == 12
    assert step.cache_info().misses == 1


@case(traces=1)
def test_what_a_callback_changes_stays(jit):
    s = Record(n=0, hits=0, log=[], last=None)

    def note(v):
        s.hits += s.n
        s.log.append(float(v))
        s.last = v

    def step(x):
        s.n += 1
        io_callback(note, None, x[0] * s.n, ordered=True)
        return x

    step = jit(step)
    for _ in range(3):
        yield step(X), s.n, s.hits, s.log, s.last


@pytest.mark.parametrize("place", ["n", "items", "items later"])
def test_a_callback_and_the_function_must_not_change_the_same(place):
    s = Record(n=0, items=[])

    def note(v):
        s.n += 1
        s.items.append(0)

    def step(x):
        if place == "n":
            s.n += 1
        elif place == "items":
            s.items.append(1)
        io_callback(note, None, x)
        if place == "items later":
            s.items.append(len(s.items))
        return x

    with pytest.raises(ev.errors.ImpurityError, match=r"changes s(\.items)?, which the jitted"):
        ev.jit(step)(X)
    own = {"n": (0, 1), "items": (1, 0), "items later": (1, 1)}
    assert (s.n, len(s.items)) == own[place]  # what the callback has done stays elsewhere


def test_what_a_callback_does_before_it_fails_stays():
    s = Record(n=0, hits=0)

    def fail(v):
        s.hits += s.n
        raise ValueError("no")

    def step(x):
        s.n += 1
        io_callback(fail, None, x)
        return x

    with pytest.raises(ValueError, match="no"):
        ev.jit(step)(X)
    assert (s.n, s.hits) == (0, 1)


def test_what_a_callback_cannot_see_is_no_operand_of_it():
    s, losses = Record(w=jnp.ones((100, 100)), n=0, params={"w": jnp.ones(5)}), []

    def step(x):
        s.w = s.w + x[0]
        s.params["w"] = s.params["w"] + 1
        s.n += 1
        ev.debug.callback(lambda v: losses.append(s.n + float(v)), s.w.sum())
        return x

    f = ev.jit(step)
    f(X)
    assert losses == [20001.0]
    (variant,) = f._contract.variants.all()
    (eqn,) = [e for e in variant.program.jaxpr.eqns if e.primitive.name == "debug_callback"]
    assert [v.aval.shape for v in eqn.invars] == [(), ()]


# ------------------------------------------------------------------------ rare ways


def test_a_custom_rule_in_a_loop_that_is_differentiated():
    s = Scaler(2.0)
    scaled = ev.custom_jvp(lambda x: ev.pure_callback(s.look, x, x))
    scaled.defjvps(lambda dx, out, x: dx * ev.pure_callback(lambda v: np.full_like(v, s.k), x, x))

    def loss(x):
        return lax.scan(lambda c, _: (scaled(c), None), x, None, length=2)[0].sum()

    f = ev.jit(ev.grad(loss))
    assert f(X).tolist() == [4, 4, 4]
    s.k = 3.0
    assert f(X).tolist() == [9, 9, 9]
    assert f.cache_info().misses == 1


def test_what_cannot_be_seen_can_be_used_by_a_callback():
    lines, items = queue.Queue(), iter(range(10))
    s = Record(lines=lines, lock=threading.Lock())

    @ev.jit
    def f(s, x):
        def note(v):
            with s.lock:
                s.lines.put((next(items), float(v[0])))

        io_callback(note, None, x)
        io_callback(s.lines.put, None, x[1])
        return x

    f(s, X)
    f(s, X)
    found = [lines.get() for _ in range(4)]
    assert [found[0], found[2]] == [(0, 1.0), (1, 1.0)]
    assert float(found[1]) == 2
    assert f.cache_info().misses == 1


@case(traces=2)
def test_a_method_of_a_list(jit):
    step = jit(lambda log, x: (io_callback(log.append, None, x), x)[1])
    for log in ([], [X]):
        yield step(log, X), [x.tolist() for x in log]


def test_a_jitted_function_in_a_callback():
    s = Scaler(2.0)
    inner = ev.jit(lambda s, v: v * s.k)
    f = ev.jit(lambda s, x: ev.pure_callback(lambda v: inner(s, v), F32, x))
    assert f(s, X).tolist() == (2 * X).tolist()
    s.k = 3.0
    assert f(s, X).tolist() == (3 * X).tolist()
    assert (f.cache_info().misses, inner.cache_info().misses) == (1, 1)


def test_a_new_method_is_called_back():
    class Model(Scaler):
        def look(self, v):
            return v + 1

    f = ev.jit(lambda s, x: ev.pure_callback(s.look, F32, x))
    m = Model(1.0)
    assert f(m, X).tolist() == (X + 1).tolist()
    Model.look = lambda self, v: v + 2
    assert f(m, X).tolist() == (X + 2).tolist()


@pytest.mark.parametrize("bind", [lambda f: f, functools.partial], ids=["function", "partial"])
def test_callback_sees_defaults_that_the_call_has_set(bind):
    def shifted(x, by=1.0):
        return np.asarray(x) + np.float32(by)

    @ev.jit
    def step(x, by):
        shifted.__defaults__ = (by,)
        return ev.pure_callback(bind(shifted), F32, x)

    for by in (2.0, 3.0):
        np.testing.assert_array_equal(step(X, by), X + by)
        assert shifted.__defaults__ == (by,)


@pytest.mark.parametrize("place", ["attribute", "entry"])
def test_callback_changes_a_number_that_the_call_has_set_to_what_it_was(place):
    m = Record(n=0, d={"n": 0})

    def count(x):
        m.n += 1
        m.d["n"] += 1
        return x

    @ev.jit
    def step(x):
        if place == "attribute":
            m.n = len(m.d) - 1
        else:
            m.d["n"] = m.n * 2
        return io_callback(count, F32, x)

    with pytest.raises(ev.errors.ImpurityError, match=r"changes m.*, which the jitted function"):
        step(X)


HELD = {
    "queue": (queue.Queue, lambda v: v.put(2), lambda v: v.qsize()),
    "LIFO queue": (queue.LifoQueue, lambda v: v.put_nowait(2), lambda v: v.full() + v.qsize()),
    "UserDict": (
        lambda: collections.UserDict(a=1),
        lambda v: v.update(a=v["a"] + 1),
        lambda v: v["a"],
    ),
    "UserList": (lambda: collections.UserList([1]), lambda v: v.append(3), len),
    "UserList subclass": (lambda: type("L", (collections.UserList,), {})([1]),
                          lambda v: v.append(3), len),
    "ChainMap": (
        lambda: collections.ChainMap({"a": 1}),
        lambda v: v.update(b=v.get("b", v["a"]) + 1),
        lambda v: v["b"],
    ),
}  # fmt: skip
"""Objects whose class is a library's: (made, changed by the call, read by the callback)."""


@pytest.mark.parametrize("what", HELD)
def test_callback_sees_what_the_call_has_changed_in_objects_of_libraries(what):
    make, change, read = HELD[what]

    def program(jit):
        s = Record(held=make())

        def step(x):
            change(s.held)
            return ev.pure_callback(lambda v: np.asarray(v) * np.float32(read(s.held)), F32, x)

        step = jit(step)
        for _ in range(3):
            yield step(X), read(s.held)

    case(at_most=3)(program)()


def test_callback_changes_a_queue_that_the_call_has_changed():
    s = Record(queue=queue.Queue())

    @ev.jit
    def step(x):
        s.queue.put(1)
        return io_callback(lambda v: (s.queue.put(2), v)[1], F32, x)

    with pytest.raises(ev.errors.ImpurityError, match=r"changes s\.queue\.\w+, which the jitted"):
        step(X)
