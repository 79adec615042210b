"""The rare roads by which Python programs change or read what they depend on."""

import abc
import builtins
import copy
import dataclasses
import functools
import math
import operator
from unittest import mock

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine


# ------------------------------------------------------------------- what appears later


@case(traces=2)
def test_truth_is_defined_later(jit):
    class Flag:
        pass

    flag = Flag()
    f = jit(lambda x: x if flag else -x)
    yield f(X)
    Flag.__bool__ = lambda self: False
    yield f(X)


@case(traces=2)
def test_length_is_defined_later(jit):
    class Flag:
        pass

    flag = Flag()
    f = jit(lambda x: x if flag else -x)
    yield f(X)
    Flag.__len__ = lambda self: 0
    yield f(X)


@case(traces=2)
def test_equality_is_defined_later(jit):
    class Tag:
        pass

    a, b = Tag(), Tag()
    f = jit(lambda x: x if a == b else -x)
    yield f(X)
    Tag.__eq__ = lambda self, other: True
    yield f(X)


@case(traces=2)
def test_call_is_defined_later(jit):
    class Act:
        pass

    act = Act()
    f = jit(lambda x: act(x) if callable(act) else x)
    yield f(X)
    Act.__call__ = lambda self, x: -x
    yield f(X)


@case(traces=2)
def test_iteration_is_redefined(jit):
    class Bag:
        def __iter__(self):
            return iter([1.0, 2.0])

    bag = Bag()
    f = jit(lambda x: x * sum(bag))
    yield f(X)
    Bag.__iter__ = lambda self: iter([5.0])
    yield f(X)


@case(traces=2)
def test_enter_is_redefined(jit):
    class Scope:
        def __enter__(self):
            return 2.0

        def __exit__(self, *exc):
            return None

    scope = Scope()

    def f(x):
        with scope as k:
            return x * k

    f = jit(f)
    yield f(X)
    Scope.__enter__ = lambda self: 3.0
    yield f(X)


@case(at_most=2)
def test_class_is_registered_later(jit):
    class Shape(abc.ABC):  # noqa: B024  its registry is the point
        pass

    class Square:
        k = 2.0

    square = Square()
    f = jit(lambda x: x * square.k if isinstance(square, Shape) else x)
    yield f(X)
    Shape.register(Square)
    yield f(X)


@case(at_most=2)
def test_name_of_a_class_is_read(jit):
    class Model:
        def step(self, x):
            return x * len(type(self).__name__)

    step = jit(Model().step)
    yield step(X)
    Model.__name__ = "Longer" * 2
    yield step(X)


@case(at_most=2)
def test_name_of_a_function_is_read(jit):
    def helper(x):
        return x

    f = jit(lambda x: helper(x) * len(helper.__name__))
    yield f(X)
    helper.__name__ = "h"
    yield f(X)


@case(at_most=2)
def test_defaults_of_a_method_are_replaced(jit):
    class Model:
        def scaled(self, x, k=2.0):
            return x * k

        def step(self, x):
            return self.scaled(x)

    step = jit(Model().step)
    yield step(X)
    Model.scaled.__defaults__ = (3.0,)
    yield step(X)


@case(traces=2)
def test_static_method_is_replaced(jit):
    class Model:
        @staticmethod
        def act(x):
            return x

        def step(self, x):
            return self.act(x)

    step = jit(Model().step)
    yield step(X)
    Model.act = staticmethod(lambda x: -x)
    yield step(X)


@case(at_most=2)
def test_builtin_is_added(jit):
    def f(x):
        try:
            return x * evertrace_contract_scale
        except NameError:
            return x

    f = jit(f)
    yield f(X)
    builtins.evertrace_contract_scale = 3.0
    try:
        yield f(X)
    finally:
        del builtins.evertrace_contract_scale
    yield f(X)


@case(at_most=2)
def test_library_function_is_patched(jit):
    def constant(k):
        return 7.0

    s = Record(k=0.5)
    f = jit(lambda x: x * math.cos(s.k))
    yield f(X)
    with mock.patch.object(math, "cos", constant):
        yield f(X)
    yield f(X)


@case(at_most=2)
def test_constant_of_a_library_module_is_patched(jit):
    f = jit(lambda x: x * math.pi)
    yield f(X)
    with mock.patch.object(math, "pi", 3.0):
        yield f(X)
    yield f(X)


@case(at_most=2)
def test_array_function_is_patched(jit):
    f = jit(lambda x: jnp.sin(x))
    yield f(X)
    with mock.patch.object(jnp, "sin", jnp.cos):
        yield f(X)
    yield f(X)


@case(at_most=2)
def test_name_imported_from_a_library_is_patched(jit):
    m = module("from math import sqrt\nk = 4.0\ndef f(x): return x * sqrt(k)")
    f = jit(m.f)
    yield f(X)
    with mock.patch.object(m, "sqrt", lambda k: k):
        yield f(X)


# ------------------------------------------------------------------- C code that reads


@case(at_most=2)
def test_shallow_copy_of_an_object(jit):
    s = Record(model=Record(k=2.0, items=[1.0]), twin=None)

    def step(x):
        s.twin = copy.copy(s.model)
        s.twin.k = s.twin.k + 1
        return x * s.twin.k * s.twin.items[0]

    step = jit(step)
    yield step(X), s, s.twin is s.model, s.twin.items is s.model.items
    s.model.k, s.model.items[0] = 5.0, 7.0
    yield step(X), s


