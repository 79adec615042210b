"""Map, reduce and transpose."""

from collections import OrderedDict

import pytest

from evertrace import tree
from tests.tree.nodes import Model, Pair, Point


def _together(*xs):
    return xs


def test_map_passes_subtrees_of_the_other_trees():
    assert tree.map(_together, {"a": 1}, {"a": [2, 3]}, {"a": None}) == {"a": (1, [2, 3], None)}
    assert tree.map(_together, [1, None], [2, 3], is_leaf=lambda x: x is None) == [
        (1, 2),
        (None, 3),
    ]


def test_map_with_path_of_several_trees():
    one, other = {"a": [1, 2], "b": ()}, {"a": [(3,), 4], "b": ()}
    found = tree.map_with_path(lambda *xs: (len(xs[0]), *xs[1:]), one, other, one)
    assert found == {"a": [(2, 1, (3,), 1), (2, 2, 4, 2)], "b": ()}
    assert tree.map_with_path(lambda *xs: 0, [], []) == []
    with pytest.raises(ValueError, match=r"tree\.map_with_path: tree 2 differs in structure at"):
        tree.map_with_path(lambda *xs: 0, one, {"a": 1, "b": ()})


def test_map_with_path_passes_all_errors_on():
    def stop(path, x):
        raise StopIteration

    with pytest.raises(StopIteration):
        tree.map_with_path(stop, [1])


def test_map_with_path():
    result = tree.map_with_path(
        lambda path, x, y: (str(path[-1]), x, y), [1, Point(2, 3)], [4, Point(5, 6)]
    )
    assert result == [("[0]", 1, 4), Point((".x", 2, 5), (".y", 3, 6))]


MISMATCHES = [
    ((1, 2), (1,), "at the root: expected a tuple of length 2, got a tuple of length 1."),
    ([(1, 2)], [[1, 2]], "at [0]: expected a tuple of length 2, got a list of length 2."),
    ({"a": (1, 2)}, {"a": 3}, "at ['a']: expected a tuple of length 2, got a leaf of type int."),
    (Point(None, 1), Point(1, 1), "at .x: expected None, got a leaf of type int."),
    ([Point(1, 2)], [(1, 2)], "at [0]: expected a node of type Point, got a tuple of length 2."),
    (
        {"a": 1, "b": 2},
        {"a": 1, "c": 2},
        "at the root: expected a node of type dict with keys ['a', 'b'], got a node of type dict "
        "with keys ['a', 'c'] (keys not in both: ['b', 'c']).",
    ),
    (
        OrderedDict(a=1, b=2),
        OrderedDict(b=1, a=2),
        "at the root: expected a node of type OrderedDict with keys ['a', 'b'], got a node of type "
        "OrderedDict with keys ['b', 'a'].",
    ),
    (
        Model([Pair(1, 2, "p")], 0),
        Model([Pair(1, 2, "q")], 0),
        "at .weight[0]: expected a node of type Pair with 2 children and static data 'p', "
        "got a node of type Pair with 2 children and static data 'q'.",
    ),
]


@pytest.mark.parametrize(("first", "second", "message"), MISMATCHES)
def test_map_says_where_structures_differ(first, second, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the first line is compared in full
        tree.map(_together, first, first, second)
    what, *_, fix, manual = str(caught.value).splitlines()
    assert what == f"tree.map: tree 3 differs in structure {message}"
    assert fix == "  Fix: make both trees of the same nodes, down to the leaves of the first."
    assert manual.endswith(" tree-structure`")


def test_an_error_of_the_function_is_not_touched():
    with pytest.raises(ZeroDivisionError):
        tree.map(lambda x: x / 0, [1])


def test_reduce():
    assert tree.reduce(_together, [1, {"a": 2}, None, 3]) == ((1, 2), 3)
    assert tree.reduce(_together, [1], None) == (None, 1)
    assert tree.reduce(_together, [], 5) == 5
    with pytest.raises(
        TypeError, match=r"tree\.reduce: the tree has no leaves\.(?s:.*)initializer"
    ):
        tree.reduce(_together, [None])


@pytest.mark.parametrize(
    ("count", "result"),
    [(1, 0), (2, (0, 1)), (3, (0, (1, 2))), (5, ((0, 1), (2, (3, 4))))],
)
def test_reduce_associative_halves(count, result):
    assert tree.reduce_associative(_together, list(range(count)), identity=None) == result


def test_reduce_associative_of_nothing():
    assert tree.reduce_associative(_together, (), identity=7) == 7
    with pytest.raises(
        TypeError, match=r"reduce_associative: the tree has no leaves\.(?s:.*)identity"
    ):
        tree.reduce_associative(_together, ())


def test_all():
    assert tree.all([1, {"a": True}, None])
    assert tree.all([])
    assert not tree.all([1, (0,)])
    assert not tree.all([1, None], is_leaf=lambda x: x is None)


def test_transpose():
    value = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, value) == {"a": [1, 3], "b": [2, 4]}
    assert tree.transpose(outer, None, value) == {"a": [1, 3], "b": [2, 4]}


def test_transpose_of_another_structure():
    with pytest.raises(
        TypeError,
        match=r"tree.transpose: expected a tree of structure PyTreeDef\(\[\(\*,\), \(\*,\)\]\), "
        r"got PyTreeDef\(\[\(\*,\), \(\)\]\)",
    ):
        tree.transpose(tree.structure([0, 0]), None, [(1,), ()])
    with pytest.raises(TypeError, match="has no leaves, so the inner structure is unknown"):
        tree.transpose(tree.structure([]), None, [])
