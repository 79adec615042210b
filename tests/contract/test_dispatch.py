"""Dispatch: which code runs is read too, whoever replaces it later."""

import functools

import pytest

import evertrace as ev
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine


@case(traces=2)
def test_method_replaced_on_its_class(jit):
    class Model:
        def forward(self, x):
            return x + 1

        def step(self, x):
            return self.forward(x) * 2

    m = Model()
    step = jit(m.step)
    yield step(X)
    first = Model.forward
    Model.forward = lambda self, x: x - 1
    yield step(X)
    Model.forward = first
    yield step(X)


@case(traces=2)
def test_method_replaced_on_its_base(jit):
    class Base:
        def forward(self, x):
            return x + 1

    class Model(Base):
        def step(self, x):
            return self.forward(x) * 2

    m = Model()
    step = jit(m.step)
    yield step(X)
    Base.forward = lambda self, x: x - 1
    yield step(X)


@case(traces=2)
def test_method_overridden_later_in_a_subclass(jit):
    class Base:
        def forward(self, x):
            return x + 1

    class Model(Base):
        def step(self, x):
            return self.forward(x) * 2

    m = Model()
    step = jit(m.step)
    yield step(X)
    Model.forward = lambda self, x: x - 1
    yield step(X)
    del Model.forward
    yield step(X)


@case(traces=2)
def test_method_replaced_on_the_instance(jit):
    class Model:
        def forward(self, x):
            return x + 1

        def step(self, x):
            return self.forward(x) * 2

    m = Model()
    step = jit(m.step)
    yield step(X)
    m.forward = lambda x: x - 1
    yield step(X)
    del m.forward
    yield step(X)


@case(traces=2)
def test_jitted_method_itself_is_replaced(jit):
    class Model:
        def step(self, x):
            return x + 1

    f = jit(lambda m, x: m.step(x))
    m = Model()
    yield f(m, X)
    Model.step = lambda self, x: x - 1
    yield f(m, X)


@case(traces=2)
def test_bases_are_assigned(jit):
    class A:
        def forward(self, x):
            return x + 1

    class B:
        def forward(self, x):
            return x - 1

    class Model(A):
        def step(self, x):
            return self.forward(x)

    m = Model()
    step = jit(m.step)
    yield step(X)
    Model.__bases__ = (B,)
    yield step(X)
    Model.__bases__ = (A,)
    yield step(X)


@case(traces=2)
def test_class_of_an_object_is_assigned(jit):
    class Train:
        def step(self, x):
            return x * self.k

    class Eval(Train):
        def step(self, x):
            return x - self.k

    m = Train()
    m.k = 2.0
    f = jit(lambda x: m.step(x))
    yield f(X)
    m.__class__ = Eval
    yield f(X)
    m.__class__ = Train
    yield f(X)


@case(at_most=2)
def test_class_is_assigned_inside(jit):
    class Cold:
        def step(self, x):
            self.__class__ = Warm
            return x

    class Warm:
        def step(self, x):
            return x * 2

    m = Cold()
    f = jit(lambda x: m.step(x))
    for _ in range(3):
        yield f(X), m, type(m) is Warm


@case(traces=2)
def test_property_added_to_the_class_later(jit):
    class Model:
        def __init__(self):
            self.rate = 2.0

        def step(self, x):
            return x * self.rate

    m = Model()
    step = jit(m.step)
    yield step(X)
    Model.rate = property(lambda self: 5.0 * vars(self)["rate"])
    yield step(X)
    vars(m)["rate"] = 3.0
    yield step(X)
    del Model.rate
    yield step(X)


@case(traces=3)
def test_what_a_class_holds_becomes_a_descriptor(jit):
    class Rate:
        k = 2.0

    class Base:
        rate = Rate()

    class Model(Base):
        def step(self, x):
            return x * (self.rate.k if isinstance(self.rate, Rate) else self.rate)

    m = Model()
    step = jit(m.step)
    for _ in range(3):
        yield step(X)
    Rate.__get__ = lambda self, owner, cls=None: 5.0
    for _ in range(3):
        yield step(X)
    del Rate.__get__
    yield step(X)
    Base.rate.__class__ = type("Other", (), {"__get__": lambda self, owner, cls=None: 7.0})
    yield step(X)


@case(traces=2)
def test_getattr_hook_added_later(jit):
    class Model:
        def step(self, x):
            return x * getattr(self, "rate", 1.0)

    m = Model()
    step = jit(m.step)
    yield step(X)
    Model.__getattr__ = lambda self, name: 3.0
    yield step(X)


@case(traces=2)
def test_operator_replaced_on_the_class(jit):
    class Gain:
        def __mul__(self, x):
            return x * 2

    g = Gain()
    f = jit(lambda x: g * x)
    yield f(X)
    Gain.__mul__ = lambda self, x: x * 3
    yield f(X)


