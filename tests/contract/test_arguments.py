"""Arguments: whatever a plain function takes, a jitted one takes."""

import functools

import numpy as np
import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine


@case(traces=2)
def test_string_argument(jit):
    f = jit(lambda x, kind: x.sum() if kind == "sum" else x.max())
    yield f(X, "sum"), f(X, "max"), f(X, kind="sum"), f(X, "max")


@case(traces=3)
def test_bool_and_none_arguments(jit):
    f = jit(lambda x, on: x if on is None else (x + 1 if on else x - 1))
    for on in (True, False, None, True, None):
        yield f(X, on)


@case(traces=1)
def test_defaults_and_keywords_are_one_variant(jit):
    @jit
    def f(x, k=2, *, b=1.0):
        return x * k + b

    yield f(X), f(X, 2), f(X, k=3), f(X, b=4.0), f(x=X, k=5, b=6.0), f(b=1.0, x=X)


@case(traces=2)
def test_default_that_is_an_object_of_another_type(jit):
    @jit
    def f(x, k=None):
        return x if k is None else x * k

    yield f(X), f(X, 2.0), f(X, None), f(X, k=3.0)


@case(traces=3)
def test_variable_arguments(jit):
    @jit
    def f(*args, **kwargs):
        return sum(args) + sum(kwargs.values())

    yield f(X, 1.0), f(X, 2.0), f(X, 1.0, 2.0), f(X, 1.0, a=2.0), f(X, 2.0, a=5.0)


@case(traces=1)
def test_object_argument(jit):
    f = jit(lambda cfg, x: x * cfg.rate)
    cfg = Record(rate=2.0, name="a")
    yield f(cfg, X)
    cfg.rate, cfg.name = 3.0, "b"
    yield f(cfg, X), f(Record(rate=4.0), X)


@case(traces=2)
def test_list_of_objects(jit):
    f = jit(lambda layers, x: sum(layer.k * x for layer in layers))
    layers = [Record(k=1.0), Record(k=2.0)]
    yield f(layers, X)
    layers[0].k = 5.0
    yield f(layers, X)
    layers.append(Record(k=7.0))
    yield f(layers, X)


@case(traces=1)
def test_argument_is_an_attribute_of_another(jit):
    s = Record(w=jnp.ones(3))

    def step(s, w):
        s.w = w * 2
        return s.w - w

    step = jit(step)
    for _ in range(2):
        yield step(s, s.w), s


@case(traces=2)
def test_same_object_twice_or_two_objects(jit):
    @jit
    def step(a, b, x):
        a.k = a.k + 1
        return x * b.k

    a, b = Record(k=1.0), Record(k=1.0)
    yield step(a, a, X), a
    yield step(a, b, X), a, b
    yield step(b, b, X), a, b
    yield step(b, a, X), a, b


@case(traces=2)
def test_same_list_twice_or_two_lists(jit):
    @jit
    def step(a, b, x):
        a.append(x)
        return len(b)

    a, b = [1.0], [1.0]
    yield step(a, b, X), a, b
    yield step(b, b, X), b


@case(traces=2)
def test_is_between_arguments(jit):
    f = jit(lambda a, b, x: x if a is b else -x)
    a, b = Record(), Record()
    yield f(a, a, X), f(a, b, X), f(b, b, X), f(b, a, X)


@case(traces=1)
def test_list_argument_is_changed(jit):
    @jit
    def push(items, x):
        items.append(x * 2)
        items[0] = x
        return items[0].sum()

    items = [None]
    other = [None]
    yield push(items, X), items
    yield push(other, X + 1), other, items


@case(traces=1)
def test_dict_argument_is_changed(jit):
    @jit
    def step(state, x):
        state["n"] += 1
        state["w"] = state["w"] - x * state["n"]
        return state

    state = {"w": jnp.ones(3), "n": 0}
    w = state["w"]
    for _ in range(3):
        step(state, X)
        yield state, state["w"] is w


