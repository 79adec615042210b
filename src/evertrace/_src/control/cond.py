"""`cond`: one of several branches, chosen when the program runs.

The first operand is the index of the branch, int32; the others go to whichever branch runs. All
branches have the same inputs and outputs. So derived branches must agree too: on which outputs have
tangents, and on residuals. Where one branch lacks what another has, it returns zeros.
"""

from evertrace._src.control import guarded
from evertrace._src.control.bodies import (
    batch_first,
    memo,
    select_examples,
    union,
    unused,
    with_zeros,
    without_operands,
)
from evertrace._src.control.call import split_tangents
from evertrace._src.core import engine
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.effects import NO_EFFECTS
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.callback import refuse_io
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import stop_gradient_p
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, inline
from evertrace._src.transforms.transpose import transpose_jaxpr


def bind_cond(index, jaxprs, operands):
    """Bind a choice among jaxprs without constvars."""
    return cond_p.bind(index, *operands, branches=tuple(map(close_jaxpr, jaxprs)))


def _cond_eager(index, *operands, branches):
    chosen = min(max(int(index._contents()), 0), len(branches) - 1)
    return engine.backend().interpret_jaxpr(branches[chosen], operands)


# ---------------------------------------------------------------- differentiation


def _cond_jvp(primals, tangents, *, branches):
    index, *operands = primals
    nonzero = tuple(t is not None for t in tangents[1:])
    wanted = union([jvp_jaxpr(b.jaxpr, nonzero)[1] for b in branches])
    derived = [jvp_jaxpr(b.jaxpr, nonzero, wanted)[0] for b in branches]
    given = [t for t in tangents if t is not None]
    return split_tangents(bind_cond(index, derived, [*operands, *given]), wanted)


def _cond_linearize(primals, tangents, *, branches):
    index, *operands = primals
    active = tuple(t is not None for t in tangents[1:])
    jaxpr = branches[0].jaxpr
    parts = memo(
        jaxpr, ("linearize_cond", active, branches), lambda: _linearize_branches(branches, active)
    )
    primal_branches, linear_branches, inputs, out_active = parts
    results = bind_cond(index, primal_branches, operands)
    n = len(jaxpr.outvars)
    outs, residuals = results[:n], results[n:]
    given = [t for t in tangents if t is not None]
    known = [*residuals, *[operands[i] for i in inputs]]
    linear_outs = iter(bind_cond(index, linear_branches, [*known, *given]))
    return outs, [next(linear_outs) if a else None for a in out_active]


def _linearize_branches(branches, active):
    """Split all branches into primal and linear ones with common residuals.

    Returns the primal branches (outputs, then residuals), the linear ones (residuals, then the
    operands that any of them reads, then tangents), the indices of those operands, and which
    outputs have tangents.
    """
    out_active = union([linearize_jaxpr(b.jaxpr, active).out_active for b in branches])
    parts = [linearize_jaxpr(b.jaxpr, active, out_active) for b in branches]
    inputs = sorted({i for p in parts for i in p.residuals if i is not None})
    slots, places = _share_slots(parts)
    primal = [_primal_branch(p, slots, place) for p, place in zip(parts, places, strict=True)]
    linear = [
        _linear_branch(p, slots, place, inputs, branches[0].in_avals)
        for p, place in zip(parts, places, strict=True)
    ]
    return primal, linear, inputs, out_active


def _share_slots(parts):
    """Give each computed residual a slot of its type; branches share slots.

    Returns the slots' avals and, per branch, the slots of its computed residuals.
    """
    slots, places = [], []
    for part in parts:
        free = list(range(len(slots)))
        place = []
        for var, source in zip(part.linear.invars, part.residuals, strict=False):
            if source is not None:
                continue
            slot = next((k for k in free if slots[k] is var.aval), None)
            if slot is None:
                slot = len(slots)
                slots.append(var.aval)
            else:
                free.remove(slot)
            place.append(slot)
        places.append(place)
    return slots, places


def _primal_branch(part, slots, place):
    n = len(part.out_active)
    at = {slot: n + i for i, slot in enumerate(place)}
    present = [*range(n), *[at.get(k) for k in range(len(slots))]]
    avals = [*part.primal.out_avals[:n], *slots]
    return with_zeros(part.primal, present, avals)


def _linear_branch(part, slots, place, inputs, in_avals):
    count = len(part.residuals)
    computed, read, place = {}, {}, iter(place)
    for var, source in zip(part.linear.invars[:count], part.residuals, strict=True):
        if source is None:
            computed[next(place)] = var
        else:
            read[source] = var
    invars = [computed[k] if k in computed else unused(a) for k, a in enumerate(slots)]
    invars += [read[i] if i in read else unused(in_avals[i]) for i in inputs]
    return part.linear.replace(invars=invars + part.linear.invars[count:])


