"""The types that count as tree nodes, and how each is taken apart and put together.

A `NodeKind` holds the three functions that define a node type. The builtin containers and the
types registered by the user share one table, keyed by exact type: a subclass of ``dict`` is a leaf
until it is registered. Two kinds of node need no entry: ``None`` is in the table as a node
without children, and any named tuple is recognised by its ``_fields``. For a named tuple the
static data is its type, so that one `NodeKind` serves them all.

Children are given as a tuple, taken once: what happens to a list while it is walked does not
matter. The static data ("aux") is everything of a node that is not a child; it becomes part of the
treedef and so has to be comparable, and hashable to be cached.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from evertrace._src.errors import user_error
from evertrace._src.support import set_module
from evertrace._src.tree.keys import FlattenedIndexKey, dict_key, field_key, sequence_keys

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound=Any)
Children = tuple[Any, ...]


class NodeKind(NamedTuple):
    """How the nodes of one type are flattened, rebuilt and flattened together with their keys."""

    flatten: Callable[[Any], tuple[Children, Any]]
    unflatten: Callable[[Any, Any], Any]
    flatten_with_keys: Callable[[Any], tuple[Sequence[Any], Children, Any]]


# --- builtin containers -------------------------------------------------------------------------


def flatten_dict(node: Any) -> tuple[Children, Any]:
    """Return the values in the order of their sorted keys, and these keys."""
    try:
        keys = tuple(sorted(node))
    except (TypeError, ValueError) as error:
        raise bad_keys(node, error) from error
    return tuple(map(node.__getitem__, keys)), keys


def bad_keys(node: Any, error: Exception) -> ValueError:
    """Return the error that the keys of a dict cannot be sorted."""
    return user_error(
        ValueError,
        f"tree: the keys {list(node)!r} of a {type(node).__name__} cannot be sorted ({error}).",
        fix="use keys of one comparable type, or an OrderedDict, which keeps its own order.",
        anchor="tree-dict-keys",
    )


def _unflatten_dict(keys: tuple[Any, ...], children: Iterable[Any]) -> dict[Any, Any]:
    return dict(zip(keys, children, strict=False))  # their numbers were compared before


def _flatten_ordered_dict(node: OrderedDict[Any, Any]) -> tuple[Children, Any]:
    return tuple(node.values()), tuple(node)


def _unflatten_ordered_dict(keys: tuple[Any, ...], children: Iterable[Any]) -> Any:
    return OrderedDict(zip(keys, children, strict=True))


def _flatten_defaultdict(node: defaultdict[Any, Any]) -> tuple[Children, Any]:
    children, keys = flatten_dict(node)
    return children, (node.default_factory, keys)


def _unflatten_defaultdict(aux: tuple[Any, tuple[Any, ...]], children: Iterable[Any]) -> Any:
    factory, keys = aux
    return defaultdict(factory, zip(keys, children, strict=True))


def _dict_keys(aux: tuple[Any, ...], _children: Children) -> list[Any]:
    return list(map(dict_key, aux))


def _defaultdict_keys(aux: tuple[Any, tuple[Any, ...]], _children: Children) -> list[Any]:
    return list(map(dict_key, aux[1]))


def _sequence_keys(_aux: None, children: Children) -> Sequence[Any]:
    return sequence_keys(len(children))


def _flat_index_keys(_aux: Any, children: Children) -> list[Any]:
    return [FlattenedIndexKey(index) for index in range(len(children))]


def _field_keys(aux: Any, children: Children) -> list[Any]:
    names = tuple(aux._fields)
    if len(names) != len(children):
        raise user_error(
            ValueError,
            f"tree: a {aux.__name__} has {len(children)} items, but _fields names {len(names)}.",
            fix="give a tuple that has `_fields` one name for each item, or register its type.",
            anchor="tree-register",
        )
    return list(map(field_key, names))


def _flatten_named_tuple(node: tuple[Any, ...]) -> tuple[Children, Any]:
    items = tuple[Any, ...].__iter__(node)  # its own iteration may give other things
    return tuple(items), type(node)


def _flatten_sequence(node: Iterable[Any]) -> tuple[Children, Any]:
    return tuple(node), None


def make_kind(
    flatten: Callable[[Any], tuple[Children, Any]],
    unflatten: Callable[[Any, Any], Any],
    keys: Callable[[Any, Children], Sequence[Any]],
) -> NodeKind:
    """Return the kind whose keys follow from the static data and the number of children."""

    def flatten_with_keys(node: Any) -> tuple[Sequence[Any], Children, Any]:
        children, aux = flatten(node)
        return keys(aux, children), children, aux

    return NodeKind(flatten, unflatten, flatten_with_keys)


NAMED_TUPLE = make_kind(_flatten_named_tuple, lambda aux, children: aux(*children), _field_keys)

# Read by the traversals, written by `add_kind` alone.
KINDS: dict[type, NodeKind] = {
    dict: make_kind(flatten_dict, _unflatten_dict, _dict_keys),
    tuple: make_kind(_flatten_sequence, lambda _, children: tuple(children), _sequence_keys),
    list: make_kind(_flatten_sequence, lambda _, children: list(children), _sequence_keys),
    type(None): make_kind(lambda _: ((), None), lambda _, __: None, _sequence_keys),
    OrderedDict: make_kind(_flatten_ordered_dict, _unflatten_ordered_dict, _dict_keys),
    defaultdict: make_kind(_flatten_defaultdict, _unflatten_defaultdict, _defaultdict_keys),
}


def is_named_tuple(node_type: type) -> bool:
    """Tell whether `node_type` is a tuple with field names, as ``namedtuple`` makes them."""
    bases = node_type.__mro__  # not `in`: a metaclass may define `__eq__`
    return any(c is tuple for c in bases) and hasattr(node_type, "_fields")


def find_kind(node_type: type) -> NodeKind | None:
    """Return the kind of `node_type`, or ``None`` if its values are leaves."""
    kind = KINDS.get(node_type)
    if kind is None and is_named_tuple(node_type):
        return NAMED_TUPLE
    return kind


@set_module("evertrace.tree_util")
def is_tree_node(typ: Any) -> bool:
    """Tell whether the values of `typ` are nodes: it is registered, builtin or a named tuple.

    Example:
      >>> ev.tree_util.is_tree_node(dict), ev.tree_util.is_tree_node(int)
      (True, False)
    """
    return isinstance(typ, type) and find_kind(typ) is not None


# --- registration -------------------------------------------------------------------------------


def add_kind(nodetype: Any, kind: NodeKind) -> None:
    """Enter `kind` for `nodetype`, which must be a type that has no kind yet."""
    if not isinstance(nodetype, type):
        raise user_error(
            TypeError,
            f"tree: only types can be registered as nodes, got {nodetype!r}.",
            fix="pass the class itself rather than an instance or a name.",
            anchor="tree-register",
        )
    if nodetype in KINDS:
        raise user_error(
            ValueError,
            f"tree: {nodetype!r} is registered as a node already.",
            fix="register each type once, beside its definition.",
            anchor="tree-register",
        )
    KINDS[nodetype] = kind


def _bad_result(nodetype: type, wanted: str, got: Any) -> Exception:
    """Return the error for a flatten function of `nodetype` whose result has another form."""
    return user_error(
        ValueError,
        f"tree: the flatten function of {nodetype.__name__} returned {got!r}, not {wanted}.",
        fix=f"return {wanted}, where the children are an iterable.",
        anchor="tree-register",
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(cast("tuple[Any, ...]", value)) == 2


def _checked_flatten(nodetype: type, flatten: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a user's flatten function so that its result is checked and its children a tuple."""

    def checked(node: Any) -> tuple[Children, Any]:
        result: Any = flatten(node)
        children: Any = result[0] if _is_pair(result) else None
        if type(children) is not tuple:
            if not isinstance(children, Iterable):
                raise _bad_result(nodetype, "a pair (children, aux_data)", result)
            children = tuple(cast("Iterable[Any]", children))
        return cast("Children", children), result[1]

    return checked


