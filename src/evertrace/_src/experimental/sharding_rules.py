"""Rules of `custom_partitioning` that say which dimensions are divided together."""

from __future__ import annotations

import re
from typing import Any

from evertrace._src import errors
from evertrace._src.core.factors import Factors
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.custom_partitioning")

BATCHING = "..."
"""Stands for all leading dimensions that are not named."""

_TOKEN = re.compile(r"\s*(?:\(([^()]*)\)|(\.\.\.\w*|[A-Za-z_]\w*|1))\s*")


@public
class CompoundFactor(tuple):
    """Several factors that one dimension is made of, the slowest first; ``"(i j)"`` in a text.

    Example:
      >>> from evertrace.experimental.custom_partitioning import CompoundFactor
      >>> CompoundFactor("i", "j")
      CompoundFactor('i', 'j')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        return super().__new__(cls, factors)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(self)!r}"


@public
class ArrayMapping(tuple):
    """The factors of each dimension of one array: a name, or a `CompoundFactor`; None for none.

    Example:
      >>> from evertrace.experimental.custom_partitioning import ArrayMapping, BATCHING
      >>> ArrayMapping(BATCHING, "i", None)
      ArrayMapping('...', 'i', None)
    """

    __slots__ = ()

    def __new__(cls, *dims: Any) -> ArrayMapping:
        return super().__new__(cls, dims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(self)!r}"


@public
class SdyShardingRule:
    """Which dimensions of an operation's operands and results are divided together.

    Args:
      operand_mappings: an `ArrayMapping` for each operand.
      result_mappings: likewise for each result.
      **factor_sizes: of factors in compound ones.

    Example:
      >>> from evertrace.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
      >>> SdyShardingRule([ArrayMapping("i", "j")], [ArrayMapping("j", "i")])
      SdyShardingRule((ArrayMapping('i', 'j'),), (ArrayMapping('j', 'i'),))
    """

    def __init__(self, operand_mappings: Any, result_mappings: Any, **factor_sizes: int) -> None:
        self.operand_mappings: tuple[Any, ...] = tuple(operand_mappings)
        self.result_mappings: tuple[Any, ...] = tuple(result_mappings)
        self.factor_sizes = factor_sizes

    def __repr__(self) -> str:
        sizes = "".join(f", {name}={size}" for name, size in self.factor_sizes.items())
        return f"{type(self).__name__}({self.operand_mappings}, {self.result_mappings}{sizes})"

    def without(self, names: Any) -> SdyShardingRule:
        """Return the rule in which dimensions of some factors are in one piece."""
        if not names:
            return self

        def kept(mapping):
            parts = [d if isinstance(d, CompoundFactor) else (d,) for d in mapping]
            return ArrayMapping(
                *[None if names & set(p) else d for d, p in zip(mapping, parts, strict=True)]
            )

        sides = self.operand_mappings, self.result_mappings
        operands, results = [list(map(kept, side)) for side in sides]
        return SdyShardingRule(operands, results, **self.factor_sizes)

    def factors(self, where: str, operands: Any, results: Any) -> Factors:
        """Return the `Factors` for operands and results of such avals.

        Raises:
          ValueError: the rule has another number of arrays, or of dimensions.
        """
        sides = (self.operand_mappings, operands), (self.result_mappings, results)
        for kind, (mappings, avals) in zip(("operands", "results"), sides, strict=True):
            if len(mappings) != len(avals):
                raise _rule_error(where, f"has {len(mappings)} {kind}, and there are {len(avals)}")
        spelled_operands, spelled_results = [
            tuple([_spelled(where, m, aval.ndim) for m, aval in zip(*side, strict=True)])
            for side in sides
        ]
        return Factors(spelled_operands, spelled_results, tuple(self.factor_sizes.items()))


def _spelled(where, mapping, ndim):
    """Return a tuple of factors for each dimension."""
    batching = [d for d in mapping if isinstance(d, str) and d.startswith(BATCHING)]
    more = ndim - len(mapping) + len(batching)
    if more < 0 or (more and not batching):
        raise _rule_error(where, f"has {len(mapping)} dimensions for an array of {ndim}")
    found = []
    for dim in mapping:
        if dim is None:
            found.append(())
        elif dim in batching:
            found += [((dim, i),) for i in range(more)]
        else:
            found.append(tuple(dim) if isinstance(dim, CompoundFactor) else (dim,))
    return tuple(found)


def read_rule(where: str, text: str, factor_sizes: Any) -> SdyShardingRule:
    """Return the rule that a text says.

    Raises:
      ValueError: it cannot be read.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise _rule_error(where, f"{text!r} has no arrow between operands and results")
    operands, results = [[_mapping(where, text, x) for x in s.split(",")] for s in sides]
    return SdyShardingRule(operands, results, **factor_sizes)


def _mapping(where, text, array):
    dims, at = [], 0
    array = array.strip()
    while at < len(array):
        found = _TOKEN.match(array, at)
        if found is None:
            raise _rule_error(where, f"{text!r} cannot be read at {array[at:]!r}")
        several, one = found.groups()
        dims.append(
            CompoundFactor(*several.split()) if one is None else None if one == "1" else one
        )
        at = found.end()
    return ArrayMapping(*dims)


def _rule_error(where, what):
    return errors.user_error(
        ValueError,
        f"{where}: the sharding rule {what}.",
        fix='write the names of dimensions as for einsum, `"... i j, j k -> ... i k"`.',
        anchor="partition-spec",
    )
