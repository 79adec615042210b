"""State in rare places: defaults, keys, tuples, queues, generators of random numbers, mappings."""

import collections.abc
import functools
import inspect
import math
import queue
import random
import sys
import types
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace.errors import OpaqueStateError
from tests.contract.compare import Record, X, case, module, raised, refused

pytestmark = pytest.mark.engine


@case(traces=1)
def test_lambda_with_a_default_made_anew(jit):
    for k in (1.0, 2.0, 3.0):
        yield jit(lambda x, k=k: x * k)(X)


@case(traces=1)
def test_keywords_of_a_partial_are_changed_in_place(jit):
    s = Record(f=functools.partial(lambda x, k: x * k, k=2.0))
    f = jit(lambda x: s.f(x))
    yield f(X)
    s.f.keywords["k"] = 3.0
    yield f(X)


@case(at_most=2)
def test_type_of_a_key(jit):
    s = Record(d={1: 2.0})
    f = jit(lambda x: x + 1 if any(k is True for k in s.d) else x)
    for s.d in ({1: 2.0}, {True: 2.0}):
        yield f(X)


@case(at_most=3)
def test_sign_and_type_inside_a_tuple(jit):
    s = Record()
    f = jit(lambda x: x * math.copysign(1.0, s.pair[0]) + isinstance(s.pair[1], bool))
    for s.pair in ((0.0, 1), (-0.0, 1), (0.0, True)):
        yield f(X)


@case(at_most=2)
def test_subclass_of_int(jit):
    class Level(int):
        @property
        def twice(self):
            return 2 * self

    s = Record()
    f = jit(lambda x: x * s.level + s.level.twice)
    for s.level in (Level(2), Level(3), Level(2)):
        yield f(X), s.level


@case(traces=2)
def test_array_in_a_class(jit):
    class Model:
        w = jnp.ones(3)

        def step(self, x):
            return x + self.w

    step = jit(Model().step)
    for Model.w in (jnp.ones(3), jnp.zeros(3), jnp.ones(())):
        yield step(X)


@case(traces=1)
def test_global_list_is_appended_to(jit):
    m = module("log = []\ndef f(x):\n    log.append(x * 2)\n    return x")
    f = jit(m.f)
    for _ in range(3):
        yield f(X), m.log


@case(traces=1)
def test_cell_list_is_appended_to_by_a_helper(jit):
    log = []

    def note(value):
        log.append(value)

    def f(x):
        note(x)
        note(x + 1)
        return x

    f = jit(f)
    for _ in range(3):
        yield f(X), log


@case(may_refuse=True)
def test_queue_of_the_library(jit):
    q = queue.Queue()

    def f(x):
        q.put(x * 2)
        return x

    f = jit(f)
    for _ in range(2):
        yield f(X), q.qsize()
    yield [q.get() for _ in range(2)]


@case(traces=2)
def test_mapping_proxy(jit):
    cfg = {"k": 2.0}
    s = Record(view=types.MappingProxyType(cfg))
    f = jit(lambda x: x * s.view["k"] + len(s.view))
    for cfg["k"] in (2.0, 3.0):
        yield f(X)
    cfg["other"] = 1
    yield f(X), s


@case(traces=3)
def test_views_of_a_dict_that_are_kept(jit):
    cfg = {"a": 1.0}
    s = Record(keys=cfg.keys(), values=cfg.values(), items=OrderedDict(b=2.0).items())

    def step(x):
        cfg["n"] = cfg.get("n", 0) + 1
        return x * sum(s.values) + len(s.keys) + sum(v for _, v in s.items)

    step = jit(step)
    for cfg["a"] in (1.0, 5.0, 7.0):
        yield step(X), cfg
    s.items = OrderedDict(c=3.0).items()
    yield step(X), cfg


@refused(OpaqueStateError, "entries is a mappingproxy: what it holds cannot be seen")
def test_entries_of_a_class_that_are_kept(jit):
    class Model:
        k = 2.0

    entries = vars(Model)
    jit(lambda x: x * entries["k"])(X)


@case(at_most=5)
def test_arguments_are_bound_by_a_signature(jit):
    def bound(fun):
        signature = inspect.signature(fun)

        @functools.wraps(fun)
        def wrapper(*args, **kwargs):
            arguments = signature.bind(*args, **kwargs)
            arguments.apply_defaults()
            return fun(**arguments.arguments)

        return wrapper

    @bound
    def scaled(x, by=2, *, plus=1.0):
        return x * by + plus

    f = jit(scaled)
    yield f(X), f(X, 3), f(X, plus=4.0), f(x=X, by=1.5)
    yield raised(f, X, 3, 4)


