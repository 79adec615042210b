"""What the fused engine knows of each primitive: one table, a file per family of `ops`."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src.core.rules import RuleTable
from evertrace._src.engines.fused.writer import TYPES

_FAMILIES = (
    "elementwise functions trigonometric special structural indexing reduce dot loops random"
)


UNROLLED = 16
"""Elements of reductions that are written out."""


LOOP_OPERATIONS = 200
"""Of turns of loops, at most; as many a loop is taken to be."""


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
      operations: how many it stands for; none if it only reads elements elsewhere.
      is_exact: whether halves of halves need not be rounded.
      element_of: in the place of `value` if there are several results: the third argument says of
        which the element is.
      put: of what is stored by a loop over something else than its elements: from the kernel, the
        equation, a place in what that goes over and a scope, stores what there is.
      reads_keys: whether its operands are random keys, of which it reads the words.
      over: the shape that the loop goes over, from such an equation; None if it is no such one.
    """

    value: Callable[..., Any]
    takes: Callable[..., bool] = lambda eqn: True
    extents: Callable[..., tuple] | None = None
    element: Callable[..., tuple] | None = None
    is_along_rows: Callable[..., bool] | None = None
    is_dear: Callable[..., bool] = lambda eqn: False
    operations: int = 1
    is_exact: bool = False
    element_of: Callable[..., Any] | None = None
    put: Callable[..., None] | None = None
    over: Callable[..., tuple | None] | None = None
    reads_keys: bool = False


fusion = RuleTable(
    "the fused engine", [f"evertrace._src.engines.fused.rules.{f}" for f in _FAMILIES.split()]
)
"""A `Rule` for each primitive that kernels can hold."""


def is_held(eqn):
    """Whether kernels can hold an equation."""
    rule = fusion.find(eqn.primitive)
    if rule is None or eqn.effects:
        return False
    if len(eqn.outvars) != 1 and not eqn.primitive.multiple_results:
        return False
    operands = [*eqn.invars, *eqn.outvars]
    numbers = eqn.outvars if rule.reads_keys else operands
    if any(x.aval.dtype.name not in TYPES for x in numbers) or not all(
        x.aval.size for x in operands
    ):
        return False
    return rule.takes(eqn)


def is_put(eqn):
    """Whether an equation stores its result by a loop over something else, see `Rule`."""
    rule = fusion.find(eqn.primitive)
    return rule is not None and rule.over is not None and rule.over(eqn) is not None


def is_long(eqn):
    """Whether an equation is a reduction that is a loop."""
    rule = fusion.find(eqn.primitive)
    if rule is None or rule.extents is None:
        return False
    return math.prod(rule.extents(eqn)) > UNROLLED
