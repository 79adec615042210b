"""Key paths and how they print."""

import pickle
from collections import OrderedDict, defaultdict
from typing import ClassVar

import numpy as np
import pytest

from evertrace import tree, tree_util
from evertrace.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from tests.tree.nodes import Model, Named, Pair, Point

PATHS = [
    (1, (), ""),
    ([1], (SequenceKey(0),), "[0]"),
    ((1,), (SequenceKey(0),), "[0]"),
    ({"a": 1}, (DictKey("a"),), "['a']"),
    ({3: 1}, (DictKey(3),), "[3]"),
    (OrderedDict(a=1), (DictKey("a"),), "['a']"),
    (defaultdict(list, a=1), (DictKey("a"),), "['a']"),
    (Point(1, None), (GetAttrKey("x"),), ".x"),
    (Model(None, 1), (GetAttrKey("bias"),), ".bias"),
    (Named(1), (GetAttrKey("child"),), ".child"),
    (Pair(None, 1), (FlattenedIndexKey(1),), "[<flat index 1>]"),
]


@pytest.mark.parametrize(("value", "path", "text"), PATHS)
def test_path_to_the_only_leaf(value, path, text):
    assert tree.leaves_with_path(value) == [(path, 1)]
    assert tree_util.keystr(path) == text


def test_a_path_has_the_keys_of_all_levels():
    value = {"b": [Point(1, {}), (2,)], "a": {4: Named([3, None])}}
    assert [(tree_util.keystr(path), leaf) for path, leaf in tree.leaves_with_path(value)] == [
        ("['a'][4].child[0]", 3),
        ("['b'][0].x", 1),
        ("['b'][1][0]", 2),
    ]


@pytest.mark.parametrize("kind", [list, tuple])
def test_keys_of_many_items(kind):
    pairs = tree.leaves_with_path(kind(range(1500)))
    assert pairs == [((SequenceKey(i),), i) for i in range(1500)]


def test_keys_of_more_words_than_are_kept():
    words = [f"{i:05}" for i in range(9000)]
    for _ in range(2):
        assert tree.leaves_with_path(dict.fromkeys(words, 0)) == [
            ((DictKey(word),), 0) for word in words
        ]


class Word(str):
    """A string whose keys are not kept for others."""


def test_keys_are_what_the_user_has_put_there():
    keys = [True, Word("a"), "a", 1.0]
    for key in keys:
        (((found,), _),) = tree.leaves_with_path({key: 0})
        assert found.key is key


class Short(tuple):
    """A named tuple with fewer names than items."""

    _fields = ("x",)


class Listed(tuple):
    """A named tuple whose names are a list."""

    _fields: ClassVar = ["x", Word("y")]


def test_names_of_the_fields_of_tuples():
    pairs = tree.leaves_with_path(Listed((1, 2)))
    assert pairs == [((GetAttrKey("x"),), 1), ((GetAttrKey("y"),), 2)]
    assert type(pairs[1][0][0].name) is Word
    for walk in (tree.leaves_with_path, tree_util.flatten_one_level_with_keys):
        with pytest.raises(
            ValueError,
            match=r"tree: a Short has 2 items, but _fields names 1\.(?s:.*)Fix: give a tuple that "
            "has `_fields` one name for each item, or register its type",
        ):
            walk(Short((1, 2)))
    assert tree.leaves(Short((1, 2))) == [1, 2]


def test_keystr_of_a_long_path():
    path = (SequenceKey(1), DictKey("a"), GetAttrKey("n"), FlattenedIndexKey(3), "own")
    assert tree_util.keystr(path) == "[1]['a'].n[<flat index 3>]own"
    assert tree_util.keystr(path, simple=True, separator="/") == "1/a/n/3/own"
    assert tree_util.keystr(path[:3], separator=", ") == "[1], ['a'], .n"


def test_keys_are_values():
    keys = [SequenceKey(1), FlattenedIndexKey(1), DictKey("a"), GetAttrKey("a")]
    assert len(set(keys)) == 4
    assert pickle.loads(pickle.dumps(keys)) == keys
    assert repr(keys) == (
        "[SequenceKey(idx=1), FlattenedIndexKey(key=1), DictKey(key='a'), GetAttrKey(name='a')]"
    )


def test_an_array_is_no_path():
    # Found by hostile calls: the texts of a million rows took minutes.
    with pytest.raises(TypeError, match="keystr: a path is a tuple of keys, not an array"):
        tree_util.keystr(np.broadcast_to(1.0, (2**20, 3)))
