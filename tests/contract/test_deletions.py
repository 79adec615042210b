"""What is deleted has to be there: each kind of place that Python can delete something from."""

import collections
import functools
import types

import pytest

import evertrace as ev
from tests.contract.compare import X

pytestmark = pytest.mark.engine


class Holder:
    """Anything with attributes; its class has some, too."""


class Sub(dict):
    pass


def _function():
    """Anything with attributes."""


def _of_attributes(make):
    """Return how attributes of a new object are set, deleted and looked for."""
    o = make()

    def delete():
        del o.k

    return lambda: setattr(o, "k", 1), delete, lambda: "k" in vars(o)


def _by_key(make, delete=lambda d: d.__delitem__("k")):
    d = make()
    return lambda: d.__setitem__("k", 1), lambda: delete(d), lambda: "k" in d


def _of_items(make, add, delete):
    items = make()
    return lambda: getattr(items, add)("k"), lambda: delete(items), lambda: "k" in items


def _of_a_cell():
    k = 1

    def put():
        nonlocal k
        k = 1

    def delete():
        nonlocal k
        del k

    def is_there():
        try:
            return bool(k)
        except NameError:
            return False

    return put, delete, is_there


def _of_a_global(delete="global k\n  del k"):
    names = {}
    exec(f"def delete():\n  {delete}", names)
    return lambda: names.__setitem__("k", 1), names["delete"], lambda: "k" in names


def _of_a_class(delete):
    cls = type("Made", (), {})
    return lambda: setattr(cls, "k", 1), lambda: delete(cls), lambda: "k" in vars(cls)


def _statement(o):
    del o.k


PLACES = {
    "an object": lambda: _of_attributes(Holder),
    "a function": lambda: _of_attributes(lambda: types.FunctionType(_function.__code__, {})),
    "a namespace": lambda: _of_attributes(types.SimpleNamespace),
    "an exception": lambda: _of_attributes(ValueError),
    "a partial": lambda: _of_attributes(lambda: functools.partial(_function)),
    "a module": lambda: _of_attributes(lambda: types.ModuleType("made")),
    "a class": lambda: _of_a_class(_statement),
    "a class by delattr": lambda: _of_a_class(lambda cls: delattr(cls, "k")),
    "a class by its type": lambda: _of_a_class(lambda cls: type.__delattr__(cls, "k")),
    "a cell": _of_a_cell,
    "globals": _of_a_global,
    "globals()": lambda: _of_a_global("globals().pop('k')"),
    "dict": lambda: _by_key(dict),
    "dict.pop": lambda: _by_key(dict, lambda d: d.pop("k")),
    "dict.popitem": lambda: _by_key(dict, lambda d: d.popitem()),
    "dict.__delitem__": lambda: _by_key(dict, lambda d: dict.__delitem__(d, "k")),
    "a class of dicts": lambda: _by_key(Sub),
    "OrderedDict": lambda: _by_key(collections.OrderedDict),
    "defaultdict": lambda: _by_key(lambda: collections.defaultdict(int)),
    "ChainMap": lambda: _by_key(lambda: collections.ChainMap({})),
    "UserDict": lambda: _by_key(collections.UserDict),
    "Counter.pop": lambda: _by_key(collections.Counter, lambda d: d.pop("k")),
    "set.remove": lambda: _of_items(set, "add", lambda s: s.remove("k")),
    "set.pop": lambda: _of_items(set, "add", lambda s: s.pop()),
    "list.remove": lambda: _of_items(list, "append", lambda s: s.remove("k")),
    "list.pop": lambda: _of_items(list, "append", lambda s: s.pop()),
    "list.__delitem__": lambda: _of_items(list, "append", lambda s: s.__delitem__(0)),
    "deque.popleft": lambda: _of_items(collections.deque, "append", lambda s: s.popleft()),
}


def _found(place, wrap):
    put, delete, is_there = PLACES[place]()
    if is_there():
        delete()

    def f(x):
        try:
            delete()
        except (AttributeError, LookupError, NameError, ValueError):
            return x * 2
        return x

    f, found = wrap(f), []
    for filled in (True, False, False, True, False, True):
        if filled:
            put()
        found.append((float(f(X)[0]), is_there()))
    return found


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("place", PLACES)
def test_what_is_gone_cannot_be_deleted_again(place):
    want = [(1.0, False), (2.0, False), (2.0, False), (1.0, False), (2.0, False), (1.0, False)]
    assert _found(place, lambda f: f) == want
    assert _found(place, ev.jit) == want
