"""Reverse mode, first half: a tape of the linear maps that a function's operations are.

`TapeTrace` runs each operation in its parent at once (eager values, so Python control flow works;
or staged ones) and writes an `Entry`. A tape has two kinds of tracers. One with a value is an
intermediate result. One without stands for an unknown tangent: operations on it must be linear and
are only written down. Higher-order primitives use the second kind: their `linearize` rule computes
outputs from values and expresses the output tangents by operations on unknowns, which land on the
same tape, in terms of the same nodes.

A tape is read backwards by `transpose.backward`, forwards by `pushforward`.
"""

# `x._trace` is for the package: the public names of arrays are NumPy's
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeGuard

from evertrace._src import config, errors, source
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import Jaxpr, Var, eval_jaxpr
from evertrace._src.core.primitive import JOINTLY, Primitive, missing_rule
from evertrace._src.core.rules import LinearArg
from evertrace._src.core.tracer import Trace, Tracer, set_trace, shown_type, state
from evertrace._src.ops.builders import no_tangent
from evertrace._src.ops.structural import zeros
from evertrace._src.transforms.jvp import tangent_of
from evertrace._src.transforms.partial_eval import outputs_depend_on
from evertrace._src.transforms.staging import Stage, stage, with_constants


class TapeTracer(Tracer):
    """A value on a tape, or (value None) an unknown; `node` is where its cotangent gathers."""

    aval: Any
    node: LinearArg
    value: Any

    __slots__ = ("node", "value")

    def __init__(self, trace: Any, aval: Any, value: Any, node: LinearArg) -> None:
        self.aval, self._trace, self.value, self.node = aval, trace, value, node

    def concrete(self) -> Any:
        """Return the value, None for an unknown."""
        return self.value

    def in_parent(self) -> Any:
        """Return the value, None for an unknown."""
        return self.value

    shown_as = "GradTracer"

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show the value if there is one, and the type of its tangent."""
        if self.value is None:
            return super().describe_contents()
        of_tangent = shown_type(self.value, self.node.aval)
        return ("primal", self.value), ("typeof(tangent)", of_tangent.str_short())


class OpaqueTracer(TapeTracer):
    """A value whose tangent, at `node`, is of another type, for operations that know of it."""

    __slots__ = ()


opaque_operations: set[Primitive] = set()
"""Operations that know of values whose tangents are of another type."""


class Entry:
    """One linear map: from the tangents at `nodes` to those at `outs`.

    Attributes:
      operands: what rules read: values, or the node where no value is needed or known.
      nodes: per operand its node, None where it is a constant.
      outs: per output its node, None where it carries no tangent.
      out: the output value(s) for rules that read them, else None.
      unknown: whether the operation itself is the linear map (operands at nodes are unknowns).
    """

    nodes: Sequence[LinearArg | None]
    operands: Sequence[Any]
    out: Any
    outs: Sequence[LinearArg | None]
    params: dict[str, Any]
    prim: Any
    src: source.Source | None
    unknown: bool

    __slots__ = ("nodes", "operands", "out", "outs", "params", "prim", "src", "unknown")

    def __init__(
        self,
        prim: Any,
        operands: Sequence[Any],
        nodes: Sequence[LinearArg | None],
        outs: Sequence[LinearArg | None],
        out: Any,
        params: dict[str, Any],
        src: source.Source | None,
        unknown: bool,
    ) -> None:
        self.prim, self.params, self.src = prim, params, src
        self.operands, self.nodes = operands, nodes
        self.outs, self.out, self.unknown = outs, out, unknown


class TapeTrace(Trace):
    """Runs operations in the parent and notes the linear maps they are.

    Attributes:
      entries: the tape.
      splits: whether an operation is being split into values and a linear map of unknowns.
    """

    entries: list[Entry]
    splits: bool

    __slots__ = ("entries", "splits")

    def __init__(self, parent: Any, name: str = "") -> None:
        super().__init__(parent, name)
        self.entries = []
        self.splits = False

    def tracer(self, value: Any) -> Any:
        """Return a tracer with a value, or the value itself where it carries no tangent."""
        aval = value.aval
        return TapeTracer(self, aval, value, LinearArg(aval)) if is_inexact(aval) else value

    def unknown(self, node: LinearArg) -> TapeTracer:
        """Return the tracer of an unknown at `node`."""
        return TapeTracer(self, node.aval, None, node)

    def owns(self, x: Any) -> TypeGuard["TapeTracer"]:
        """Whether `x` is a tracer of this tape."""
        value: object = x  # the type of Any is unknown to type checkers
        kind = type(value)
        return (kind is TapeTracer or kind is OpaqueTracer) and x._trace is self

    def process(self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run `prim` on values and note it, or note its application to unknowns."""
        values: list[Any] = []
        nodes: list[LinearArg | None] = []
        active = unknown = False
        for x in args:
            if type(x) is TapeTracer and x._trace is self:
                active = True
                unknown = unknown or x.value is None
                values.append(x.value)
                nodes.append(x.node)
            elif type(x) is OpaqueTracer and x._trace is self:
                return self._process_opaque(prim, args, params)
            else:
                values.append(x)
                nodes.append(None)
        if unknown:
            return self._process_unknown(prim, args, params)
        if active and prim.linearize is not None:
            return self._process_call(prim, values, nodes, params)
        previous, state.trace = state.trace, self.parent
        try:
            out = self.parent.process(prim, values, params)
        finally:
            state.trace = previous
        return self._note(prim, values, nodes, out, params) if active else out

    def _note(
        self,
        prim: Primitive,
        values: Sequence[Any],
        nodes: Sequence[LinearArg | None],
        out: Any,
        params: dict[str, Any],
    ) -> Any:
        """Write the entry of an operation that was run; returns its output tracers."""
        outs: Sequence[LinearArg | None]
        if prim.jvp is no_tangent or (prim.deriv and None in prim.deriv and _cuts(prim, nodes)):
            return out
        if not prim.multiple_results:
            result = self.tracer(out)
            if not self.owns(result):
                return result
            outs, first = [result.node], out
        else:
            result = [self.tracer(x) for x in out]
            outs = [x.node if self.owns(x) else None for x in result]
            if not any(outs):
                return result
            first = out[0]
        operands, saved = values, None
        if not _needed(prim, nodes):
            operands = [x if n is None else n for x, n in zip(values, nodes, strict=True)]
        elif prim.deriv or prim.jvp:
            saved = out
        src = state.src or _staged_source(first)
        if src is None and config.current().watched:
            src = source.user_source()
        self.entries.append(Entry(prim, operands, nodes, outs, saved, params, src, unknown=False))
        return result

    def _process_call(
        self,
        prim: Primitive,
        values: Sequence[Any],
        nodes: Sequence[LinearArg | None],
        params: dict[str, Any],
    ) -> list[Any]:
        """Let a higher-order primitive compute outputs and note its own linear maps."""
        tangents = [None if n is None else self.unknown(n) for n in nodes]
        outs, out_tangents = prim.linearize(values, tangents, **params)
        return [self.joined(x, t) for x, t in zip(outs, out_tangents, strict=True)]

    def _process_opaque(
        self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Let an operation that knows of such values compute outputs."""
        if prim not in opaque_operations:
            raise errors.user_error(
                NotImplementedError,
                f"{prim.name}: derivatives do not go through values of types above arrays here.",
                fix="hand such values to the primitives that are made for them alone, and "
                "differentiate inside of `jit`, `checkpoint`, loops and branches.",
                anchor="extend",
            )
        values = [x.value if self.owns(x) else x for x in args]
        nodes = [x.node if self.owns(x) else None for x in args]
        return self._process_call(prim, values, nodes, params)

    def joined(self, value: Any, tangent: Any) -> Any:
        """Return the tracer of a value with an unknown as its tangent, or None."""
        if not self.owns(tangent):
            return value
        aval = value.aval
        is_own = is_inexact(aval) and aval.shape == tangent.aval.shape
        kind = TapeTracer if is_own else OpaqueTracer
        return kind(self, aval, value, tangent.node)

    def _process_unknown(self, prim: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Note the application of a linear operation to unknowns."""
        if prim.transpose is None and prim.eager is not None:
            if prim.is_opaque:
                raise missing_rule(prim, "transposition rule", prim.transpose)
            return prim.eager(*args, **params)  # a wrapper of a function: look inside
        # A tracer with a value is a constant for the linear maps noted here.
        unknown = [self.owns(x) and x.value is None for x in args]
        may_split = prim.linearize is not None and not self.splits
        if may_split and _has_known_output(prim, args, unknown, params):
            return self._process_partly_known(prim, args, unknown, params)
        noted = prim if _linear_in(prim, unknown) else _NotLinear(prim)
        if noted is not prim and prim.effects_of(params):
            raise noted.error
        operands = [
            x.node if u else x.value if self.owns(x) else x
            for x, u in zip(args, unknown, strict=True)
        ]
        nodes = [x.node if u else None for x, u in zip(args, unknown, strict=True)]
        avals = prim.infer(operands, params)
        outs = [LinearArg(a) for a in (avals if prim.multiple_results else (avals,))]
        src = state.src or source.user_source()
        self.entries.append(Entry(noted, operands, nodes, outs, None, params, src, unknown=True))
        made = [self.unknown(node) for node in outs]
        return made if prim.multiple_results else made[0]

    def _process_partly_known(
        self,
        prim: Primitive,
        args: Sequence[Any],
        unknown: Sequence[bool],
        params: dict[str, Any],
    ) -> list[Any]:
        """Split a call, branch or loop that computes values beside a linear map of the unknowns.

        A rule that calls `jvp` makes such ones. A linear map is its own derivative at zero.
        """
        values = [
            zeros(x.aval) if u else x.value if self.owns(x) else x
            for x, u in zip(args, unknown, strict=True)
        ]
        tangents = [x if u else None for x, u in zip(args, unknown, strict=True)]
        self.splits = True  # what it applies to the unknowns now is linear and noted as it is
        try:
            outs, out_tangents = prim.linearize(values, tangents, **params)
        finally:
            self.splits = False
        return [t if self.owns(t) else x for x, t in zip(outs, out_tangents, strict=True)]


def _has_known_output(
    prim: Primitive, args: Sequence[Any], unknown: Sequence[bool], params: dict[str, Any]
) -> bool:
    """Whether an output does not depend on the unknown operands, or is one of integers.

    Such an output is a value, constants included; that a linear map has no others but zeros does
    not show in its type.
    """
    avals = prim.infer(args, params)
    if not all(map(is_inexact, avals)):
        return True
    return not all(outputs_depend_on(prim, unknown, params, len(avals)))


def _staged_source(out: Any) -> source.Source | None:
    """Return the source of the equation that a staged output comes from, else None.

    The equations of the backward pass inherit it, so that they point at the user's forward line.
    """
    while isinstance(out, Tracer) and type(out) is not Var:
        out = out.in_parent()
    return out._trace.eqns[-1].src if type(out) is Var and out._trace.eqns else None


def _linear_in(prim: Primitive, unknown: Sequence[bool]) -> bool:
    """Whether `prim` is linear in these operands together."""
    if not prim.transpose:
        return False
    linear: tuple[int, ...] | str | None = prim.linear
    if isinstance(linear, tuple):
        return sum(unknown) == 1 and unknown.index(True) in linear
    return True


class _NotLinear:
    """Stands on a tape for a primitive that is not linear in its unknown operands.

    That is an error for whom a cotangent or tangent gets there, and nothing else for what the
    result of a function does not depend on, as the value beside a gradient.
    """

    linear = None

    def __init__(self, prim: Primitive) -> None:
        self.name, self.multiple_results = prim.name, prim.multiple_results
        self.error = not_linear_error(prim)

    def transpose(self, *_: Any, **__: Any) -> NoReturn:
        raise self.error

    bind = transpose


def not_linear_error(prim: Primitive) -> Exception:
    """Build the error for transposing an operation that is not linear in its operand."""
    return errors.user_error(
        errors.NotLinearError,
        f"{prim.name}: transposed with respect to an operand in which it is not linear.",
        fix="transpose only functions that are linear in their arguments; for derivatives of "
        "other functions use `vjp` or `grad`.",
        anchor="not-linear",
    )


def _cuts(prim: Primitive, nodes: Sequence[LinearArg | None]) -> bool:
    """Whether no tangent of the active operands reaches the output."""
    linear = prim.linear or ()
    active = [i for i, n in enumerate(nodes) if n is not None]
    return all(i not in linear and prim.deriv[i] is None for i in active)


def _needed(prim: Primitive, nodes: Sequence[LinearArg | None]) -> bool:
    """Whether rules read the values of the active operands: a joint linear map needs none."""
    if prim.linear == JOINTLY:
        return False
    active = [i for i, n in enumerate(nodes) if n is not None]
    return prim.linear is None or len(active) > 1 or active[0] not in prim.linear


def tape_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    active: Sequence[bool],
    name: str = "",
) -> tuple[TapeTrace, list[LinearArg | None], list[tuple[Any, LinearArg | None]]]:
    """Run `fun` (flat values -> list) on a tape; returns the tape, input nodes and outputs.

    Outputs are (value, node or None) pairs.
    """
    tape = TapeTrace(state.trace, name)
    args = [tape.tracer(x) if a else x for x, a in zip(primals, active, strict=True)]
    nodes = [x.node if tape.owns(x) else None for x in args]
    with set_trace(tape):
        outs = fun(*args)
    pairs: list[tuple[Any, LinearArg | None]] = [
        (x.value, x.node) if tape.owns(x) else (x, None) for x in outs
    ]
    return tape, nodes, pairs


