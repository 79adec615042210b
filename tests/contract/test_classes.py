"""Kinds of classes: every one that Python has works, without registration or annotation."""

import abc
import dataclasses
import enum
import functools
import types
import weakref
from collections import namedtuple
from typing import NamedTuple

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine


class Point(NamedTuple):
    """A place on the plane."""

    x: object
    y: object


@case(traces=1)
def test_unhashable_object(jit):
    class Config:
        __hash__ = None

        def __init__(self, k):
            self.k = k

    f = jit(lambda cfg, x: x * cfg.k)
    yield f(Config(2.0), X), f(Config(3.0), X)


@case(traces=1)
def test_slots(jit):
    class Slotted:
        __slots__ = ("n", "unread", "w")

        def __init__(self):
            self.w, self.n = jnp.ones(3), 0

        def step(self, x):
            self.n += 1
            self.w = self.w + x * self.n
            return self.w

    s = Slotted()
    step = jit(s.step)
    for _ in range(2):
        yield step(X), s
    s.unread, s.n = "text", 10
    yield step(X), s


@case(traces=2)
def test_slot_appears_and_is_deleted(jit):
    class Slotted:
        __slots__ = ("bias",)

        def step(self, x):
            if hasattr(self, "bias"):
                x = x + self.bias
                del self.bias
            else:
                self.bias = 2.0
            return x

    s = Slotted()
    step = jit(s.step)
    for _ in range(4):
        yield step(X), s


@case(traces=1)
def test_slots_and_dict_together(jit):
    class Base:
        __slots__ = ("a",)

    class Both(Base):
        def step(self, x):
            self.a, self.b = self.b + 1, self.a * 2
            return x * self.a + self.b

    s = Both()
    s.a, s.b = 1, 2.0
    step = jit(s.step)
    s.a, s.b = 1.0, 2.0
    for _ in range(3):
        yield step(X), s


@case(traces=1)
def test_dataclass(jit):
    @dataclasses.dataclass
    class State:
        w: object
        n: int = 0
        tags: list = dataclasses.field(default_factory=list)

        def step(self, x):
            self.n += 1
            self.w = self.w + x
            return dataclasses.replace(self, n=-self.n)

    s = State(jnp.ones(3))
    step = jit(s.step)
    for _ in range(2):
        yield step(X), s
    yield step(X) is s


@case(traces=1)
def test_frozen_dataclass_is_replaced(jit):
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float
        power: object

    s = Record(cfg=Config(0.5, jnp.ones(3)))

    def step(x):
        s.cfg = dataclasses.replace(s.cfg, rate=s.cfg.rate * 0.5)
        return x * s.cfg.rate + s.cfg.power

    step = jit(step)
    for _ in range(3):
        yield step(X), s
    s.cfg = Config(8.0, jnp.zeros(3))
    yield step(X), s


@case()
def test_frozen_dataclass_refuses_in_its_words(jit):
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float

    cfg = Config(0.5)

    def step(x):
        cfg.rate = 1.0
        return x

    yield raised(jit(step), X), cfg


@case(traces=1)
def test_slotted_frozen_dataclass(jit):
    @dataclasses.dataclass(frozen=True, slots=True)
    class Pair:
        a: object
        b: object

    f = jit(lambda pair, x: (pair.a * x + pair.b, Pair(pair.b, pair.a)))
    yield f(Pair(1.0, 2.0), X)
    yield f(Pair(3.0, 4.0), X)


@case(traces=1)
def test_namedtuple_in_state(jit):
    s = Record(p=Point(1.0, jnp.ones(3)))

    def step(x):
        s.p = s.p._replace(x=s.p.x + 1)
        return x * s.p.x + s.p.y

    step = jit(step)
    for _ in range(2):
        yield step(X), s, type(s.p) is Point
    s.p = Point(10.0, jnp.zeros(3))
    yield step(X), s


@case(traces=1)
def test_namedtuple_made_inside(jit):
    pair = namedtuple("pair", "a b")
    f = jit(lambda x: pair(x, b=x + 1))
    got = f(X)
    yield got, type(got) is pair, f(X).b


@case(traces=1)
def test_class_constant_by_the_class_name(jit):
    class Config:
        rate = 2.0

    f = jit(lambda x: x * Config.rate)
    for Config.rate in (2.0, 3.0, 4.0):
        yield f(X), Config.rate


@case(traces=1)
def test_user_descriptor(jit):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, owner=None):
            return getattr(obj, self.name)

        def __set__(self, obj, value):
            setattr(obj, self.name, max(value, 0))

    class Model:
        rate = Positive()

        def step(self, x):
            self.rate = self.rate + 1
            return x * self.rate

    m = Model()
    m.rate = 2
    step = jit(m.step)
    for _ in range(3):
        yield step(X), m


