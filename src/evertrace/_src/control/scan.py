"""`scan`: a loop of a fixed number of turns over slices of arrays, differentiable in reverse.

The body maps ``(consts, carry, slices of xs)`` to ``(carry, slices of ys)``. Consts are the same in
every turn. A transformation derives a new body and puts what it adds in one of the three places:

  forward mode    tangents stand beside their primals: of consts, of the carry, of xs.
  linearization   a scan that also returns residuals, then a linear scan over them. Residuals that
                  are the same in every turn are consts of the second scan, slices of xs are passed
                  on as they are, and only the rest is stacked.
  transposition   a scan in the other direction: its carry holds the cotangents of the carry and
                  the sums of those of the consts.
  vectorisation   consts and carry are batched in front, xs and ys behind the scanned dimension.

A carry gets a tangent (or a batch dim) if its initial value has one or the body gives it one, which
is found by repeating the derivation until nothing changes.
"""

from typing import Any

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.control import guarded
from evertrace._src.control.bodies import as_types, memo, take, without_operands
from evertrace._src.control.call import split_tangents
from evertrace._src.core import engine
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.divisions import with_dimensions
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import LinearArg, is_linear
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.elementwise import add_any
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.support import merge, partition
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, inline, restage
from evertrace._src.transforms.transpose import transpose_flat

eager: Any = LazyModule("evertrace._src.control.eager")


def bind_scan(jaxpr, consts, carry, xs, *, length, reverse, unroll):
    """Bind a scan of a jaxpr without constvars."""
    return scan_p.bind(
        *consts,
        *carry,
        *xs,
        jaxpr=close_jaxpr(jaxpr),
        length=length,
        reverse=reverse,
        num_consts=len(consts),
        num_carry=len(carry),
        unroll=unroll,
    )


def split_operands(items, num_consts, num_carry):
    """Split a list by operand into those of consts, carry and xs."""
    items = list(items)
    return take(items, num_consts), take(items, num_carry), items


def stacked(aval, length):
    """Return the aval of `length` values of an aval."""
    return aval.update(shape=(length, *aval.shape))


def slice_aval(aval):
    """Return the aval of one slice along the first dimension."""
    return aval.update(shape=aval.shape[1:])


def _scan_abstract(*avals, jaxpr, length, num_carry, **_):
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *[stacked(a, length) for a in outs[num_carry:]]]


def _scan_divide(divisions, divide_jaxpr, *, jaxpr, num_consts, num_carry, **_):
    """A turn sees consts and carry as they are, and xs without the scanned dimension."""
    consts, carry, xs = split_operands(divisions, num_consts, num_carry)
    slices = [with_dimensions(x, x[1:]) for x in xs]

    def turn(carry):
        return divide_jaxpr(jaxpr, [*consts, *carry, *slices])

    carry = divide_jaxpr.settled(lambda carry: turn(carry)[:num_carry], carry)
    ys = turn(carry)[num_carry:]
    return [*carry, *[with_dimensions(y, ((), *y)) for y in ys]]


# ---------------------------------------------------------------- concrete values


def _scan_eager(*args, jaxpr, length, reverse, num_consts, num_carry, unroll):
    consts, carry, xs = split_operands(args, num_consts, num_carry)
    if eager.on_host(args):
        with eager.interpreting():
            if eager.may_interpret(length * eager.cost(jaxpr.jaxpr)):
                return _interpret(jaxpr, length, reverse, consts, carry, xs)
    params = {
        "jaxpr": jaxpr,
        "length": length,
        "reverse": reverse,
        "num_consts": num_consts,
        "num_carry": num_carry,
        "unroll": unroll,
    }
    return eager.run_compiled(scan_p, args, params, jaxpr.jaxpr)


