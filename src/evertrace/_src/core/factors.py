"""Factors: which dimensions of an operation's operands and results are divided together.

A rule ``factors(operands, results, **params)`` takes avals and gives each dimension of each of them
a tuple of *factors*, the loops that it is made of, the slowest first: dimension 1 of the left and
dimension 0 of the right operand of a matrix product are one factor, and a reshape that merges two
dimensions gives the merged one two. An empty tuple says that the operation needs the dimension in
one piece. That is what einsum's letters say, and the model of Shardy's propagation ("op sharding
rules" in its documentation).

`core.propagation` derives from it where results lie.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray


class Factors(NamedTuple):
    """The factors of one application of an operation.

    Attributes:
      operands: for each operand, for each dimension, a tuple of factors (anything hashable).
      results: likewise for each result.
      sizes: pairs (factor, size), of those that are a dimension's only in part.
      whole: pairs (operand, dimension) of what the operation works on in one piece, however its
        results are divided: what is divided there is gathered before, which nobody has asked for.
      alike: the operands that types have to divide in the same way, also where one says nothing.
      joined: likewise, but for operands that nobody has laid out, such as numbers spread out.
      typed: the factors along explicit axes, if types say another thing than the partitioner does.
    """

    operands: tuple[Any, ...]
    results: tuple[Any, ...]
    sizes: tuple[tuple[Any, int], ...] = ()
    whole: tuple[tuple[int, int], ...] = ()
    alike: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    typed: Factors | None = None


def by_dimension(operands: Iterable[Iterable[Any]], results: Iterable[Iterable[Any]]) -> Factors:
    """Return the `Factors` of dimensions that are one factor each, or None, for none.

    Example:
      >>> from evertrace._src.core.factors import by_dimension
      >>> by_dimension(["ij", "jk"], ["ik"]).results
      ((('i',), ('k',)),)
    """

    def alone(side: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
        return tuple([tuple([() if f is None else (f,) for f in dims]) for dims in side])

    return Factors(alone(operands), alone(results))


# ---------------------------------------------------------------- rules that operations share


def pointwise(
    operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
) -> Factors:
    """Return the factors of what treats elements alone; rank 0 stands beside any shape."""
    ranks = range(max([aval.ndim for aval in results], default=0))
    sides = [[ranks[: aval.ndim] for aval in side] for side in (operands, results)]
    return by_dimension(*sides)


def joining(rule: Callable[..., Factors] = pointwise, first: int = 0) -> Callable[..., Factors]:
    """Return the rule of what puts together operands, from the first one on that is numbered."""

    def joined(
        operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
    ) -> Factors:
        alike = [i for i in range(first, len(operands)) if operands[i].ndim == results[0].ndim]
        return rule(operands, results, **params)._replace(joined=tuple(alike))

    return joined


def whole_along(name: str, rule: Callable[..., Factors] = pointwise) -> Callable[..., Factors]:
    """Return the rule of what works on the dimension that a param names in one piece."""

    def along(
        operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
    ) -> Factors:
        found = rule(operands, results, **params)
        return found._replace(whole=tuple([(i, params[name]) for i in range(len(operands))]))

    return along


def along_all_but(*names: str) -> Callable[..., Factors]:
    """Return the rule of what needs the dimensions that params name in one piece.

    Results have the operands' dimensions. A param is one dimension or several.
    """

    def rule(
        operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
    ) -> Factors:
        whole: set[int] = set()
        for name in names:
            dims: tuple[int, ...] | list[int] | int = params[name]
            whole.update(dims if isinstance(dims, (tuple, list)) else (dims,))
        kept = [None if i in whole else i for i in range(operands[0].ndim)]
        return by_dimension([kept[: a.ndim] for a in operands], [kept[: a.ndim] for a in results])

    return rule


def without(name: str) -> Callable[..., Factors]:
    """Return the rule of what takes away the dimensions that a param names."""

    def rule(
        operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
    ) -> Factors:
        dims = range(operands[0].ndim)
        kept = [i for i in dims if i not in params[name]]
        return by_dimension([dims] * len(operands), [kept] * len(results))

    return rule


def of_equal_size(
    operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
) -> Factors:
    """Return the factors of what leaves dimensions where they are: those that keep their size."""
    ndim, sizes = results[0].ndim, results[0].shape
    sides = [
        [
            [i if a.ndim == ndim and a.shape[i] == sizes[i] else None for i in range(a.ndim)]
            for a in side
        ]
        for side in (operands, results)
    ]
    return by_dimension(*sides)


def shared_lead(
    operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
) -> Factors:
    """Return the factors of what leaves alone as many leading dimensions as all sides have."""
    lead = min([aval.ndim for aval in (*operands, *results)])
    sides = [[[*range(lead), *[None] * (a.ndim - lead)] for a in s] for s in (operands, results)]
    return by_dimension(*sides)


def batched(core: int) -> Callable[..., Factors]:
    """Return the rule of what is done for each of the leading dimensions.

    Args:
      core: how many trailing dimensions of the first operand belong to one problem. The others are
        its leading dimensions, and as many lead every other operand and result.
    """

    def rule(
        operands: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
    ) -> Factors:
        lead = operands[0].ndim - core
        sides = [
            [[*range(lead), *[None] * (a.ndim - lead)] if a.ndim >= lead else [] for a in side]
            for side in (operands, results)
        ]
        whole = [(i, d) for i, aval in enumerate(operands) for d in range(lead, aval.ndim)]
        return by_dimension(*sides)._replace(whole=tuple(whole))

    return rule


def split_alike(shape: Sequence[Any], new_shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return the factors of the dimensions of a shape and of another one of as many elements.

    Returns:
      Two lists of tuples of factors, and pairs (factor, size). Dimensions are cut where both have
      a border; within a group whose sizes do not divide each other there are no factors.
    """
    sides: list[list[tuple[int, ...]]] = [[], []]
    sizes: dict[int, int] = {}
    numbers = itertools.count()
    for group, new_group in _groups(shape, new_shape):
        cut = _cut(group, new_group)
        names: list[int] = [] if cut is None else [next(numbers) for _ in cut]
        sizes.update(zip(names, cut or (), strict=True))
        for side, dims in zip(sides, (group, new_group), strict=True):
            side.extend([()] * len(dims) if cut is None else _spelled(dims, names, cut))
    return *sides, tuple(sizes.items())


