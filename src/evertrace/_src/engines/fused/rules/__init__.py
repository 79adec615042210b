"""What the fused engine knows of each primitive: one table, a file per family of `ops`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src.core.rules import RuleTable

_FAMILIES = "elementwise structural reduce dot"


UNROLLED = 16
"""Elements of reductions that are written out."""


class Rule(NamedTuple):
    """What a primitive is within a kernel.

    Attributes:
      value: from the kernel, the equation and a place, the element of the result there.
      takes: from an equation, whether the rule is for it.
      extents: of a reduction, from an equation, the lengths of what is reduced.
      element: of a reduction, from the kernel, the equation, the place of the result and the place
        in what is reduced, what there is to be joined: a tuple.
      is_along_rows: of a reduction, from an equation, whether elements that lie side by side are
        joined.
      is_dear: from an equation, whether no more of it should be computed than there are elements.
      computes: whether it does more than to read elements elsewhere.
    """

    value: Callable[..., Any]
    takes: Callable[..., bool] = lambda eqn: True
    extents: Callable[..., tuple] | None = None
    element: Callable[..., tuple] | None = None
    is_along_rows: Callable[..., bool] | None = None
    is_dear: Callable[..., bool] = lambda eqn: False
    computes: bool = True


fusion = RuleTable(
    "the fused engine", [f"evertrace._src.engines.fused.rules.{f}" for f in _FAMILIES.split()]
)
"""A `Rule` for each primitive that kernels can hold."""