@case(at_most=2)
def test_dataclass_as_a_dict(jit):
    @dataclasses.dataclass
    class Config:
        rate: float
        inner: list

    cfg = Config(2.0, [3.0])

    def f(x):
        d = dataclasses.asdict(cfg)
        return x * d["rate"] + d["inner"][0]

    f = jit(f)
    yield f(X)
    cfg.rate, cfg.inner[0] = 4.0, 5.0
    yield f(X)


@case(at_most=3)
def test_text_of_an_object(jit):
    @dataclasses.dataclass
    class Config:
        n: int
        name: str = "a"

    cfg = Config(2)
    f = jit(lambda x: x * len(repr(cfg)) + len(f"{cfg}"))
    yield f(X)
    cfg.n = 1000
    yield f(X)
    cfg.name = "longer"
    yield f(X)


@case(at_most=2)
def test_ordering_of_objects(jit):
    @functools.total_ordering
    class Item:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return self.k == other.k

        def __lt__(self, other):
            return self.k < other.k

        __hash__ = None

    s = Record(items=[Item(3.0), Item(1.0)])
    f = jit(lambda x: x * max(s.items).k - min(s.items).k + sorted(s.items)[0].k)
    yield f(X)
    s.items[1].k = 2.0
    yield f(X)
    s.items[1].k = 9.0
    yield f(X)


@case(traces=1)
def test_reduce_and_maps_of_c(jit):
    s = Record(ws=[1.0, 2.0, 3.0], d={"a": 1.0, "b": 2.0})

    def f(x):
        total = functools.reduce(operator.add, s.ws)
        picked = list(map(s.d.get, ["a", "b"]))
        return x * total + math.fsum([1.0, 2.0]) + picked[1]

    f = jit(f)
    yield f(X)
    s.ws[0], s.d["b"] = 10.0, 20.0
    yield f(X)


@case(at_most=2)
def test_sum_of_squares_by_the_library(jit):
    s = Record(ws=[3.0, 4.0])
    f = jit(lambda x: x * math.fsum(s.ws) + math.dist(s.ws, [0.0, 0.0]))
    yield f(X)
    s.ws[0] = 0.0
    yield f(X)


@case(at_most=2)
def test_text_is_parsed(jit):
    s = Record(text="2.5,1")
    f = jit(lambda x: x * float(s.text.split(",")[0]))
    for s.text in ("2.5,1", "3.5,1", "2.5,1"):
        yield f(X)


@case(at_most=3)
def test_keywords_from_state(jit):
    s = Record(kwargs={"axis": 0}, fmt={"a": 1})
    f = jit(lambda x: jnp.sum(x, **s.kwargs) * len("{a}".format(**s.fmt)))
    x = jnp.ones((2, 3))
    yield f(x)
    s.kwargs["axis"] = 1
    yield f(x)
    s.fmt["a"] = 1000
    yield f(x)


# ------------------------------------------------------------------- structures that grow


@case(traces=2)  # the second one leaves the size open
def test_array_that_grows(jit):
    s = Record(buffer=jnp.zeros(1))

    def push(x):
        s.buffer = jnp.concatenate([s.buffer, x])

    push = jit(push)
    for _ in range(3):
        yield push(X), s


@case(traces=2)
def test_tree_of_objects(jit):
    def leaf(k):
        return Record(k=k, left=None, right=None)

    def total(node, x):
        if node is None:
            return 0.0
        return x * node.k + total(node.left, x) + total(node.right, x)

    root = leaf(1.0)
    root.left, root.right = leaf(2.0), leaf(3.0)
    f = jit(lambda x: total(root, x))
    yield f(X)
    root.left.k = 5.0
    yield f(X)
    root.left.right = leaf(7.0)
    yield f(X), root


@case(traces=1)
def test_arrays_are_arrays_inside(jit):
    s = Record(w=jnp.ones(3), k=1)

    def f(x):
        known = isinstance(s.w, ev.Array) and isinstance(x, jnp.ndarray) and hasattr(s.w, "shape")
        return x + s.w if known and s.w.dtype == jnp.float32 and s.w.ndim == 1 else x

    f = jit(f)
    yield f(X)


@case(at_most=2, may_refuse=True)
def test_numpy_integer_as_a_python_number(jit):
    s = Record(n=np.int64(2))
    layers = [1.0, 2.0, 3.0]
    f = jit(lambda x: x * layers[s.n] + len(range(s.n)))
    for s.n in (np.int64(2), np.int64(1)):
        yield f(X)


@case(at_most=2, may_refuse=True)
def test_numpy_bool_as_a_condition(jit):
    s = Record(on=np.bool_(True))
    f = jit(lambda x: x if s.on else -x)
    for s.on in (np.bool_(True), np.bool_(False), np.bool_(True)):
        yield f(X)


@case(at_most=2, may_refuse=True)
def test_numpy_array_in_a_condition(jit):
    a = np.ones(3, np.float32)
    f = jit(lambda x: x if (a > 0).all() else -x)
    yield f(X)
    a[0] = -1
    yield f(X)
