"""Treedefs: how they print, compare, hash and pickle."""

import collections
import copy
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

from evertrace import numpy as jnp
from evertrace import tree, tree_util
from evertrace._src import tree as internal
from evertrace._src.tree import registry
from tests.tree.nodes import Mode, Model, Named, Pair, Point

PRINTED = [
    (1, "*"),
    (None, "None"),
    ((), "()"),
    ((1,), "(*,)"),
    ([1, (2, None)], "[*, (*, None)]"),
    ({}, "{}"),
    ({"b": (2, 3), "a": 1}, "{'a': *, 'b': (*, *)}"),
    ({(1, 2): 0, (0,): 1}, "{(0,): *, (1, 2): *}"),
    (deque([1, 2]), "*"),
    (Point(1, None), "CustomNode(namedtuple[Point], [*, None])"),
    (OrderedDict(b=1, a=2), "CustomNode(OrderedDict[('b', 'a')], [*, *])"),
    (defaultdict(list, b=1, a=2), "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])"),
    (Pair(1, (2,)), "CustomNode(Pair[pair], [*, (*,)])"),
    (Named(1), "CustomNode(Named[None], [*])"),
    (Model(1, 2), "CustomNode(Model[('model',)], [*, *])"),
    (Mode(), "CustomNode(Mode[Mode(value='train')], [])"),
    (tree_util.Partial(max, 1, key=2), f"CustomNode(Partial[{max!r}], [(*,), {{'key': *}}])"),
]


@pytest.mark.parametrize(("value", "text"), PRINTED)
def test_repr_is_that_of_jax(value, text):
    assert repr(tree.structure(value)) == f"PyTreeDef({text})"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1, 2), [1, 2]),
        ((1, 2), (1, 2, 3)),
        ((1, (2, 3)), ((1, 2), 3)),
        ({"a": 1}, {"b": 1}),
        (1, None),
        ((), None),
        (Point(1, 2), (1, 2)),
        (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2)),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=1), defaultdict(set, a=1)),
        (Pair(1, 2, "p"), Pair(1, 2, "q")),
        (Mode("train"), Mode("test")),
    ],
)
def test_different_structures_differ(a, b):
    assert tree.structure(a) != tree.structure(b)


def test_equality_does_not_depend_on_the_order_of_a_dict():
    first, second = tree.structure({"a": 1, "b": 2}), tree.structure({"b": 3, "a": 4})
    assert first == second
    assert hash(first) == hash(second)
    assert first != "PyTreeDef({'a': *, 'b': *})"


def test_node_data_and_children():
    treedef = tree.structure({"b": Point(1, 2), "a": None})
    assert treedef.node_data() == (dict, ["a", "b"])
    empty, point = treedef.children()
    assert empty.node_data() == (type(None), None)
    assert point.node_data() == (Point, None)
    assert (treedef.num_leaves, treedef.num_nodes) == (2, 5)
    assert internal.LEAF.node_data() is None


def test_treedef_functions():
    treedef = tree.structure([1, {"a": 2}])
    pair = tree_util.treedef_tuple([treedef, internal.LEAF])
    assert repr(pair) == "PyTreeDef(([*, {'a': *}], *))"
    assert tree_util.treedef_children(pair) == [treedef, internal.LEAF]
    assert repr(tree_util.treedef_tuple([])) == "PyTreeDef(())"
    assert tree_util.treedef_is_leaf(internal.LEAF)
    assert tree_util.treedef_is_leaf(tree.structure(None))
    assert not tree_util.treedef_is_leaf(treedef)


def test_a_single_leaf_has_one_treedef():
    assert tree.structure(3) is internal.LEAF
    assert tree.structure((3,)).children()[0] is internal.LEAF
    assert pickle.loads(pickle.dumps(internal.LEAF)) is internal.LEAF


def test_unpickling_needs_the_registration(monkeypatch):
    data = pickle.dumps(tree.structure([Pair(1, 2)]))
    monkeypatch.delitem(registry.KINDS, Pair)
    with pytest.raises(
        ValueError, match=r"a node of type <class '.*Pair'>, which is not registere"
    ):
        pickle.loads(data)


