"""What looks on within branches and turns that not all devices of a mesh take.

Where devices along an axis of a mesh choose differently, all compute all branches, and keep what
they have chosen. Whatever looks on (`debug.print`, `debug.callback`) is told then whether its
device has chosen it, and looks only so. Examples of an ordinary `vmap` look on always, as in JAX.
"""

from evertrace._src.control.bodies import memo
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.core.tracer import state
from evertrace._src.ops.callback import debug_callback_p, where_chosen
from evertrace._src.transforms.staging import close_jaxpr, restage

_CHOSEN = ShapedArray((), bool)

within = {}
"""Primitive that holds jaxprs -> function ``(chosen, operands, params)`` that guards these.

It returns the operands and params of the guarded operation."""


def looks_on(jaxpr):
    """Whether something in a jaxpr looks on, where it can be told whether to; kept."""
    return memo(
        jaxpr,
        "looks on",
        lambda: any(
            [
                eqn.primitive is debug_callback_p
                or (eqn.primitive in within and any(map(looks_on, subjaxprs(eqn.params))))
                for eqn in jaxpr.eqns
            ]
        ),
    )


def guarded(jaxpr):
    """Return the jaxpr with one more input, the first: a boolean, whether what looks on does."""

    def run(chosen, *args):
        env = dict(zip(map(id, jaxpr.invars), args, strict=True))
        previous = state.src
        try:
            for eqn in jaxpr.eqns:
                state.src = eqn.src
                operands = [x if type(x) is Literal else env[id(x)] for x in eqn.invars]
                outs = _applied(eqn, chosen, operands)
                outs = outs if eqn.primitive.multiple_results else [outs]
                env.update(zip(map(id, eqn.outvars), outs, strict=True))
        finally:
            state.src = previous
        return [x if type(x) is Literal else env[id(x)] for x in jaxpr.outvars]

    return memo(jaxpr, "guarded", lambda: restage(run, [_CHOSEN, *jaxpr.in_avals]))


def _applied(eqn, chosen, operands):
    prim, params = eqn.primitive, eqn.params
    if prim is debug_callback_p:
        callback = where_chosen(params["callback"])
        return prim.bind(chosen, *operands, **{**params, "callback": callback})
    if prim in within and any(map(looks_on, subjaxprs(params))):
        operands, params = within[prim](chosen, operands, params)
    return state.trace.process(prim, operands, params)


def closed(jaxpr):
    """Return a guarded closed jaxpr."""
    return close_jaxpr(guarded(jaxpr.jaxpr))
