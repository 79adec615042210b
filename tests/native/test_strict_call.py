"""Calls by JAX's rules in C++: arguments that are trees are recognised by their leaves."""

import collections
import gc

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import tree, tree_util
from evertrace._src import extension

native = extension.native
pytestmark = pytest.mark.usefixtures("needs_native")

X = jnp.array([1.0, 2.0, 3.0])
N = np.array([1.0, 2.0, 3.0], np.float32)
Point = collections.namedtuple("Point", "x y")


class Box:
    """A registered node; `opened` is called whenever it is taken apart."""

    opened = staticmethod(lambda: None)

    def __init__(self, content, label="box"):
        self.content, self.label = content, label

    def tree_flatten(self):
        Box.opened()
        return (self.content,), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)


tree_util.register_pytree_node_class(Box)


@pytest.fixture
def opened(monkeypatch):
    """Return a function that sets what is done when a `Box` is taken apart."""
    return lambda function: monkeypatch.setattr(Box, "opened", staticmethod(function))


def jitted():
    """Return a new function that doubles all leaves of its arguments."""

    def twice(*args, **kwargs):
        return tree.map(lambda x: x * 2, (args, kwargs))

    return ev.jit(twice, strict=True)


CALLS = {
    "nothing": ((), {}),
    "one array": ((X,), {}),
    "arrays of NumPy": ((N, np.int32(3), np.True_), {}),
    "Python numbers": ((1, 2.0, True, 3j), {}),
    "a tuple": (((X, (2.0, N)),), {}),
    "a list": (([X, [], [X]],), {}),
    "a dict": (({"w": X, "b": X + 1, "a": {"z": 1.0}},), {}),
    "None": ((None, {"a": None, "b": X}), {}),
    "a named tuple": ((Point(X, [1.0]),), {}),
    "an ordered dict": ((collections.OrderedDict(b=X, a=1.0),), {}),
    "a registered node": (([Box(X), Box((1.0, N), "other")],), {}),
    "keywords": ((X,), {"scale": 2.0, "more": [X, X]}),
    "other kinds of keys": (({2: X, 1: 1.0},), {}),
    "many leaves": (([X] * 100,), {"rest": {str(i): float(i) for i in range(100)}}),
}


def equal(a, b):
    same = tree.structure(a) == tree.structure(b)
    return same and tree.all(tree.map(lambda x, y: bool(np.all(np.asarray(x == y))), a, b))


@pytest.mark.parametrize("name", CALLS)
def test_recognised_and_run(name, called_in_python):
    args, kwargs = CALLS[name]
    f = jitted()
    first = f(*args, **kwargs)
    assert called_in_python == ["twice"]
    second = f(*args, **kwargs)
    assert called_in_python == ["twice"]
    assert f.cache_info()[:2] == (1, 1)
    assert equal(first, second)
    assert equal(second, tree.map(lambda x: jnp.asarray(x) * 2, (args, kwargs)))


def test_the_order_of_keys_and_of_keywords_does_not_matter(called_in_python):
    f = jitted()
    for _ in range(2):
        f({"a": X, "b": 1.0}, k=X, n=2.0)
        f({"b": 1.0, "a": X}, n=2.0, k=X)
    assert f.cache_info()[:2] == (3, 1)
    assert f({"b": 1.0, "a": X}, n=2.0, k=X)[1]["k"].tolist() == [2, 4, 6]
    assert len(called_in_python) == 2  # the order of keywords is another entry


@pytest.mark.parametrize(
    "others",
    [
        ([X, X, X],),
        ((X, X),),
        ([X, (X,)],),
        ([X, None],),
        ([X, X[:2]],),
        ([X, 1.0],),
        ([X, N.astype(np.int32)],),
        (Box([X, X]),),
        ([Box(X), Box(X, "other")],),
    ],
)
def test_what_differs_is_another_call(others):
    f = jitted()
    for _ in range(2):
        assert equal(f([X, X]), (([X * 2, X * 2],), {}))
        assert equal(f(*others), tree.map(lambda x: jnp.asarray(x) * 2, (others, {})))
    assert f.cache_info()[:2] == (2, 2)


def test_static_arguments_are_told_apart(called_in_python):
    f = ev.jit(lambda t, n: [x * n for x in t], static_argnums=1, strict=True)
    for n in (2, 3, 2, 3, 2):
        assert [x.tolist() for x in f((X, X), n)] == [(n * N).tolist()] * 2
    assert f((X, X), n=2)[0].tolist() == [2, 4, 6]
    assert f.cache_info().misses == 3  # by name it is another call
    assert len(called_in_python) == 3


def test_values_captured_are_those_of_the_trace(called_in_python):
    scale = {"now": 2.0}
    f = ev.jit(lambda x: x * scale["now"], strict=True)
    f(X)
    scale["now"] = 5.0
    assert f(X).tolist() == [2, 4, 6]
    assert len(called_in_python) == 1


def test_donated_arrays_are_given_away(called_in_python):
    f = ev.jit(lambda t: (t[0] + 1, t[1] + 1), donate_argnums=0, strict=True)
    for _ in range(3):
        x = X * 1
        f((x, 1.0))
        assert x.is_deleted()
    assert len(called_in_python) == 1


def test_a_cleared_cache_is_traced_anew():
    traces = []
    f = ev.jit(lambda t: traces.append(1) or t["a"], strict=True)
    for _ in range(3):
        f({"a": X})
    f.clear_cache()
    for _ in range(3):
        f({"a": X})
    assert len(traces) == 2


def test_the_option_is_seen_at_each_call():
    count = [0.0]

    @ev.jit
    def f(t):
        return t[0] + count[0]

    for strict, total in [(True, 0), (False, 1), (True, 0), (False, 3)]:
        count[0] = float(total)
        with ev.strict(strict):
            for _ in range(2):
                assert f([0.0]).item() == total


def test_errors_of_nodes_pass(opened):
    f = ev.jit(lambda box: box.content + 1, strict=True)
    f(Box(X))
    f(Box(X))

    def fail():
        raise error("not now")

    for error in (ValueError, KeyError, KeyboardInterrupt):
        opened(fail)
        with pytest.raises(error, match="not now"):
            f(Box(X))
        opened(lambda: None)
        assert f(Box(X)).tolist() == [2, 3, 4]


@pytest.mark.parametrize("harm", ["clear", "learn", "both"])
def test_nodes_that_change_the_function_while_they_are_taken_apart(harm, opened):
    f = ev.jit(lambda box, more: box.content + more[0], strict=True)
    shapes = iter(range(4, 1000))

    def change():
        opened(lambda: None)
        if harm != "clear":
            for _ in range(20):
                f(Box(jnp.ones(next(shapes))), [1.0])
        if harm != "learn":
            f.clear_cache()
            gc.collect()

    for _ in range(3):
        f(Box(X), [1.0])
        opened(change)
        assert f(Box(X), [1.0]).tolist() == [2, 3, 4]


def test_arguments_that_change_while_they_are_taken_apart(opened):
    f = ev.jit(lambda t: [tree.leaves(t), 0][0], strict=True)
    for _ in range(2):
        items = [Box(X * 1), X * 2, X * 3]
        opened(lambda: None)
        f(items)
        opened(items.clear)
        assert [x.tolist()[0] for x in f(items)] == [1, 2, 3]
        assert items == []
