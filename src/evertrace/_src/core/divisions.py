"""Divisions: along which axes of a mesh the dimensions of arrays are divided, and of results.

The division of an array is a tuple with, for each dimension, the axes that divide it, the slowest
first; an empty one leaves open how the dimension lies. Operations say by their factors
(`core.factors`) what the divisions of their operands make of those of their results; programs,
equation by equation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from evertrace._src import config, errors, source
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from evertrace._src.core.pictures import side_by_side
from evertrace._src.core.primitive import JOINTLY
from evertrace._src.core.tracer import state

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray
    from evertrace._src.core.factors import Factors
    from evertrace._src.core.primitive import Primitive

Division: TypeAlias = tuple[tuple[str, ...], ...]

_MOST_ROUNDS = 8  # of a loop's body, until its carry lies as it did before
_SUM_IT_UP = (
    "sum it up before: `reshard(x, P(...))` without `unreduced`, or `lax.psum` within `shard_map`."
)


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


class Inside:
    """What rules of operations divide the jaxprs by that they hold.

    Attributes:
      mesh_sizes: the axes of the mesh.
    """

    __slots__ = ("_prim", "_src", "mesh_sizes")

    def __init__(
        self, prim: Primitive, mesh_sizes: Mapping[str, int], src: source.Source | None
    ) -> None:
        self._prim, self._src, self.mesh_sizes = prim, src, mesh_sizes

    def __call__(
        self, closed_jaxpr: Jaxpr | ClosedJaxpr, divisions: Sequence[Division]
    ) -> list[Division]:
        return divide_jaxpr(closed_jaxpr.jaxpr, divisions, self.mesh_sizes)

    def joined(self, one: Division, other: Division) -> Division:
        """Return what two divisions of an array agree on, where one goes on from the other.

        Raises:
          ShardingTypeError: it is yet to be summed on one way, and not on the other, or divided
            along two explicit axes.
        """
        if not source.is_backward(self._src):
            self._check_agreement(one, other)
        used: set[str] = set()
        found: list[tuple[str, ...]] = []
        for pair in zip(one, other, strict=True):
            axes = tuple(itertools.takewhile(lambda a: a not in used, _agreed(*pair)))
            used.update(axes)
            found.append(axes)
        sums: list[frozenset[str]] = [
            d.axes if type(d) is Unreduced else frozenset() for d in (one, other)
        ]
        both = sums[0] | sums[1]
        if sums[0] == sums[1] or Zeros in (type(one), type(other)):
            return Unreduced(found, both) if both else tuple(found)
        if source.is_backward(self._src):
            return tuple(found)
        raise errors.user_error(
            errors.ShardingTypeError,
            f"{self._prim.name}: one value is yet to be summed along "
            f"{_listed(sorted(sums[0] ^ sums[1]))} on one of the ways that end in it, and not on "
            "another.",
            fix=_SUM_IT_UP,
            anchor="sharding-type",
            src=self._src,
        )

    def _check_agreement(self, one: Division, other: Division) -> None:
        explicit: frozenset[str] = getattr(self.mesh_sizes, "explicit", frozenset())
        for dim, pair in enumerate(zip(one, other, strict=True)):
            if _disagree(*pair, explicit, self._src):
                first, second = map(_listed, pair)
                raise errors.user_error(
                    errors.ShardingTypeError,
                    f"{self._prim.name}: one value is divided along {first} in dimension {dim} on "
                    f"one of the ways that end in it, and along {second} on another.",
                    fix="lay it out alike on all of them, `reshard(x, P(...))`: what branches "
                    "return, or what a loop begins with and carries on.",
                    anchor="sharding-type",
                    src=self._src,
                )

    def settled(
        self, turn: Callable[[list[Division]], list[Division]], carry: list[Division]
    ) -> list[Division]:
        """Return the divisions of a loop's carry: those that a turn leaves as they are.

        Args:
          turn: function: divisions of the carry before a turn -> those after it.
          carry: those at the start.
        """
        for _ in range(_MOST_ROUNDS):
            after = [self.joined(a, b) for a, b in zip(carry, turn(carry), strict=True)]
            if after == carry:
                return carry
            carry = after
        return [((),) * len(division) for division in carry]

    def along(
        self, names: Collection[str], divisions: Sequence[Division], of_terms: str | None
    ) -> list[Division]:
        """Return the divisions of what devices along named axes make of an array together.

        Args:
          names: of the axes.
          divisions: that of the array.
          of_terms: what terms of a sum along these axes become: "sum", "terms", None is an error.
        """
        (division,) = divisions
        axes: frozenset[str] = division.axes if type(division) is Unreduced else frozenset()
        if of_terms is None and not axes.isdisjoint(names):
            raise errors.user_error(
                errors.ShardingTypeError,
                f"{self._prim.name}: the operand is yet to be summed along "
                f"{_listed(sorted(axes.intersection(names)))}.",
                fix=_SUM_IT_UP,
                anchor="sharding-type",
                src=self._src,
            )
        axes = axes.union(names) if of_terms == "terms" else axes.difference(names)
        return [Unreduced(division, axes) if axes else tuple(division)]

    def decide(self, division: Division) -> None:
        """Raise if the number that decides which way is taken is yet to be summed."""
        if type(division) is Unreduced:
            raise errors.user_error(
                errors.ShardingTypeError,
                f"{self._prim.name}: the number that decides is yet to be summed along "
                f"{_listed(sorted(division.axes))}.",
                fix=_SUM_IT_UP,
                anchor="sharding-type",
                src=self._src,
            )


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


def open_division(aval: ShapedArray) -> Division:
    """Return the division of an array that nothing divides."""
    return ((),) * aval.ndim


def division_of_number(aval: ShapedArray, value: Any) -> Division:
    """Return the division of what no mesh divides, of which the value is known, or None."""
    division = open_division(aval)
    return division if value is None or np.any(value) else Zeros(division)


def divide(
    prim: Primitive,
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
    results: Sequence[ShapedArray],
    params: Mapping[str, Any],
    mesh_sizes: Mapping[str, int],
    src: source.Source | None = None,
    names: Sequence[str | None] = (),
) -> list[Division]:
    """Return the divisions of the results of one operation.

    A factor is divided as its dimensions are; where operands disagree, as far as they agree. An
    axis divides one dimension of a result, the first one that would be.

    Args:
      prim: the primitive.
      operands: avals.
      divisions: of the operands.
      results: avals.
      params: of the operation.
      mesh_sizes: dict: axis -> its size; `Axes` where some are explicit.
      src: where the operation stands, for errors.
      names: of the operands, for errors: those of arguments are known.

    Raises:
      ShardingTypeError: operands are divided along two explicit axes where they are one factor, or
        one is yet to be summed and the operation is not linear in it.
    """
    if Unreduced in map(type, divisions):
        plain: list[Division] = list(map(tuple, divisions))
        if source.is_backward(src):  # cotangents, which nobody has written
            return divide(prim, operands, plain, results, params, mesh_sizes, src)
        if prim.divide is None:
            axes = _axes_of_sum(prim, operands, divisions, src, results, names)
            found = divide(prim, operands, plain, results, params, mesh_sizes, src)
            return [Unreduced(division, axes) for division in found]
    elif prim.linear is JOINTLY and operands and all([type(d) is Zeros for d in divisions]):
        found = divide(prim, operands, [*map(tuple, divisions)], results, params, mesh_sizes, src)
        return [d if type(d) is Unreduced else Zeros(d) for d in found]
    if prim.divide is not None:
        return prim.divide(divisions, Inside(prim, mesh_sizes, src), **params)
    if not prim.factors:
        return [open_division(aval) for aval in results]
    factors = prim.factors(operands, results, **params)
    explicit = getattr(mesh_sizes, "explicit", None)
    if explicit and prim.name != "add_any":  # which adds up cotangents, that nobody has written
        _check_agreement(prim, factors, operands, divisions, mesh_sizes, src, names)
    found = divide_by(factors, operands, divisions, results, mesh_sizes)
    named = _speaking_axes(src) if explicit else None
    if named:
        _check_certainty(prim, factors, (operands, divisions), (results, found), named, src, names)
    return found


def divide_by(
    factors: Factors,
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
    results: Sequence[ShapedArray],
    mesh_sizes: Mapping[str, int],
) -> list[Division]:
    """Return the divisions of results that factors make of those of operands."""
    sizes = _sizes(factors, (*operands, *results))
    axes = _axes_of_factors(factors, divisions, sizes, mesh_sizes)
    return [_division(dims, axes, sizes, mesh_sizes) for dims in factors.results]


def divide_jaxpr(
    jaxpr: Jaxpr, divisions: Sequence[Division], mesh_sizes: Mapping[str, int]
) -> list[Division]:
    """Return the divisions of a jaxpr's outputs for those of its inputs; constants are open."""
    known: dict[Any, Division] = dict(zip(jaxpr.invars, divisions, strict=True))
    arguments = {id(v): name for v, name in zip(jaxpr.invars, jaxpr.names or (), strict=False)}

    def read(atom: Any) -> Division:
        if type(atom) is Literal:
            return division_of_number(atom.aval, atom.val)
        found = known.get(atom)
        return open_division(atom.aval) if found is None else found

    for eqn in jaxpr.eqns:
        outs = divide(
            eqn.primitive,
            [x.aval for x in eqn.invars],
            [read(x) for x in eqn.invars],
            [v.aval for v in eqn.outvars],
            eqn.params,
            mesh_sizes,
            eqn.src,
            [arguments.get(id(x)) for x in eqn.invars],
        )
        known.update(zip(eqn.outvars, outs, strict=True))
    seen: dict[int, Division] | None = getattr(mesh_sizes, "seen", None)
    if seen is not None:
        seen.update([(id(v), division) for v, division in known.items()])
    return [read(x) for x in jaxpr.outvars]


