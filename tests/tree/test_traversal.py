"""Flattening: order, `is_leaf`, and the trees that cannot be flattened."""

from collections import OrderedDict

import pytest

from evertrace import tree, tree_util
from tests.tree.nodes import Point


def test_dicts_are_sorted_and_ordered_dicts_are_not():
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree.leaves(OrderedDict(b=1, a=2)) == [1, 2]


@pytest.mark.parametrize("base", [dict, list, tuple, OrderedDict])
def test_a_subclass_is_a_leaf(base):
    value = type("Sub", (base,), {})()
    assert tree.leaves(value) == [value]


def test_a_subclass_of_a_named_tuple_is_a_node():
    sub = type("Sub", (Point,), {})
    assert tree.map(str, sub(1, 2)) == sub("1", "2")
    assert type(tree.map(str, sub(1, 2))) is sub


def test_is_leaf_sees_each_subtree_from_the_root_down():
    seen = []
    tree.flatten({"a": (1, 2), "b": None}, is_leaf=lambda subtree: seen.append(subtree))
    assert seen == [{"a": (1, 2), "b": None}, (1, 2), 1, 2, None]


def test_is_leaf_stops_the_descent():
    value = [1, (2, 3), None]
    assert tree.leaves(value, is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert tree.leaves(value, is_leaf=lambda x: x is None) == [1, 2, 3, None]


def test_is_leaf_may_take_the_path():
    pairs = tree.leaves_with_path(
        [1, (2, 3)], is_leaf=lambda path, _: len(path) == 1, is_leaf_takes_path=True
    )
    assert [leaf for _, leaf in pairs] == [1, (2, 3)]


def test_is_leaf_sees_the_path_of_each_subtree():
    seen = []
    tree.flatten_with_path(
        {"a": (1, [2]), "b": None},
        is_leaf_takes_path=1,
        is_leaf=lambda path, subtree: seen.append((tree_util.keystr(path), subtree)),
    )
    assert seen == [
        ("", {"a": (1, [2]), "b": None}),
        ("['a']", (1, [2])),
        ("['a'][0]", 1),
        ("['a'][1]", [2]),
        ("['a'][1][0]", 2),
        ("['b']", None),
    ]


def test_paths_outlive_what_is_walked():
    def forget(path, subtree):
        if type(subtree) is dict:
            subtree.clear()
        return False

    value = {"a": [1, {"b": 2}], "c": {"d": 3}}
    assert tree.leaves_with_path(value, forget, is_leaf_takes_path=True) == []
    value = [[{"a": 1}], 2]
    pairs = tree.leaves_with_path(value, lambda x: type(x) is list and value.clear())
    assert pairs == []


@pytest.mark.parametrize("flatten", [tree.flatten, tree.flatten_with_path])
def test_is_leaf_must_return_a_bool(flatten):
    with pytest.raises(ValueError, match=r"tree: is_leaf returned 1, not a bool\."):
        flatten([2], is_leaf=lambda _: 1)


def test_keys_that_cannot_be_sorted():
    with pytest.raises(
        ValueError,
        match=r"tree: the keys \[1, 'a'\] of a dict cannot be sorted \('<' not supported(?s:.*)"
        r"Fix: use keys of one comparable type, or an OrderedDict",
    ):
        tree.flatten([{1: 2, "a": 3}])


def test_all_leaves():
    assert tree_util.all_leaves([1, "a"])
    assert tree_util.all_leaves([])
    assert not tree_util.all_leaves([1, None])
    assert tree_util.all_leaves([1, None], is_leaf=lambda x: x is None)


@pytest.mark.parametrize(
    "walk",
    [
        tree.flatten,
        tree.leaves,
        tree.structure,
        tree.flatten_with_path,
        lambda ring: tree.leaves(ring, lambda x: False),
        lambda ring: tree.map(lambda x: x, ring),
    ],
)
def test_a_tree_that_contains_itself_is_refused(walk):
    ring = [1]
    ring.append({"again": (ring,)})
    with pytest.raises(RecursionError, match="a tree contains itself, or is nested too deeply"):
        walk(ring)


def test_a_list_is_taken_as_it_was_when_it_was_opened():
    items = [1, (2,), 3]

    def cut(x):
        if type(x) is tuple:
            items.clear()
        return False

    assert tree.leaves(items, cut) == [1, 2, 3]


def test_what_a_named_tuple_holds_counts_not_what_it_iterates():
    class Backwards(Point):
        def __iter__(self):
            return reversed(tuple.__getitem__(self, slice(None)))

    leaves, treedef = tree.flatten([Backwards(1, 2)])
    assert leaves == [1, 2]
    assert tree.unflatten(treedef, leaves)[0].x == 1


def test_an_error_of_the_mapped_function_passes_even_stop_iteration():
    with pytest.raises(StopIteration):
        tree.map(lambda x: next(iter(())), {"a": [1, 2]})