@case(traces=1)
def test_property_with_a_setter(jit):
    class Model:
        def __init__(self):
            self._log_rate = 0.0

        @property
        def rate(self):
            return 2.0**self._log_rate

        @rate.setter
        def rate(self, value):
            self._log_rate = value - 1.0

        def step(self, x):
            self.rate = self.rate + 0.5
            return x * self.rate

    m = Model()
    step = jit(m.step)
    for _ in range(3):
        yield step(X), m


@case(at_most=2)
def test_cached_property(jit):
    class Model:
        def __init__(self):
            self.w = jnp.ones(3)

        @functools.cached_property
        def norm(self):
            return (self.w * self.w).sum()

        def step(self, x):
            return x / self.norm

    m = Model()
    step = jit(m.step)
    yield step(X), m
    m.w = jnp.arange(3.0)
    yield step(X), m
    del m.norm
    yield step(X), m


@case(at_most=3)
def test_getattr_hook(jit):
    class Lazy:
        def __init__(self):
            self.params = {"w": 2.0}

        def __getattr__(self, name):
            if name == "params":
                raise AttributeError(name)
            try:
                return self.params[name]
            except KeyError:
                raise AttributeError(name) from None

        def step(self, x):
            return x * self.w + (self.b if hasattr(self, "b") else 0)

    m = Lazy()
    step = jit(m.step)
    yield step(X)
    m.params["w"] = 3.0
    yield step(X)
    m.params["b"] = 4.0
    yield step(X)
    m.w = 5.0
    yield step(X), m


@case(at_most=2)
def test_getattribute_of_the_user(jit):
    class Proxy:
        def __init__(self, target):
            self.target = target

        def __getattribute__(self, name):
            if name in ("target", "__dict__", "__class__"):
                return object.__getattribute__(self, name)
            return getattr(self.target, name)

    s = Record(p=Proxy(Record(k=2.0)))
    f = jit(lambda x: x * s.p.k)
    yield f(X)
    s.p.target.k = 3.0
    yield f(X)
    s.p.target = Record(k=4.0)
    yield f(X)


@case(traces=2)
def test_metaclass_with_attributes(jit):
    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.born = cls.scale
            return made

    class Model(metaclass=Meta):
        scale = 2.0

        def step(self, x):
            return x * self.born

    m = Model()
    step = jit(m.step)
    yield step(X)
    m.born = 3.0
    yield step(X)
    m.born = jnp.ones(3)
    yield step(X)


@case(traces=1)
def test_abstract_base_class(jit):
    class Layer(abc.ABC):
        @abc.abstractmethod
        def forward(self, x): ...

        def step(self, x):
            return self.forward(x) + 1

    class Dense(Layer):
        k = 1.0

        def forward(self, x):
            return x * self.k

    layer = Dense()
    step = jit(layer.step)
    for layer.k in (1.0, 2.0):
        yield step(X), isinstance(layer, Layer)


@case(traces=2)
def test_flag_and_int_enum(jit):
    class Mode(enum.Flag):
        BIAS = 1
        SCALE = 2

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    s = Record()

    def f(x):
        if Mode.BIAS in s.mode:
            x = x + 1
        return x * int(s.level)

    f = jit(f)
    for s.mode, s.level in (
        (Mode.BIAS, Level.LOW),
        (Mode.SCALE, Level.HIGH),
        (Mode.BIAS, Level.LOW),
    ):
        yield f(X), s


@case(traces=1)
def test_callable_object_with_state(jit):
    class Average:
        def __init__(self):
            self.total, self.n = jnp.zeros(3), 0

        def __call__(self, x):
            self.total, self.n = self.total + x, self.n + 1
            return self.total / self.n

    a, b = Average(), Average()
    f = jit(lambda g, x: g(x))
    yield f(a, X), f(a, X), f(b, X), a, b


@case(traces=1)
def test_weak_reference_is_followed(jit):
    parent = Record(k=2.0)
    child = Record(parent=weakref.ref(parent))
    f = jit(lambda x: x * child.parent().k)
    for parent.k in (2.0, 3.0):
        yield f(X)
    other = Record(k=10.0)
    child.parent = weakref.ref(other)
    yield f(X), parent


@case(at_most=2)
def test_weak_reference_that_dies(jit):
    parent = Record(k=2.0)
    child = Record(parent=weakref.ref(parent))

    def f(x):
        parent = child.parent()
        return x if parent is None else x * parent.k

    f = jit(f)
    yield f(X)
    del parent
    yield f(X)


@case(traces=1)
def test_object_is_left_in_a_weak_dictionary(jit):
    registry = weakref.WeakKeyDictionary()
    s = Record(k=2.0)
    registry[s] = 5.0
    f = jit(lambda x: x * s.k * registry[s])
    for s.k in (2.0, 3.0):
        yield f(X), len(registry), registry[s]