def _axes_of_sum(
    prim: Primitive,
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
    src: source.Source | None,
    results: Sequence[ShapedArray] = (),
    names: Sequence[str | None] = (),
) -> frozenset[str]:
    """Return the axes along which results are yet to be summed, since operands are.

    A sum goes through what is linear in it: in all operands at once, which are then sums along the
    same axes, or in one of them alone. Zero is a sum along any axes, indices and predicates are
    no terms; and rounding to integers is not linear, as the derivative has it.
    """
    sums = {i: d.axes for i, d in enumerate(divisions) if type(d) is Unreduced}
    first, axes = next(iter(sums.items()))
    jointly = prim.linear is JOINTLY
    rounds = jointly and is_inexact(operands[first]) and not all(map(is_inexact, results))
    terms = [i for i, d in enumerate(divisions) if not _adds_nothing(operands, first, i, d)]
    if jointly and not rounds and all([sums.get(i) == axes for i in terms]):
        return axes
    varies = Varying in map(type, divisions)
    if not (jointly or varies) and prim.linear and len(sums) == 1 and first in prim.linear:
        return axes
    text = _shown(operands, divisions, first, names)
    wrong = (
        "rounds it" if rounds else "adds what is not" if jointly else "is not linear in it alone"
    )
    raise errors.user_error(
        errors.ShardingTypeError,
        f"{prim.name}: operand {first}, {text}, is yet to be summed along {_listed(sorted(axes))}, "
        f"and the operation {wrong}.",
        fix=_SUM_IT_UP,
        anchor="sharding-type",
        src=src,
    )


