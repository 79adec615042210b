"""`while`: a body repeated as long as a condition on the carry holds.

Operands are the condition's captured values, the body's, and the initial carry. The number of turns
is unknown before the loop has run, so there is nothing to keep residuals in: forward mode extends
the carry by tangents; reverse mode is refused. See `bounded` for loops with a greatest number.
"""

from evertrace._src import errors
from evertrace._src.control import guarded
from evertrace._src.control.bodies import (
    as_types,
    batch_first,
    memo,
    select_examples,
    take,
    unused,
    without_operands,
)
from evertrace._src.control.call import split_tangents
from evertrace._src.control.eager import cost, interpreting, may_interpret, on_host, run_compiled
from evertrace._src.core import engine
from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.callback import refuse_io
from evertrace._src.ops.reduce import reduce_or_p
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, inline, restage


def bind_while(cond_jaxpr, cond_consts, body_jaxpr, body_consts, carry):
    """Bind a loop of jaxprs without constvars, whose first inputs are the consts."""
    return while_p.bind(
        *cond_consts,
        *body_consts,
        *carry,
        cond_jaxpr=close_jaxpr(cond_jaxpr),
        cond_nconsts=len(cond_consts),
        body_jaxpr=close_jaxpr(body_jaxpr),
        body_nconsts=len(body_consts),
    )


def split_operands(items, cond_nconsts, body_nconsts):
    """Split a list by operand into those of the condition's consts, the body's and the carry."""
    items = list(items)
    return take(items, cond_nconsts), take(items, body_nconsts), items


