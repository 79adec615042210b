"""Forward mode: a tracer is a primal with its tangent.

`tangent_of` is the one place that turns what a primitive declares (linear operands, elementwise
derivatives, a jvp rule) into its pushforward; reverse mode uses it too.
"""

# `x._trace` is for the package: the public names of arrays are NumPy's
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Sequence
from typing import Any

from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import Jaxpr, Literal, eval_jaxpr
from evertrace._src.core.primitive import JOINTLY, Primitive, missing_rule
from evertrace._src.core.tracer import Trace, Tracer, set_trace, state
from evertrace._src.ops.elementwise import add_any, mul_p
from evertrace._src.ops.structural import zeros
from evertrace._src.transforms.staging import restage


class JVPTracer(Tracer):
    """A primal value with its tangent (never None).

    Example:
      >>> from evertrace.interpreters import ad
      >>> kinds = []
      >>> _ = ev.jvp(lambda x: kinds.append(type(x)) or x, (1.0,), (1.0,))
      >>> kinds == [ad.JVPTracer]
      True
    """

    aval: Any
    primal: Any
    tangent: Any

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Any, primal: Any, tangent: Any) -> None:
        self.aval, self._trace = primal.aval, trace
        self.primal, self.tangent = primal, tangent

    def concrete(self) -> Any:
        """Return what the primal stands for."""
        return self.primal

    def in_parent(self) -> Any:
        """Return the primal."""
        return self.primal

    shown_as = "JVPTracer"

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show both halves."""
        halves = ("primal", self.primal), ("tangent", self.tangent)
        return tuple([(name, x.val if type(x) is Literal else x) for name, x in halves])


class JVPTrace(Trace):
    """Computes tangents beside primals, both in the parent trace."""

    __slots__ = ()

    def process(self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply `prim` to primals and push the tangents through it."""
        primals: list[Any] = []
        tangents: list[Any] = []
        active = False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                primals.append(x)
                tangents.append(None)
        previous, state.trace = state.trace, self.parent
        try:
            if not active:
                return self.parent.process(prim, args, params)
            outs, tangents_out = jvp_step(prim, primals, tangents, params)
        finally:
            state.trace = previous
        if not prim.multiple_results:
            return self.tracer(outs, tangents_out)
        return [self.tracer(x, t) for x, t in zip(outs, tangents_out, strict=True)]

    def tracer(self, primal: Any, tangent: Any) -> Any:
        """Return the tracer of a primal, or the primal itself where the tangent is zero."""
        return primal if tangent is None else JVPTracer(self, primal, tangent)

    def split(self, x: Any) -> tuple[Any, Any]:
        """Return (primal, tangent or None) of any value."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, None


def jvp_step(
    prim: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Return the outputs of `prim` and their tangents (None for zero)."""
    if prim.jvp_call is not None:
        return prim.jvp_call(primals, tangents, **params)
    out = state.trace.process(prim, primals, params)
    return out, tangent_of(prim, tangents, primals, out, params)


def tangent_of(
    prim: Primitive,
    tangents: Sequence[Any],
    primals: Sequence[Any],
    out: Any,
    params: dict[str, Any],
) -> Any:
    """Return the tangent of an elementary operation's output(s).

    Operands whose tangent is given may hold anything with an aval as their primal when the
    operation is linear in them.
    """
    if prim.jvp:
        return prim.jvp(tangents, primals, out, **params)
    if prim.linear == JOINTLY:
        return prim.bind(*map(_joint_operand, tangents, primals), **params)
    terms = [
        term
        for i, t in enumerate(tangents)
        if t is not None and (term := _term(prim, i, t, primals, out, params)) is not None
    ]
    return add_any(*terms) if terms else None


def _joint_operand(tangent: Any, primal: Any) -> Any:
    if tangent is not None:
        return tangent
    return zeros(primal.aval) if is_inexact(primal.aval) else primal


def _term(
    prim: Primitive,
    i: int,
    tangent: Any,
    primals: Sequence[Any],
    out: Any,
    params: dict[str, Any],
) -> Any:
    """Return what the tangent of operand i contributes."""
    if prim.linear is not None and i in prim.linear:
        operands = list(primals)
        operands[i] = tangent
        return prim.bind(*operands, **params)
    if not prim.deriv:
        raise missing_rule(prim, "derivative", prim.deriv if prim.jvp is None else prim.jvp)
    derivative = prim.deriv[i]
    return None if derivative is None else mul_p.bind(tangent, derivative(out, *primals, **params))


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Run `fun` (flat values -> list) in forward mode; tangents may be None for zero."""
    trace = JVPTrace(state.trace, "jvp")
    args = [trace.tracer(x, t) for x, t in zip(primals, tangents, strict=True)]
    with set_trace(trace):
        outs = fun(*args)
    split = [trace.split(x) for x in outs]
    return [x for x, _ in split], [t for _, t in split]


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: Sequence[bool], instantiate: Sequence[bool] | None = None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the jaxpr of the jvp of `jaxpr`, and which output tangents it has.

    Args:
      jaxpr: a jaxpr without constvars.
      nonzero: per input, whether it has a tangent.
      instantiate: per output, whether its tangent must be there even if it is zero.

    The inputs of the result are the primals, then the tangents of the nonzero inputs; its outputs
    are the primals, then the tangents that are there.
    """
    nonzero = tuple(nonzero)
    key = ("jvp", nonzero, None if instantiate is None else tuple(instantiate))
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _jvp_jaxpr(jaxpr, nonzero, instantiate)
    return jaxpr.cache[key]


def _jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: Sequence[bool], instantiate: Sequence[bool] | None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    n = len(jaxpr.invars)
    found: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        given = iter(args[n:])
        tangents = [next(given) if nz else None for nz in nonzero]
        outs, out_tangents = jvp_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), args[:n], tangents)
        if instantiate is not None:
            out_tangents = [
                zeros(x.aval) if t is None and want and is_inexact(x.aval) else t
                for x, t, want in zip(outs, out_tangents, instantiate, strict=True)
            ]
        found[:] = [t is not None for t in out_tangents]
        return outs + [t for t in out_tangents if t is not None]

    avals = jaxpr.in_avals + [a for a, nz in zip(jaxpr.in_avals, nonzero, strict=True) if nz]
    return restage(fun, avals), tuple(found)
