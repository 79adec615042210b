"""Effects: what an equation does besides computing its outputs.

An equation with an effect is never removed as dead code; one with an ordered effect is never moved
past another of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evertrace._src.doors import door


@door
class Effect:
    """A kind of effect, known by its name.

    Args:
      name: shown in printed jaxprs; that of the class, where a library has derived one.
      ordered: whether equations that carry it keep their order at run time.

    Example:
      >>> closed = ev.make_jaxpr(lambda x: ev.debug.print("{}", x))(1.0)
      >>> closed.effects, isinstance(next(iter(closed.effects)), ev.core.Effect)
      (frozenset({Debug}), True)
    """

    name: Any
    ordered: bool

    __slots__ = ("name", "ordered")

    each_device = False  # whether every device of a mesh has it, also where all do the same

    def __init__(self, name: Any = None, ordered: bool = False) -> None:
        self.name, self.ordered = name or type(self).__name__, ordered

    def __repr__(self) -> str:
        return self.name


class NamedAxis(Effect):
    """Not an effect, strictly: the equation means something only where an axis has this name.

    Args:
      axis: the name, any hashable value. Two of the same name are equal.
    """

    __slots__ = ("axis",)

    def __init__(self, axis: Any) -> None:
        super().__init__(f"axis {axis!r}")
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return type(other) is NamedAxis and self.axis == other.axis

    def __hash__(self) -> int:
        return hash((NamedAxis, self.axis))


NO_EFFECTS: frozenset[Effect] = frozenset()


def observable(effects: Iterable[Effect]) -> bool:
    """Whether any of the effects is more than the use of a named axis."""
    return any(type(e) is not NamedAxis for e in effects)
