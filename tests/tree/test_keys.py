"""Key paths and how they print."""

import pickle
from collections import OrderedDict, defaultdict

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
