"""What a class or function holds besides what is called: data under any name, and what it lacks."""

import functools
import inspect
import typing

import pytest

import evertrace as ev
from evertrace.errors import ImpurityError
from tests.contract.compare import X, case

pytestmark = pytest.mark.engine


# ------------------------------------------------------------------- names with underscores


@case(traces=2)
def test_data_of_a_class_under_a_dunder_name(jit):
    class A:
        __config__ = {"k": 1}  # noqa: RUF012 - as users write it
        __rate__ = 2

    f = jit(lambda x: x * A.__config__["k"] + A.__rate__)
    yield f(X)
    A.__config__["k"] = 5
    yield f(X)
    A.__rate__ = 50
    yield f(X)
    A.__config__ = {"k": 1.5}
    yield f(X)


@case(traces=1)
def test_data_of_a_class_under_a_dunder_name_is_written(jit):
    class A:
        __count__ = 0
        __log__ = []  # noqa: RUF012 - as users write it

    def step(x):
        A.__count__ += 1
        A.__log__.append(A.__count__)
        return x * A.__count__

    f = jit(step)
    for _ in range(3):
        yield f(X), A
    A.__count__ = 50
    yield f(X), A


@case(traces=3)
def test_dunder_name_that_a_class_lacks(jit):
    class A:
        pass

    f = jit(lambda x: x * getattr(A, "__scale__", 1) + hasattr(A, "__offset__"))
    yield f(X)
    A.__scale__ = 50
    yield f(X)
    A.__offset__ = 1
    yield f(X)


@case(traces=3)
def test_all_names_of_a_class_with_underscores(jit):
    class A:
        __a__ = 1

    f = jit(lambda x: x * sum(type(v) is int for v in vars(A).values()))
    yield f(X)
    A.__b__ = 2
    yield f(X)
    A.c = 3
    yield f(X)


@case(traces=1)
def test_global_under_a_dunder_name_by_way_of_globals(jit):
    space = {"jit": jit, "__scale__": 2}
    exec("f = jit(lambda x: x * globals()['__scale__'])", space)
    yield space["f"](X)
    space["__scale__"] = 3
    yield space["f"](X)


@case(at_most=3)
def test_annotations(jit):
    class A:
        a: int

    def helper(x: int):
        return x

    f = jit(lambda x: x * len(A.__annotations__) + len(helper.__annotations__))
    yield f(X)
    A.__annotations__["b"] = str
    yield f(X)
    helper.__annotations__["y"] = str
    yield f(X)


@case(traces=2)
def test_slots_of_a_class(jit):
    class A:
        __slots__ = ["a", "b"]

        def __init__(self):
            self.a, self.b = 1, 2.0

    a = A()
    f = jit(lambda x: x * sum(getattr(a, name) for name in A.__slots__))
    yield f(X)
    A.__slots__.pop()
    yield f(X)
    a.a = 7
    yield f(X)


@case(traces=2)
def test_order_of_a_pattern(jit):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self):
            self.a, self.b = 1, 2.0

    p = P()

    def step(x):
        match p:
            case P(a, b):
                return x * a - b

    f = jit(step)
    yield f(X)
    P.__match_args__ = ("b", "a")
    yield f(X)


# ------------------------------------------------------------------- what was not there


def asks_for_length(x, p):
    return x * len(p)


def adds(x, p):
    return x + (p + 1)


def adds_to_number(x, p):
    return x + (1 + p)


def subtracts_in_place(x, p):
    p -= 1
    return x + p


def compares(x, p):
    return x * (p < 1)


def calls(x, p):
    return x + p()


def iterates(x, p):
    return x + sum(p)


def takes_an_item(x, p):
    return x * p[0]


def looks_in(x, p):
    return x * (3 in p)


def negates(x, p):
    return x * -p


def rounds(x, p):
    return x * round(p)


def unpacks(x, p):
    return x * len({**p})


ADDED = {
    "__len__": (asks_for_length, lambda self: 2),
    "__add__": (adds, lambda self, other: 5),
    "__radd__": (adds_to_number, lambda self, other: 5),
    "__isub__": (subtracts_in_place, lambda self, other: 5),
    "__sub__": (subtracts_in_place, lambda self, other: 5),
    "__lt__": (compares, lambda self, other: True),
    "__call__": (calls, lambda self: 9),
    "__iter__": (iterates, lambda self: iter((1, 2))),
    "__getitem__": (takes_an_item, lambda self, key: 7),
    "__contains__": (looks_in, lambda self, value: True),
    "__neg__": (negates, lambda self: 3),
    "__round__": (rounds, lambda self: 3),
    "keys": (unpacks, lambda self: []),
}


@pytest.mark.parametrize("name", ADDED)
def test_method_that_an_operation_did_not_find(name):
    helper, method = ADDED[name]

    @case(traces=2)
    def program(jit):
        class P:
            pass

        p = P()

        def step(x):
            try:
                return helper(x, p)
            except TypeError:
                return x

        f = jit(step)
        yield f(X)
        setattr(P, name, method)
        yield f(X)

    program()