def _adds_nothing(operands: Sequence[ShapedArray], first: int, i: int, division: Division) -> bool:
    """Whether an operand beside a term is zero, or an index or predicate, the same for all."""
    if type(division) is Zeros:
        return True
    return type(division) is not Varying and is_inexact(operands[i]) < is_inexact(operands[first])


def of_call(name: str) -> Callable[..., Any]:
    """Return the `divide` rule of what means nothing but the jaxpr in a param.

    Called with arrays, a custom rule holds a Python function instead, whose operations lay out what
    they give: there is nothing to say then, None.
    """

    def rule(
        divisions: Sequence[Division], divide_jaxpr: Inside, **params: Any
    ) -> list[Division] | None:
        callee = params[name]
        is_jaxpr = isinstance(callee, (Jaxpr, ClosedJaxpr))
        return divide_jaxpr(callee, divisions) if is_jaxpr else None

    return rule


def _sizes(factors: Factors, avals: Sequence[ShapedArray]) -> dict[Any, int]:
    sizes = dict(factors.sizes)
    size: int
    for dims, aval in zip((*factors.operands, *factors.results), avals, strict=True):
        for parts, size in zip(dims, aval.shape, strict=True):
            if len(parts) == 1:
                sizes[parts[0]] = math.gcd(size, sizes.get(parts[0], size))
    return sizes


