"""Programs that an adversary wrote: ordinary Python that mixes several features at once."""

import collections
import dataclasses
import functools
import types
import typing

import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine

T = typing.TypeVar("T")


@dataclasses.dataclass
class DC:
    """A dataclass with every kind of field."""

    a: float
    n: int = 0
    hist: list = dataclasses.field(default_factory=list)
    init: dataclasses.InitVar[int] = 3
    b: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self, init):
        self.b = self.a * init


class HasV(typing.Protocol):
    """What has a value."""

    v: object


class Box(typing.Generic[T]):
    """A generic box."""

    def __init__(self, v: T):
        self.v = v

    def map(self, f) -> "Box":
        return Box(f(self.v))


@case(traces=1)
def test_property_overridden_with_its_setter(jit):
    class A:
        def __init__(self):
            self._w = 1.0
            self.log = []

        @property
        def w(self):
            return self._w

        @w.setter
        def w(self, v):
            self.log.append(v)
            self._w = v

    class B(A):
        @property
        def w(self):
            return super().w * 2

        @w.setter
        def w(self, v):
            A.w.fset(self, v + 1)

        def step(self, x):
            self.w = self.w + 1
            return x * self.w

    b = B()
    f = jit(b.step)
    for _ in range(3):
        yield (f(X), b)
    b._w = 10.0
    yield (f(X), b)


@case(at_most=3)
def test_total_ordering_of_the_library(jit):
    @functools.total_ordering
    class V:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

        __hash__ = None

    class M:
        def __init__(self):
            self.a = V(1)
            self.b = V(2)

        def step(self, x):
            if self.a >= self.b:
                return x * self.a.v
            self.a.v += 1
            return x + max(self.a, self.b).v + min(self.a, self.b).v

    m = M()
    f = jit(m.step)
    for _ in range(4):
        yield (f(X), m)
    m.b.v = 9
    yield (f(X), m)


@case(at_most=2)
def test_stack_of_decorators_that_count(jit):
    log = []

    def deco(tag):
        def d(fn):
            calls = 0

            @functools.wraps(fn)
            def w(*a, **k):
                nonlocal calls
                calls += 1
                w.count = calls
                log.append((tag, calls))
                return fn(*a, **k) * calls

            return w

        return d

    class M:
        k = 2

        @deco("a")
        @deco("b")
        def step(self, x):
            return x * self.k

    m = M()
    f = jit(m.step)
    for _ in range(3):
        yield (f(X), log, M.step.count, M.step.__wrapped__.count)


@case(at_most=4)
def test_dataclass_with_init_var_is_replaced(jit):
    class M:
        def __init__(self):
            self.c = DC(1.0)

        def step(self, x):
            self.c = dataclasses.replace(self.c, a=self.c.a + 1, n=self.c.n + 1, init=self.c.n)
            self.c.hist.append(self.c.b)
            return x * self.c.b

    m = M()
    f = jit(m.step)
    for _ in range(4):
        yield (f(X), m)


@case(traces=1)
def test_generic_class_and_protocol(jit):
    HV = typing.runtime_checkable(HasV)

    class M:
        def __init__(self):
            self.b = Box[int](1)

        def step(self, x):
            if isinstance(self.b, HV):
                self.b = self.b.map(lambda v: v + 1)
            return x * self.b.v

    m = M()
    f = jit(m.step)
    for _ in range(3):
        yield (f(X), m.b.v, type(m.b).__name__)


@case(at_most=3)
def test_recursion_with_a_mutable_default(jit):
    class N:
        def __init__(self, v, left=None, right=None):
            self.v, self.left, self.right = (v, left, right)

    def total(t, acc=[]):  # noqa: B006
        acc.append(t.v if len(acc) < 1 else 0)
        return t.v + (total(t.left) if t.left else 0) + (total(t.right) if t.right else 0)

    t = N(1, N(2, N(3)), N(4))
    f = jit(lambda x: x * total(t))
    yield (f(X), len(total.__defaults__[0]), total.__defaults__[0])
    t.left.v = 20
    yield (f(X), total.__defaults__[0])
    t.right = N(5, N(6))
    yield (f(X), total.__defaults__[0])