# ------------------------------------------------------------------- looked at from outside


@case(traces=3)
def test_subclasses(jit):
    class Base:
        pass

    class A(Base):
        k = 2

    f = jit(lambda x: x * sum(c.k for c in Base.__subclasses__()))
    yield f(X)
    A.k = 5
    yield f(X)

    class B(Base):
        k = 100

    yield f(X)
    B.k = A.k = 3.0
    yield f(X)


@case(traces=3)
def test_names_of_an_object_and_its_class(jit):
    class A:
        k = 1

    a = A()
    f = jit(lambda x: x * len([name for name in dir(a) if name[0] != "_"]))
    yield f(X)
    A.q = 4
    yield f(X)
    a.z = 4
    yield f(X)


@case(traces=2)
def test_members_of_an_object(jit):
    class A:
        k = 1

    a = A()

    def step(x):
        members = inspect.getmembers(a)
        return x * sum(value for name, value in members if name[0] != "_")

    f = jit(step)
    yield f(X)
    A.k = 4
    yield f(X)
    A.q = 4
    yield f(X)


@case(traces=1)
def test_attribute_of_a_class_that_is_looked_up_statically(jit):
    class A:
        k = 1

    a = A()
    f = jit(lambda x: x * inspect.getattr_static(a, "k"))
    yield f(X)
    A.k = 4
    yield f(X)


@case(traces=2)
def test_type_hints(jit):
    class A:
        a: int

    f = jit(lambda x: x * len(typing.get_type_hints(A)))
    yield f(X)
    A.__annotations__["b"] = str
    yield f(X)


@case(traces=3)
def test_code_of_a_function_that_nobody_calls(jit):
    def helper(x):
        return x

    space = {"helper": helper}

    def step(x):
        return x * space["helper"].__code__.co_argcount

    f = jit(step)
    yield f(X)
    space["helper"] = lambda x, y: x
    yield f(X)
    helper.__code__ = (lambda x, y, z: x).__code__
    space["helper"] = helper
    yield f(X)


@case(at_most=3)
def test_order_of_a_class_from_which_a_call_takes_and_gives_back(jit):
    class A:
        def go(self):
            return 2

        z = 3

    a = A()

    def step(x):
        names = [name for name in vars(A) if name[0] != "_"]
        if "go" in vars(A):
            del A.go
        A.go = lambda self: 5
        return x * a.go() + len(names)

    f = jit(step)
    yield f(X)
    yield f(X)
    yield f(X)


@case(traces=1)
def test_namespace_of_a_function_that_is_read_and_written_through_it(jit):
    space = {"scale": 2}
    exec("def helper(x): return x", space)
    helper = space["helper"]

    def step(x):
        helper.__globals__["scale"] += 1
        return x * helper.__globals__["scale"]

    f = jit(step)
    yield f(X), f(X), space["scale"]
    space["scale"] = 50
    yield f(X), space["scale"]


# ------------------------------------------------------- set before all is looked through


@case(traces=2)
def test_class_data_that_is_set_to_what_it_was(jit):
    class A:
        k = 0

        def reset(self, x):
            type(self).k = 0
            return x + self.k

        def reset_and_look(self, x):
            A.k = 0
            return x + self.k + vars(A)["k"] + A.k

    a = A()
    for name in ("reset", "reset_and_look"):
        step = jit(getattr(a, name))
        for A.k in (0, 7, 0):
            yield step(X), A.k


def _counted(fun):
    @functools.wraps(fun)
    def count(*args):
        count.calls += 1
        return fun(*args)

    count.calls = 0
    return count


@case(traces=2)
def test_attributes_of_a_wrapper_that_are_set_before_all_are_looked_through(jit):
    class A:
        @_counted
        def step(self, x):
            self.__dict__.pop("cache", None)
            return x + A.step.calls

    step = jit(A().step)
    for A.step.calls in (0, 0, 7):
        yield step(X), A.step.calls

    def count(x):
        count.__dict__["n"] = 0

        def read():
            return count.n

        return x + read()

    step = jit(count)
    for count.n in (0, 7, 0):
        yield step(X), count.n


def made_before(base):
    class Made(base):
        pass

    return Made.k + len(base.__subclasses__())


def made_after(base):
    count = len(base.__subclasses__())
    type("Made", (base,), {})
    return count


def made_elsewhere(base):
    made = type("Made", (base,), {})
    return len(made.__base__.__subclasses__())


@pytest.mark.parametrize("make", [made_before, made_after, made_elsewhere])
@pytest.mark.parametrize("is_argument", [False, True])
def test_subclass_that_a_function_makes_and_counts_is_refused(make, is_argument):
    class Base:
        k = 1

    def f(x, *given):
        return x + make(*given or (Base,))

    for _ in range(2):
        with pytest.raises(
            ImpurityError, match=r"Base\.__subclasses__\(\) counts, .* makes such a class"
        ):
            ev.jit(f)(X, *[Base] * is_argument)
