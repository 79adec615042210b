"""The traps that a trial of the mechanism ran into, each with a program that springs it.

Those that are not here have their program in the module of their subject:

==================================================  ==========================================
a small int written though it was what it was       mutation: written_value_is_read_back
`lru_cache`, `__code__`, many closures of one code  functions
contextvars, thread locals, user modules            globals
iterators, buffers, views, proxies, clocks, files   impurity
`default_rng`, draws that decide a branch           impurity
namedtuples, dataclasses, subclasses of `float`     classes
`__bases__`, properties added later                 dispatch
functions, arrays and objects told apart by `is`    identity
state that keeps its weak type, appending           trace_counts
locks and tracing on two threads                    lifetime
==================================================  ==========================================
"""

import abc
import functools
import gc
import sys
import weakref
from collections import namedtuple

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine


@case(traces=1)
def test_attribute_deleted_and_set_again_goes_last(jit):
    s = Record(aux=1.0, other=2.0)

    def step(x):
        del s.aux
        s.aux = x * 2

    step = jit(step)
    step(X)
    yield list(vars(s)), s


@case(at_most=2)
def test_key_deleted_and_set_again_goes_last(jit):
    s = Record(d={"aux": 1.0, "other": 2.0})

    def step(x):
        del s.d["aux"]
        s.d["aux"] = 1.0
        return x

    step = jit(step)
    step(X)
    yield list(s.d), s
    step(X)
    yield list(s.d), s


@case(traces=1)
def test_new_objects_shared_by_state_effects_and_result(jit):
    s, shown = Record(a=None, b=None), []

    class Shown:
        def __init__(self, x):
            self.x = x

    def step(x):
        made, other = Shown(x), [x + 1]
        s.b = (other, made)
        s.a = [made, other]
        return other, made

    step = jit(step)
    other, made = step(X)
    yield s, made is s.a[0], made is s.b[1], other is s.a[1], other is s.b[0], shown
    again = step(X)[1]
    yield again is made, again is s.a[0]


def test_garbage_collected_during_a_trace_is_not_the_functions_doing():
    s = Record(n=0, freed=0)

    class Noisy:
        def __init__(self):
            self.me = self

        def __del__(self):
            s.freed += 1

    def step(x):
        s.n += 1
        kept = [[] for _ in range(1000)]
        return x * len(kept)

    f = ev.jit(step)
    thresholds = gc.get_threshold()
    gc.collect()
    for _ in range(3):
        Noisy()
    gc.set_threshold(10, 2, 2)
    try:
        for _ in range(4):
            f(X)
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()
    assert (s.n, s.freed) == (4, 3)
    assert gc.isenabled()


@case(at_most=3)
def test_order_of_a_set_is_left_as_it_is(jit):
    s = Record(seen=set())
    s.seen.add(8)
    s.seen.add(0)  # these two collide: the order of iteration tells which came first

    def step(x):
        y = x * len(s.seen)
        s.seen.add(16)
        s.seen.discard(16)
        return y

    step = jit(step)
    for _ in range(2):
        step(X)
        yield list(s.seen)


@case(traces=1)
def test_set_that_is_only_read_keeps_its_order(jit):
    s = Record(seen=set())
    s.seen.add(8)
    s.seen.add(0)
    f = jit(lambda x: x * len(s.seen))
    yield f(X), list(s.seen)


def test_profiler_and_tracer_of_the_user_stay():
    s, events = Record(n=0), []

    def profiler(frame, event, arg):
        events.append(event)

    def tracer(frame, event, arg):
        return None

    def step(x):
        s.n += 1
        return x * s.n

    f = ev.jit(step)
    before = sys.getprofile(), sys.gettrace()
    sys.setprofile(profiler)
    sys.settrace(tracer)
    try:
        f(X)
        f(X)
        now = sys.getprofile(), sys.gettrace()
    finally:
        sys.setprofile(before[0])
        sys.settrace(before[1])
    assert now == (profiler, tracer)
    assert s.n == 2
    assert events


@case(traces=1)
def test_cell_set_by_an_inner_function_survives(jit):
    def make():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        return bump, lambda: n

    bump, read = make()

    def step(x):
        bump()
        y = x * read()
        bump()
        return y * read()

    step = jit(step)
    for _ in range(2):
        yield step(X), read()


@case(at_most=2)
def test_namedtuple_with_an_object_as_a_dict_key(jit):
    key = namedtuple("key", "owner index")
    a, b = Record(k=1.0), Record(k=2.0)
    table = {key(a, 1): 10.0, key(b, 2): 20.0}

    def f(x):
        return x * sum(k.owner.k * v for k, v in table.items())

    f = jit(f)
    yield f(X)
    a.k = 5.0
    yield f(X), [k.owner is o for k, o in zip(table, (a, b), strict=True)]
    table[key(a, 1)] = 7.0
    yield f(X)