def _groups(
    shape: Sequence[Any], new_shape: Sequence[Any]
) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Yield the shortest runs of dimensions of both shapes that have as many elements."""
    i = j = 0
    while i < len(shape) or j < len(new_shape):
        start, here, there = (i, j), 1, 1
        while here != there or (i, j) == start:
            if j < len(new_shape) and (there < here or i == len(shape)):
                there, j = there * new_shape[j], j + 1
            elif i < len(shape):
                here, i = here * shape[i], i + 1
            else:
                break
        yield shape[start[0] : i], new_shape[start[1] : j]


def _cut(shape: Sequence[Any], new_shape: Sequence[Any]) -> list[int] | None:
    """Return the sizes of the factors that both runs of dimensions are made of, or None."""
    if 0 in shape or 0 in new_shape:
        return None
    borders = {math.prod(dims[i:]) for dims in (shape, new_shape) for i in range(len(dims) + 1)}
    ordered = sorted(borders, reverse=True)
    pairs = list(itertools.pairwise(ordered))
    return None if any(a % b for a, b in pairs) else [a // b for a, b in pairs]


def _spelled(
    dims: Sequence[Any], names: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return, for each dimension, the factors that it is made of."""
    found: list[tuple[int, ...]] = []
    at = 0
    for size in dims:
        start, product = at, 1
        while product < size:
            product, at = product * sizes[at], at + 1
        found.append(tuple(names[start:at]))
    return found