def _interpret(jaxpr, length, reverse, consts, carry, xs):
    backend, num_carry = engine.backend(), len(carry)
    sources = [(x._contents(), slice_aval(x.aval)) for x in xs]
    out_avals = [stacked(a, length) for a in jaxpr.out_avals[num_carry:]]
    stacks = [_empty(aval) for aval in out_avals]
    for i in reversed(range(length)) if reverse else range(length):
        slices = [Array(aval, np.asarray(host[i])) for host, aval in sources]
        outs = backend.interpret_jaxpr(jaxpr, [*consts, *carry, *slices])
        carry = outs[:num_carry]
        for stack, y in zip(stacks, outs[num_carry:], strict=True):
            stack[i] = y._contents()
    return [*as_types(carry, jaxpr.out_avals), *map(from_host, stacks, out_avals)]


def _empty(aval):
    """Return uninitialised host memory for an aval."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        return np.empty((*aval.shape, *aval.dtype.physical_suffix), aval.dtype.physical_dtype)
    return np.empty(aval.shape, aval.dtype)


# ---------------------------------------------------------------- forward mode


def _scan_jvp(primals, tangents, *, jaxpr, length, reverse, num_consts, num_carry, unroll):
    nonzero = tuple(t is not None for t in tangents)
    body, out_nonzero = memo(
        jaxpr.jaxpr,
        ("jvp_scan", nonzero, num_consts, num_carry),
        lambda: _jvp_body(jaxpr.jaxpr, nonzero, num_consts, num_carry),
    )
    consts, carry, xs = split_operands(primals, num_consts, num_carry)
    dconsts, dcarry, dxs = split_operands(tangents, num_consts, num_carry)
    dcarry = _instantiate(carry, dcarry, out_nonzero)
    results = bind_scan(
        body,
        consts + _present(dconsts),
        carry + _present(dcarry),
        xs + _present(dxs),
        length=length,
        reverse=reverse,
        unroll=unroll,
    )
    outs = list(results)  # the list itself may belong to an equation
    dcount = sum(out_nonzero[:num_carry])
    carry, dcarry = take(outs, num_carry), take(outs, dcount)
    ys = take(outs, len(out_nonzero) - num_carry)
    return split_tangents([*carry, *ys, *dcarry, *outs], out_nonzero)


def _jvp_body(jaxpr, nonzero, num_consts, num_carry):
    """Return the body with tangents, and which outputs have one.

    It maps (consts, dconsts, carry, dcarry, xs, dxs) to (carry, dcarry, ys, dys).
    """
    num_ys = len(jaxpr.outvars) - num_carry
    nz_consts, nz_carry, nz_xs = split_operands(nonzero, num_consts, num_carry)
    while True:
        wanted = nz_carry + [False] * num_ys
        derived, found = jvp_jaxpr(jaxpr, nz_consts + nz_carry + nz_xs, wanted)
        if list(found[:num_carry]) == nz_carry:
            break
        nz_carry = list(found[:num_carry])
    invars, outvars = list(derived.invars), list(derived.outvars)
    consts, carry, xs = (take(invars, len(mask)) for mask in (nz_consts, nz_carry, nz_xs))
    dconsts, dcarry, dxs = (take(invars, sum(mask)) for mask in (nz_consts, nz_carry, nz_xs))
    carry_out, ys = take(outvars, num_carry), take(outvars, num_ys)
    dcarry_out = take(outvars, sum(nz_carry))
    body = derived.replace(
        invars=[*consts, *dconsts, *carry, *dcarry, *xs, *dxs],
        outvars=[*carry_out, *dcarry_out, *ys, *outvars],
    )
    return body, found


def _present(tangents):
    return [t for t in tangents if t is not None]


def _instantiate(primals, tangents, nonzero):
    """Return the tangents of the carry with zeros where the loop makes one."""
    return [
        zeros(x.aval) if t is None and nz else t
        for x, t, nz in zip(primals, tangents, nonzero, strict=False)
    ]


# ---------------------------------------------------------------- linearization


def _scan_linearize(primals, tangents, *, jaxpr, length, reverse, num_consts, num_carry, unroll):
    active = tuple(t is not None for t in tangents)
    parts = memo(
        jaxpr.jaxpr,
        ("linearize_scan", active, num_consts, num_carry),
        lambda: _LinearScan(jaxpr.jaxpr, active, num_consts, num_carry),
    )
    consts, carry, xs = split_operands(primals, num_consts, num_carry)
    dconsts, dcarry, dxs = split_operands(tangents, num_consts, num_carry)
    turns = {"length": length, "reverse": reverse, "unroll": unroll}
    outs = bind_scan(parts.primal, consts, carry, xs, **turns)
    stacks = outs[len(jaxpr.out_avals) :]
    outs = outs[: len(jaxpr.out_avals)]
    invariant = [consts[i] for i in parts.const_inputs] + inline(
        parts.hoisted, *[consts[i] for i in parts.hoisted_inputs]
    )
    scanned = [*[xs[i] for i in parts.xs_inputs], *[outs[i] for i in parts.ys_outputs], *stacks]
    dcarry = _instantiate(carry, dcarry, parts.out_active)
    linear_outs = iter(
        bind_scan(
            parts.linear,
            invariant + _present(dconsts),
            _present(dcarry),
            scanned + _present(dxs),
            **turns,
        )
    )
    return outs, [next(linear_outs) if a else None for a in parts.out_active]


class _LinearScan:
    """The two bodies of a linearized scan, and where the second one's residuals come from.

    Attributes:
      primal: the body that returns (carry, ys, residuals to be stacked).
      linear: the body on (invariant residuals, dconsts, dcarry, stacked residuals, dxs).
      out_active: per output, whether it has a tangent.
      const_inputs, xs_inputs: residuals that are consts, or slices of xs, by their indices.
      ys_outputs: residuals that are returned as ys anyway, by the index of the output.
      hoisted: jaxpr of the residuals that depend on consts alone, which is run once;
        hoisted_inputs are the indices of the consts it reads.
    """

    def __init__(self, jaxpr, active, num_consts, num_carry):
        parts = _linearize_body(jaxpr, active, num_consts, num_carry)
        self.out_active = parts.out_active
        num_outs, primal = len(jaxpr.outvars), parts.primal
        computed = iter(primal.outvars[num_outs:])
        ys = {id(v): i for i, v in enumerate(primal.outvars[:num_outs]) if i >= num_carry}
        varying = _depend_on(primal, primal.invars[num_consts:])
        const_vars, hoisted_vars, xs_vars, ys_vars, stack_vars = [], [], [], [], []
        self.const_inputs, self.xs_inputs, self.ys_outputs = [], [], []
        hoisted, stacks = [], []
        num_residuals = len(parts.residuals)
        for var, source in zip(parts.linear.invars[:num_residuals], parts.residuals, strict=True):
            value = next(computed) if source is None else primal.invars[source]
            if source is not None and source < num_consts:
                const_vars.append(var)
                self.const_inputs.append(source)
            elif source is not None and source >= num_consts + num_carry:
                xs_vars.append(var)
                self.xs_inputs.append(source - num_consts - num_carry)
            elif id(value) not in varying:
                hoisted_vars.append(var)
                hoisted.append(value)
            elif id(value) in ys:
                ys_vars.append(var)
                self.ys_outputs.append(ys[id(value)])
            else:
                stack_vars.append(var)
                stacks.append(value)
        self.primal = primal.replace(outvars=primal.outvars[:num_outs] + stacks)
        once = primal.replace(outvars=hoisted, eqns=[e for e in primal.eqns if not e.effects])
        self.hoisted, used = dce_jaxpr(once, [True] * len(hoisted))
        self.hoisted_inputs = [i for i, u in enumerate(used) if u]
        tangents = parts.linear.invars[num_residuals:]
        dconsts = take(tangents, _count_inexact(jaxpr.invars[:num_consts], active))
        dcarry = take(tangents, sum(self.out_active[:num_carry]))
        self.linear = parts.linear.replace(
            invars=[
                *const_vars,
                *hoisted_vars,
                *dconsts,
                *dcarry,
                *xs_vars,
                *ys_vars,
                *stack_vars,
                *tangents,
            ]
        )


def _linearize_body(jaxpr, active, num_consts, num_carry):
    active_consts, active_carry, active_xs = split_operands(active, num_consts, num_carry)
    no_ys = [False] * (len(jaxpr.outvars) - num_carry)
    while True:
        parts = linearize_jaxpr(
            jaxpr, active_consts + active_carry + active_xs, active_carry + no_ys
        )
        found = list(parts.out_active[:num_carry])
        if found == active_carry:
            return parts
        active_carry = found


def _count_inexact(variables, active):
    return sum(a and is_inexact(v.aval) for v, a in zip(variables, active, strict=False))


def _depend_on(jaxpr, variables):
    """Return the ids of a jaxpr's variables that depend on some of its inputs or on effects."""
    dependent = set(map(id, variables))
    for eqn in jaxpr.eqns:
        if eqn.effects or any(id(v) in dependent for v in eqn.invars):
            dependent.update(map(id, eqn.outvars))
    return dependent