@case(at_most=4)
def test_length_truth_and_membership_of_a_class(jit):
    class Bag:
        def __init__(self):
            self.items, self.on = [1.0, 2.0], True

        def __len__(self):
            return len(self.items)

        def __bool__(self):
            return self.on

        def __contains__(self, x):
            return x in self.items

        def __iter__(self):
            return iter(self.items)

        def __getitem__(self, i):
            return self.items[i]

    bag = Bag()
    f = jit(lambda x: x * len(bag) + sum(bag) + bag[0] if bag and 1.0 in bag else x)
    yield f(X)
    bag.items[1] = 3.0
    yield f(X)
    bag.items.append(4.0)
    yield f(X)
    bag.on = False
    yield f(X)


@case(traces=1)
def test_equality_and_hash_of_the_user_are_not_called_by_guards(jit):
    called = []

    class Touchy:
        k = 2.0

        def __eq__(self, other):
            called.append("eq")
            return True

        def __hash__(self):
            called.append("hash")
            return 0

    s = Record(t=Touchy())
    f = jit(lambda x: x * s.t.k)
    for k in (2.0, 3.0):
        s.t = Touchy()
        s.t.k = k
        yield f(X), called


@case(traces=1)
def test_super(jit):
    class Base:
        k = 2.0

        def step(self, x):
            return x * self.k

    class Model(Base):
        def step(self, x):
            return super().step(x) + 1

    m = Model()
    step = jit(m.step)
    yield step(X)
    Base.k = 5.0
    yield step(X)


@case(traces=2)
def test_super_method_is_replaced(jit):
    class Base:
        def step(self, x):
            return x * 2

    class Model(Base):
        def step(self, x):
            return super().step(x) + 1

    m = Model()
    step = jit(m.step)
    yield step(X)
    Base.step = lambda self, x: x * 3
    yield step(X)


@case(traces=1)
def test_diamond_of_inheritance(jit):
    class A:
        def f(self, x):
            return x + self.k

    class B(A):
        def f(self, x):
            return super().f(x) * 2

    class C(A):
        def f(self, x):
            return super().f(x) - 1

    class D(B, C):
        k = 3.0

    d = D()
    f = jit(d.f)
    yield f(X)
    D.k = 4.0
    yield f(X)


@case(traces=1)
def test_class_and_static_methods(jit):
    class Model:
        scale = 2.0

        @classmethod
        def scaled(cls, x):
            return x * cls.scale

        @staticmethod
        def shifted(x):
            return x + 1

        def step(self, x):
            return self.shifted(self.scaled(x))

    step = jit(Model().step)
    for Model.scale in (2.0, 3.0):
        yield step(X)


@case(traces=2)
def test_isinstance_is_dispatch(jit):
    class A:
        k = 1.0

    class B(A):
        k = 2.0

    f = jit(lambda o, x: x * o.k if isinstance(o, B) else x + o.k)
    for o in (A(), B(), A(), B()):
        yield f(o, X)


@case(traces=2)
def test_match_statement(jit):
    class Add:
        __match_args__ = ("k",)

        def __init__(self, k):
            self.k = k

    def f(op, x):
        match op:
            case Add(k):
                return x + k
            case {"mul": k}:
                return x * k

    f = jit(f)
    yield f(Add(1.0), X), f({"mul": 2.0}, X), f(Add(5.0), X), f({"mul": 7.0}, X)


@case(at_most=4)
def test_match_on_a_number(jit):
    def f(n, x):
        match n:
            case 0:
                return x
            case int():
                return x * n
            case float(k):
                return x + k

    f = jit(f)
    yield f(0, X), f(3, X), f(5, X), f(0.5, X), f(1.5, X)


@case(traces=2)
def test_singledispatch(jit):
    @functools.singledispatch
    def apply(op, x):
        return x

    @apply.register
    def _(op: str, x):
        return x + len(op)

    f = jit(lambda op, x: apply(op, x))
    yield f(None, X), f("ab", X), f(None, X)


@case(traces=1)
def test_partialmethod(jit):
    class Model:
        k = 2.0

        def scaled(self, by, x):
            return x * by * self.k

        twice = functools.partialmethod(scaled, 2.0)

    m = Model()
    twice = jit(lambda x: m.twice(x))
    for m.k in (2.0, 3.0):
        yield twice(X)


@pytest.mark.parametrize("how", ["within", "outside", "by its own name"])
def test_method_that_is_set_to_what_it_is(how):
    def doubled(self, x):
        return x * 2

    class Model:
        method = doubled

        def step(self, x):
            if how == "within":
                type(self).method = doubled
            elif how == "by its own name":
                type(self).method = type(self).method
            return self.method(x)

    model, step = Model(), ev.jit(Model.step)
    for _ in range(12):
        if how == "outside":
            Model.method = Model.method
        assert step(model, X).tolist() == (X * 2).tolist()
    assert step.cache_info().misses == 1
