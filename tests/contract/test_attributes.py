"""Attributes that a function reads: each is an argument, whatever happens to it between calls."""

import enum
from types import SimpleNamespace

import numpy as np
import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine


class Scaler:
    """Multiplies by `k`, or does not."""

    def __init__(self, k, on=True):
        self.k, self.on = k, on

    def __call__(self, x):
        return self.k * x if self.on else x


@case(traces=1)
def test_number_may_change(jit):
    s = Scaler(2)
    f = jit(s.__call__)
    for s.k in (2, 7, -1, 0, 10**6):
        yield f(X), s


@case(traces=2)
def test_bool_is_a_variant_each(jit):
    s = Scaler(2)
    f = jit(s.__call__)
    for s.on in (True, False, True, False):
        yield f(X), s


@case(traces=3)
def test_number_of_another_type_is_another_variant(jit):
    s = Scaler(1)
    f = jit(s.__call__)
    for s.k in (1, True, 1.0, 1, True, 1.0):
        yield f(jnp.arange(3)), s


@case(traces=3)
def test_array_may_change_but_not_its_type(jit):
    s = Scaler(jnp.ones(3))
    f = jit(s.__call__)
    for s.k in (jnp.ones(3), jnp.arange(3.0), jnp.ones(()), jnp.arange(3), jnp.zeros(3)):
        yield f(X)


@case(traces=2)
def test_weakly_typed_array_is_another_type(jit):
    s = Scaler(jnp.asarray(2.0))
    f = jit(s.__call__)
    for s.k in (jnp.asarray(2.0), jnp.float32(2), jnp.asarray(3.0)):
        yield f(jnp.float16([1, 2]))


@case(traces=3)
def test_string_is_guarded_by_value(jit):
    class Norm:
        kind = "sum"

        def __call__(self, x):
            return x.sum() if self.kind == "sum" else x.max()

    norm = Norm()
    f = jit(norm)
    for norm.kind in ("sum", "max", "".join(["s", "um"]), "other"):
        yield f(X)


@case(traces=2)
def test_none_becomes_an_array(jit):
    class Layer:
        bias = None

        def __call__(self, x):
            return x if self.bias is None else x + self.bias

    layer = Layer()
    f = jit(layer)
    for layer.bias in (None, jnp.ones(3), None, jnp.zeros(3)):
        yield f(X)


@case(traces=2)
def test_deleted_attribute_falls_back_to_the_class(jit):
    class Rate:
        rate = 10.0

        def __call__(self, x):
            return x * self.rate

    r = Rate()
    f = jit(r)
    r.rate = 2.0
    yield f(X), r
    del r.rate
    yield f(X), r
    r.rate = 3.0
    yield f(X), r
    Rate.rate = 20.0
    yield f(X), r
    del r.rate
    yield f(X), r


@case(traces=2)
def test_attribute_that_appears_hides_the_class(jit):
    class Rate:
        rate = 10.0

        def __call__(self, x):
            return x * self.rate

    r = Rate()
    f = jit(r)
    yield f(X)
    r.rate = 2.0
    yield f(X)


@case(traces=2)
def test_hasattr_is_a_read(jit):
    class Layer:
        def __call__(self, x):
            return x + self.bias if hasattr(self, "bias") else x

    layer = Layer()
    f = jit(layer)
    yield f(X)
    layer.bias = 1.0
    yield f(X)
    layer.bias = 2.0
    yield f(X)
    del layer.bias
    yield f(X)


@case(traces=2)
def test_getattr_with_a_default_is_a_read(jit):
    class Layer:
        def __call__(self, x):
            return x * getattr(self, "scale", 5.0)

    layer = Layer()
    f = jit(layer)
    yield f(X)
    layer.scale = 2.0
    yield f(X)
    del layer.scale
    yield f(X)


@case(traces=2)
def test_caught_attribute_error_is_a_read(jit):
    class Layer:
        def __call__(self, x):
            try:
                return x * self.scale
            except AttributeError:
                return x - 1

    layer = Layer()
    f = jit(layer)
    yield f(X)
    layer.scale = 2.0
    yield f(X)
    del layer.scale
    yield f(X)


