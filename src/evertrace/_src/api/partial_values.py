"""Evaluating at once what depends on known values alone, and writing the rest down as a jaxpr."""

from __future__ import annotations

from typing import Any, NamedTuple

from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.tracer import Trace, Tracer, set_trace, state
from evertrace._src.support import set_module
from evertrace._src.transforms import dce
from evertrace._src.transforms.staging import Stage, stage

public = set_module("evertrace.interpreters.partial_eval")


@public
class PartialVal(NamedTuple):
    """A value of which all is known, or its type alone.

    Attributes:
      aval: the type of one that is not known, else None.
      value: the value of one that is known, else None.

    Example:
      >>> from evertrace.interpreters import partial_eval as pe
      >>> pe.PartialVal.known(3.0), pe.PartialVal.unknown(ev.typeof(jnp.ones(2)))[0]
      (PartialVal(aval=None, value=3.0), ShapedArray(float32[2]))
    """

    aval: Any
    value: Any

    @classmethod
    def known(cls, value: Any) -> Any:
        """Return a known one."""
        return cls(None, value)

    @classmethod
    def unknown(cls, aval: Any) -> Any:
        """Return an unknown one of a type."""
        return cls(aval, None)

    def is_known(self) -> Any:
        """Whether the value is known."""
        return self.aval is None

    def get_aval(self) -> Any:
        """Return the type."""
        return as_operand(self.value).aval if self.aval is None else self.aval


class KnownTrace(Trace):
    """Lets the parent compute what is known, and a stage write down what is not."""

    __slots__ = ("stage",)

    def __init__(self, parent, name=""):
        super().__init__(parent, name)
        self.stage = Stage(parent, name)

    def process(self, prim, args, params):
        """Compute in the parent, unless an operand belongs to the stage."""
        is_known = not any(isinstance(x, Tracer) and x._trace is self.stage for x in args)
        trace = self.parent if is_known else self.stage
        with set_trace(trace):
            return trace.process(prim, args, params)


@public
def trace_to_jaxpr_nounits(fun: Any, pvals: Any, instantiate: bool = False) -> Any:
    """Run a function of flat values of which some are known.

    What depends on known values alone is computed as it comes, so Python may look at it. The rest
    is written down.

    Args:
      fun: a `WrappedFun` of flat values that returns flat values.
      pvals: a `PartialVal` for each argument.
      instantiate: whether outputs that are known count as unknown, too.

    Returns:
      A triple: the jaxpr of what is not known, whose first inputs are the values that it takes from
      outside; a `PartialVal` for each output; those values.

    Example:
      >>> from evertrace.extend import linear_util
      >>> from evertrace.interpreters import partial_eval as pe
      >>> f = linear_util.wrap_init(lambda x, y: [x + 1, x * y])
      >>> pvals = [pe.PartialVal.known(2.0), pe.PartialVal.unknown(ev.typeof(jnp.ones(3)))]
      >>> jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(f, pvals)
      >>> float(outs[0].value), outs[1].aval
      (3.0, ShapedArray(float32[3]))
    """
    trace = KnownTrace(state.trace, "partial_eval")
    stage = trace.stage
    args = [p.value if p.is_known() else stage.new_input(p.aval) for p in pvals]
    try:
        with set_trace(trace):
            outs = [as_array(x) for x in fun.call_wrapped(*args)]
        unknown = [instantiate or (isinstance(x, Tracer) and x._trace is stage) for x in outs]
        jaxpr, consts = stage.close([x for x, u in zip(outs, unknown, strict=True) if u])
    finally:
        stage.closed = True
    pairs = zip(outs, unknown, strict=True)
    out_pvals = [PartialVal.unknown(x.aval) if u else PartialVal.known(x) for x, u in pairs]
    jaxpr = jaxpr.replace(constvars=[], invars=jaxpr.constvars + jaxpr.invars, names=None)
    return jaxpr, out_pvals, consts


@public
def trace_to_jaxpr_dynamic(
    fun: Any,
    in_avals: Any,
    *,
    keep_inputs: Any = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> Any:
    """Trace a function of flat values.

    Args:
      fun: a `WrappedFun` of flat values that returns flat values.
      in_avals: types of its arguments.
      keep_inputs: accepted for compatibility, as are the others: all inputs are kept.
      lower: see there.
      auto_dce: see there.

    Returns:
      A triple: the jaxpr, the types of its outputs, the values of its constvars.

    Example:
      >>> from evertrace.extend import linear_util
      >>> from evertrace.interpreters import partial_eval as pe
      >>> f = linear_util.wrap_init(lambda x: [jnp.sin(x)])
      >>> jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(f, [ev.typeof(jnp.ones(3))])
      >>> jaxpr, avals
      ({ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }, [ShapedArray(float32[3])])
    """
    del keep_inputs, lower, auto_dce
    staged = stage(lambda *xs: [as_array(x) for x in fun.call_wrapped(*xs)], list(in_avals))
    jaxpr, count = staged.jaxpr, len(staged.captured)
    constvars, invars = jaxpr.invars[:count], jaxpr.invars[count:]
    jaxpr = jaxpr.replace(constvars=constvars, invars=invars, names=None)
    return jaxpr, jaxpr.out_avals, list(map(as_array, staged.captured))


@public
def dce_jaxpr(jaxpr: Any, used_outputs: Any, instantiate: bool = False) -> Any:
    """Return the jaxpr for some of the outputs, and which inputs it has.

    Args:
      jaxpr: a jaxpr.
      used_outputs: per output, whether it is wanted; or one answer for all.
      instantiate: per input, whether it stays though nothing needs it; or one answer for all.

    Returns:
      A pair: the jaxpr, and a list of whether each input is one of it.

    Example:
      >>> from evertrace.interpreters import partial_eval as pe
      >>> jaxpr = ev.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 2.0).jaxpr
      >>> pe.dce_jaxpr(jaxpr, [True, False])
      ({ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }, [True, False])
    """
    wanted, kept = (
        [x] * len(variables) if isinstance(x, bool) else list(x)
        for x, variables in ((used_outputs, jaxpr.outvars), (instantiate, jaxpr.invars))
    )
    stay = [i for i, k in enumerate(kept) if k]
    smaller, used = dce.dce_jaxpr(jaxpr, wanted, keep_inputs=stay)
    return smaller, list(used)
