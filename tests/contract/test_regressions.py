"""Programs that were once silently wrong, found by a person who tried; each named for its cause."""

import copy
import enum
import functools
import gc
import operator
import threading
import weakref
from collections import UserDict, namedtuple

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.example_libraries import optimizers
from tests.contract.compare import Record, X, case, module, refused

pytestmark = pytest.mark.engine


class Mode(enum.IntEnum):
    A = 1
    B = 2


@case(at_most=4)
def test_member_of_an_enumeration_found_by_its_value_is_that_member(jit):
    m = Record(n=1, mode=Mode.A)

    def step(x):
        m.mode = Mode(m.n)
        return x * m.mode

    step = jit(step)
    for m.n in (1, 2):
        yield step(X), m.mode is Mode.B, {Mode.A: 0, Mode.B: 1}[m.mode]


@case(at_most=3)
def test_named_tuple_with_a_dict_of_attributes(jit):
    class Point(namedtuple("Point", "x y")):
        def norm(self):
            return abs(self.x) + abs(self.y)

    m = Record(p=Point(1.0, -2.0))
    f = jit(lambda x: x * m.p.norm())
    yield f(X)
    m.p = Point(3.0, 4.0)
    yield f(X), type(m.p) is Point


def test_what_is_only_traced_changes_nothing():
    m = Record(n=0, w=jnp.ones(3), log=[])

    def step(x):
        m.n += 1
        m.w = m.w + x
        m.log.append(x)
        return m.w

    jitted = ev.jit(step)
    jitted.lower(X)
    ev.make_jaxpr(jitted)(X)
    ev.eval_shape(step, X)
    assert (m.n, m.w.tolist(), m.log) == (0, [1, 1, 1], [])
    assert jitted(X).tolist() == (1 + X).tolist()


def test_what_eval_shape_has_traced_is_still_watched():
    scales, seen = [2.0], []

    def scaled(x):
        seen.append(x.shape)
        return scales[0] * x

    def f(x):
        scales.append(-1.0)
        scales.append(ev.eval_shape(scaled, x).ndim)
        return scaled(x)

    jitted = ev.jit(f)
    for scale in (2.0, 3.0):
        scales[0] = scale
        assert jitted(X).tolist() == (scale * X).tolist()
    assert scales == [3.0, -1.0, X.ndim, -1.0, X.ndim]
    assert seen == [X.shape, X.shape]  # what eval_shape appended is gone, as without jit


@case(at_most=2)
def test_descriptor_with_state_of_its_own(jit):
    class Shared:
        def __init__(self):
            self.v = 1.0

        def __get__(self, obj, owner=None):
            return self.v

        def __set__(self, obj, v):
            self.v = v

    class Model:
        w = Shared()

        def step(self, x):
            self.w = self.w + x
            return self.w

    m = Model()
    step = jit(m.step)
    for _ in range(3):
        yield step(X), m.w


@case(at_most=4)
def test_attribute_that_a_function_gives_itself(jit):
    def step(x):
        step.n = getattr(step, "n", 0) + 1
        return x * step.n

    def helper():
        return 1

    def mark(x):
        helper.last = x * 2
        return x

    run, note = jit(step), jit(mark)
    for _ in range(3):
        yield run(X), step.n, note(X), helper.last


@case(at_most=2)
def test_event_is_read_and_set(jit):
    stop = threading.Event()
    f = jit(lambda x: -x if stop.is_set() else x)
    yield f(X)
    stop.set()
    yield f(X)


@case(at_most=3)
def test_name_that_a_module_did_not_have(jit):
    conf = module("k = 2.0")
    m = module("def f(x):\n    conf.last = conf.k\n    return x * conf.k", conf=conf)
    f = jit(m.f)
    for conf.k in (2.0, 3.0):
        yield f(X), conf.last


@case(at_most=4)
def test_globals_are_written_to_as_a_dict(jit):
    m = module(
        "def f(x):\n    g = globals()\n    g['n'] = g.get('n', 0) + 1\n    return x * g['n']"
    )
    f = jit(m.f)
    for _ in range(3):
        yield f(X), m.n


