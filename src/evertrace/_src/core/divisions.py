"""Divisions: along which axes of a mesh the dimensions of arrays are divided.

The division of an array is a tuple with, for each dimension, the axes that divide it, the slowest
first; an empty one leaves open how the dimension lies. What operations and programs make of those
of their operands is in `core.propagation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

Division: TypeAlias = tuple[tuple[str, ...], ...]


class _Ranked(Protocol):
    """The type of an array, of which only the number of dimensions counts here."""

    @property
    def ndim(self) -> int: ...


class Axes(dict[str, int]):
    """The axes of a mesh: their sizes by name.

    Attributes:
      explicit: those along which the types of arrays say how they are divided, so that operands
        that disagree are an error.
      mesh: the mesh, for rules of users, who are told of it; or None.
      seen: dict in which `divide_jaxpr` notes the division of each variable, by its id; or None.
    """

    __slots__ = ("explicit", "mesh", "seen")

    def __init__(
        self,
        sizes: Mapping[str, int] | Iterable[tuple[str, int]],
        explicit: Iterable[str] = (),
        mesh: Any = None,
        seen: dict[int, Division] | None = None,
    ) -> None:
        super().__init__(sizes)
        self.explicit, self.mesh, self.seen = frozenset(explicit), mesh, seen


class OtherAxis(str):
    """An axis of another mesh than the one that a program is divided over.

    It is equal to no name, and has a size of its own.

    Attributes:
      mesh: the mesh.
      size: of the axis.
    """

    __slots__ = ("mesh", "size")

    mesh: Any
    size: int

    def __new__(cls, name: str, mesh: Any, size: int) -> Self:
        """Return the axis of that name."""
        self = super().__new__(cls, name)
        self.mesh, self.size = mesh, size
        return self

    def __eq__(self, other: object) -> bool:
        same = type(other) is OtherAxis and self.mesh == other.mesh
        return same and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.mesh))


class Unreduced(tuple[tuple[str, ...], ...]):
    """The division of an array of which each device has a part of a sum, yet to be added up.

    It is equal to none that says nothing of sums.

    Attributes:
      axes: the axes of the mesh along which parts are to be added up.
    """

    axes: frozenset[str]

    def __new__(cls, division: Iterable[tuple[str, ...]], axes: Collection[str]) -> Self:
        """Return a division with these axes; those that divide a dimension as well do not."""
        self = super().__new__(cls, [tuple([a for a in d if a not in axes]) for d in division])
        self.axes = frozenset(axes)
        return self

    def __eq__(self, other: object) -> bool:
        same = type(other) is Unreduced and self.axes == other.axes
        return same and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.axes))


def with_dimensions(division: Division, dims: Iterable[tuple[str, ...]]) -> Division:
    """Return the division of an array with other dimensions, which is a sum where the other is."""
    return Unreduced(dims, division.axes) if type(division) is Unreduced else tuple(dims)


def have_same_axes(one: Axes, other: Mapping[str, int]) -> bool:
    """Whether two meshes have the same axes, in the same order."""
    return one is other or list(one.items()) == list(other.items())


def over_mesh(division: Division, axes: Axes, mesh_sizes: Mapping[str, int]) -> Division:
    """Return a division along the axes of one mesh as one of a program over another one.

    Args:
      division: it.
      axes: those of its mesh.
      mesh_sizes: those of the program's mesh.
    """
    if have_same_axes(axes, mesh_sizes):
        return division
    other = [tuple([OtherAxis(a, axes.mesh, axes[a]) for a in entry]) for entry in division]
    return with_dimensions(division, other)


class Varying(tuple[tuple[str, ...], ...]):
    """The division of what differs among devices within `shard_map`, and is no term of a sum.

    A sum goes through no product with it: each term would be multiplied by something else.
    """

    def __new__(cls, division: Iterable[tuple[str, ...]], axes: Collection[str]) -> Self:
        """Return the division; the axes along which it differs are those of the terms beside it."""
        return super().__new__(cls, division)


class Zeros(tuple[tuple[str, ...], ...]):
    """The division of zeros that a program makes: sums along whatever axes."""


class Loose(tuple[tuple[str, ...], ...]):
    """The division of what nobody has laid out, which may lie as what it goes with.

    It is equal to one that says that no axis divides anything, as nothing else differs.
    """


def open_division(aval: _Ranked) -> Division:
    """Return the division of an array that nothing divides."""
    return ((),) * aval.ndim


def loose_division(aval: _Ranked) -> Division:
    """Return the division of an array that is laid out over no mesh."""
    return Loose(open_division(aval))


def division_of_number(aval: _Ranked, value: Any) -> Division:
    """Return the division of what no mesh divides, of which the value is known, or None."""
    division = loose_division(aval)
    return division if value is None or np.any(value) else Zeros(division)