def test_unflatten_wants_a_structure():
    text = r"unflatten: 3 is no structure of a tree[\s\S]*`tree.unflatten\(treedef, leaves\)`"
    with pytest.raises(AttributeError, match=text):
        tree.unflatten(3, [1])


@pytest.mark.parametrize("count", [1, 3])
def test_unflatten_wants_the_right_number_of_leaves(count):
    treedef = tree.structure({"a": (1, 2)})
    with pytest.raises(
        ValueError,
        match=rf"unflatten: PyTreeDef\(.*\) has 2 leaves, got {count}\.(?s:.*)Fix: pass one leaf",
    ):
        tree.unflatten(treedef, range(count))


@pytest.mark.parametrize(
    "data",
    [
        ["label"],
        {"a": [1]},
        ({1, 2}, [[3]]),
        [slice(1, [2])],
        collections.OrderedDict(a=[1], b=2),
        collections.defaultdict(list, a=[1]),
        collections.deque([1, [2]]),
    ],
)
def test_containers_in_static_data_are_hashed_by_what_they_hold(data):
    treedef = tree.structure({"a": Pair(1, 2, data)})
    alike = tree.structure({"a": Pair(3, 4, copy.deepcopy(data))})
    assert treedef == alike
    assert hash(treedef) == hash(alike)
    assert hash(treedef) != hash(tree.structure({"a": Pair(1, 2, [data, 0])}))


def test_static_data_that_is_equal_has_one_hash_whatever_kind_of_dict_holds_it():
    ordered = tree.structure(Pair(1, 2, collections.OrderedDict(a=[1], b=2)))
    plain = tree.structure(Pair(1, 2, {"b": 2, "a": [1]}))
    assert ordered == plain
    assert hash(ordered) == hash(plain)


def test_dataclasses_in_static_data_are_hashed_by_their_fields():
    @dataclasses.dataclass(frozen=True)
    class Shape:
        sizes: dict
        note: list = dataclasses.field(default_factory=list, compare=False)

    treedef, alike, other = [
        tree.structure(Pair(1, 2, Shape(sizes, note)))
        for sizes, note in (({"a": [1]}, [1]), ({"a": [1]}, [2]), ({"a": [2]}, [1]))
    ]
    assert treedef == alike
    assert hash(treedef) == hash(alike)
    assert treedef != other
    assert hash(treedef) != hash(other)


@pytest.mark.parametrize("make", [np.float32, np.array, jnp.array], ids=["scalar", "numpy", "ours"])
def test_static_data_of_one_number_is_hashed_by_it(make):
    treedef, alike, other = [tree.structure(Pair(1, 2, [make(number)])) for number in (1, 1, 2)]
    assert treedef == alike
    assert hash(treedef) == hash(alike)
    assert treedef != other
    assert hash(treedef) != hash(other)


def test_static_data_that_cannot_be_hashed():
    treedef = tree.structure({"a": Pair(1, 2, [bytearray(b"label")])})
    assert treedef == tree.structure({"a": Pair(3, 4, [bytearray(b"label")])})
    with pytest.raises(
        TypeError,
        match=r"the static data \[bytearray\(b'label'\)\] of a node of type Pair cannot be hashed "
        r"\(unhashable type: 'list'\)\.(?s:.*)Fix: use tuples",
    ):
        hash(treedef)


class _Incomparable:
    def __eq__(self, other):
        raise RuntimeError("ambiguous")

    __hash__ = None


def test_static_data_that_cannot_be_compared():
    a, b = Pair(1, 2, _Incomparable()), Pair(1, 2, _Incomparable())
    with pytest.raises(ValueError, match="cannot be compared: ambiguous"):
        assert tree.structure(a) == tree.structure(b)
    with pytest.raises(ValueError, match="static data of Pair cannot be compared: ambiguous"):
        tree.map(max, a, b)
    assert tree.structure(a) == tree.structure(a)