def _while_eager(*args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    cond_consts, body_consts, carry = split_operands(args, cond_nconsts, body_nconsts)
    backend = engine.backend()
    turn = cost(cond_jaxpr.jaxpr) + cost(body_jaxpr.jaxpr)
    if on_host(args):
        with interpreting():
            while may_interpret(turn):
                (go_on,) = backend.interpret_jaxpr(cond_jaxpr, [*cond_consts, *carry])
                if not go_on._contents():
                    return as_types(carry, body_jaxpr.out_avals)
                carry = backend.interpret_jaxpr(body_jaxpr, [*body_consts, *carry])
    params = {
        "cond_jaxpr": cond_jaxpr,
        "cond_nconsts": cond_nconsts,
        "body_jaxpr": body_jaxpr,
        "body_nconsts": body_nconsts,
    }
    return run_compiled(while_p, [*cond_consts, *body_consts, *carry], params, body_jaxpr.jaxpr)


# ---------------------------------------------------------------- differentiation


def while_jvp(
    primals, tangents, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts, bind=bind_while
):
    """Bind the loop over primals and tangents by `bind`, a function like `bind_while`."""
    cond_consts, body_consts, carry = split_operands(primals, cond_nconsts, body_nconsts)
    _, dconsts, dcarry = split_operands(tangents, cond_nconsts, body_nconsts)
    cond, body, nonzero = _jvp_loop(
        cond_jaxpr.jaxpr, body_jaxpr.jaxpr, cond_nconsts, dconsts, dcarry
    )
    dconsts = [t for t in dconsts if t is not None]
    dcarry = [
        zeros(x.aval) if t is None else t
        for x, t, nz in zip(carry, dcarry, nonzero, strict=True)
        if nz
    ]
    outs = bind(cond, cond_consts, body, [*body_consts, *dconsts], [*carry, *dcarry])
    return split_tangents(outs, nonzero)


def _jvp_loop(cond_jaxpr, body_jaxpr, cond_nconsts, dconsts, dcarry):
    """Return condition and body of the loop with tangents, and which carries have one."""
    const_nonzero = tuple(t is not None for t in dconsts)
    init_nonzero = tuple(t is not None for t in dcarry)
    key = ("jvp_while", cond_jaxpr, const_nonzero, init_nonzero)
    return memo(
        body_jaxpr,
        key,
        lambda: _make_jvp_loop(cond_jaxpr, body_jaxpr, cond_nconsts, const_nonzero, init_nonzero),
    )


def _make_jvp_loop(cond_jaxpr, body_jaxpr, cond_nconsts, const_nonzero, nonzero):
    while True:  # a carry has a tangent if its initial value or its new one has
        derived, found = jvp_jaxpr(body_jaxpr, const_nonzero + nonzero, nonzero)
        if found == nonzero:
            break
        nonzero = found
    # (consts, carry, dconsts, dcarry) -> (consts, dconsts, carry, dcarry)
    rest = list(derived.invars)
    consts, carry = take(rest, len(const_nonzero)), take(rest, len(nonzero))
    dconsts = take(rest, sum(const_nonzero))
    body = derived.replace(invars=[*consts, *dconsts, *carry, *rest])
    carry = cond_jaxpr.invars[cond_nconsts:]
    dcarry = [unused(v.aval) for v, nz in zip(carry, nonzero, strict=True) if nz]
    return cond_jaxpr.replace(invars=cond_jaxpr.invars + dcarry), body, nonzero


def _while_linearize(primals, tangents, **params):
    """Compute the outputs; the tangents are a second loop that computes both."""
    outs = while_p.bind(*primals, **params)
    return outs, while_jvp(primals, tangents, **params)[1]


def _while_transpose(cts, *operands, **params):
    raise errors.user_error(
        ValueError,
        "while_loop: reverse-mode differentiation needs the values of every turn, and a loop whose "
        "number of turns is unknown has no place to keep them (fori_loop with traced bounds is "
        "such a loop too).",
        fix="give a greatest number of turns, `while_loop(..., max_steps=n)`, or use `scan`, or "
        "`fori_loop` with bounds that are Python integers, or forward mode (`jvp`, `jacfwd`).",
        anchor="reverse-while",
    )


# ---------------------------------------------------------------- vectorisation


def while_batch(
    axis, args, dims, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts, bind=bind_while
):
    """Bind the loop over a batch by `bind`, a function like `bind_while`."""
    batched = split_operands([d is not None for d in dims], cond_nconsts, body_nconsts)
    cond_batched, body_batched, carry_batched = map(tuple, batched)
    cond, body, carry_batched, pred_batched = memo(
        body_jaxpr.jaxpr,
        ("batch_while", cond_jaxpr, axis, cond_batched, body_batched, carry_batched),
        lambda: _batch_loop(
            cond_jaxpr.jaxpr, body_jaxpr.jaxpr, axis, cond_batched, body_batched, carry_batched
        ),
    )
    args = batch_first(axis.size, args, dims)
    cond_consts, body_consts, carry = split_operands(args, cond_nconsts, body_nconsts)
    start = [
        move_batch_dim(x, None, 0, axis.size) if b and d is None else x
        for x, d, b in zip(carry, dims[cond_nconsts + body_nconsts :], carry_batched, strict=True)
    ]
    if pred_batched:
        body_consts = [*cond_consts, *body_consts]
    outs = bind(cond, cond_consts, body, body_consts, start)
    return outs, [0 if b else None for b in carry_batched]


def _batch_loop(cond_jaxpr, body_jaxpr, axis, cond_batched, body_batched, carry_batched):
    """Return condition and body of the loop over a batch.

    Also returns which carries are batched, and whether the condition is.
    """
    while True:
        body, found = batch_jaxpr(body_jaxpr, axis, body_batched + carry_batched, carry_batched)
        cond, (pred_batched,) = batch_jaxpr(cond_jaxpr, axis, cond_batched + carry_batched)
        if pred_batched:
            found = (True,) * len(carry_batched)
        if found == carry_batched:
            break
        carry_batched = found
    if pred_batched:
        refuse_io("while_loop", [cond_jaxpr, body_jaxpr])
        looks_on = axis.of_mesh and guarded.looks_on(body_jaxpr)
        if looks_on:
            batched = (True, *body_batched, *carry_batched)
            body = batch_jaxpr(guarded.guarded(body_jaxpr), axis, batched, carry_batched)[0]
        cond, body = _until_all_are_done(cond, body, len(cond_batched), looks_on)
    return cond, body, carry_batched, pred_batched


def _until_all_are_done(cond, body, cond_nconsts, looks_on):
    """Return condition and body for examples that stop at different times.

    The loop runs while any example goes on; those that are done keep their carry. A body that
    looks on takes first who goes on.
    """
    body_nconsts = len(body.in_avals) - looks_on - (len(cond.in_avals) - cond_nconsts)

    def any_goes_on(*args):
        return [reduce_or_p.bind(*inline(cond, *args), axes=(0,))]

    def step(*args):
        cond_consts, body_consts, carry = split_operands(args, cond_nconsts, body_nconsts)
        (goes_on,) = inline(cond, *cond_consts, *carry)
        new = inline(body, *[goes_on][:looks_on], *body_consts, *carry)
        return [select_examples(goes_on, x, y) for x, y in zip(carry, new, strict=True)]

    avals = cond.in_avals[:cond_nconsts] + body.in_avals[looks_on:]
    return restage(any_goes_on, cond.in_avals), restage(step, avals)


def _while_divide(divisions, divide_jaxpr, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """The carry lies as a turn of the body leaves it."""
    consts = divisions[cond_nconsts:][:body_nconsts]
    carry = divisions[cond_nconsts + body_nconsts :]
    carry = divide_jaxpr.settled(lambda c: divide_jaxpr(body_jaxpr, [*consts, *c]), carry)
    (goes_on,) = divide_jaxpr(cond_jaxpr, [*divisions[:cond_nconsts], *carry])
    divide_jaxpr.decide(goes_on)
    return carry


while_p: Primitive = Primitive(
    "while",
    divide=_while_divide,
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts: (
        body_jaxpr.out_avals
    ),
    effects=lambda *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts: (
        cond_jaxpr.effects | body_jaxpr.effects
    ),
    eager=without_operands(_while_eager),
    jvp_call=while_jvp,
    linearize=_while_linearize,
    transpose=_while_transpose,
    batch_call=while_batch,
)


def _guard(chosen, operands, params):
    cond_nconsts, body = params["cond_nconsts"], guarded.closed(params["body_jaxpr"])
    operands = [*operands[:cond_nconsts], chosen, *operands[cond_nconsts:]]
    return operands, {**params, "body_jaxpr": body, "body_nconsts": params["body_nconsts"] + 1}


guarded.within[while_p] = _guard
