"""What types say of how values lie, where they have to: errors of operands that do not agree.

Along explicit axes of a mesh the type of a result says how it is divided, so operands that say
different things are an error, and so is what is open after an operation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from evertrace._src import config, errors, source
from evertrace._src.core.divisions import Division, Loose, Unreduced, Zeros
from evertrace._src.core.pictures import side_by_side
from evertrace._src.core.primitive import JOINTLY
from evertrace._src.core.tracer import state

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray
    from evertrace._src.core.factors import Factors
    from evertrace._src.core.primitive import Primitive


def check_agreement(
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
                texts = [shown(operands, divisions, i, names) for i in both]
                heads, pair = [f"operand {i}" for i in both], [divisions[i] for i in both]
                picture = [f"\n    {line}" for line in side_by_side(heads, pair, mesh_sizes)]
                raise errors.user_error(
                    errors.ShardingTypeError,
                    f"{prim.name}: operand {other}, {texts[0]}, is divided along "
                    f"{listed(before)} in dimension {at}, and operand {number}, {texts[1]}, "
                    f"along {listed(axes)} in dimension {dim}, which go together."
                    + "".join(picture),
                    fix="lay one of them out as the other, `reshard(x, P(...))`, or leave the axes "
                    "to the compiler, `make_mesh(..., axis_types=(AxisType.Auto, ...))`.",
                    anchor="sharding-type",
                    src=src,
                )


def speaking_axes(src: source.Source | None) -> frozenset[str]:
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


def check_certainty(
    prim: Primitive,
    factors: Factors,
    given: tuple[Sequence[ShapedArray], Sequence[Division]],
    made: tuple[Sequence[ShapedArray], Sequence[Division]],
    named: frozenset[str],
    src: source.Source | None,
    names: Sequence[str | None],
) -> None:
    """Raise if such axes divide operands, and it is open how the results lie along them.

    That is so where the operation works on such a dimension in one piece, where a result has the
    dimension and cannot be divided as the operand is, and where both operands of a product are
    divided along what it sums over: the sum can be on all devices, be divided itself, or be left
    to be added up.
    """
    _, divisions = given
    _check_whole(prim, factors.whole, given, named, src, names)
    _check_alike(prim, factors.alike, given, named, src, names)
    joined = [i for i in factors.joined if type(divisions[i]) not in (Loose, Zeros)]
    _check_alike(prim, joined, given, named, src, names)
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
                        f"{prim.name}: operand {number}, {shown(*given, number, names)}, is "
                        f"divided along {listed(lost)} in dimension {dim}, and the result, "
                        f"{result}, cannot be divided so, too.",
                        src,
                    )
            elif prim.linear is not JOINTLY and prim.linear:
                other = summed.setdefault(parts[0], number)
                if other != number:
                    texts = [shown(*given, i, names) for i in (other, number)]
                    raise _uncertain_error(
                        f"{prim.name}: operand {other}, {texts[0]}, and operand {number}, "
                        f"{texts[1]}, are divided along {listed(along)} where they are summed "
                        "over, so it is open how the sum lies.",
                        src,
                    )


def _check_whole(
    prim: Primitive,
    whole: Sequence[tuple[int, int]],
    given: tuple[Sequence[ShapedArray], Sequence[Division]],
    named: frozenset[str],
    src: source.Source | None,
    names: Sequence[str | None],
) -> None:
    """Raise if such axes divide what the operation works on in one piece."""
    for number, dim in whole:
        along = [a for a in given[1][number][dim] if a in named]
        if along:
            raise _uncertain_error(
                f"{prim.name}: operand {number}, {shown(*given, number, names)}, is divided along "
                f"{listed(along)} in dimension {dim}, which the operation works on in one piece.",
                src,
            )


def _check_alike(
    prim: Primitive,
    alike: Sequence[int],
    given: tuple[Sequence[ShapedArray], Sequence[Division]],
    named: frozenset[str],
    src: source.Source | None,
    names: Sequence[str | None],
) -> None:
    """Raise if such axes divide one operand in another way than one that has to lie like it."""
    for first, second in itertools.pairwise(alike):
        for dim, pair in enumerate(zip(given[1][first], given[1][second], strict=True)):
            if pair[0] != pair[1] and not named.isdisjoint((*pair[0], *pair[1])):
                said = [f"along {listed(axes)}" if axes else "along no axis" for axes in pair]
                raise errors.user_error(
                    errors.ShardingTypeError,
                    f"{prim.name}: operand {first}, {shown(*given, first, names)}, is divided "
                    f"{said[0]} in dimension {dim}, and operand {second}, "
                    f"{shown(*given, second, names)}, {said[1]}: both have to lie alike.",
                    fix="lay one of them out as the other, `reshard(x, P(...))`.",
                    anchor="sharding-type",
                    src=src,
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


def shown(
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


def listed(axes: Iterable[str]) -> str:
    return " and ".join(map(repr, axes))


def check_ways(
    prim: Primitive,
    ways: tuple[Division, Division],
    explicit: frozenset[str],
    src: source.Source | None,
) -> None:
    """Raise if one value is divided along different axes on two ways that end in it."""
    for dim, pair in enumerate(zip(*ways, strict=True)):
        if _disagree(*pair, explicit, src):
            first, second = map(listed, pair)
            raise errors.user_error(
                errors.ShardingTypeError,
                f"{prim.name}: one value is divided along {first} in dimension {dim} on one of "
                f"the ways that end in it, and along {second} on another.",
                fix="lay it out alike on all of them, `reshard(x, P(...))`: what branches return, "
                "or what a loop begins with and carries on.",
                anchor="sharding-type",
                src=src,
            )


def sum_error(prim: Primitive, text: str, src: source.Source | None) -> Exception:
    """Build the error of what is yet to be summed, where that is not possible."""
    return errors.user_error(
        errors.ShardingTypeError,
        f"{prim.name}: {text}",
        fix="sum it up before: `reshard(x, P(...))` without `unreduced`, or `lax.psum` within "
        "`shard_map`.",
        anchor="sharding-type",
        src=src,
    )