@case(at_most=2)
def test_jitted_method_overrides_a_jitted_method(jit):
    class A:
        def __init__(self):
            self.n = 0

        @jit
        def step(self, x):
            self.n += 1
            return x * self.n

    class B(A):
        @jit
        def step(self, x):
            y = super().step(x)
            self.n += 10
            return y + super().step(x)

    b = B()
    a = A()
    for _ in range(2):
        yield (b.step(X), a.step(X), b, a)


@case(at_most=5)
def test_match_on_numbers_and_dicts(jit):
    def f(m, x):
        match m.n:
            case 0:
                m.r = "zero"
            case int() if m.n > 2:
                m.r = "big"
            case 1 | 2:
                m.r = "small"
            case float(v):
                m.r = v * 2
        match m.d:
            case {"k": int(v), **rest}:
                m.q = v + 1
                m.rest = rest
            case [a, *b]:
                m.q = a
                m.rest = b
        m.n += 1
        return x

    m = Record(n=0, d={"k": 3, "z": 1.5})
    f = jit(f)
    for _ in range(4):
        yield (f(m, X), m)
    m.n = 0.5
    m.d = [1, 2.0, 3]
    yield (f(m, X), m)


@case(at_most=4)
def test_argument_attribute_cell_and_dict_are_one_list(jit):
    shared = [jnp.ones(3), 1]
    g = {"l": shared}
    m = Record(l=shared)

    def f(a, b, x):
        a.l[1] += 1
        g["l"][1] *= 2
        b[0] = b[0] + x
        shared.append(len(b))
        return (a.l is b, g["l"] is shared, a.l[0] * b[1])

    f = jit(f)
    for _ in range(2):
        yield (f(m, shared, X)[2], m, g, shared)
    other = [jnp.zeros(3), 5]
    yield (f(m, other, X)[2], m, g, shared, other)
    m.l = other
    yield (f(m, other, X)[2], m, g, shared, other)


@case(at_most=3)
def test_class_changes_back_and_forth(jit):
    class A:
        k = 1

        def go(self, x):
            self.__class__ = B
            return x * self.k

    class B:
        k = 2

        def go(self, x):
            self.n += 1
            self.__class__ = A if self.n % 2 else B
            return x + self.k * self.n

    a = A()
    a.n = 0
    f = jit(lambda o, x: o.go(x))
    for _ in range(6):
        yield (f(a, X), type(a).__name__, a.n)


@case(at_most=3)
def test_setattr_and_getattr_keep_state_in_a_dict(jit):
    class M:
        def __init__(self):
            object.__setattr__(self, "d", {})
            object.__setattr__(self, "log", [])

        def __setattr__(self, k, v):
            self.d[k] = v
            self.log.append(("set", k))

        def __getattr__(self, k):
            try:
                return self.d[k]
            except KeyError:
                raise AttributeError(k) from None

        def __delattr__(self, k):
            del self.d[k]

        def step(self, x):
            self.n = getattr(self, "n", 0) + 1
            if self.n > 2:
                del self.n
            return x * getattr(self, "n", 100)

    m = M()
    f = jit(m.step)
    for _ in range(5):
        yield (f(X), m)


@case(traces=1)
def test_switch_changes_another_state_in_each_branch(jit):
    m = Record(a=jnp.zeros(3), b=[jnp.ones(3)])

    def b0(x):
        m.a = m.a + x
        return x

    def b1(x):
        m.b[0] = m.b[0] * 2
        return x + m.a

    def b2(x):
        return x * 3

    f = jit(lambda i, x: jit.switch(i, [b0, b1, b2], x))
    for i in (0, 1, 2, 1):
        yield (f(jnp.asarray(i), X), m)


