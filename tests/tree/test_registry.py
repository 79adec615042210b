"""Registration of node types: classes, functions, dataclasses, and what is refused."""

from collections import deque
from dataclasses import dataclass, field

import pytest

from evertrace import tree, tree_util
from tests.tree.nodes import Mode, Named, Pair, Point


def _fresh():
    """Return a class that has not been registered."""
    return type("Fresh", (), {})


def test_children_may_be_any_iterable_and_come_back_as_a_tuple():
    received = []
    cls = _fresh()
    tree_util.register_pytree_node(
        cls, lambda _: (iter([1, 2]), "aux"), lambda *args: received.append(args)
    )
    tree.map(str, cls())
    assert received == [("aux", ("1", "2"))]


def test_keys_are_optional_for_register_pytree_node():
    cls = _fresh()
    tree_util.register_pytree_node(
        cls, lambda _: ((1,), None), lambda *_: cls(), lambda _: ([("key", 1)], None)
    )
    assert tree.leaves_with_path(cls()) == [(("key",), 1)]


def test_static_nodes_have_no_leaves():
    assert tree.leaves([Mode("test")]) == []
    assert tree.map(str, [Mode("test")]) == [Mode("test")]


def test_is_tree_node():
    assert all(map(tree_util.is_tree_node, [list, dict, type(None), Pair, Point]))
    assert not any(map(tree_util.is_tree_node, [int, deque, 3]))


def test_one_level():
    assert tree_util.flatten_one_level({"b": [1], "a": 2}) == ((2, [1]), ("a", "b"))
    assert tree_util.flatten_one_level_with_keys(Named([1])) == (
        [(tree_util.GetAttrKey("child"), [1])],
        None,
    )
    for one_level in (tree_util.flatten_one_level, tree_util.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match=r"flatten_one_level: a value of type int is a leaf\."):
            one_level(1)


def test_default_registry():
    registry, cls = tree_util.default_registry, _fresh()
    registry.register_node(cls, lambda _: ([1], 2), lambda *_: cls())
    assert registry.is_node(cls)
    assert registry.flatten_one_level(cls()) == ((1,), 2)
    assert registry.flatten_one_level_with_keys([5]) == ([(tree_util.SequenceKey(0), 5)], None)
    assert registry.flatten_one_level(1) is None
    assert registry.flatten_one_level_with_keys(1) is None
    assert registry.flatten([1, [2]], lambda x: x == [2])[0] == [1, [2]]
    assert registry.flatten_with_path([1])[0] == [((tree_util.SequenceKey(0),), 1)]


REGISTRATIONS = [
    lambda cls: tree_util.register_pytree_node(cls, list, list),
    lambda cls: tree_util.register_pytree_with_keys(cls, list, list),
    tree_util.register_static,
    lambda cls: tree_util.register_dataclass(cls, [], []),
]


@pytest.mark.parametrize("register", REGISTRATIONS)
def test_a_type_is_registered_once(register):
    cls = _fresh()
    register(cls)
    with pytest.raises(
        ValueError, match=r"<class '.*Fresh'> is registered as a node already\.(?s:.*)Fix: register"
    ):
        register(cls)


@pytest.mark.parametrize("register", REGISTRATIONS)
def test_only_types_are_registered(register):
    with pytest.raises(TypeError, match=r"only types can be registered as nodes, got 'Fresh'\."):
        register("Fresh")


def test_functions_are_required():
    with pytest.raises(TypeError, match=r"expected a function for .*, got None\."):
        tree_util.register_pytree_node(_fresh(), list, None)
    with pytest.raises(AttributeError, match="tree_flatten"):
        tree_util.register_pytree_node_class(_fresh())


@pytest.mark.parametrize("result", [3, (1, 2, 3), (3, None)])
def test_a_flatten_function_must_return_a_pair(result):
    cls = _fresh()
    tree_util.register_pytree_node(cls, lambda _: result, lambda *_: cls())
    with pytest.raises(
        ValueError, match=r"the flatten function of Fresh returned .*, not a pair \(children, aux_d"
    ):
        tree.flatten(cls())


def test_a_keyed_flatten_function_must_return_pairs():
    cls = _fresh()
    tree_util.register_pytree_with_keys(cls, lambda _: ([1, 2], None), lambda *_: cls())
    for flatten in (tree.flatten, tree.flatten_with_path):
        with pytest.raises(ValueError, match=r"returned \(\(1, 2\), None\), not a pair \(\[\(key,"):
            flatten(cls())


# --- dataclasses --------------------------------------------------------------------------------


@dataclass
class _Plain:
    a: object
    b: object = 0


def _plain():
    """Return a dataclass that has not been registered."""
    return dataclass(type("Plain", (), dict(_Plain.__dict__)))


def test_fields_as_declared():
    @tree_util.register_dataclass
    @dataclass
    class Layer:
        weight: object
        units: int = tree.static(default=3, metadata={"unit": "1"})
        bias: object = field(default=None, metadata={"static": False})

    layer = Layer(1, 2, 5)
    assert tree.leaves(layer) == [1, 5]
    assert tree.map(str, layer) == Layer("1", 2, "5")
    assert tree.structure(layer).node_data() == (Layer, (2,))
    assert dict(Layer.__dataclass_fields__["units"].metadata) == {"static": True, "unit": "1"}


def test_fields_as_given():
    cls = tree_util.register_dataclass(_plain(), data_fields=["b"], meta_fields=["a"])
    assert tree.leaves(cls(1, 2)) == [2]
    assert tree.map(str, cls(1, 2)) == cls(1, "2")


def test_dropped_fields_take_their_default():
    cls = tree_util.register_dataclass(_plain(), ["a"], [], drop_fields=["b"])
    assert tree.map(str, cls(1, 2)) == cls("1", 0)


def test_a_class_that_is_no_dataclass():
    class Plain:
        def __init__(self, a, b):
            self.a, self.b = a, b

    with pytest.raises(TypeError, match=r"Plain'> is no dataclass, so its fields are unknown\."):
        tree_util.register_dataclass(Plain)
    tree_util.register_dataclass(Plain, ["a"], ["b"])
    assert vars(tree.map(str, Plain(1, 2))) == {"a": "1", "b": 2}


@pytest.mark.parametrize(
    ("data", "meta", "error", "message"),
    [
        (["a"], None, TypeError, r"was given data_fields=\['a'\] and meta_fields=None\."),
        (["a"], [], ValueError, r"fields \['b'\] are missing"),
        (["a", "b"], ["c"], ValueError, r"\['c'\] are not fields that its constructor takes"),
        (["a", "b"], ["b"], ValueError, r"fields \['b'\] are both data and static"),
    ],
)
def test_lists_of_fields_that_do_not_fit(data, meta, error, message):
    with pytest.raises(error, match=f"register_dataclass: <class '.*Plain'>.*{message}"):
        tree_util.register_dataclass(_plain(), data, meta)