def pushforward(entries: Iterable[Entry], tangents: dict[LinearArg, Any]) -> None:
    """Carry tangents, a dict by node that is filled in, forward along a tape."""
    previous = state.src
    try:
        for e in entries:
            given = [None if n is None else tangents.get(n) for n in e.nodes]
            if all(t is None for t in given):
                continue
            state.src = source.in_derivative(e.src, e.prim.name, False)
            out = _push_entry(e, given)
            if not e.prim.multiple_results:
                out = [out]
            for node, t in zip(e.outs, out, strict=True):
                if node is not None and t is not None:
                    tangents[node] = t
    finally:
        state.src = previous


def _push_entry(e: Entry, given: Sequence[Any]) -> Any:
    if not e.unknown:
        return tangent_of(e.prim, given, e.operands, e.out, e.params)
    operands = [
        x if n is None else zeros(n.aval) if t is None else t
        for x, n, t in zip(e.operands, e.nodes, given, strict=True)
    ]
    return e.prim.bind(*operands, **e.params)


class Linearized(NamedTuple):
    """A jaxpr split into its value and its linear map.

    Attributes:
      primal: inputs -> outputs, then residuals (without those that are inputs).
      linear: residuals (all), then tangents of the active inputs -> tangents of active outputs.
      residuals: per residual, the index of the input it is, or None.
      out_active: per output, whether it has a tangent.
    """

    primal: Jaxpr
    linear: Jaxpr
    residuals: tuple[int | None, ...]
    out_active: tuple[bool, ...]