def _checked_flatten_with_keys(
    nodetype: type, flatten: Callable[[Any], Any]
) -> Callable[[Any], tuple[Sequence[Any], Children, Any]]:
    """Wrap a user's keyed flatten function likewise; keys and children come back apart."""
    checked = _checked_flatten(nodetype, flatten)

    def checked_with_keys(node: Any) -> tuple[Sequence[Any], Children, Any]:
        pairs, aux = checked(node)
        if not all(map(_is_pair, pairs)):
            raise _bad_result(nodetype, "a pair ([(key, child), ...], aux_data)", (pairs, aux))
        return [key for key, _ in pairs], tuple([child for _, child in pairs]), aux

    return checked_with_keys


@set_module("evertrace.tree_util")
def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make the values of a type nodes of trees rather than leaves.

    Args:
      nodetype: the type; its subclasses are not affected.
      flatten_func: maps a value to ``(children, aux_data)``. ``aux_data`` is compared with ``==``
        and hashed to recognise trees of the same structure, so it must hold no arrays.
      unflatten_func: maps ``(aux_data, children)``, the children as a tuple, back to a value. It
        should accept any objects as children: trees of axes, types or ``None`` are built with it.
      flatten_with_keys_func: as `flatten_func`, with ``(key, child)`` pairs for children.

    Raises:
      ValueError: the type is registered already.
      TypeError: `nodetype` is no type, or a function is not callable.

    Example:
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> flatten = lambda pair: ((pair.a, pair.b), None)
      >>> ev.tree_util.register_pytree_node(Pair, flatten, lambda _, children: Pair(*children))
      >>> ev.grad(lambda pair: pair.a * pair.b)(Pair(2.0, 3.0)).a
      Array(3., dtype=float32, weak_type=True)
    """
    for function in (flatten_func, unflatten_func):
        if not callable(function):
            raise user_error(
                TypeError,
                f"register_pytree_node: expected a function for {nodetype!r}, got {function!r}.",
                fix="pass flatten_func and unflatten_func as callables.",
                anchor="tree-register",
            )
    flatten = _checked_flatten(nodetype, flatten_func)
    if flatten_with_keys_func is None:
        add_kind(nodetype, make_kind(flatten, unflatten_func, _flat_index_keys))
    else:
        with_keys = _checked_flatten_with_keys(nodetype, flatten_with_keys_func)
        add_kind(nodetype, NodeKind(flatten, unflatten_func, with_keys))


@set_module("evertrace.tree_util")
def register_pytree_node_class(cls: ClassT) -> ClassT:
    """Register a class by its own methods; a class decorator.

    Args:
      cls: has a method ``tree_flatten(self)`` returning ``(children, aux_data)`` and a class method
        ``tree_unflatten(cls, aux_data, children)``.

    Returns:
      `cls`.

    Raises:
      AttributeError: one of the methods is missing.

    Example:
      >>> @ev.tree_util.register_pytree_node_class
      ... class Scaled:
      ...     def __init__(self, x, factor):
      ...         self.x, self.factor = x, factor
      ...
      ...     def tree_flatten(self):
      ...         return (self.x,), self.factor
      ...
      ...     @classmethod
      ...     def tree_unflatten(cls, factor, children):
      ...         return cls(*children, factor)
      >>> doubled = ev.tree.map(lambda x: 2 * x, Scaled(3.0, factor=10))
      >>> doubled.x, doubled.factor
      (6.0, 10)
    """
    register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)
    return cls


@set_module("evertrace.tree_util")
def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make the values of a type nodes that name their children in key paths.

    Args:
      nodetype: the type; its subclasses are not affected.
      flatten_with_keys: maps a value to ``([(key, child), ...], aux_data)``.
      unflatten_func: maps ``(aux_data, children)`` back to a value.
      flatten_func: the same as `flatten_with_keys` without the keys, where that can be done faster.

    Raises:
      ValueError: the type is registered already.

    Example:
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> Key = ev.tree_util.GetAttrKey
      >>> flatten = lambda pair: (((Key("a"), pair.a), (Key("b"), pair.b)), None)
      >>> ev.tree_util.register_pytree_with_keys(Pair, flatten, lambda _, xs: Pair(*xs))
      >>> [ev.tree_util.keystr(path) for path, _ in ev.tree.leaves_with_path([Pair(1, 2)])]
      ['[0].a', '[0].b']
    """
    with_keys = _checked_flatten_with_keys(nodetype, flatten_with_keys)

    def without_keys(node: T) -> tuple[Children, Any]:
        _, children, aux = with_keys(node)
        return children, aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


