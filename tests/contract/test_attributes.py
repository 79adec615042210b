"""Attributes that a function reads: each is an argument, whatever happens to it between calls."""

import enum
from types import SimpleNamespace

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, raised, refused

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


# ------------------------------------------------------------------------ the dict and its order


@case(traces=3)  # the orders p q, p q extra, p extra q
def test_an_attribute_that_is_deleted_and_set_again_comes_last(jit):
    s = Record(p=1, q=2)

    def step(x):
        old = s.q
        del s.q
        s.q = old
        s.extra = s.p + 1
        return x

    step = jit(step)
    for _ in range(5):
        yield step(X), list(vars(s)), s


DICTS = {
    "reversed": lambda s, x: dict(reversed(vars(s).items())),
    "a copy": lambda s, x: dict(vars(s)),
    "others": lambda s, x: {"k": 1, "w": x},
    "nothing": lambda s, x: {},
    "another object's": lambda s, x: s.other.__dict__,
}


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c")])
@pytest.mark.parametrize("what", DICTS)
def test_a_dict_that_is_assigned_is_the_one_of_the_object(what, names):
    if what == "another object's":
        names = (*names, "other")

    def observe(jit):
        other = Record(k=1)
        s = Record(**{k: other if k == "other" else 1 for k in names})
        first = vars(s)

        def step(x):
            s.__dict__ = DICTS[what](s, x)
            return vars(s)

        step, found = jit(step), []
        for _ in range(1 if what == "another object's" else 3):
            found.append(step(X))
        same = [[a is b for a in (first, vars(s), vars(other), *found)] for b in found]
        return same, [list(d) for d in (first, *found)], vars(s) is vars(other)

    assert observe(ev.jit) == observe(lambda f: f)


@case(traces=1)
def test_slots_beside_a_dict_that_is_assigned(jit):
    class Both(Record):
        __slots__ = ("n",)

    s = Both(a=1)
    s.n = 0

    def step(x):
        s.n += 1
        s.__dict__ = {"a": s.n + s.a}
        return x * s.n

    step = jit(step)
    for _ in range(3):
        yield step(X), s.n, list(vars(s).items())


def _delete_first(s):
    del s.q
    s.__dict__ = dict(reversed(vars(s).items()))


def _set_on_both_sides(s):
    s.n = s.p + 3
    s.__dict__ = {"p": s.p + 1}
    s.n = 4


def _write_to_the_old_one(s):
    old = vars(s)
    s.__dict__ = {"p": s.p + 1, "q": 0}
    old["z"] = s.p
    old.pop("q")


@pytest.mark.parametrize("change", [_delete_first, _set_on_both_sides, _write_to_the_old_one])
def test_who_holds_the_dict_from_before_another_is_assigned_sees_what_was_changed_in_it(change):
    def observe(jit):
        seen = []
        for make in (lambda: Record(p=0.5, q=2), lambda: FUNCTIONS.pop()):
            s = make()
            first = vars(s)
            jit(lambda s, x: (change(s), x * s.p)[1])(s, X)
            seen.append([list(first.items()), list(vars(s).items()), vars(s) is first])
        return seen

    def function():
        pass

    function.p, function.q = 0.5, 2
    FUNCTIONS = [function]
    want = observe(lambda f: f)
    vars(function).clear()
    function.p, function.q = 0.5, 2
    FUNCTIONS.append(function)
    assert observe(ev.jit) == want


# ------------------------------------------------------------------------ dicts that are shared


class AttrDict(dict):
    """A dict whose entries are its attributes."""

    def __init__(self, **entries):
        super().__init__(**entries)
        self.__dict__ = self


class Holder:
    def __init__(self, namespace):
        self.__dict__ = namespace


class Items(list):
    """A list with attributes."""


@case(traces=2)
def test_dict_that_is_its_own_attributes(jit):
    s = AttrDict(k=1.0, n=0)

    def step(x):
        s["k"] += 1
        s.n += 1
        s.late = s["n"]
        return x * s.k + len(s)

    step = jit(step)
    for s.k in (1.0, 2.0, 5.0):
        yield step(X), s


@case(traces=1)
def test_new_dict_that_is_its_own_attributes(jit):
    step = jit(lambda x, n: AttrDict(x=x, n=n))
    for n in (1, 2):
        made = step(X, n)
        made.more = n
        yield made, made["more"], made.__dict__ is made


@case(traces=1)
def test_new_objects_that_share_a_dict(jit):
    def make(x, n):
        held = {"v": x}
        a, b, items = Holder(held), Holder(held), Items([x])
        b.w, items.__dict__ = x * n, held
        held["b"] = b
        return a, items, held, b

    make = jit(make)
    for n in (1, 2):
        a, items, held, b = make(X, n)
        items.late = n
        yield a, items, held, b, a.late, b.__dict__ is held, items.__dict__ is held


@case(traces=1)
def test_new_object_with_the_dict_of_another(jit):
    s = Record(n=1, made=None)

    def step(x):
        made = Holder(s.__dict__)
        made.n += 1
        return made, x * s.n

    step = jit(step)
    for s.n in (1, 5):
        made, y = step(X)
        yield y, s.n, made.__dict__ is s.__dict__


@case(at_most=3)
def test_objects_that_share_a_dict(jit):
    shared = {"n": 1}
    objects = [Holder(shared), Holder(shared), Holder(shared)]

    def step(x):
        objects[0].n += 1
        y = x * objects[1].n
        objects[2].n *= 2
        return y * objects[0].n

    step = jit(step)
    for shared["n"] in (1, 5, 2):
        yield step(X), shared


@refused(
    ev.errors.OpaqueStateError,
    r"Borg\.shared and self hold one dict, which the function has changed by the second[^$]*"
    r"Fix: keep the shared state in one object or dict",
)
def test_dict_that_is_changed_by_one_name_and_then_found_by_another(jit):
    class Borg:
        shared = {}  # noqa: RUF012 - as users write it

        def __init__(self):
            self.__dict__ = self.shared

        def step(self, x):
            self.n = getattr(self, "n", 0) + 1
            return x * Borg().n

    jit(Borg().step)(X)
