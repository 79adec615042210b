"""Tree structures as JSON.

A leaf is ``"*"``, a node a dictionary: its kind, its children, and what else the kind needs. Types
of the user's own are found by a name that they were registered under.
"""

from __future__ import annotations

import base64
import dataclasses
from collections import OrderedDict
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.lazy import LazyModule
from evertrace._src.support import set_module
from evertrace._src.tree.registry import is_named_tuple, is_tree_node
from evertrace._src.tree.treedef import PyTreeDef

json: Any = LazyModule("json")
public = set_module("evertrace.export")

_BUILTIN = {"tuple": tuple, "list": list, "dict": dict, "none": type(None)}


@dataclasses.dataclass(frozen=True)
class _Node:
    """How the nodes of a type are written and read."""

    nodetype: type
    name: str
    write: Any
    read: Any
    from_children: Any


_by_type: dict[type, _Node] = {}
_by_name: dict[str, _Node] = {}


@public
def register_pytree_node_serialization(
    nodetype: Any,
    *,
    serialized_name: Any,
    serialize_auxdata: Any,
    deserialize_auxdata: Any,
    from_children: Any = None,
) -> None:
    """Say how the nodes of a type are written, where they are in arguments or results.

    Args:
      nodetype: a type that is registered as a node; see `register_namedtuple_serialization` for
        named tuples. Tuples, lists, None, and dicts whose keys are text, ordered ones too, need
        none of this.
      serialized_name: what the type is called in the bytes.
      serialize_auxdata: maps the static data of a node to bytes.
      deserialize_auxdata: maps the bytes back.
      from_children: maps static data and a tuple of children to a node. By default the function
        for it that the type was registered with.

    Returns:
      `nodetype`, so that this can be used as a class decorator.

    Raises:
      ValueError: the type is no node, or the type or the name was registered before.

    Example:
      >>> from collections import defaultdict
      >>> import json
      >>> kind = ev.export.register_pytree_node_serialization(
      ...     defaultdict,
      ...     serialized_name="lists",
      ...     serialize_auxdata=lambda data: json.dumps(data[1]).encode(),
      ...     deserialize_auxdata=lambda data: (list, tuple(json.loads(data))),
      ... )
      >>> kind.__name__
      'defaultdict'
    """
    where = "register_pytree_node_serialization"
    if not is_tree_node(nodetype):
        raise _error(
            f"{where}: {nodetype!r} is not registered as a node of trees.",
            "call `tree_util.register_pytree_node` first.",
        )
    for known, key in ((_by_type, nodetype), (_by_name, serialized_name)):
        if key in known:
            raise _error(
                f"{where}: {key!r} is registered already, {known[key].nodetype.__name__} as "
                f"{known[key].name!r}.",
                "register each type once, under a name of its own.",
            )
    node = _Node(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children)
    _by_type[nodetype] = _by_name[serialized_name] = node
    return nodetype


@public
def register_namedtuple_serialization(nodetype: Any, *, serialized_name: Any) -> None:
    """Say what a type of named tuples is called where it is in arguments or results.

    Args:
      nodetype: the type. Where the bytes are read it must have the same fields.
      serialized_name: what the type is called in the bytes.

    Returns:
      `nodetype`, so that this can be used as a class decorator.

    Raises:
      ValueError: it is no named tuple, or the type or the name was registered before.

    Example:
      >>> from collections import namedtuple
      >>> Point = namedtuple("Point", "x y")
      >>> ev.export.register_namedtuple_serialization(Point, serialized_name="Point") is Point
      True
    """
    if not isinstance(nodetype, type) or not is_named_tuple(nodetype):
        raise _error(
            f"register_namedtuple_serialization: {nodetype!r} is no type of named tuples.",
            "use `register_pytree_node_serialization` for other types.",
        )
    fields: tuple[str, ...] = nodetype._fields  # pyright: ignore[reportAttributeAccessIssue]

    def read(data):
        written = _read_keys(data)
        if written != fields:
            raise _error(
                f"deserialize: the named tuple {serialized_name!r} was written with fields "
                f"{written}, and has {fields}.",
                "register a type with the fields that it was exported with.",
            )
        return nodetype

    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: json.dumps(fields).encode(),
        deserialize_auxdata=read,
    )


def _write_keys(keys):
    return json.dumps(list(map(_key, keys))).encode()


def _read_keys(data):
    """Return the names that a node's bytes hold."""
    try:
        keys = json.loads(data)
    except (ValueError, RecursionError):
        keys = None
    if type(keys) is not list or not all(isinstance(key, str) for key in keys):
        raise _error(
            f"deserialize: a node has the data {bytes(data[:40])!r}, which are no names.",
            "pass all that `exported.serialize()` returned.",
        )
    return tuple(keys)


# As JAX does; the bytes are the same.
register_pytree_node_serialization(
    OrderedDict,
    serialized_name="collections.OrderedDict",
    serialize_auxdata=_write_keys,
    deserialize_auxdata=_read_keys,
)


def to_json(treedef) -> Any:
    """Return the JSON of a tree structure."""
    if treedef.node_data() is None:
        return "*"
    nodetype, aux = treedef.node_data()
    children = [to_json(child) for child in treedef.children()]
    for kind, builtin in _BUILTIN.items():
        if nodetype is builtin:
            keys = {"keys": list(map(_key, aux))} if kind == "dict" else {}
            return {"kind": kind, "children": children, **keys}
    node = _by_type.get(nodetype)
    if node is None:
        raise _error(
            f"serialize: nodes of type {nodetype.__name__} cannot be written.",
            "register the type with `register_namedtuple_serialization` or "
            "`register_pytree_node_serialization`, or pass tuples and dicts.",
        )
    data = base64.b64encode(bytes(node.write(aux))).decode()
    return {"kind": "custom", "name": node.name, "aux": data, "children": children}


def _key(key):
    if isinstance(key, str):
        return key
    raise _error(
        f"serialize: the dict in the arguments or results has the key {key!r}; only text can be "
        f"written.",
        "use keys of text.",
    )


def from_json(data) -> PyTreeDef:
    """Return the tree structure that `to_json` wrote."""
    if data == "*":
        return tree.structure(0)
    children = [from_json(child) for child in data["children"]]
    if data["kind"] != "custom":
        nodetype = _BUILTIN[data["kind"]]
        if nodetype is type(None):
            return tree.structure(None)
        aux = tuple(data["keys"]) if nodetype is dict else None
        return PyTreeDef.from_node_data_and_children(None, (nodetype, aux), children)
    node = _by_name.get(data["name"])
    if node is None:
        raise _error(
            f"deserialize: nobody has registered {data['name']!r}, a type of nodes in the "
            f"arguments or results.",
            "register it, as the program that wrote the bytes has done.",
        )
    aux = node.read(base64.b64decode(data["aux"]))
    if node.from_children is not None:
        parts = [tree.unflatten(child, range(child.num_leaves)) for child in children]
        return tree.structure(node.from_children(aux, tuple(parts)))
    return PyTreeDef.from_node_data_and_children(None, (node.nodetype, aux), children)


def _error(what, fix):
    return errors.user_error(ValueError, what, fix=fix, anchor="export")