@set_module("evertrace.tree_util")
def register_pytree_with_keys_class(cls: ClassT) -> ClassT:
    """Register a class that names its children by its own methods; a class decorator.

    Args:
      cls: has ``tree_flatten_with_keys(self)`` returning ``([(key, child), ...], aux_data)``, the
        class method ``tree_unflatten(cls, aux_data, children)`` and, if it likes, ``tree_flatten``.

    Returns:
      `cls`.

    Raises:
      AttributeError: one of the methods is missing.

    Example:
      >>> @ev.tree_util.register_pytree_with_keys_class
      ... class Box:
      ...     def __init__(self, content):
      ...         self.content = content
      ...
      ...     def tree_flatten_with_keys(self):
      ...         return ((ev.tree_util.GetAttrKey("content"), self.content),), None
      ...
      ...     @classmethod
      ...     def tree_unflatten(cls, _, children):
      ...         return cls(*children)
      >>> ev.tree.leaves_with_path(Box(7))
      [((GetAttrKey(name='content'),), 7)]
    """
    flatten = getattr(cls, "tree_flatten", None)
    register_pytree_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten, flatten)
    return cls


@set_module("evertrace.tree_util")
def register_static(cls: type[T]) -> type[T]:
    """Register a class whose values are nodes without leaves, all of them static data.

    Args:
      cls: its values must be hashable and comparable.

    Returns:
      `cls`, so that this can be a class decorator.

    Example:
      >>> @ev.tree_util.register_static
      ... class Mode(str):
      ...     pass
      >>> ev.tree.flatten({"mode": Mode("train"), "x": 1})
      ([1], PyTreeDef({'mode': CustomNode(Mode[train], []), 'x': *}))
    """
    add_kind(cls, make_kind(lambda node: ((), node), lambda aux, _: aux, _flat_index_keys))
    return cls


# --- one level ----------------------------------------------------------------------------------


def _kind_of_node(node: object) -> NodeKind:
    kind = find_kind(type(node))
    if kind is None:
        raise user_error(
            ValueError,
            f"flatten_one_level: a value of type {type(node).__name__} is a leaf.",
            fix="register the type as a node, or test the value before.",
            anchor="tree-register",
        )
    return kind


@set_module("evertrace.tree_util")
def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Take one node apart.

    Args:
      tree: a value of a node type.

    Returns:
      Its children and its static data.

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> ev.tree_util.flatten_one_level({"b": (1, 2), "a": 3})
      ((3, (1, 2)), ('a', 'b'))
    """
    return _kind_of_node(tree).flatten(tree)


@set_module("evertrace.tree_util")
def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Take one node apart, with the key of each child.

    Args:
      tree: a value of a node type.

    Returns:
      The ``(key, child)`` pairs and the static data.

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> ev.tree_util.flatten_one_level_with_keys([7, (8,)])
      ([(SequenceKey(idx=0), 7), (SequenceKey(idx=1), (8,))], None)
    """
    keys, children, aux = _kind_of_node(tree).flatten_with_keys(tree)
    return list(zip(keys, children, strict=True)), aux