def linearize_jaxpr(
    jaxpr: Jaxpr, active: Sequence[bool], instantiate: Sequence[bool] | None = None
) -> Linearized:
    """Split a jaxpr without constvars into primal and linear parts; see `Linearized`.

    Args:
      jaxpr: the jaxpr.
      active: per input, whether it has a tangent.
      instantiate: per output, whether the linear part returns its tangent even where it is zero.

    The linear part is staged apart from the primal one; what it captures are the residuals. So
    they are minimal without an analysis, and derivatives are computed where they are used.
    """
    active = tuple(active)
    key = ("linearize", active, None if instantiate is None else tuple(instantiate))
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _linearize_jaxpr(jaxpr, active, instantiate)
    return jaxpr.cache[key]


def _linearize_jaxpr(
    jaxpr: Jaxpr, active: Sequence[bool], instantiate: Sequence[bool] | None
) -> Linearized:
    primal_stage = Stage()
    args = [primal_stage.new_input(aval) for aval in jaxpr.in_avals]
    with set_trace(primal_stage):
        tape, nodes, pairs = tape_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), args, active)
    active_nodes = [n for n in nodes if n is not None]
    out_active: list[bool] = []

    def push(*tangents: Any) -> list[Any]:
        found = dict(zip(active_nodes, tangents, strict=True))
        pushforward(tape.entries, found)
        outs = [None if n is None else found.get(n) for _, n in pairs]
        if instantiate is not None:
            outs = [
                zeros(x.aval) if t is None and want and is_inexact(x.aval) else t
                for t, (x, _), want in zip(outs, pairs, instantiate, strict=True)
            ]
        out_active[:] = [t is not None for t in outs]
        return [t for t in outs if t is not None]

    with set_trace(primal_stage):
        linear, captured = stage(push, [n.aval for n in active_nodes])
    position = {id(x): i for i, x in enumerate(args)}
    residuals = tuple(position.get(id(x)) for x in captured)
    extra = [x for x, i in zip(captured, residuals, strict=True) if i is None]
    primal, consts = primal_stage.close([x for x, _ in pairs] + extra)
    # An input that is active but not inexact has no node: its tangent is no input of `linear`.
    return Linearized(with_constants(primal, consts), linear, residuals, tuple(out_active))
