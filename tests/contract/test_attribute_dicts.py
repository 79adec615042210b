"""The dict that holds an object's attributes: its order, and others."""

import pytest

import evertrace as ev
from tests.contract.compare import Record, X, case, refused

pytestmark = pytest.mark.engine

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