# ---------------------------------------------------------------- transposition


def _scan_transpose(cts, *operands, jaxpr, length, reverse, num_consts, num_carry, unroll):
    params = {
        "jaxpr": jaxpr,
        "length": length,
        "reverse": reverse,
        "num_consts": num_consts,
        "num_carry": num_carry,
        "unroll": unroll,
    }
    linear = tuple(map(is_linear, operands))
    consts, carry, xs = split_operands(operands, num_consts, num_carry)
    lin_consts, _, lin_xs = split_operands(linear, num_consts, num_carry)
    lin_carry = _linear_carry(jaxpr.jaxpr, linear, num_consts, num_carry)
    if not all(lin_carry):
        return _transpose_with_known_carry(cts, operands, linear, lin_carry, params)
    given = tuple(ct is not None for ct in cts[num_carry:])
    body = memo(
        jaxpr.jaxpr,
        ("transpose_scan", linear, given, num_consts, num_carry),
        lambda: _transposed_body(jaxpr.jaxpr, lin_consts, lin_xs, given, num_carry),
    )
    ct_consts = [zeros(x.aval) for x in consts if is_linear(x)]
    ct_carry = [zeros(x.aval) if ct is None else ct for x, ct in zip(carry, cts, strict=False)]
    outs = bind_scan(
        body,
        [x for x in consts if not is_linear(x)],
        ct_consts + ct_carry,
        _present(cts[num_carry:]) + [x for x in xs if not is_linear(x)],
        length=length,
        reverse=not reverse,
        unroll=unroll,
    )
    ct_consts, ct_carry, ct_xs = split_operands(outs, len(ct_consts), num_carry)
    ct_consts, ct_xs = iter(ct_consts), iter(ct_xs)
    return [
        *[next(ct_consts) if u else None for u in lin_consts],
        *[ct if is_linear(x) else None for x, ct in zip(carry, ct_carry, strict=True)],
        *[next(ct_xs) if u else None for u in lin_xs],
    ]