@case(at_most=2)
def test_attribute_of_a_metaclass(jit):
    class Meta(type):
        k = 2.0

    class Model(metaclass=Meta):
        pass

    f = jit(lambda x: x * Model.k)
    for Meta.k in (2.0, 3.0):
        yield f(X)


@case(at_most=3)
def test_attribute_of_a_class_by_a_computed_name(jit):
    class Model:
        k1 = 2.0

    i = 1
    f = jit(lambda x: x * getattr(Model, f"k{i}"))
    for Model.k1 in (2.0, 3.0):
        yield f(X)


@refused(ev.errors.ImpurityError, "lock is acquired")
def test_lock_that_is_left_acquired(jit):
    s = Record(lock=threading.Lock())
    jit(lambda x: x * s.lock.acquire())(X)


@refused(ev.errors.OpaqueStateError, r"s\.a is a")
def test_subclass_of_a_numpy_array(jit):
    class Tagged(np.ndarray):
        pass

    s = Record(a=np.ones(3).view(Tagged))
    jit(lambda x: x * s.a)(X)


@case(at_most=3)
def test_attributes_of_a_partial(jit):
    s = Record(p=functools.partial(jnp.add))
    s.p.k = 2.0

    def step(x):
        s.p.last = x
        return s.p(x, s.p.k)

    step = jit(step)
    for s.p.k in (2.0, 3.0):
        yield step(X), s.p.last, s.p.k


@case(at_most=4)
def test_an_object_whose_class_is_read_from_an_attribute(jit):
    class Proxy:
        def __init__(self, target):
            self.target = target

        @property
        def __class__(self):
            return type(self.target)

    s = Record(proxy=Proxy({}))
    step = jit(
        lambda x, proxy: x * (2 if isinstance(s.proxy, dict) else 3) + isinstance(proxy, dict)
    )
    for s.proxy.target in ({}, [], {}):
        yield step(X, s.proxy)


@refused(ev.errors.ImpurityError, "functools.partial")
def test_attribute_set_on_a_partial_that_holds_numbers(jit):
    s = Record(p=functools.partial(jnp.add, 1.0))

    def step(x):
        s.p.last = x
        return s.p(x)

    jit(step)(X)


@pytest.mark.parametrize("args", [(), (1.0,)], ids=["as it is", "made anew"])
def test_state_set_on_a_partial(args):
    pf = functools.partial(operator.add, *args)

    @ev.jit
    def step(x):
        pf.__setstate__((operator.sub, (x,), {}, {}))

    with pytest.raises(ev.errors.ImpurityError, match=r"the state of pf, a functools\.partial"):
        step(2.0)
    assert (pf.func, pf.args) == (operator.add, args)


def test_functions_in_named_tuples_of_the_library_are_watched():
    """An optimizer of `example_libraries` is one, and holds the user's schedule."""
    rate = 0.5
    optimizer = optimizers.sgd(lambda step: rate)
    state = optimizer.init_fn(jnp.zeros(2))
    update = ev.jit(lambda state: optimizer.update_fn(0, jnp.ones(2), state))
    np.testing.assert_array_equal(optimizer.params_fn(update(state)), [-0.5, -0.5])
    rate = 2.0
    np.testing.assert_array_equal(optimizer.params_fn(update(state)), [-2.0, -2.0])


@case(at_most=4)
def test_method_registered_later_with_a_generic_method(jit):
    class Model:
        @functools.singledispatchmethod
        def scaled(self, by, x):
            return x

        @scaled.register
        def _(self, by: int, x):
            return x * by

    m = Model()
    f = jit(m.scaled)
    yield f(3, X), f(2.5, X), f(4, X)
    Model.scaled.register(float, lambda self, by, x: x * by * 100)
    yield f(3, X), f(2.5, X)


@case(traces=1)
def test_finalizer_runs_once_for_each_object(jit):
    class Owner:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    log, m = [], Record(owner=Owner(0), n=0)

    def step(x):
        m.n += 1
        m.owner = Owner(m.n)
        return x

    step = jit(step)
    for _ in range(3):
        out = step(X)
        gc.collect()  # what was traced dies late
        yield out, m.owner.n, list(log)


@case(traces=1)
def test_weak_reference_with_a_callback(jit):
    class Node:
        pass

    log, m = [], Record(node=None, n=0)

    def step(x):
        m.n += 1
        m.node = Node()
        m.ref = weakref.ref(m.node, lambda ref, n=m.n: log.append(n))
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), m.ref() is m.node
    ref, m.node = m.ref, None
    yield log, ref() is None


