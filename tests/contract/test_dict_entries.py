"""Classes with a `__dict__` of their own: what it gives is not where the attributes are."""

import pytest

from tests.contract.compare import X, case, raised

pytestmark = pytest.mark.engine


class Counted:
    """What is counted and what is added, in the instance's dict, which shows elsewhere."""

    def __init__(self):
        self.n, self.w = 0, X * 2

    def step(self, x):
        self.n += 1
        self.w = self.w + x
        return x * self.n + self.w


class Computed(Counted):
    @property
    def __dict__(self):
        return {"n": -self.n}


class Settable(Counted):
    @property
    def __dict__(self):
        return {"n": -self.n}

    @__dict__.setter
    def __dict__(self, value):
        raise AssertionError("nobody sets it")


class Fixed(Counted):
    __dict__ = {"n": 5}


class Items(dict):
    @property
    def __dict__(self):
        return dict(self)

    def step(self, x):
        self["n"] = self.get("n", 0) + 1
        self.times = getattr(self, "times", 1) * 2
        return x * self["n"] + self.times


class Rows(list):
    @property
    def __dict__(self):
        return {"rows": len(self)}

    def step(self, x):
        self.append(len(self))
        self.times = getattr(self, "times", 1) * 2
        return x * self[-1] + self.times


class Slim:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    @property
    def __dict__(self):
        return {"n": -self.n}

    def step(self, x):
        self.n += 1
        return x * self.n


def held(o):
    """Return what an object holds."""
    names = [name for name in ("n", "w", "times") if hasattr(o, name)]
    contents = list(o.items()) if isinstance(o, dict) else list(o) if isinstance(o, list) else []
    return [(name, getattr(o, name)) for name in names], contents


def with_own_dict(cls):
    @case(at_most=4)
    def program(jit):
        step = jit(lambda o, x: o.step(x))
        o = cls()
        for i in range(4):
            yield step(o, X), held(o), o.__dict__, vars(o)
            if i == 1:
                o.n = 7
        o.other = o  # nothing is left in its place
        yield held(o.other)

    return program


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("cls", [Computed, Settable, Fixed, Items, Rows])
def test_attributes_are_where_no_dict_shows_them(cls):
    with_own_dict(cls)()


@case(traces=2)
def test_slots_beside_a_dict_of_their_own(jit):
    step = jit(lambda o, x: o.step(x))
    o = Slim()
    yield step(o, X), step(o, X), o.n, o.__dict__
    o.n = 2.5
    yield step(o, X), o.n


@case(traces=1)
def test_what_is_made_with_such_a_class(jit):
    def make(x):
        o = Computed()
        o.step(x)
        return o

    f = jit(make)
    for _ in range(2):
        o = f(X)
        o.n += 1
        yield type(o), held(o), o.__dict__


@case(traces=1)
def test_the_code_reads_what_its_class_says(jit):
    f = jit(lambda o, x: (x * o.__dict__["n"], x + vars(o)["n"], o.step(x)))
    o = Computed()
    for _ in range(3):
        yield f(o, X), o.n


@case(at_most=2)
def test_an_error_leaves_such_an_object_as_it_was(jit):
    def fail(o, x):
        o.step(x)
        raise ValueError(f"at {o.n}")

    f, o = jit(fail), Computed()
    yield raised(lambda: f(o, X))
    yield type(raised(lambda: f(o, X))).__name__