@case(traces=2)
def test_caches_of_the_library_filled_during_a_trace(jit):
    class Shape(abc.ABC):  # noqa: B024  its registry and caches are the point
        pass

    class Square:
        k = 2.0

    @functools.singledispatch
    def area(shape):
        return 1.0

    @area.register
    def _(shape: Shape):
        return shape.k

    Shape.register(Square)
    f = jit(lambda shape, x: x * area(shape) + isinstance(shape, Shape))
    yield f(Square(), X), f(3, X), f(Square(), X)
    yield area(Square())


@case(at_most=2)
def test_weak_dictionary_filled_during_a_trace(jit):
    cache = weakref.WeakKeyDictionary()
    s = Record(k=2.0)

    def factor(owner):
        if owner not in cache:
            cache[owner] = owner.k * 2
        return cache[owner]

    f = jit(lambda x: x * factor(s))
    yield f(X), cache[s], len(cache)
    cache[s] = 10.0
    yield f(X), cache[s]


@case(at_most=4)
def test_registry_keyed_by_self(jit):
    registry = {}

    class Model:
        def step(self, x):
            registry[self] = registry.get(self, 0) + 1
            return x * registry[self]

    a, b = Model(), Model()
    step = jit(Model.step)
    for m in (a, a, b, a):
        yield step(m, X), [registry.get(a), registry.get(b)]


@case(traces=1)
def test_builtin_types_called_on_lifted_things(jit):
    s = Record(items=[1.0, 2.0], d={"a": 3.0}, t=(4.0, 5.0))

    def f(x):
        s.out = [list(s.items), tuple(s.items), dict(s.d), set(s.d), list(s.t), dict(s.d.items())]
        return x * sum(s.items)

    f = jit(f)
    yield f(X), s
    s.items[0], s.t = 10.0, (7.0, 8.0)
    yield f(X), s


@case(traces=1)
def test_repr_of_a_plain_container_of_strings(jit):
    s = Record(names=["a", "b"], n=1)
    f = jit(lambda x: x * len(repr(s.names)) * s.n)
    for s.n in (1, 2):
        yield f(X)


@case(at_most=3)
def test_sorting_objects_by_a_number(jit):
    a, b = Record(k=2.0), Record(k=1.0)
    s = Record(items=[a, b])

    def step(x):
        s.items.sort(key=lambda item: item.k)
        return x * s.items[0].k

    step = jit(step)
    step(X)
    yield s, s.items[0] is b
    a.k = 0.5
    yield step(X), s, s.items[0] is a


@case(traces=2)
def test_state_of_a_default_object(jit):
    m = module("""
        class Options:
            rate = 2.0

        default = Options()

        def f(x, options=default):
            return x * options.rate
        """)
    f = jit(m.f)
    yield f(X)
    m.default.rate = 3.0
    yield f(X)
    m.Options.rate = 4.0
    yield f(X)
    del m.default.rate
    yield f(X)


@case(traces=1)
def test_class_that_counts_its_instances_in_init(jit):
    class Node:
        count = 0

        def __init__(self, x):
            Node.count += 1
            self.index, self.x = Node.count, x

    s = Record(last=None)

    def step(x):
        s.last = Node(x)
        return x * s.last.index

    step = jit(step)
    for _ in range(3):
        yield step(X), s, Node.count, type(s.last.index)


@case(traces=1)
def test_new_with_a_pool_of_instances(jit):
    class Unique:
        pool = {}  # noqa: RUF012  one for the class is what is meant

        def __new__(cls, name):
            if name not in cls.pool:
                cls.pool[name] = super().__new__(cls)
                cls.pool[name].k = 2.0
            return cls.pool[name]

    Unique("a")
    f = jit(lambda x: x * Unique("a").k)
    yield f(X)
    Unique("a").k = 3.0
    yield f(X), len(Unique.pool)


@case(traces=2)
def test_attribute_set_to_what_it_shadows(jit):
    class Model:
        rate = 2.0

        def step(self, x):
            self.rate = self.rate
            return x * self.rate

    m = Model()
    step = jit(m.step)
    yield step(X), m
    Model.rate = 5.0
    yield step(X), m
    del m.rate
    yield step(X), m


@case(traces=1)
def test_value_swapped_back_is_no_change(jit):
    s = Record(w=jnp.ones(3), n=2)
    w = s.w

    def f(x):
        old, s.w = s.w, x
        y = s.w * s.n
        s.w = old
        return y

    f = jit(f)
    yield f(X), s.w is w, s
