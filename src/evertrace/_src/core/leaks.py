"""The checker of leaks: whether tracers are still referenced when their trace has ended.

What refers to a variable of the jaxpr besides the jaxpr itself is found by the garbage collector.
That is slow, so it is done under ``check_tracer_leaks`` only.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, cast

from evertrace._src import errors

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray
    from evertrace._src.core.jaxpr import Jaxpr


def check_variables(jaxpr: Jaxpr, name: str | None) -> None:
    """Raise `LeakedTracerError` if anything but the jaxpr holds one of its variables."""
    owned = {id(jaxpr.invars), id(jaxpr.constvars), id(jaxpr.outvars)}
    owned |= {id(v._trace.invars) for v in jaxpr.invars}
    for eqn in jaxpr.eqns:
        owned |= {id(eqn.invars), id(eqn.outvars)}
    variables = [*jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    owned.add(id(variables))
    if not _holders(variables, owned):
        return
    gc.collect()  # which takes longer, and may have been what was missing
    if not _holders(variables, owned):
        return
    while variables:
        var = variables.pop()
        if holders := _holders([var], owned):
            raise _leak_error(name, var.aval, holders[0])


def _holders(variables: list[Any], owned: set[int]) -> list[Any]:
    """Return what holds any of the variables and is not the jaxpr's: one pass over all objects."""
    return [
        x for x in gc.get_referrers(*variables) if x is not variables and not _is_ours(x, owned)
    ]


def _is_ours(holder: object, owned: set[int]) -> bool:
    """Whether a referrer is the jaxpr's, or a call that has not returned yet."""
    if id(holder) in owned or isinstance(holder, types.FrameType):
        return True
    return type(holder).__module__.startswith("evertrace.")


def _leak_error(name: str | None, aval: ShapedArray, holder: object) -> errors.LeakedTracerError:
    return errors.user_error(
        errors.LeakedTracerError,
        f"{name or 'trace'}: a traced value {aval.str_short()} is still referenced by "
        f"{_described(holder)} after its trace has ended.",
        fix="return it from the function instead of storing it.",
        anchor="unexpected-tracer",
    )


def _described(holder: object) -> str:
    """Word what holds a tracer: its type, and for containers an example of what is in it."""
    kind = type(holder).__name__
    if isinstance(holder, dict):
        keys = list(cast("dict[Any, Any]", holder))[:4]
        return f"a dict with the keys {', '.join(map(repr, keys))}"
    if isinstance(holder, (list, tuple, set)):
        return f"a {kind} of {len(cast('Sized', holder))} elements"
    return f"a {kind}"
