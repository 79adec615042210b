"""Staging: writing down the operations that a function performs, as a jaxpr.

The stage's tracers are the jaxpr's variables. Whatever the function uses that does not belong to
the stage (arrays, tracers of outer traces) is captured: it becomes a constvar, and the caller binds
its value in the trace outside. So an outer stage, the root included, gains inputs while inner
traces are active.
"""

# `x._trace` is for the package: the public names of arrays are NumPy's
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from evertrace._src import config, source
from evertrace._src.core.check import check_jaxpr
from evertrace._src.core.effects import NO_EFFECTS
from evertrace._src.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, eval_jaxpr
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import Trace, Tracer, escaped_tracer_error, set_trace, state
from evertrace._src.ops.creation import constant_p


class Stage(Trace):
    """A trace that records equations.

    Attributes:
      eqns: equations so far.
      invars: explicit inputs; names: their names for people, by position.
      behind: pairs of what the inputs stand for in the trace outside, or the sharding over a mesh
        that they have, where that is known, and how many leading dimensions of it they lack.
      captured: id of each captured value -> (variable or literal, the value).
      closed: whether tracing has ended; the tracers are then plain variables.
    """

    behind: Sequence[tuple[Any, int]]
    captured: dict[int, tuple[Any, Any]]
    closed: bool
    eqns: list[Eqn]
    invars: list[Var]
    names: list[str | None]

    __slots__ = ("behind", "captured", "closed", "eqns", "invars", "names")

    def __init__(self, parent: Any = None, name: str = "") -> None:
        super().__init__(state.trace if parent is None else parent, name)
        self.eqns, self.invars, self.names = [], [], []
        self.behind, self.captured = (), {}
        self.closed = False

    def new_input(self, aval: Any, name: str | None = None) -> Var:
        """Add an input and return its variable."""
        var = Var(aval, self)
        self.invars.append(var)
        self.names.append(name)
        return var

    def process(self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record one application of `prim`, or let a higher-order one do it its own way."""
        if prim.stage is not None:
            return prim.stage(self, args, params)
        return self.record(prim, args, params)

    def record(self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Append the equation and return its output variables."""
        invars = [x if type(x) is Var and x._trace is self else self.operand(x) for x in args]
        typing = prim.typing(invars, params)
        src = state.src
        if src is None:
            src = source.user_source()
            if state.scope:
                src = source.in_scope(src, state.scope)
        effects = NO_EFFECTS if prim.effects is None else prim.effects(**params)
        if prim.multiple_results:
            outvars = [Var(aval, self) for aval in typing.out]
            self.eqns.append(Eqn(prim, invars, outvars, params, effects, src, typing))
            return list(outvars)  # the caller's own, the equation keeps its list
        var = Var(typing.out, self)
        self.eqns.append(Eqn(prim, invars, [var], params, effects, src, typing))
        return var

    def operand(self, x: Any) -> Any:
        """Return the variable or literal that stands for `x` in this jaxpr, capturing it if new."""
        if type(x) is Literal:
            return x
        if type(x) is Var:
            if x._trace is self:
                return x
            if x._trace.closed:
                raise escaped_tracer_error(x, self.name or "trace")
        found = self.captured.get(id(x))
        if found is None:
            stands_for = getattr(x, "__jax_array__", None)
            if stands_for is not None:  # a NumPy array of the user's, bound as it is
                return self.operand(stands_for())
            found = self.captured[id(x)] = (self.capture(x), x)
        return found[0]

    def capture(self, x: Any) -> Any:
        """Make the variable or literal for a value from outside."""
        is_constant = self.made_scalars is not None and id(x) not in self.made_scalars
        scalar = None if is_constant else getattr(x, "_as_literal", None)
        made = scalar() if scalar is not None else None
        return Var(x.aval, self) if made is None else made

    def close(self, outs: Iterable[Any]) -> tuple[Jaxpr, list[Any]]:
        """End tracing with these outputs; returns the jaxpr and the values of its constvars."""
        outvars = [self.operand(x) for x in outs]
        consts = [(v, x) for v, x in self.captured.values() if type(v) is Var]
        self.closed = True
        names = self.names if any(self.names) else None
        jaxpr = Jaxpr([v for v, _ in consts], self.invars, outvars, self.eqns, names=names)
        if config.current().enable_checks:
            check_jaxpr(jaxpr)
        self.behind, self.captured, self.made_scalars = (), {}, None
        self.parent = None  # a jaxpr outlives the traces around its own
        return jaxpr, [x for _, x in consts]


class Staged(NamedTuple):
    """A jaxpr whose captured values are its first inputs, and those values."""

    jaxpr: Jaxpr
    captured: list[Any]


def stage(
    fun: Callable[..., Iterable[Any]],
    avals: Iterable[Any],
    *,
    name: str = "",
    names: Sequence[str | None] = (),
    behind: Sequence[tuple[Any, int]] = (),
) -> Staged:
    """Trace `fun` (flat values -> list of flat values) and return a `Staged`."""
    jaxpr, captured = stage_open(fun, avals, name=name, names=names, behind=behind)
    return Staged(hoist_consts(jaxpr), captured)


def stage_open(
    fun: Callable[..., Iterable[Any]],
    avals: Iterable[Any],
    *,
    name: str = "",
    names: Sequence[str | None] = (),
    keeps_scalars: bool | None = None,
    behind: Sequence[tuple[Any, int]] = (),
) -> tuple[Jaxpr, list[Any]]:
    """Trace `fun` and return the jaxpr, captured values as constvars, and those values.

    With `keeps_scalars` scalar arrays are values like others, without they become literals. None
    does as the trace outside. `behind` is the stage's.
    """
    trace = Stage(name=name)
    trace.behind = behind
    if keeps_scalars is not None:
        trace.made_scalars = {} if keeps_scalars else None
    args = [
        trace.new_input(aval, names[i] if i < len(names) else None) for i, aval in enumerate(avals)
    ]
    previous, state.src = state.src, None
    try:
        with set_trace(trace):
            outs = fun(*args)
        return trace.close(outs)
    finally:
        trace.closed = True
        state.src = previous


def hoist_consts(jaxpr: Jaxpr) -> Jaxpr:
    """Return the jaxpr with its constvars as first inputs."""
    if not jaxpr.constvars:
        return jaxpr
    names = None if jaxpr.names is None else [None] * len(jaxpr.constvars) + jaxpr.names
    invars = jaxpr.constvars + jaxpr.invars
    return jaxpr.replace(constvars=[], invars=invars, names=names)


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Return a jaxpr without constvars as the (memoised) closed jaxpr that params hold."""
    closed = jaxpr.cache.get("closed")
    if closed is None:
        closed = jaxpr.cache["closed"] = ClosedJaxpr(jaxpr)
    return closed


def restage(fun: Callable[..., Iterable[Any]], avals: Iterable[Any]) -> Jaxpr:
    """Trace `fun`, which evaluates jaxprs in some way, and return the jaxpr, without constvars."""
    return with_constants(*stage_open(fun, avals))


def with_constants(jaxpr: Jaxpr, values: Iterable[Any]) -> Jaxpr:
    """Return a derived jaxpr with the values of its constvars as constants in it.

    Only custom rules bring any: they are functions of the user's, which may use arrays.
    """
    values = [known_value(x) if isinstance(x, Tracer) else x for x in values]
    for x in values:
        if isinstance(x, Tracer):
            raise escaped_tracer_error(x, "custom rule")
    constants = [
        Eqn(constant_p, [], [var], {"value": x})
        for var, x in zip(jaxpr.constvars, values, strict=True)
    ]
    return jaxpr.replace(constvars=[], eqns=constants + jaxpr.eqns) if constants else jaxpr


def known_value(tracer: Any) -> Any:
    """Return the array that a tracer stands for where the recorder knows one, else the tracer."""
    found = None if state.recorder is None else state.recorder.constant_of(tracer)
    return tracer if found is None else found


def inline(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Apply a jaxpr without constvars to flat values, equation by equation."""
    return eval_jaxpr(jaxpr, (), *args)


def provenance(var: Any) -> dict[str, Any]:
    """Return the inputs that a variable of an open stage depends on, by name."""
    stage_, wanted = var._trace, {id(var)}
    for eqn in reversed(stage_.eqns):
        if any(id(v) in wanted for v in eqn.outvars):
            wanted.update(map(id, eqn.invars))
    return {
        name if name is not None else f"argument {i}": v
        for i, (v, name) in enumerate(zip(stage_.invars, stage_.names, strict=True))
        if id(v) in wanted
    }
