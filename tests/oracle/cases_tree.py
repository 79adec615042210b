"""Trees: flattening, mapping, paths, errors, and how they print."""

from tests.oracle.cases import Ref
from tests.oracle.tables import programs

RAVEL = Ref("flatten_util.ravel_pytree")

CASES = programs(
    """
    tree.leaves({'b': 1, 'a': (2, [3, None])})
    tree.map(lambda a: a + 1, {'b': 1, 'a': (2, [3, None])})
    tree.map(lambda a, b: a + b, (1, [2]), (3, [4]))
    tree.map(lambda a, b: (a, b), (1, 2), ((3, 4), [5]))
    tree.map(lambda a, b: a, (1, 2), (1, 2, 3))
    tree.map(lambda a, b: a, (1, 2), [1, 2])
    tree.map(lambda a, b: a, {'a': 1}, {'b': 1})
    tree.map(lambda a, b: a, {'a': 1}, {'a': 1, 'b': 2})
    tree.map(lambda a: a is None, [None, 1], is_leaf=lambda a: a is None)
    str(tree.structure({'b': 1, 'a': (2, [3, None])}))
    str(tree.structure(1)), str(tree.structure(None)), str(tree.structure(()))
    str(tree.structure([{'x': 1, 2: 3}]))
    str(tree.structure({1: 2, 'a': 3}))
    tree.structure((1, 2)) == tree.structure((3, 4)), tree.structure((1,)) == tree.structure([1])
    tree.structure((1, [2, 3])).num_leaves, tree.structure((1, [2, 3])).num_nodes
    tree.unflatten(tree.structure({'a': 1, 'b': [2, 3]}), [7, 8, 9])
    tree.unflatten(tree.structure({'a': 1, 'b': [2, 3]}), [7, 8])
    tree.unflatten(tree.structure({'a': 1, 'b': [2, 3]}), [7, 8, 9, 10])
    tree.flatten((1, {'a': 2}))[0]
    tree.flatten([None, 1], is_leaf=lambda a: a is None)[0]
    tree.reduce(lambda a, b: a + b, (1, [2, 3]))
    tree.reduce(lambda a, b: a + b, (1, [2, 3]), 10)
    tree.reduce(lambda a, b: a + b, ())
    tree.all((True, [1, 0])), tree.all(())
    tree.transpose(tree.structure((0, 0)), tree.structure([0, 0, 0]), ([1, 2, 3], [4, 5, 6]))
    tree.transpose(tree.structure((0, 0)), tree.structure([0, 0]), ([1, 2, 3], [4, 5, 6]))
    [(str(k), v) for k, v in tree.leaves_with_path({'b': 1, 'a': (2, [3])})]
    [ev.tree_util.keystr(k) for k, v in tree.leaves_with_path({'b': 1, 3: (2, [3])})]
    [ev.tree_util.keystr(k) for k, v in tree.leaves_with_path({'b': 1, 'a': (2, [3])})]
    [ev.tree_util.keystr(k, simple=True, separator='/') for k, v in tree.leaves_with_path({'b': 1, 'a': (2, [3])})]
    tree.map_with_path(lambda p, a: ev.tree_util.keystr(p) + str(a), {'b': 1, 'a': (2, [3])})
    repr(ev.tree_util.DictKey('a')), repr(ev.tree_util.SequenceKey(1)), repr(ev.tree_util.GetAttrKey('x')), repr(ev.tree_util.FlattenedIndexKey(0))
    str(ev.tree_util.DictKey('a')), str(ev.tree_util.SequenceKey(1)), str(ev.tree_util.GetAttrKey('x'))
    tree.broadcast((1, 2), ((0, 0), [0]))
    tree.broadcast(1, {'a': 0, 'b': (0, 0)})
    ev.tree_util.treedef_tuple([tree.structure(1), tree.structure((1, 2))]).num_leaves
    str(ev.tree_util.treedef_tuple([tree.structure(1), tree.structure((1, 2))]))
    [str(c) for c in tree.structure((1, [2])).children()]
    ev.tree_util.treedef_is_leaf(tree.structure(1)), ev.tree_util.treedef_is_leaf(tree.structure((1,)))
    ev.tree_util.all_leaves([1, 2]), ev.tree_util.all_leaves([1, (2,)])
    hash(tree.structure((1, 2))) == hash(tree.structure((3, 4)))
    tree.structure((1, 2)).compose(tree.structure([0])).num_leaves
    str(tree.structure(__import__('collections').OrderedDict(b=1, a=2)))
    tree.leaves(__import__('collections').OrderedDict(b=1, a=2))
    tree.leaves(__import__('collections').defaultdict(int, b=1, a=2))
    str(tree.structure(__import__('collections').namedtuple('P', 'x y')(1, 2)))
    [ev.tree_util.keystr(k) for k, _ in tree.leaves_with_path(__import__('collections').namedtuple('P', 'x y')(1, 2))]
    tree.map(lambda a: a * 2, ev.tree_util.Partial(lambda a, b: a + b, 3))(4)
    tree.leaves(ev.tree_util.Partial(lambda a: a, 3, k=4))
    str(tree.structure({'a': jnp.ones(2)}))
    tree.leaves(jnp.ones(2)), tree.leaves('abc'), tree.leaves(np.ones(2))
    tree.leaves({1: 0, 'a': 2})
    tree.flatten_with_path(5)[0]
    ev.jit(lambda t: {'s': t['a'] + t['b'][0], 'n': None})({'a': 1, 'b': (2.0,)})
    ev.grad(lambda t: t['a'] * t['b'][0])({'a': 1.0, 'b': (2.0,)})
    ev.vmap(lambda t: t['a'] + t['b'], in_axes=({'a': 0, 'b': None},))({'a': jnp.arange(3), 'b': 1})
    ev.tree_util.tree_map(lambda a: a + 1, [1, (2,)]), ev.tree_util.tree_leaves([1, (2,)])
    ev.tree_util.register_pytree_node(tuple, lambda t: (t, None), lambda a, c: c)
    tree.map(None, (1, 2))
    tree.unflatten(3, [1])
    ev.device_get({'a': jnp.arange(3)}), ev.device_put({'a': 1, 'b': np.ones(2)})
    ev.eval_shape(lambda x: {'y': x + 1}, jnp.ones(3))['y'].shape
    repr(ev.eval_shape(lambda x: x + 1, ev.ShapeDtypeStruct((2, 3), 'float32')))
    """
) + programs(
    """
    x({'a': jnp.arange(2), 'b': 1.5})[0]
    x({'a': jnp.arange(2), 'b': 1.5})[1](jnp.arange(3.0))
    x({'a': jnp.arange(2), 'b': np.ones((2, 2))})[1](jnp.arange(6.0))
    x(())[0]
    x([jnp.ones(2), jnp.ones(2, 'bfloat16')])[0]
    """,
    RAVEL,
)