@case(at_most=3)
def test_missing_attribute_is_pythons_error(jit):
    class Layer:
        def __call__(self, x):
            return x * self.scale

    layer = Layer()
    f = jit(layer)
    yield raised(f, X)
    layer.scale = 2.0
    yield f(X)
    del layer.scale
    yield raised(f, X)


@case(traces=2)
def test_nested_object_may_be_replaced(jit):
    class Other(Scaler):
        def __call__(self, x):
            return x - self.k

    class Net:
        def __init__(self):
            self.layer = Scaler(2.0)

        def __call__(self, x):
            return self.layer(x)

    net = Net()
    f = jit(net)
    for net.layer in (Scaler(2.0), Scaler(3.0), Other(1.0), Scaler(4.0), Other(5.0)):
        yield f(X)
    net.layer.k = 7.0
    yield f(X)


@case(traces=1)
def test_nested_objects_may_be_swapped(jit):
    pair = Record(a=Scaler(2.0), b=Scaler(3.0))

    def f(x):
        return pair.a(x) - 10 * pair.b(x)

    f = jit(f)
    yield f(X)
    pair.a, pair.b = pair.b, pair.a
    yield f(X)
    pair.a.k = 5.0
    yield f(X), pair


@case(traces=1)
def test_deep_path(jit):
    root = Record(a=Record(b=[{"c": (Scaler(2.0),)}]))

    def f(x):
        return root.a.b[0]["c"][0].k * x

    f = jit(f)
    yield f(X)
    root.a.b[0]["c"][0].k = 3.0
    yield f(X)
    root.a.b[0]["c"] = (Scaler(4.0),)
    yield f(X)
    root.a.b[0] = {"c": (Scaler(5.0),)}
    yield f(X)
    root.a = Record(b=[{"c": (Scaler(6.0),)}])
    yield f(X)


@case(traces=1)
def test_property_reads_what_it_reads(jit):
    class Circle:
        def __init__(self):
            self.r, self.unread = 2.0, 0

        @property
        def area(self):
            return 3.0 * self.r**2

        def __call__(self, x):
            return x * self.area

    c = Circle()
    f = jit(c)
    for c.r in (2.0, 3.0, 0.5):
        c.unread += 1
        yield f(X), c


@case(traces=1)
def test_read_in_a_helper_two_calls_down(jit):
    def inner(s):
        return s.k + 1

    def outer(s):
        return 2 * inner(s)

    s = Scaler(3)
    f = jit(lambda x: x * outer(s))
    for s.k in (3, 4, 5):
        yield f(X)


@case(traces=1)
def test_names_computed_in_a_loop(jit):
    class Poly:
        a0, a1, a2 = 1.0, 2.0, 3.0

        def __call__(self, x):
            return sum(getattr(self, f"a{i}") * x**i for i in range(3))

    p = Poly()
    p.a0, p.a1, p.a2 = 1.0, 2.0, 3.0
    f = jit(p)
    yield f(X)
    p.a1 = 20.0
    yield f(X)
    setattr(p, "a2", 30.0)  # noqa: B010
    yield f(X)


@case(traces=3)
def test_vars_reads_every_attribute_in_order(jit):
    class Bag:
        def __init__(self):
            self.a, self.b = 1.0, 2.0

        def __call__(self, x):
            total = x
            for value in vars(self).values():
                total = 10 * total + value
            return total

    bag = Bag()
    f = jit(bag)
    yield f(X)
    bag.a = 5.0
    yield f(X)
    bag.c = 7.0
    yield f(X)
    del bag.a, bag.c
    bag.a = 5.0
    yield f(X)
    bag.a = 6.0
    yield f(X)


@case(traces=1)
def test_namespace_is_read_anew(jit):
    cfg = SimpleNamespace(rate=0.5, steps=3)
    f = jit(lambda x: x * cfg.rate)
    for cfg.rate in (0.5, 0.25, 2.0):
        cfg.steps += 1
        yield f(X), cfg


