"""Dataclasses as nodes: some fields are children, the others static data."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from evertrace._src.errors import user_error
from evertrace._src.support import set_module
from evertrace._src.tree.keys import GetAttrKey
from evertrace._src.tree.registry import add_kind, make_kind

ClassT = TypeVar("ClassT", bound=Any)


@set_module("evertrace.tree_util")
def register_dataclass(
    nodetype: ClassT,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> ClassT:
    """Make a dataclass, or a class that can be rebuilt from keywords, a node.

    Args:
      nodetype: the class. Nodes are rebuilt by ``nodetype(**fields)``.
      data_fields: the names of the fields that are children.
      meta_fields: the names of the fields that are static. For a dataclass both may be left out:
        then the fields made by `static` (``metadata={"static": True}``) are static, the others
        children.
      drop_fields: the names of the fields that are left out, and so need a default.

    Returns:
      `nodetype`, so that this can be a class decorator.

    Raises:
      TypeError: only one of the lists is given, or none for a class that is no dataclass.
      ValueError: the lists overlap, do not match the fields, or the type is registered already.

    Example:
      >>> from dataclasses import dataclass
      >>> @dataclass
      ... class Point:
      ...     x: float
      ...     y: float
      ...     unit: str
      >>> _ = ev.tree_util.register_dataclass(Point, ["x", "y"], ["unit"])
      >>> ev.tree.map(lambda v: 2 * v, Point(1.0, 2.0, "m"))
      Point(x=2.0, y=4.0, unit='m')
    """
    data, meta = _split_fields(nodetype, data_fields, meta_fields, drop_fields)
    _check_fields(nodetype, data, meta, drop_fields)
    get_data, get_meta = _fields_getter(data), _fields_getter(meta)

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> Any:
        fields = dict(zip(data, children, strict=True))
        fields.update(zip(meta, aux, strict=True))
        return nodetype(**fields)

    keys = [GetAttrKey(name) for name in data]
    kind = make_kind(lambda node: (get_data(node), get_meta(node)), unflatten, lambda _, __: keys)
    add_kind(nodetype, kind)
    return nodetype


@set_module("evertrace.tree")
def static(**kwargs: Any) -> Any:
    """Declare a dataclass field that `register_dataclass` takes as static.

    Args:
      **kwargs: those of ``dataclasses.field``; ``metadata`` is extended.

    Returns:
      A ``dataclasses.Field``.

    Example:
      >>> from dataclasses import dataclass
      >>> @ev.tree_util.register_dataclass
      ... @dataclass
      ... class Layer:
      ...     weight: float
      ...     activation: str = ev.tree.static(default="tanh")
      >>> ev.tree.leaves(Layer(2.0))
      [2.0]
    """
    metadata: dict[Any, Any] = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def _split_fields(
    nodetype: Any,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the data and of the static fields, as given or as declared."""
    if data_fields is not None and meta_fields is not None:
        return tuple(data_fields), tuple(meta_fields)
    if data_fields is not None or meta_fields is not None:
        raise user_error(
            TypeError,
            f"register_dataclass: {nodetype!r} was given {data_fields=} and {meta_fields=}.",
            fix="give both lists, or neither.",
            anchor="tree-dataclass",
        )
    if not dataclasses.is_dataclass(nodetype):
        raise user_error(
            TypeError,
            f"register_dataclass: {nodetype!r} is no dataclass, so its fields are unknown.",
            fix="decorate it with @dataclass first, or give data_fields and meta_fields.",
            anchor="tree-dataclass",
        )
    fields = [field for field in dataclasses.fields(nodetype) if field.name not in drop_fields]
    data = tuple(field.name for field in fields if not field.metadata.get("static", False))
    meta = tuple(field.name for field in fields if field.metadata.get("static", False))
    return data, meta


def _check_fields(
    nodetype: Any, data: tuple[str, ...], meta: tuple[str, ...], drop_fields: Sequence[str]
) -> None:
    """Refuse lists that overlap, or that do not cover the constructor's fields of a dataclass."""
    problems: list[str] = []
    if overlap := sorted(set(data) & set(meta)):
        problems.append(f"fields {overlap} are both data and static")
    if dataclasses.is_dataclass(nodetype):
        wanted = {field.name for field in dataclasses.fields(nodetype) if field.init}
        wanted -= set(drop_fields)
        if missing := sorted(wanted - set(data) - set(meta)):
            problems.append(f"fields {missing} are missing")
        if unexpected := sorted((set(data) | set(meta)) - wanted):
            problems.append(f"{unexpected} are not fields that its constructor takes")
    if problems:
        raise user_error(
            ValueError,
            f"register_dataclass: {nodetype!r}: {'; '.join(problems)}.",
            fix="name each field with init=True once, in data_fields, meta_fields or drop_fields.",
            anchor="tree-dataclass",
        )


def _fields_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function from an object to the tuple of the named attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    get = attrgetter(names[0])
    return lambda node: (get(node),)