def _axes_of_factors(
    factors: Factors,
    divisions: Sequence[Division],
    sizes: Mapping[Any, int],
    mesh_sizes: Mapping[str, int],
) -> dict[Any, tuple[str, ...]]:
    """Return a dict: factor -> axes that divide it."""
    found: dict[Any, tuple[str, ...]] = {}
    for dims, division in zip(factors.operands, divisions, strict=True):
        for parts, axes in zip(dims, division, strict=True):
            left = axes
            for factor in parts:
                taken = _taken(left, sizes[factor], mesh_sizes)
                if taken:
                    old = found.get(factor)
                    found[factor] = taken if old is None else _of_one_mesh(old, taken)
                left = left[len(taken) :]
                if _product(taken, mesh_sizes) != sizes[factor]:
                    break
    return found


def _check_agreement(
    prim: Primitive,
    factors: Factors,
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
    mesh_sizes: Any,
    src: source.Source | None,
    names: Sequence[str | None],
) -> None:
    """Raise if operands divide one dimension along different axes, some of them explicit."""
    explicit: frozenset[str] = mesh_sizes.explicit
    found: dict[Any, tuple[int, int, tuple[str, ...]]] = {}
    for number, (dims, division) in enumerate(zip(factors.operands, divisions, strict=True)):
        for dim, (parts, axes) in enumerate(zip(dims, division, strict=True)):
            if not parts or not axes:
                continue
            other, at, before = found.setdefault(parts[0], (number, dim, axes))
            if _disagree(axes, before, explicit, src):
                both = other, number
                texts = [_shown(operands, divisions, i, names) for i in both]
                heads, pair = [f"operand {i}" for i in both], [divisions[i] for i in both]
                picture = [f"\n    {line}" for line in side_by_side(heads, pair, mesh_sizes)]
                raise errors.user_error(
                    errors.ShardingTypeError,
                    f"{prim.name}: operand {other}, {texts[0]}, is divided along "
                    f"{_listed(before)} in dimension {at}, and operand {number}, {texts[1]}, "
                    f"along {_listed(axes)} in dimension {dim}, which go together."
                    + "".join(picture),
                    fix="lay one of them out as the other, `reshard(x, P(...))`, or leave the axes "
                    "to the compiler, `make_mesh(..., axis_types=(AxisType.Auto, ...))`.",
                    anchor="sharding-type",
                    src=src,
                )


def _speaking_axes(src: source.Source | None) -> frozenset[str]:
    """Return the axes along which types have to say how a result lies: of the mesh in force.

    There are none in the backward pass, which nobody has written, and where the user says how the
    result lies.
    """
    mesh = config.current().mesh
    scope = state.scope if src is None else source.scope_of(src)
    written = not source.is_backward(state.src if src is None else src)
    if mesh is None or not written or source.is_laid_out(scope):
        return frozenset()
    return frozenset(mesh.explicit_axes) - source.automatic_axes(scope)


def _check_certainty(
    prim: Primitive,
    factors: Factors,
    given: tuple[Sequence[ShapedArray], Sequence[Division]],
    made: tuple[Sequence[ShapedArray], Sequence[Division]],
    named: frozenset[str],
    src: source.Source | None,
    names: Sequence[str | None],
) -> None:
    """Raise if such axes divide operands, and it is open how the results lie along them.

    That is so where a result has the dimension and cannot be divided as the operand is, and where
    both operands of a product are divided along what it sums over: the sum can be on all devices,
    be divided itself, or be left to be added up.
    """
    _, divisions = given
    kept: dict[Any, set[str]] = {}
    for dims, division in zip(factors.results, made[1], strict=True):
        for parts, axes in zip(dims, division, strict=True):
            for factor in parts:
                kept.setdefault(factor, set()).update(axes)
    summed: dict[Any, int] = {}
    for number, (dims, division) in enumerate(zip(factors.operands, divisions, strict=True)):
        for dim, (parts, axes) in enumerate(zip(dims, division, strict=True)):
            along = [a for a in axes if a in named]
            if not along or not parts:
                continue
            if not kept.keys().isdisjoint(parts):
                lost = [a for a in along if all([a not in kept.get(f, ()) for f in parts])]
                if lost:
                    result = made[0][0].str_short()
                    raise _uncertain_error(
                        f"{prim.name}: operand {number}, {_shown(*given, number, names)}, is "
                        f"divided along {_listed(lost)} in dimension {dim}, and the result, "
                        f"{result}, cannot be divided so, too.",
                        src,
                    )
            elif prim.linear is not JOINTLY and prim.linear:
                other = summed.setdefault(parts[0], number)
                if other != number:
                    texts = [_shown(*given, i, names) for i in (other, number)]
                    raise _uncertain_error(
                        f"{prim.name}: operand {other}, {texts[0]}, and operand {number}, "
                        f"{texts[1]}, are divided along {_listed(along)} where they are summed "
                        "over, so it is open how the sum lies.",
                        src,
                    )