@case(traces=2)
def test_tuple_of_another_length(jit):
    s = Record(ks=(1.0, 2.0))
    f = jit(lambda x: sum(k * x for k in s.ks))
    for s.ks in ((1.0, 2.0), (3.0, 4.0), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)):
        yield f(X)


@case(traces=1)
def test_instances_of_one_class_share_a_variant(jit):
    f = jit(Scaler.__call__)
    for k in (2.0, 3.0, 4.0):
        yield f(Scaler(k), X)


@case(traces=2)
def test_function_in_an_attribute(jit):
    s = Record(act=jnp.sin)
    f = jit(lambda x: s.act(x))
    for s.act in (jnp.sin, jnp.cos, jnp.sin, jnp.cos):
        yield f(X)


@case(traces=2)
def test_lambda_in_an_attribute_made_anew(jit):
    s = Record()
    f = jit(lambda x: s.act(x))
    for k in (1.0, 2.0, 3.0):
        s.act = lambda x: x + k  # noqa: B023
        yield f(X)
    s.act = lambda x: x - k
    yield f(X)


@case(traces=2)
def test_dtype_in_an_attribute(jit):
    s = Record()
    f = jit(lambda x: x.astype(s.dtype))
    for s.dtype in (jnp.float16, jnp.int32, jnp.float16):
        yield f(X)


@case(traces=3)
def test_numpy_dtype_and_type_in_an_attribute(jit):
    s = Record()
    f = jit(lambda x: x.astype(s.dtype))
    for s.dtype in (np.dtype("int8"), np.dtype("int16"), np.dtype("int8"), np.int8):
        yield f(X)


@case(traces=2)
def test_enum_in_an_attribute(jit):
    class Mode(enum.Enum):
        ADD = 1
        MUL = 2

    s = Record()
    f = jit(lambda x: x + 2 if s.mode is Mode.ADD else x * 2)
    for s.mode in (Mode.ADD, Mode.MUL, Mode.ADD):
        yield f(X)


@case(traces=2)
def test_slice_in_an_attribute(jit):
    s = Record()
    f = jit(lambda x: x[s.window])
    for s.window in (slice(0, 2), slice(1, 3), slice(0, 2)):
        yield f(X)


@case(traces=2)
def test_range_and_bytes_are_guarded_by_value(jit):
    s = Record()
    f = jit(lambda x: x * len(s.raw) + sum(s.steps))
    for s.raw, s.steps in ((b"ab", range(3)), (b"abc", range(3)), (b"ab", range(0, 3, 1))):
        yield f(X)


@case(traces=1)
def test_complex_attribute(jit):
    s = Scaler(1 + 2j)
    f = jit(s.__call__)
    for s.k in (1 + 2j, 3j, -1 + 0j):
        yield f(X), s


@case(traces=1)
def test_cycle_of_parent_and_child(jit):
    class Node:
        def __init__(self, value, parent=None):
            self.value, self.parent, self.child = value, parent, None

        def total(self, x):
            return x + self.child.value * self.child.parent.value

    root = Node(2.0)
    root.child = Node(3.0, root)
    f = jit(root.total)
    yield f(X), root
    root.value = 5.0
    root.child.value = 7.0
    yield f(X), root


@case(traces=2)
def test_cycle_that_is_broken(jit):
    a, b = Record(v=1.0), Record(v=2.0)
    a.other, b.other = b, a
    f = jit(lambda x: x * a.other.other.v)
    yield f(X)
    b.other = Record(v=5.0)
    yield f(X)
    b.other.v = 6.0
    yield f(X)


@case(traces=1)
def test_array_protocols_are_traced(jit):
    class Wrapped:
        def __init__(self, value):
            self.value = value

        def __jax_array__(self):
            return self.value

    s = Record(w=Wrapped(jnp.ones(3)))
    f = jit(lambda x: x + s.w)
    for s.w in (Wrapped(jnp.ones(3)), Wrapped(jnp.arange(3.0))):
        yield f(X)


@case(traces=1)
def test_numpy_scalar_is_traced(jit):
    s = Record()
    f = jit(lambda x: x * s.k)
    for s.k in (np.float32(2), np.float32(3)):
        yield f(X), s
