"""Laws that hold for all trees."""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from evertrace import tree, tree_util
from evertrace._src import tree as internal
from tests.tree.nodes import trees

fast = settings(max_examples=150, deadline=None)


@fast
@given(trees)
def test_unflatten_inverts_flatten(value):
    leaves, treedef = tree.flatten(value)
    assert tree.unflatten(treedef, leaves) == value
    assert treedef.num_leaves == len(leaves)


@fast
@given(trees)
def test_structure_of_a_rebuilt_tree_is_the_same(value):
    leaves, treedef = tree.flatten(value)
    rebuilt = tree.structure(tree.unflatten(treedef, [str(leaf) for leaf in leaves]))
    assert rebuilt == treedef
    assert hash(rebuilt) == hash(treedef)
    assert repr(rebuilt) == repr(treedef)


@fast
@given(trees, trees)
def test_treedefs_are_equal_as_their_reprs_are(a, b):
    # True of these node types, whose static data prints in full.
    first, second = tree.structure(a), tree.structure(b)
    assert (first == second) == (repr(first) == repr(second))


@fast
@given(trees)
def test_all_traversals_agree(value):
    leaves, treedef = tree.flatten(value)
    assert tree.flatten(value, is_leaf=lambda _: False) == (leaves, treedef)
    pairs, with_path = tree.flatten_with_path(value)
    assert with_path == treedef
    assert [leaf for _, leaf in pairs] == leaves
    assert len({path for path, _ in pairs}) == len(leaves)


@fast
@given(trees)
def test_one_level_at_a_time(value):
    treedef = tree.structure(value)
    children = treedef.children()
    assert sum(child.num_leaves for child in children) == treedef.num_leaves * bool(children)
    if treedef.node_data() is None:
        assert treedef == internal.LEAF
        assert treedef.num_nodes == 1
        return
    assert treedef.num_nodes == 1 + sum(child.num_nodes for child in children)
    rebuilt = tree_util.PyTreeDef.from_node_data_and_children(
        tree_util.default_registry, treedef.node_data(), children
    )
    assert rebuilt == treedef
    nodes, _ = tree_util.flatten_one_level(value)
    assert [tree.structure(node) for node in nodes] == children


@fast
@given(trees)
def test_treedefs_survive_pickling(value):
    treedef = tree.structure(value)
    assert pickle.loads(pickle.dumps(treedef)) == treedef


@fast
@given(trees, trees)
def test_compose_nests_structures(outer, inner):
    composed = tree.structure(outer).compose(tree.structure(inner))
    assert composed == tree.structure(tree.map(lambda _: inner, outer))
    assert composed.num_leaves == len(tree.leaves(outer)) * len(tree.leaves(inner))


@fast
@given(trees, trees)
def test_a_prefix_is_matched_and_broadcast(prefix, part):
    count = len(tree.leaves(part))
    leaves, treedef = tree.flatten(prefix)
    full = tree.map(lambda _: part, prefix)
    assert treedef.flatten_up_to(full) == [part] * len(leaves)
    expected = [leaf for leaf in leaves for _ in range(count)]
    assert internal.broadcast_prefix(prefix, full) == expected
    assert tree.leaves(tree.broadcast(prefix, full)) == expected
    assert internal.prefix_errors(prefix, full) == []


@fast
@given(trees, st.integers())
def test_axes_are_spread_over_the_leaves(value, axis):
    leaves, treedef = tree.flatten(value)
    assert internal.flatten_axes("in_axes", treedef, axis) == [axis] * len(leaves)
    assert internal.flatten_axes("in_axes", treedef, None) == [None] * len(leaves)
    numbered = treedef.unflatten(range(len(leaves)))
    assert internal.flatten_axes("in_axes", treedef, numbered) == list(range(len(leaves)))


@fast
@given(trees, trees)
def test_transpose_twice_is_the_identity(outer, inner):
    first, second = tree.structure(outer), tree.structure(inner)
    nested = first.compose(second).unflatten(range(first.num_leaves * second.num_leaves))
    turned = tree.transpose(first, second, nested)
    assert tree.structure(turned) == second.compose(first)
    assert tree.transpose(second, first, turned) == nested
