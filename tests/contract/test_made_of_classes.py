"""What a call makes of a user's class over a builtin or NumPy's: all of it comes out.

Containers with slots, arrays of subclasses (masked ones, matrices, records), arrays of objects.
"""

import ast
import collections
import itertools
import random

import numpy as np
import pytest

import evertrace as ev
from evertrace.errors import ImpurityError
from tests.contract.compare import Record

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


class KeyedList(list):
    """Has a slot."""

    __slots__ = ("key",)


class KeyedDict(dict):
    """Has two slots, of which one is empty."""

    __slots__ = ("empty", "key")


class KeyedSet(set):
    """Has a slot and a dict."""

    __slots__ = ("__dict__", "key")


class KeyedDeque(collections.deque):
    """Has a slot."""

    __slots__ = ("key",)


class KeyedDefault(collections.defaultdict):
    """Has a slot."""

    __slots__ = ("key",)


class KeyedOrder(collections.OrderedDict):
    """Has a slot."""

    __slots__ = ("key",)


class Deeper(KeyedList):
    """Has a slot beside its base's."""

    __slots__ = ("other",)


CONTAINERS = {
    KeyedList: [1.5, "a"],
    KeyedDict: {"a": 1.5},
    KeyedSet: {1, 2},
    KeyedDeque: [1.5],
    KeyedDefault: {},
    KeyedOrder: {"a": 1, "b": 2},
    Deeper: [],
}


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("cls", CONTAINERS)
def test_container_of_a_class_with_slots_has_what_is_in_them(cls, kept):
    s = Record(n=2, made=None)

    def make():
        made = cls()
        (made.update if hasattr(made, "update") else made.extend)(CONTAINERS[cls])
        made.key = [s.n * 2, made]
        if cls is Deeper:
            made.other = s
        s.made = made
        return made

    jitted = ev.jit(make)
    for n in (2, 5):
        s.n = n
        result = jitted()
        found = s.made if kept else result
        assert type(found) is cls
        assert found.key[0] == 2 * n
        assert found.key[1] is found
        assert found == make()
        assert not hasattr(found, "empty")
        assert getattr(found, "other", s) is s


class Signal(np.ndarray):
    """Carries a rate, as NumPy's page on subclassing has it."""

    def __array_finalize__(self, source):
        self.rate = getattr(source, "rate", 1)


def _signal(n):
    made = np.array([1.0, n]).view(Signal)
    made.rate = n
    return made


ARRAYS = {
    "matrix": lambda n: np.matrix([[1.0, n], [3.0, 4.0]]),
    "matrix of integers": lambda n: np.matrix([[1, n]]).T,
    "masked": lambda n: np.ma.array([1.0, n, 3.0], mask=[False, True, False]),
    "masked, float32": lambda n: np.ma.array([1, n, 3], mask=[0, 0, 1], dtype=np.float32),
    "records": lambda n: np.rec.array([(1, n)], dtype=[("a", "i4"), ("b", "f4")]),
    "texts": lambda n: np.char.array([f"a{n}", "b"]),
    "a class of one's own": _signal,
    "objects": lambda n: np.array([n, None, "a", 0.5], dtype=object),
    "lists": lambda n: np.array([[n], [1, 2]], dtype=object),
    "matrix of objects": lambda n: np.matrix([[n, None]], dtype=object),
}


@pytest.mark.parametrize("way", ["returned", "stored", "in a list"])
@pytest.mark.parametrize("what", ARRAYS)
def test_array_of_a_class_or_of_objects_is_one(what, way):
    s = Record(n=2, made=None)

    def make():
        made = ARRAYS[what](s.n)
        s.made = made
        return [made] if way == "in a list" else made

    jitted = ev.jit(make)
    for n in (2, 2, 5):
        s.n = n
        result = jitted()
        found = s.made if way == "stored" else result[0] if way == "in a list" else result
        expected = ARRAYS[what](n)
        assert type(found) is type(expected)
        assert repr(found) == repr(expected)
        assert [type(x) for x in found.flat] == [type(x) for x in expected.flat]
        assert getattr(found, "rate", None) == getattr(expected, "rate", None)


def test_views_of_arrays_of_classes_and_of_objects_share_memory():
    s = Record(n=2, objects=None, part=None, matrix=None, row=None)

    def make():
        s.objects = np.array([s, s.n, None], dtype=object)
        s.part = s.objects[1:]
        s.matrix = np.matrix([[1.0, s.n]])
        s.row = s.matrix[0]

    for jitted in (make, ev.jit(make), ev.jit(make)):
        jitted()
        s.part[0], s.row[0, 1] = "other", 7.0
        assert s.objects[0] is s
        assert s.objects[1] == "other"
        assert s.matrix[0, 1] == 7.0


def test_code_in_c_cannot_replace_the_refusal_of_a_number_that_is_drawn():
    @ev.jit
    def skip():
        return next(itertools.islice(range(9), int(random.random() * 5), None))

    before = random.getstate()
    with pytest.raises(ImpurityError, match=r"random\.random at .* depends on the result"):
        skip()
    assert random.getstate() == before


class Finalized:
    """Has a finalizer, and keeps its own method."""

    def __init__(self, n=0):
        self.n, self.call = n, self.method

    def method(self):
        """Return the object."""
        return self

    def __del__(self):
        self.call = None


def test_object_with_a_finalizer_keeps_its_class_where_its_method_is_stored():
    s = Finalized()
    jitted = ev.jit(Finalized.__init__)
    for n in (1, 2):
        jitted(s, n)
        assert type(s) is Finalized
        assert s.call() is s
        assert s.n == n


def test_trees_of_code_are_made_anew():
    parsed = ev.jit(lambda text: ast.parse(text))
    for text in ("5 + x", "5 + x", "f(y)"):
        assert ast.dump(parsed(text)) == ast.dump(ast.parse(text))
    assert parsed("5 + x") is not parsed("5 + x")
