"""How results are divided: what operations and programs make of the divisions of their operands.

Operations say it by their factors (`core.factors`), programs equation by equation. What types have
to say and do not is an error of `core.sharding_types`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evertrace._src import source
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.divisions import (
    Division,
    Loose,
    OtherAxis,
    Unreduced,
    Varying,
    Zeros,
    division_of_number,
    loose_division,
    open_division,
)
from evertrace._src.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from evertrace._src.core.primitive import JOINTLY
from evertrace._src.core.sharding_types import (
    check_agreement,
    check_certainty,
    check_ways,
    listed,
    shown,
    speaking_axes,
    sum_error,
)

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray
    from evertrace._src.core.factors import Factors
    from evertrace._src.core.primitive import Primitive

_MOST_ROUNDS = 8  # of a loop's body, until its carry lies as it did before


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
            explicit: frozenset[str] = getattr(self.mesh_sizes, "explicit", frozenset())
            check_ways(self._prim, (one, other), explicit, self._src)
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
        raise sum_error(
            self._prim,
            f"one value is yet to be summed along {listed(sorted(sums[0] ^ sums[1]))} on one of "
            "the ways that end in it, and not on another.",
            self._src,
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
            both = listed(sorted(axes.intersection(names)))
            text = f"the operand is yet to be summed along {both}."
            raise sum_error(self._prim, text, self._src)
        axes = axes.union(names) if of_terms == "terms" else axes.difference(names)
        return [Unreduced(division, axes) if axes else tuple(division)]

    def decide(self, division: Division) -> None:
        """Raise if the number that decides which way is taken is yet to be summed."""
        if type(division) is Unreduced:
            axes = listed(sorted(division.axes))
            text = f"the number that decides is yet to be summed along {axes}."
            raise sum_error(self._prim, text, self._src)


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
        nowhere = open_division if operands else loose_division  # as indices along a dimension
        return [nowhere(aval) for aval in results]
    factors = prim.factors(operands, results, **params)
    explicit = getattr(mesh_sizes, "explicit", None)
    if explicit and factors.typed is not None:
        factors = factors.typed
    if explicit and prim.name != "add_any":  # which adds up cotangents, that nobody has written
        check_agreement(prim, factors, operands, divisions, mesh_sizes, src, names)
    found = divide_by(factors, operands, divisions, results, mesh_sizes)
    if explicit:
        found = [
            Loose(d) if _is_loose(dims, aval, factors.operands, operands, divisions) else d
            for d, dims, aval in zip(found, factors.results, results, strict=True)
        ]
    named = speaking_axes(src) if explicit else None
    if named:
        check_certainty(prim, factors, (operands, divisions), (results, found), named, src, names)
    return found


def _is_loose(
    dims: Sequence[Any],
    result: ShapedArray,
    of_operands: Sequence[Sequence[Any]],
    operands: Sequence[ShapedArray],
    divisions: Sequence[Division],
) -> bool:
    """Whether nobody has said how a result lies: operands do not, or have not its dimensions."""
    given = {factor for sides in of_operands for parts in sides for factor in parts}
    loose = [
        type(d) in (Loose, Zeros) or not aval.ndim
        for aval, d in zip(operands, divisions, strict=True)
    ]
    spread = [n != 1 and not given.issuperset(f) for n, f in zip(result.shape, dims, strict=True)]
    return all(loose) or any(spread)


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
        return loose_division(atom.aval) if found is None else found

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
    text = shown(operands, divisions, first, names)
    wrong = (
        "rounds it" if rounds else "adds what is not" if jointly else "is not linear in it alone"
    )
    raise sum_error(
        prim,
        f"operand {first}, {text}, is yet to be summed along {listed(sorted(axes))}, and the "
        f"operation {wrong}.",
        src,
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