@case(traces=1)
def test_function_argument(jit):
    f = jit(lambda g, x: g(x) + 1)
    for k in (1.0, 2.0):
        yield f(lambda x: x * k, X)  # noqa: B023


@case(traces=2)
def test_builtin_and_library_function_arguments(jit):
    f = jit(lambda g, x: g(x))
    for g in (jnp.sin, abs, jnp.sin):
        yield f(g, X)


@case(traces=2)
def test_type_argument(jit):
    f = jit(lambda cls, x: cls(k=x).k * cls.gain)
    A = type("A", (Record,), {"gain": 2.0})
    B = type("B", (Record,), {"gain": 3.0})
    yield f(A, X), f(B, X), f(A, X)


@case(traces=1)
def test_result_is_the_argument(jit):
    f = jit(lambda s, x: s)
    a, b = Record(k=1), Record(k=2)
    yield f(a, X) is a, f(b, X) is b, f(a, X), b


@case(traces=1)
def test_result_is_a_part_of_an_argument(jit):
    f = jit(lambda s: (s.inner, s.items))
    s = Record(inner=Record(k=1), items=[X])
    inner, items = f(s)
    yield inner is s.inner, items is s.items, s


@case(traces=1)
def test_result_mixes_arrays_objects_and_text(jit):
    s = Record(k=1)
    f = jit(lambda x: {"x": x + 1, "s": s, "name": "text", "none": None, "pair": (x, [x, 2.0])})
    for _ in range(2):
        yield f(X), list(f(X))


@case(traces=1)
def test_no_arguments_and_no_result(jit):
    s = Record(n=0)

    @jit
    def step():
        s.n += 1

    yield step(), step(), s


@case(traces=2)
def test_static_argument(jit):
    f = jit(lambda x, n: sum(x for _ in range(n)), static_argnums=1)
    yield f(X, 2), f(X, 3), f(X, 2)


@case(at_most=2)
def test_static_object_that_is_mutated(jit):
    class Config:
        k = 2.0

    cfg = Config()
    f = jit(lambda cfg, x: x * cfg.k, static_argnames="cfg")
    yield f(cfg, X)
    cfg.k = 3.0
    yield f(cfg, X)


@case(at_most=2)
def test_static_self(jit):
    class Model:
        def __init__(self):
            self.k, self.on = 2.0, True

        @functools.partial(jit, static_argnums=0)
        def step(self, x):
            return x * self.k if self.on else x

    m = Model()
    yield m.step(X)
    m.on = False
    yield m.step(X)
    m.on, m.k = True, 3.0
    yield m.step(X)


@case(at_most=3)
def test_static_objects_with_one_identity_after_another(jit):
    f = jit(lambda cfg, x: x * cfg.k, static_argnums=0)
    for k in (2.0, 3.0, 4.0):
        yield f(Record(k=k), X)  # the id of a dead object may come again


@case(traces=2)
def test_nested_tuple_of_mixed_leaves(jit):
    f = jit(lambda t, x: x * t[0] + t[1][0] if t[1][1] == "add" else x)
    yield f((1, (2.0, "add")), X), f((5, (6.0, "add")), X), f((1, (2.0, "none")), X)


@case(traces=1)
def test_numpy_array_argument_is_an_input(jit):
    f = jit(lambda a, x: x + a)
    a = np.ones(3, np.float32)
    yield f(a, X)
    a[0] = 5
    yield f(a, X), a


@case(traces=1)
def test_method_of_an_argument(jit):
    f = jit(lambda rng, x: rng.uniform() * x)
    Rng = type("Rng", (Record,), {"uniform": lambda self: self.k * 0.5})
    yield f(Rng(k=1.0), X), f(Rng(k=2.0), X)


@case(traces=1)
def test_large_integer_that_is_not_used_by_an_array(jit):
    f = jit(lambda n, x: x * (n % 7))
    yield f(2**100, X), f(3**80, X), f(5, X)
