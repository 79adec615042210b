"""Tree prefixes: broadcasting, axes, and their errors."""

import pytest

from evertrace import tree
from evertrace._src import tree as internal
from tests.tree.nodes import Model, Named, Pair


def test_broadcast():
    full = [{"a": 1, "b": 2}, Pair(3, [4])]
    assert tree.broadcast([1, Pair(2, 3)], full) == [{"a": 1, "b": 1}, Pair(2, [3])]
    assert tree.broadcast(7, [None, 1]) == [None, 7]
    assert tree.broadcast([None, 1], [3, 4], is_leaf=lambda x: x is None) == [None, 1]


def test_broadcast_names_the_place():
    with pytest.raises(
        ValueError,
        match=r"tree\.broadcast: prefix_tree is not a tree prefix of the value at \[1\]\['a'\]: "
        r"it has a tuple of length 2, the value a leaf of type int\.",
    ):
        tree.broadcast([1, {"a": (2, 3)}], [1, {"a": 2}])


def test_prefix_errors_finds_all():
    prefix = {"a": (1,), "b": [2, 3], "c": None, "d": 4}
    full = {"a": 1, "b": (2, 3), "c": 5, "d": [6]}
    errors = internal.prefix_errors(prefix, full, name="out_axes")
    assert [str(error).splitlines()[0] for error in errors] == [
        "out_axes is not a tree prefix of the value at ['a']: it has a tuple of length 1, "
        "the value a leaf of type int.",
        "out_axes is not a tree prefix of the value at ['b']: it has a list of length 2, "
        "the value a tuple of length 2.",
        "out_axes is not a tree prefix of the value at ['c']: it has None, "
        "the value a leaf of type int.",
    ]
    assert all(isinstance(error, ValueError) for error in errors)


def test_prefix_errors_respects_is_leaf():
    assert internal.prefix_errors([None], [1], is_leaf=lambda x: x is None) == []


def test_axes():
    treedef = tree.structure(({"a": 1, "b": (2, 3)}, 4))
    assert internal.flatten_axes("in_axes", treedef, (0, None)) == [0, 0, 0, None]
    assert internal.flatten_axes("in_axes", treedef, ({"a": 0, "b": None}, 1)) == [0, None, None, 1]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ([0, 1], "at the root: it has a list of length 2, the value a tuple of length 2."),
        ((0, (1, 2)), "at [1]: it has a tuple of length 2, the value a leaf."),
        (
            (Model(Named([0]), 0), 0),
            "at [0].weight.child: it has a list of length 1, the value a list of length 2.",
        ),
        (
            (Model(0, 0, "other"), 0),
            "at [0]: it has a node of type Model with 2 children and static"
            " data ('other',), the value a node of type Model with 2 children and static data"
            " ('model',).",
        ),
    ],
)
def test_axes_that_do_not_fit(axes, message):
    treedef = tree.structure((Model(Named([1, 2]), 3), 4))
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the first line is compared in full
        internal.flatten_axes("vmap in_axes", treedef, axes)
    what, *_, fix, manual = str(caught.value).splitlines()
    assert what == f"vmap in_axes is not a tree prefix of the value {message}"
    assert fix == "  Fix: give one leaf for the whole subtree, or the same nodes as the value has."
    assert manual.endswith(" tree-prefix`")