def _transposed_body(jaxpr, lin_consts, lin_xs, given, num_carry):
    """Return the body of the backward scan.

    It maps (constant consts; sums for linear consts, cotangents of the carry; cotangents of ys,
    constant xs) to (sums, cotangents of the carry; cotangents of linear xs).
    """
    const_vars, carry_vars, x_vars = split_operands(jaxpr.invars, len(lin_consts), num_carry)
    known_consts = [v.aval for v, u in zip(const_vars, lin_consts, strict=True) if not u]
    sums = [v.aval for v, u in zip(const_vars, lin_consts, strict=True) if u]
    known_xs = [v.aval for v, u in zip(x_vars, lin_xs, strict=True) if not u]
    ct_ys = [v.aval for v, g in zip(jaxpr.outvars[num_carry:], given, strict=True) if g]
    carry = [v.aval for v in carry_vars]

    def body(*args):
        args = list(args)
        constants = iter(take(args, len(known_consts)))
        totals, ct_carry = take(args, len(sums)), take(args, num_carry)
        ct_given, slices = iter(take(args, len(ct_ys))), iter(args)
        operands = [
            *_operands(const_vars, lin_consts, constants),
            *[LinearArg(a) for a in carry],
            *_operands(x_vars, lin_xs, slices),
        ]
        cts = [*ct_carry, *[next(ct_given) if g else None for g in given]]
        results = transpose_flat(lambda *xs: inline(jaxpr, *xs), operands, cts)
        ct_consts, ct_carry, ct_xs = split_operands(results, len(lin_consts), num_carry)
        terms = [ct for ct, u in zip(ct_consts, lin_consts, strict=True) if u]
        totals = [
            total if ct is None else add_any(total, ct)
            for total, ct in zip(totals, terms, strict=True)
        ]
        out_xs = [(v, ct) for v, ct, u in zip(x_vars, ct_xs, lin_xs, strict=True) if u]
        pairs = [*zip(carry_vars, ct_carry, strict=True), *out_xs]
        return totals + [zeros(v.aval) if ct is None else ct for v, ct in pairs]

    return restage(body, [*known_consts, *sums, *carry, *ct_ys, *known_xs])