@case(at_most=2)
def test_function_asks_who_calls_it(jit):
    def caller():
        return sys._getframe(1).f_code.co_name

    m = Record(names=[])

    def step(x):
        m.names.append(caller())
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), m


@case(may_refuse=True)
def test_weak_value_dictionary(jit):
    a, b = Record(k=2.0), Record(k=3.0)
    table = weakref.WeakValueDictionary(a=a)
    f = jit(lambda x: x * table["a"].k)
    yield f(X)
    a.k = 5.0
    yield f(X)
    table["a"] = b
    yield f(X)


@case(may_refuse=True)
def test_seeding_inside(jit):
    def f(x):
        random.seed(3)
        return x * random.random()

    state = random.getstate()
    f = jit(f)
    random.seed(1)
    for _ in range(2):
        yield f(X), random.random()
    random.setstate(state)


@case(may_refuse=True)
def test_random_state_of_numpy(jit):
    s = Record(rng=np.random.RandomState(0))
    f = jit(lambda x: x * s.rng.uniform())
    for _ in range(2):
        yield f(X)


@case(may_refuse=True)
def test_object_array(jit):
    a = np.array([1.0, None], dtype=object)
    f = jit(lambda x: x * a[0])
    yield f(X)
    a[0] = 2.0
    yield f(X)


@case(may_refuse=True)
def test_structured_array(jit):
    a = np.zeros(2, dtype=[("w", np.float32), ("n", np.int32)])
    f = jit(lambda x: x + a["w"].sum())
    yield f(X)
    a["w"] = 2
    yield f(X)


@case(may_refuse=True)
def test_user_mapping(jit):
    class Config(collections.abc.MutableMapping):
        def __init__(self):
            self.data = {"k": 2.0}

        def __getitem__(self, key):
            return self.data[key]

        def __setitem__(self, key, value):
            self.data[key] = value

        def __delitem__(self, key):
            del self.data[key]

        def __iter__(self):
            return iter(self.data)

        def __len__(self):
            return len(self.data)

    cfg = Config()

    def step(x):
        cfg["k"] = cfg["k"] + 1
        cfg.setdefault("new", 5.0)
        return x * sum(cfg.values())

    step = jit(step)
    for _ in range(3):
        yield step(X), cfg


@refused(OpaqueStateError, r"self\.w is in the object's `__dict__` and in its slots")
def test_attribute_in_the_dict_that_a_slot_hides(jit):
    class Slotted:
        __slots__ = ("w",)

    class Open(Slotted):
        pass

    def step(self, x):
        vars(self)["w"] = 2.0
        return x

    s = Open()
    s.w = 1.0
    jit(step)(s, X)


@case(at_most=3)
def test_dict_of_attributes_that_is_written_and_then_replaced(jit):
    o = Record(p=1, q=2)
    held = []

    def step(x):
        held.append(vars(o))
        o.p += 1
        o.__dict__ = {"z": 0, "p": o.p, "q": o.q}
        return x * o.p

    f = jit(step)
    yield f(X), f(X), f(X), held, o


@case(at_most=3)
def test_dict_of_attributes_that_is_put_in_another_order_and_then_replaced(jit):
    o = Record(p=1, q=2)
    held = []

    def step(x):
        held.append(vars(o))
        q = o.q
        del o.q
        o.q = q
        o.__dict__ = dict(reversed(vars(o).items()))
        return x

    f = jit(step)
    yield f(X), f(X), f(X), held, o


@case(traces=1)
def test_dicts_of_attributes_that_two_objects_exchange(jit):
    a, b = Record(p=1), Record(p=10)

    def step(x):
        a.__dict__, b.__dict__ = b.__dict__, a.__dict__
        a.p += 1
        return x * b.p

    f = jit(step)
    for _ in range(3):
        yield f(X), a, b


# ------------------------------------------------------------------------ buffers of one memory


@case(traces=3)
def test_buffer_that_is_read_after_it_was_written_to_by_another(jit):
    s = Record(whole=bytearray(b"abcdef"), n=0)
    s.part = memoryview(s.whole)[2:5]

    def read(x):
        s.part[0] += 1
        return x * s.whole[2]

    def write(x):
        s.part[0] += 1
        s.whole[1] = s.whole[2]
        s.part[1] = s.whole[1]
        return x * s.part[0]

    for step in (jit(read), jit(write)):
        for first in (b"abcdef", b"abcdef"):
            s.whole[:] = first
            yield step(X), s.whole, bytes(s.part)
    s.whole[2] = 9
    yield step(X), s.whole, bytes(s.part)