def _cond_transpose(cts, index, *operands, branches):
    linear = tuple(map(is_linear, operands))
    given = tuple(ct is not None for ct in cts)
    parts = [transpose_jaxpr(b.jaxpr, linear, given) for b in branches]
    wanted = union([found for _, found in parts])
    unknowns = [x.aval for x in operands if is_linear(x)]
    avals = [a for a, w in zip(unknowns, wanted, strict=True) if w]
    derived = [
        with_zeros(jaxpr, [i for i, w in zip(_positions(found), wanted, strict=True) if w], avals)
        for jaxpr, found in parts
    ]
    constants = [x for x in operands if not is_linear(x)]
    results = iter(bind_cond(index, derived, [*constants, *[ct for ct in cts if ct is not None]]))
    by_unknown = iter([next(results) if w else None for w in wanted])
    return [None, *[next(by_unknown) if u else None for u in linear]]


def _positions(found):
    """Return, per true entry, how many stand before it, and None for the others."""
    return [sum(found[:i]) if f else None for i, f in enumerate(found)]


# ---------------------------------------------------------------- vectorisation


def _cond_batch(axis, args, dims, *, branches):
    index, *operands = batch_first(axis.size, args, dims)
    batched = tuple(d is not None for d in dims[1:])
    if dims[0] is not None:
        return _run_all_branches(axis, index, operands, batched, branches)
    wanted = union([batch_jaxpr(b.jaxpr, axis, batched)[1] for b in branches])
    derived = [batch_jaxpr(b.jaxpr, axis, batched, wanted)[0] for b in branches]
    return bind_cond(index, derived, operands), [0 if w else None for w in wanted]


def _run_all_branches(axis, index, operands, batched, branches):
    """Run every branch on the whole batch and choose per example.

    A branch gets the operands of the other examples without their derivatives: whatever it makes of
    values that it was not meant for, NaN included, does not reach their gradients. What every
    branch hands on as it is stays as it is, so it need not be batched.
    """
    refuse_io("cond", branches)
    wanted = (True,) * len(branches[0].out_avals)
    results = []
    for i, branch in enumerate(branches):
        mine = eq_p.bind(index, literal(i, index.aval.dtype))
        shielded = [
            select_examples(mine, stop_gradient_p.bind(x), x) if b and is_inexact(x.aval) else x
            for x, b in zip(operands, batched, strict=True)
        ]
        if axis.of_mesh and guarded.looks_on(branch.jaxpr):
            jaxpr = guarded.guarded(branch.jaxpr)
            derived = batch_jaxpr(jaxpr, axis, (True, *batched), wanted)[0]
            results.append(inline(derived, mine, *shielded))
        else:
            derived = batch_jaxpr(branch.jaxpr, axis, batched, wanted)[0]
            results.append(inline(derived, *shielded))
    outs, dims = [], []
    for place, cases in zip(_handed_on(branches), zip(*results, strict=True), strict=True):
        outs.append(select_examples(index, *cases) if place is None else operands[place])
        dims.append(0 if place is None or batched[place] else None)
    return outs, dims


def _handed_on(branches):
    """Return for each output the place of the operand that it is in every branch, or None."""
    rows = []
    for branch in branches:
        places = {id(v): i for i, v in enumerate(branch.jaxpr.invars)}
        rows.append([places.get(id(v)) for v in branch.jaxpr.outvars])
    return [column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True)]


def _cond_divide(divisions, divide_jaxpr, *, branches):
    """Results lie as far as all branches agree."""
    divide_jaxpr.decide(divisions[0])
    first, *rest = [divide_jaxpr(branch, divisions[1:]) for branch in branches]
    for other in rest:
        first = [divide_jaxpr.joined(a, b) for a, b in zip(first, other, strict=True)]
    return first


cond_p: Primitive = Primitive(
    "cond",
    divide=_cond_divide,
    multiple_results=True,
    cache_types=False,
    abstract=lambda index, *avals, branches: branches[0].out_avals,
    effects=lambda *, branches: NO_EFFECTS.union(*[b.effects for b in branches]),
    eager=without_operands(_cond_eager),
    jvp_call=_cond_jvp,
    linearize=_cond_linearize,
    transpose=_cond_transpose,
    batch_call=_cond_batch,
)


def _guard(chosen, operands, params):
    index, *operands = operands
    branches = tuple(map(guarded.closed, params["branches"]))
    return [index, chosen, *operands], {**params, "branches": branches}


guarded.within[cond_p] = _guard