def _operands(variables, linear, constants):
    return [
        LinearArg(v.aval) if u else next(constants) for v, u in zip(variables, linear, strict=True)
    ]


def _linear_carry(jaxpr, linear, num_consts, num_carry):
    """Return, per carry, whether it depends on the unknowns of a linear scan."""
    carry_in = jaxpr.invars[num_consts : num_consts + num_carry]
    unknown = [v for v, u in zip(jaxpr.invars, linear, strict=True) if u]
    while True:
        dependent = _depend_on(jaxpr, unknown)
        more = [
            v
            for v, out in zip(carry_in, jaxpr.outvars, strict=False)
            if id(out) in dependent and id(v) not in dependent
        ]
        if not more:
            return tuple(id(v) in dependent for v in carry_in)
        unknown += more


def _transpose_with_known_carry(cts, operands, linear, lin_carry, params):
    """Transpose a scan in whose carry some values, such as a counter, are not unknowns.

    They are computed in a loop of their own and become xs of the linear one.
    """
    jaxpr, num_consts, num_carry = params["jaxpr"].jaxpr, params["num_consts"], params["num_carry"]
    known, rest = memo(
        jaxpr,
        ("split_carry", linear, lin_carry, num_consts),
        lambda: _split_carry(jaxpr, linear, lin_carry, num_consts),
    )
    turns = {"length": params["length"], "reverse": params["reverse"], "unroll": params["unroll"]}
    lin_consts, _, lin_xs = split_operands(linear, num_consts, num_carry)
    consts, carry, xs = split_operands(operands, num_consts, num_carry)
    known_carry, unknown_carry = partition(lin_carry, carry)
    outs = bind_scan(
        known, partition(lin_consts, consts)[0], known_carry, partition(lin_xs, xs)[0], **turns
    )
    stacks = outs[len(known_carry) :]
    results = _scan_transpose(
        [ct for ct, u in zip(cts, lin_carry, strict=False) if u] + list(cts[num_carry:]),
        *consts,
        *unknown_carry,
        *xs,
        *stacks,
        jaxpr=close_jaxpr(rest),
        num_consts=num_consts,
        num_carry=len(unknown_carry),
        **turns,
    )
    ct_consts, ct_carry, ct_xs = split_operands(results, num_consts, len(unknown_carry))
    ct_carry = merge(lin_carry, [None] * len(known_carry), ct_carry)
    return [*ct_consts, *ct_carry, *ct_xs[: len(xs)]]