@case(traces=1)
def test_subclass_of_float_with_attributes(jit):
    class Unit(float):
        scale = 1.0

    s = Record(k=Unit(2.0))
    s.k.scale = 3.0
    f = jit(lambda x: x * s.k.scale)
    yield f(X)
    s.k.scale = 4.0
    yield f(X), s.k.scale


@case(at_most=2)
def test_subclass_of_str_with_attributes(jit):
    class Name(str):
        pass

    s = Record(name=Name("a"))
    s.name.k = 2.0
    f = jit(lambda x: x * s.name.k + len(s.name))
    yield f(X)
    s.name.k = 3.0
    yield f(X)
    s.name = Name("abc")
    s.name.k = 3.0
    yield f(X)


@case(traces=1)
def test_type_made_from_a_function(jit):
    def step(self, x):
        return x * self.k

    made = types.new_class("Made", (Record,), {}, lambda names: names.update(step=step))
    m = made(k=2.0)
    f = jit(m.step)
    for m.k in (2.0, 3.0):
        yield f(X), m


@case(traces=1)
def test_exception_object_with_attributes(jit):
    class Stop(Exception):
        pass

    s = Record(last=Stop("text"))
    s.last.k = 2.0
    f = jit(lambda x: x * s.last.k)
    yield f(X)
    s.last.k = 3.0
    yield f(X)


@pytest.mark.parametrize("step", [0, 1])
def test_a_class_attribute_that_is_deleted_and_set_again_comes_last(step):
    @case(traces=2)
    def compared(jit):
        class Settings:
            """Have an order."""

            a, b, c = "1", 2, 3

        def change(x):
            old = Settings.a
            del Settings.a
            Settings.a = old + "1" * step
            return x * len(Settings.a)

        change = jit(change)
        for i in range(4):
            yield change(X), [k for k in vars(Settings) if k in "abc"]
            if i % 2:
                Settings.a = "1"
                for k in "bc":
                    value = getattr(Settings, k)
                    delattr(Settings, k)
                    setattr(Settings, k, value)
            Settings.a = "1"

    compared()


def test_a_call_that_raises_leaves_the_order_of_a_class():
    class Settings:
        a, b, c = 1, 2, 3

        def method(self):
            """Be there, too."""

    def change(x):
        old = Settings.a
        del Settings.a
        Settings.a = old
        raise KeyError(1)

    before = list(vars(Settings))
    with pytest.raises(KeyError):
        ev.jit(change)(X)
    assert [k for k in vars(Settings) if k[:2] != "__"] == [k for k in before if k[:2] != "__"]


MADE = {
    "of two": lambda opt, s: s.first | opt.B,
    "without one": lambda opt, s: s.first ^ opt.B,
    "all others": lambda opt, s: ~s.first,
    "by a number": lambda opt, s: opt(s.n),
    "by a product": lambda opt, s: opt(s.n * 2 - s.n),
}


@pytest.mark.parametrize("kind", [enum.Flag, enum.IntFlag])
@pytest.mark.parametrize("how", MADE)
def test_a_member_that_a_call_makes_is_the_one_of_its_value(how, kind):
    @case()
    def compared(jit):
        opt = kind("Opt", {"A": 1, "B": 2, "C": 4})
        s = Record(first=opt.A, n=3, made=None)

        def make(x):
            s.made = MADE[how](opt, s)
            return x * len(s.made)

        make = jit(make)
        for n in (3, 3, 5, 3, 6):
            s.n = n
            yield make(X), repr(s.made), type(s.made.value), s.made is opt(s.made.value)
            yield list(opt._value2member_map_), [m._value_ for m in opt._value2member_map_.values()]

    compared()


def test_a_call_that_raises_makes_no_member():
    class Opt(enum.Flag):
        A = 1
        B = 2

    def make(x, o):
        raise KeyError(o | Opt.B)

    with pytest.raises(KeyError):
        ev.jit(make)(X, Opt.A)
    assert list(Opt._value2member_map_) == [1, 2]


class Unlike:
    """A class that nothing but the comparison of classes mentions."""


class Comparing(type):
    """A metaclass whose classes are compared by code of the user's."""

    __hash__ = type.__hash__

    def __eq__(cls, other):
        return cls is other or (cls is Unlike and other is type)


class Compared(metaclass=Comparing):
    size = 2.0

    def step(self, x):
        self.n = getattr(self, "n", 0) + 1
        return x * self.size + self.n


class Derived(Compared):
    pass


@case(traces=2)
def test_classes_that_are_compared_by_code_of_their_metaclass(jit):
    step = jit(lambda o, x: type(o).size * o.step(x))  # the class is a value: so is its own class
    o = Derived()
    try:
        yield step(o, X), step(o, X), o.n
        Compared.size = 3.0
        yield step(o, X), o.n
    finally:
        Compared.size = 2.0