def _uncertain_error(text: str, src: source.Source | None) -> Exception:
    return errors.user_error(
        errors.ShardingTypeError,
        text,
        fix="say how the result lies, `out_sharding=P(...)`, which `auto_axes(f)` takes for any "
        "function, or lay the operand out in another way before, `reshard(x, P(...))`.",
        anchor="sharding-type",
        src=src,
    )


def _disagree(
    one: tuple[str, ...],
    other: tuple[str, ...],
    explicit: frozenset[str],
    src: source.Source | None,
) -> bool:
    """Whether a dimension is divided along different axes, some explicit and not automatic here."""
    shorter = min(len(one), len(other))
    named = explicit.intersection((*one, *other))
    if one[:shorter] == other[:shorter] or not named:
        return False
    scope = state.scope if src is None else source.scope_of(src)
    return not named <= source.automatic_axes(scope)


def _shown(
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
    i: int,
    names: Sequence[str | None],
) -> str:
    """Return a type with the axes that divide it, and the argument's name: ``a: f32[8@x,4]``."""
    aval, division = operands[i], divisions[i]
    name = f"{names[i]}: " if names and names[i] else ""
    dims = [
        f"{n}@{'+'.join(map(str, axes))}" if axes else f"{n}"
        for n, axes in zip(aval.shape, division, strict=True)
    ]
    sums = f"{{U:{','.join(sorted(division.axes))}}}" if type(division) is Unreduced else ""
    return f"{name}{aval.str_short().partition('[')[0]}[{','.join(dims)}]{sums}"


def _listed(axes: Iterable[str]) -> str:
    return " and ".join(map(repr, axes))


def _taken(axes: tuple[str, ...], size: int, mesh_sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return as many of the axes, from the first on, as divide a size evenly."""
    taken: tuple[str, ...] = ()
    for axis in axes:
        if size % _product((*taken, axis), mesh_sizes):
            break
        taken = (*taken, axis)
    return taken


def _of_one_mesh(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return what both agree on; where they are axes of two meshes, those of the program's own."""
    if (type(one[0]) is OtherAxis) != (type(other[0]) is OtherAxis):
        return other if type(one[0]) is OtherAxis else one
    return _agreed(one, other)


def _agreed(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longer one if the other begins it, else what both begin with."""
    if one[: len(other)] == other:
        return one
    if other[: len(one)] == one:
        return other
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple([axis for axis, _ in same])


def _division(
    dims: Iterable[Any],
    axes: Mapping[Any, tuple[str, ...]],
    sizes: Mapping[Any, int],
    mesh_sizes: Mapping[str, int],
) -> Division:
    used: set[str] = set()
    found: list[tuple[str, ...]] = []
    for parts in dims:
        entry: tuple[str, ...] = ()
        for factor in parts:
            here = tuple(itertools.takewhile(lambda a: a not in used, axes.get(factor, ())))
            entry += here
            used.update(here)
            if _product(here, mesh_sizes) != sizes[factor]:
                break  # what is faster has to stay in one piece
        found.append(entry)
    return tuple(found)


def _product(axes: Iterable[str], mesh_sizes: Mapping[str, int]) -> int:
    return math.prod([a.size if type(a) is OtherAxis else mesh_sizes[a] for a in axes])
