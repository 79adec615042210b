"""`debug.inspect`: the values that a function names, beside its result.

It is a trace, like that of `checkify`: operations run in the parent, and a value that
`checkpoint_name` names is noted there. Operations that hold jaxprs get jaxprs with the named values
as further outputs: a call returns them, a scan stacks them, a while loop carries the last, a branch
fills in what it does not compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.results import flatten_result
from evertrace._src.control import custom
from evertrace._src.control.bodies import memo, unused
from evertrace._src.control.bounded import bounded_while_p
from evertrace._src.control.call import jit_p
from evertrace._src.control.checkpoint import remat_p
from evertrace._src.control.composite import composite_p
from evertrace._src.control.cond import bind_cond, cond_p
from evertrace._src.control.custom_results import PADDED
from evertrace._src.control.loop import split_operands as split_while
from evertrace._src.control.loop import while_p
from evertrace._src.control.policies import name_p
from evertrace._src.control.scan import bind_scan, scan_p
from evertrace._src.control.scan import split_operands as split_scan
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.core.rules import RuleTable
from evertrace._src.core.tracer import Trace, set_trace, state
from evertrace._src.lax.creation import full
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import zeros
from evertrace._src.signatures import wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.staging import close_jaxpr, inline, restage

P = ParamSpec("P")
R = TypeVar("R")


class Label(NamedTuple):
    """What a jaxpr returns as a further output: a name, the type, and which of several it is."""

    name: str
    aval: Any
    nth: int


class InspectTrace(Trace):
    """Runs operations in the parent and notes the values that have a name.

    Attributes:
      names: those to note, a frozenset; empty for all.
      found: dict from labels to values, in the order of the program.
    """

    __slots__ = ("found", "names")

    def __init__(self, parent, names):
        super().__init__(parent, "debug.inspect")
        self.names, self.found = names, {}

    def process(self, prim, args, params):
        """Apply `prim` in the parent, and note what is named in it."""
        previous, state.trace = state.trace, self.parent
        try:
            if prim in rules:
                return rules[prim](self, prim, args, params)
            _refuse_hidden_names(prim, params, self.names)
            return self.parent.process(prim, args, params)
        finally:
            state.trace = previous

    def note(self, name, value):
        """Note a value if its name is asked for."""
        if self.names and name not in self.names:
            return
        value = convert(value, value.aval.dtype, False)  # the same type wherever it is named
        nth = 0
        while (label := Label(name, value.aval, nth)) in self.found:
            nth += 1
        self.found[label] = value

    def note_all(self, labels, values):
        """Note the values that an operation returns for some labels."""
        for label, value in zip(labels, values, strict=True):
            self.note(label.name, value)

    def values(self, labels):
        """Return the values of some labels, and what says that there is none for the others."""
        return [self.found[x] if x in self.found else _absent(x.aval) for x in labels]


def _absent(aval):
    """Return what stands for a value that was not computed: NaN, or zero where there is none."""
    return full(aval.shape, np.nan, aval.dtype) if is_inexact(aval) else zeros(aval)


def _refuse_hidden_names(prim, params, names):
    """Raise if an operation without a rule holds a jaxpr that names what is asked for."""
    for name in _named_in(params):
        if not names or name in names:
            raise errors.user_error(
                NotImplementedError,
                f"debug.inspect: {name!r} is named inside of {prim.name}, where no value can be "
                "taken out.",
                fix=f"name an argument or a result of {prim.name} instead, or use "
                "`ev.debug.callback` there.",
                anchor="debug-inspect",
            )


def _named_in(params):
    for jaxpr in subjaxprs(params):
        for eqn in jaxpr.eqns:
            if eqn.primitive is name_p:
                yield eqn.params["name"]
            yield from _named_in(eqn.params)


# ---------------------------------------------------------------- jaxprs that return what they name


def _inspected(jaxpr, names, labels=None):
    """Return a jaxpr with the named values as further outputs, and their labels.

    Args:
      jaxpr: a jaxpr without constvars.
      names: those asked for.
      labels: those to return, a tuple; None for those that the jaxpr has.
    """

    def make():
        found = []

        def fun(*args):
            trace = InspectTrace(state.trace, names)
            with set_trace(trace):
                outs = inline(jaxpr, *args)
            found[:] = trace.found if labels is None else labels
            return [*outs, *trace.values(found)]

        return restage(fun, jaxpr.in_avals), tuple(found)

    return memo(jaxpr, ("inspect", names, labels), make)


# ---------------------------------------------------------------- rules

rules = RuleTable("inspect")


@rules.define(name_p)
def _name(trace, prim, args, params):
    out = prim.bind(*args, **params)
    trace.note(params["name"], out)
    return out


@rules.define(jit_p, remat_p)
def _call(trace, prim, args, params):
    closed = prim is jit_p
    jaxpr = params["jaxpr"].jaxpr if closed else params["jaxpr"]
    derived, labels = _inspected(jaxpr, trace.names)
    if not labels:
        return prim.bind(*args, **params)
    outs = prim.bind(*args, **params | {"jaxpr": close_jaxpr(derived) if closed else derived})
    return _take(trace, labels, outs)


def _take(trace, labels, outs):
    """Note the values that an operation returns last; returns the other results."""
    n = len(outs) - len(labels)
    trace.note_all(labels, outs[n:])
    return outs[:n]


@rules.define(composite_p)
def _composite(trace, prim, args, params):
    with set_trace(trace):
        return inline(params["jaxpr"].jaxpr, *args)


@rules.define(cond_p)
def _cond(trace, prim, args, params):
    index, *operands = args
    branches = [b.jaxpr for b in params["branches"]]
    labels = tuple(dict.fromkeys(x for b in branches for x in _inspected(b, trace.names)[1]))
    if not labels:
        return prim.bind(*args, **params)
    derived = [_inspected(b, trace.names, labels)[0] for b in branches]
    return _take(trace, labels, bind_cond(index, derived, operands))


@rules.define(scan_p)
def _scan(trace, prim, args, params):
    body, labels = _inspected(params["jaxpr"].jaxpr, trace.names)
    if not labels:
        return prim.bind(*args, **params)
    consts, carry, xs = split_scan(args, params["num_consts"], params["num_carry"])
    turns = {name: params[name] for name in ("length", "reverse", "unroll")}
    return _take(trace, labels, bind_scan(body, consts, carry, xs, **turns))


@rules.define(while_p, bounded_while_p)
def _while(trace, prim, args, params):
    """The carry begins with the values of the last turn; those of conditions are not taken out."""
    _refuse_hidden_names(prim, {"cond_jaxpr": params["cond_jaxpr"]}, trace.names)
    body, labels = _inspected(params["body_jaxpr"].jaxpr, trace.names)
    if not labels:
        return prim.bind(*args, **params)
    cond_consts, body_consts, carry = split_while(
        args, params["cond_nconsts"], params["body_nconsts"]
    )
    n, num_carry = len(labels), len(carry)
    last = [unused(x.aval) for x in labels]

    def carrying(jaxpr, num_consts):
        invars = [*jaxpr.invars[:num_consts], *last, *jaxpr.invars[num_consts:]]
        return jaxpr.replace(invars=invars, names=None)

    new_cond = carrying(params["cond_jaxpr"].jaxpr, len(cond_consts))
    new_body = carrying(body, len(body_consts))
    new_body = new_body.replace(outvars=[*body.outvars[num_carry:], *body.outvars[:num_carry]])
    changed = {"cond_jaxpr": close_jaxpr(new_cond), "body_jaxpr": close_jaxpr(new_body)}
    first = [_absent(x.aval) for x in labels]
    outs = prim.bind(*cond_consts, *body_consts, *first, *carry, **params | changed)
    trace.note_all(labels, outs[:n])
    return outs[n:]


@rules.define(*PADDED)
def _custom(trace, prim, args, params):
    """Look into the function, not into its rules.

    Seen from a derivative that is taken outside of `inspect`, nothing in it was computed.
    """
    function, found = params["call_jaxpr"], []

    def inspected(*args):
        inner = InspectTrace(state.trace, trace.names)
        with set_trace(inner):
            outs = custom.apply(function, args)
        found[:] = inner.found
        return [*outs, *inner.values(found)]

    def nothing():
        return [_absent(x.aval) for x in found]

    padded = PADDED[prim](params, nothing)
    return _take(trace, found, prim.bind(*args, **params | {"call_jaxpr": inspected} | padded))


# ---------------------------------------------------------------- the function


@set_module("evertrace.debug")
def inspect(f: Callable[P, R], *names: str) -> Callable[P, tuple[R, dict[str, Any]]]:
    """Return a function that returns the values which `f` names, beside its result.

    Values are named by `checkpoint_name`, from ``evertrace.ad_checkpoint``: in `f`, in what it
    calls, in loops and branches, with or without `jit`.

    Args:
      f: function of anything that returns a tree of arrays.
      *names: those to return; all without any.

    Returns:
      A function of the same arguments that returns ``(result, values)``. ``values`` is a dict from
      names to arrays, or to lists of them, in the order of the program, where a name was given more
      than once (the leaves of a tree, each turn of a Python loop). Under a `vmap` inside of `f` the
      examples are in front; a `scan` or `map` stacks the values of its turns; a `while_loop` gives
      those of its last turn. What was not computed, in a branch that was not taken or a loop
      without a turn, is NaN, and zero where the dtype has none; a `vmap` inside of `f` computes all
      branches that examples choose among.

    Raises:
      TypeError: `f` is no function, or a name is no string.
      ValueError: (when called) `f` gives no value such a name.
      NotImplementedError: (when called) such a value is named in a kernel or a `shard_map`.

    It is a transformation like others: the new function can be jitted, vectorised (then each
    example has its own values) and differentiated (``has_aux``), and may be called by other
    functions. Names have no cost where nobody asks for them. With derivatives inside of `f` the
    values are the primal ones. Of functions with custom rules, what the rule computes has no names
    of the function's.

    Differs from JAX: JAX has nothing alike.

    Example:
      >>> from evertrace.ad_checkpoint import checkpoint_name
      >>> def network(w, x):
      ...     hidden = checkpoint_name(jnp.tanh(w * x), "hidden")
      ...     return hidden.sum()
      >>> result, values = ev.debug.inspect(network)(2.0, jnp.array([0.0, 1.0]))
      >>> values["hidden"].round(3)
      Array([0.   , 0.964], dtype=float32)
      >>> gradient, values = ev.jit(ev.debug.inspect(ev.grad(network), "hidden"))(2.0, 1.0)
      >>> values["hidden"].round(3)
      Array(0.964, dtype=float32)
    """
    check_callable("debug.inspect", f)
    for name in names:
        if not isinstance(name, str):
            raise errors.user_error(
                TypeError,
                f"debug.inspect: names are strings, got a value of type {type(name).__name__}.",
                fix='call the new function with the arguments: `inspect(f, "hidden")(x)`.',
                anchor="debug-inspect",
            )
    wanted = frozenset(names)

    @shortened
    @wraps(f)
    def inspected(*args: P.args, **kwargs: P.kwargs) -> tuple[R, dict[str, Any]]:
        trace = InspectTrace(state.trace, wanted)
        with set_trace(trace):
            leaves, out_tree = flatten_result(f(*args, **kwargs), "debug.inspect")
        values: dict[str, Any] = {}
        for label, value in trace.found.items():
            values.setdefault(label.name, []).append(as_array(value))
        _check_found(names, values)
        result = tree.unflatten(out_tree, map(as_array, leaves))
        return result, {name: x[0] if len(x) == 1 else x for name, x in values.items()}

    return inspected


def _check_found(names, values):
    for name in names:
        if name not in values:
            raise errors.user_error(
                ValueError,
                f"debug.inspect: the function gives no value the name {name!r}.",
                fix=f'name it in the function: `x = checkpoint_name(x, "{name}")`, with '
                "`from evertrace.ad_checkpoint import checkpoint_name`.",
                anchor="debug-inspect",
            )