@refused(ev.errors.ImpurityError, "weakref.finalize.__init__: a compiled call would not do this")
def test_finalizer_is_registered_inside(jit):
    m = Record(node=None)

    def step(x):
        m.node = Record()
        weakref.finalize(m.node, print)
        return x

    jit(step)(X)


def duplicates():
    """Return ways to make an object like another, without naming its class."""
    return {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "a copy in a list": lambda o: next(copy.copy(o) for o in [o]),
        "a copy of a copy": lambda o: copy.copy(copy.copy(o)),
        "type": lambda o: type(o)(),
        "itself": lambda o: o,
    }


@pytest.mark.parametrize("duplicate", duplicates())
def test_class_of_an_object_that_the_trace_has_made(duplicate):
    made = duplicates()[duplicate]

    class Part:
        scale = 1.0

        @classmethod
        def of_class(cls, x):
            cls.count = getattr(cls, "count", 0) + 1
            return x * cls.count * cls.scale

        def by_type(self, x):
            type(self).count = getattr(type(self), "count", 0) + 1
            return x * self.count * self.scale

        def by_attribute(self, x):
            self.__class__.count = getattr(self.__class__, "count", 0) + 1
            return x * self.count * self.scale

    part = Part()
    for method in ("of_class", "by_type", "by_attribute"):
        Part.count, Part.scale = 0, 1.0
        step = ev.jit(lambda x, method=method: getattr(made(part), method)(x))
        assert [float(step(1.0)) for _ in range(3)] == [1, 2, 3]
        Part.count, Part.scale = 10, 2.0
        assert (float(step(1.0)), Part.count) == (22.0, 11)
        del Part.count
        assert [float(step(1.0)) for _ in range(3)] == [2, 4, 6]
        assert step.cache_info().misses <= 9  # of all three: they share code


@pytest.mark.parametrize("empty", [False, True], ids=["attributes", "none"])
def test_attributes_of_an_object_as_a_dict_are_that_dict(empty):
    m, kept = Record() if empty else Record(p=1.0), Record(names=None)

    @ev.jit
    def step():
        kept.names = m.__dict__
        return vars(m)

    for _ in range(2):
        assert step() is vars(m)
        assert kept.names is vars(m)
    assert step.cache_info().misses == 1


@case(at_most=3)
def test_flags_that_are_combined_for_the_first_time(jit):
    class Opt(enum.Flag):
        A = 1
        B = 2
        C = 4

    m = Record(opt=Opt.A)

    def step(x):
        m.opt = m.opt ^ Opt.B
        return x * m.opt.value

    step = jit(step)
    for m.opt in (Opt.A, Opt.A, Opt.C):
        yield step(X), [type(value) for value in Opt._value2member_map_], m.opt is Opt(m.opt.value)


@case(at_most=2)
def test_names_of_a_class_that_python_gives_a_registry(jit):
    class Registry(UserDict):
        pass

    m = Record(rate=0.5)

    def step(x):
        vars(Registry)
        return Registry(a=m.rate - 0.25)["a"] * x

    step = jit(step)
    for m.rate in (0.5, 2.0):
        yield step(X)


@case(at_most=2)
def test_defaults_of_another_function_are_set_inside(jit):
    def shifted(x, by=2):
        return x + by

    def scaled(x, by=2):
        shifted.__defaults__ = (by * 3,)
        return shifted(x) * by

    step = jit(lambda x: scaled(x))
    for _ in range(2):
        yield step(X), scaled.__defaults__, shifted.__defaults__
    scaled.__defaults__ = (5,)
    yield step(X), scaled.__defaults__, shifted.__defaults__


@case(at_most=2)
def test_attribute_of_a_class_that_is_set_before_code_goes_through_a_dict(jit):
    class Hub:
        count, table = 0, {"a": 1.0}

    m = Record(p=1.0)

    def look():
        return len(m.__dict__)

    def step(x):
        Hub.count += 1
        Hub.table = {"a": x}
        return x * look()

    step = jit(step)
    for _ in range(2):
        yield step(X), Hub.count, Hub.table