@case(at_most=3)
def test_property_with_observers(jit):
    class Sub:
        def __init__(self):
            self.obs = []
            self._v = 0

        def on(self, fn):
            self.obs.append(fn)

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, x):
            old, self._v = (self._v, x)
            for o in self.obs:
                o(old, x)

    s = Sub()
    log = []
    s.on(lambda a, b: log.append((a, b)))
    t = Record(n=0)

    def h(a, b):
        t.n += b - a

    s.on(h)

    def f(x):
        s.v += 2
        s.on(lambda a, b: log.append("x")) if len(s.obs) < 4 else 0
        return x * t.n

    j = jit(f)
    for _ in range(5):
        yield (j(X), log, t, s.v, len(s.obs))


@case(at_most=3)
def test_dataclass_with_slots_and_inheritance(jit):
    @dataclasses.dataclass(slots=True, kw_only=True)
    class A:
        a: object = 1
        hist: list = dataclasses.field(default_factory=list, compare=False)

    @dataclasses.dataclass(slots=True, kw_only=True)
    class B(A):
        b: object = 2.0

        @property
        def s(self):
            return self.a + self.b

    m = B(a=3)

    def f(x):
        m.a += 1
        m.hist.append(m.s)
        c = B(a=m.a, hist=m.hist)
        m.b = float(c == m)
        return x * m.s

    f = jit(f)
    for _ in range(3):
        yield (f(X), m)


@case(at_most=4)
def test_cooperative_mixins_and_new_bases(jit):
    class Base:
        def __init__(self, **k):
            self.order = []
            [setattr(self, a, b) for a, b in k.items()]

        def run(self, x):
            self.order.append("base")
            return x

    class A(Base):
        def run(self, x):
            self.order.append("a")
            return super().run(x * self.k)

    class B(Base):
        def run(self, x):
            self.order.append("b")
            return super().run(x + self.k)

    class C(A, B):
        def run(self, x):
            self.order.clear()
            return super().run(x)

    m = C(k=2)
    f = jit(m.run)
    for _ in range(2):
        yield (f(X), m)
    A.run = B.run
    try:
        yield (f(X), m)
    except Exception as e:
        yield type(e).__name__
    C.__bases__ = (B, A)
    try:
        yield (f(X), m)
    except Exception as e:
        yield type(e).__name__


@case(at_most=2)
def test_mapping_by_abc(jit):
    class Mp(collections.abc.MutableMapping):
        def __init__(self):
            self.d = {}
            self.gets = 0

        def __getitem__(self, k):
            self.gets += 1
            return self.d[k]

        def __setitem__(self, k, v):
            self.d[k] = v

        def __delitem__(self, k):
            del self.d[k]

        def __iter__(self):
            return iter(self.d)

        def __len__(self):
            return len(self.d)

    m = Mp()
    m["a"] = 1

    def f(x):
        m["a"] += 1
        m.setdefault("b", m.get("a"))
        m.update(c=m.pop("b") * 2)
        return x * sum(m.values()) + ("a" in m)

    f = jit(f)
    for _ in range(3):
        yield (f(X), m.d, m.gets)


@case(at_most=5)
def test_default_factory_with_state(jit):
    m = Record(n=0)

    def fac():
        m.n += 1
        return [m.n]

    m.d = collections.defaultdict(fac)

    def f(x, k):
        m.d[k].append(1)
        return x * len(m.d[k]) + m.n

    j = jit(f)
    for k in "aabba":
        yield (j(X, k), dict(m.d), m.n)


@case(at_most=3)
def test_method_is_replaced_inside(jit):
    class A:
        def go(self, x):
            return x

    a = A()
    n = [0]

    def f(x):
        n[0] += 1
        A.go = lambda s, y, k=n[0]: y * k
        a.extra = types.MethodType(lambda s, y: y + 1, a)
        return a.go(x) + a.extra(x)

    j = jit(f)
    for _ in range(3):
        yield (j(X), n, a.go(X))