def _split_carry(jaxpr, linear, lin_carry, num_consts):
    """Return two bodies: of the known carry, which also returns it, and of the rest.

    The first maps (known consts, known carry, known xs) to (known carry, known carry before the
    turn), the second (consts, linear carry, xs and known carry) to (linear carry, ys).
    """
    num_carry = len(lin_carry)
    consts, carry, xs = split_operands(jaxpr.invars, num_consts, num_carry)
    lin_consts, _, lin_xs = split_operands(linear, num_consts, num_carry)
    known_carry, unknown_carry = partition(lin_carry, carry)
    known_out, unknown_out = partition(lin_carry, jaxpr.outvars[:num_carry])
    known_consts, known_xs = partition(lin_consts, consts)[0], partition(lin_xs, xs)[0]
    return (
        _body(jaxpr, known_consts + known_carry + known_xs, known_out + known_carry),
        _body(
            jaxpr,
            consts + unknown_carry + xs + known_carry,
            unknown_out + jaxpr.outvars[num_carry:],
        ),
    )


def _body(jaxpr, invars, outvars):
    """Return the part of a jaxpr that computes some outputs from some of its variables."""
    part = jaxpr.replace(invars=invars, outvars=outvars, names=None)
    return dce_jaxpr(part, [True] * len(outvars), keep_inputs=range(len(invars)))[0]


# ---------------------------------------------------------------- vectorisation


def _scan_batch(axis, args, dims, *, jaxpr, length, reverse, num_consts, num_carry, unroll):
    batched = tuple(d is not None for d in dims)
    body, out_batched = memo(
        jaxpr.jaxpr,
        ("batch_scan", axis, batched, num_consts, num_carry),
        lambda: _batch_body(jaxpr.jaxpr, axis, batched, num_consts, num_carry),
    )
    consts, carry, xs = split_operands(args, num_consts, num_carry)
    const_dims, carry_dims, xs_dims = split_operands(dims, num_consts, num_carry)
    size = axis.size
    consts = [_move(x, d, 0, size) for x, d in zip(consts, const_dims, strict=True)]
    carry = [
        move_batch_dim(x, d, 0, size) if b else x
        for x, d, b in zip(carry, carry_dims, out_batched, strict=False)
    ]
    xs = [_move(x, d, 1, size) for x, d in zip(xs, xs_dims, strict=True)]
    outs = bind_scan(body, consts, carry, xs, length=length, reverse=reverse, unroll=unroll)
    return outs, [(0 if i < num_carry else 1) if b else None for i, b in enumerate(out_batched)]


def _move(x, dim, to, size):
    return x if dim is None else move_batch_dim(x, dim, to, size)


def _batch_body(jaxpr, axis, batched, num_consts, num_carry):
    consts, carry, xs = split_operands(batched, num_consts, num_carry)
    no_ys = [False] * (len(jaxpr.outvars) - num_carry)
    while True:
        body, found = batch_jaxpr(jaxpr, axis, consts + carry + xs, carry + no_ys)
        if list(found[:num_carry]) == carry:
            return body, found
        carry = list(found[:num_carry])


scan_p: Primitive = Primitive(
    "scan",
    divide=_scan_divide,
    multiple_results=True,
    cache_types=False,
    abstract=_scan_abstract,
    effects=lambda *, jaxpr, **_: jaxpr.effects,
    eager=without_operands(_scan_eager),
    jvp_call=_scan_jvp,
    linearize=_scan_linearize,
    transpose=_scan_transpose,
    batch_call=_scan_batch,
)


def _guard(chosen, operands, params):
    jaxpr, count = guarded.closed(params["jaxpr"]), params["num_consts"] + 1
    return [chosen, *operands], {**params, "jaxpr": jaxpr, "num_consts": count}


guarded.within[scan_p] = _guard
