"""`Partial`, the partial application that is a node."""

import functools
import pickle

import pytest

from evertrace import tree
from evertrace.tree_util import Partial


def test_bound_arguments_are_leaves():
    partial = Partial(max, 1, key=str)
    assert tree.leaves(partial) == [1, str]
    doubled = tree.map(lambda x: (x, x), partial)
    assert isinstance(doubled, Partial)
    assert (doubled.func, doubled.args, doubled.keywords) == (max, ((1, 1),), {"key": (str, str)})


def test_the_function_is_part_of_the_structure():
    assert tree.structure(Partial(max, 1)) == tree.structure(Partial(max, 2))
    assert tree.structure(Partial(max, 1)) != tree.structure(Partial(min, 1))


@pytest.mark.parametrize("kind", [Partial, functools.partial])
def test_a_partial_application_is_kept_whole(kind):
    inner = kind(divmod, 7)
    outer = Partial(inner, 2)
    assert outer() == (3, 1)
    assert tree.leaves(outer) == [2]
    assert tree.map(lambda x: x + 1, outer)() == (2, 1)
    assert tree.structure(outer) == tree.structure(Partial(inner, 3))
    assert hash(tree.structure(outer)) == hash(tree.structure(Partial(inner, 3)))


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(Partial(divmod, 7)))(2) == (3, 1)
