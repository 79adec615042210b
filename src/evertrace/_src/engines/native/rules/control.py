"""Control flow: calls are written in place, branches and loops run tapes of their own."""

from typing import Any, NamedTuple

from evertrace._src.control import checkpoint, composite
from evertrace._src.control import scan as scans
from evertrace._src.control.bounded import bounded_while_p, program
from evertrace._src.control.call import jit_p
from evertrace._src.control.cond import cond_p
from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.custom_partitioning import custom_partitioning_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p
from evertrace._src.control.custom_vmap import custom_vmap_call_p
from evertrace._src.control.linear import linear_call_p
from evertrace._src.control.loop import split_operands, while_p
from evertrace._src.control.policies import name_p
from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.native import costs, invariants, repeats
from evertrace._src.engines.native.emit import (
    ALIAS,
    COND,
    COPY,
    GATHER,
    LOOP,
    MATMUL,
    REDUCE,
    SCAN,
    SLICE,
    SPREAD,
    WHILE,
    Emitter,
    emission,
    kind_of,
    memory_of,
)
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.platform import index_of, platform_index_p

UNKNOWN_TURNS = 20
"""How often a loop is taken to turn whose number of turns is not known.

Such loops are nested where numbers are drawn until they fit, and are short there. What compiling
them costs is known, what it gains is not.
"""

UNNESTED_TURNS = 300
"""The same of a loop of small arrays that is in no other: what a program is written for."""

COUNTED_TURNS = 100_000
"""The same of a loop that counts to a bound, if it carries only small arrays.

A turn of those costs a tape several times what it costs XLA's scalar code. Of larger arrays a tape
is faster however long the loop is; and loops until something holds are mostly short.
"""

SMALL = 16
"""Elements up to which XLA writes the operations of a loop out, one by one."""

# ---------------------------------------------------------------- calls


@emission.define(jit_p, composite.composite_p, custom_partitioning_p)
def _call(e, eqn, xs):
    return e.inline(repeats.without(eqn.params["jaxpr"].jaxpr), xs)


@emission.define(custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p)
def _custom(e, eqn, xs):
    return e.inline(eqn.params["call_jaxpr"].jaxpr, xs)


@emission.define(checkpoint.remat_p)
def _remat(e, eqn, xs):
    return e.inline(eqn.params["jaxpr"], xs)


@emission.define(checkpoint.optimization_barrier_p)
def _barrier(e, eqn, xs):
    return xs


@emission.define(name_p)
def _name(e, eqn, xs):
    return xs[0]


@emission.define(linear_call_p)
def _linear_call(e, eqn, xs):
    counts = eqn.params["counts"]
    consts, residuals = counts[0], counts[0] + counts[1]
    return e.inline(eqn.params["fun"].jaxpr, [*xs[:consts], *xs[residuals:]])


@emission.define(platform_index_p)
def _platform_index(e, eqn, xs):
    return e.scalar(index_of(eqn.params["platforms"], "cpu"), kind_of(eqn.outvars[0].aval)[0])


# ---------------------------------------------------------------- branches and loops


class Body(NamedTuple):
    """A branch or the body of a loop.

    Attributes:
      tape: it.
      cost: nanoseconds of work, as a tape.
      xla: the same by XLA's code.
      compilation: nanoseconds that XLA takes to compile it.
      is_function: whether XLA writes all of it out as one function: it is about few numbers.
      loop_cost, fused, left: see `Emitter`.
    """

    tape: Any
    cost: float
    xla: float
    compilation: float
    is_function: bool
    loop_cost: float
    fused: list[Any]
    left: dict[tuple[str, str], int]


def body(jaxpr, inputs, outputs, carried=(), divide=None, runs=1):
    """Return the `Body` of a jaxpr, whose inputs and outputs come in a given order.

    Args:
      jaxpr: without constvars.
      inputs: indices of its inputs, each once.
      outputs: indices of those outputs that are wanted.
      carried: pairs of (input, output), as they are numbered then, that may share memory.
      divide: see `Emitter`.
      runs: likewise.
    """
    key = ("native", divide, runs, tuple(inputs), tuple(outputs), tuple(carried))
    found = jaxpr.cache.get(key)
    if found is None:
        e = Emitter(divide, runs, is_nested=True)
        values = [e.new(memory_of(v.aval)) for v in jaxpr.invars]
        outs = e.inline(jaxpr, values)
        tape = e.tape([values[i] for i in inputs], [outs[i] for i in outputs], carried)
        moved = [*[values[inputs[i]] for i, _ in carried], *[outs[i] for i in outputs]]
        found = jaxpr.cache[key] = _measured(e, tape, e.size_of(moved))
    return found


def _measured(e, tape, size):
    is_function = all(
        op in _WRITTEN_OUT and all(e.values[x][1] <= costs.FEW_NUMBERS for x in outs)
        for op, outs, *_ in e.code
    )
    if is_function:
        xla = costs.xla_function_cost(e.xla_cost, len(e.code))
    else:
        xla = costs.xla_turn_cost(e.xla_cost, 1 + e.xla_kernels, size)
    # A kernel spares a turn its instructions, too.
    loops = e.loop_cost + costs.NS_PER_OP * len(e.code)
    return Body(tape, e.cost, xla, e.compilation, is_function, loops, e.fused, e.left)


def _count(e, turns, *bodies):
    """Count loops that run so often in bodies, and the kernels in those."""
    for made in bodies:
        e.loop_cost += turns * made.loop_cost
        e.fused += made.fused
        e.left.update(made.left)


_WRITTEN_OUT = (LOOP, SPREAD, ALIAS, COPY, SLICE, GATHER, REDUCE, MATMUL)


@emission.define(cond_p)
def _cond(e, eqn, xs):
    branches = [b.jaxpr for b in eqn.params["branches"]]
    order, wanted = range(len(xs) - 1), range(len(eqn.outvars))
    made = [body(j, order, wanted, (), e.divide, e.runs_of(1 / len(branches))) for j in branches]
    outs = [e.new(memory_of(v.aval)) for v in eqn.outvars]
    e.add(COND, tuple(outs), xs, "", (), tuple(b.tape for b in made))
    compilation = sum(b.compilation for b in made)
    e.spend(max(b.cost for b in made), max(b.xla for b in made), compilation)
    _count(e, 1 / len(made), *made)
    return outs


def invariant(jaxpr, num_consts, num_carry):
    """Return which carries are the same in every turn."""
    return [jaxpr.outvars[k] is jaxpr.invars[num_consts + k] for k in range(num_carry)]


def _without_invariants(e, jaxpr, xs, consts, fixed):
    """Write what each turn of a loop would compute anew; returns its body, operands and constants.

    Args:
      e: the `Emitter`.
      jaxpr: the body.
      xs: its operands in the first turn.
      consts: how many of these are its constants, in front.
      fixed: indices of carries that are the same in every turn.
    """
    before = [*range(consts), *fixed]
    jaxpr = repeats.without(jaxpr)
    found = invariants.lifted(jaxpr, before)
    if found is None:
        return jaxpr, xs, consts
    program, rest = found
    made = e.inline(program, [xs[i] for i in before])
    return rest, [*made, *xs], consts + len(made)


@emission.define(scans.scan_p)
def _scan(e, eqn, xs):
    p = eqn.params
    jaxpr, consts, carries = p["jaxpr"].jaxpr, p["num_consts"], p["num_carry"]
    same = invariant(jaxpr, consts, carries)
    fixed = [k for k in range(carries) if same[k]]
    moving = [k for k in range(carries) if not same[k]]
    jaxpr, xs, consts = _without_invariants(e, jaxpr, xs, consts, [consts + k for k in fixed])
    order = [
        *range(consts),
        *[consts + k for k in fixed],
        *[consts + k for k in moving],
        *range(consts + carries, len(xs)),
    ]
    kept = [*moving, *range(carries, len(eqn.outvars))]
    first = consts + len(fixed)
    pairs = [(first + i, i) for i in range(len(moving))]
    turn = body(jaxpr, order, kept, pairs, e.divide, e.runs_of(p["length"]))
    made = {k: e.new(memory_of(eqn.outvars[k].aval)) for k in kept}
    numbers = (first, len(moving), p["length"], int(p["reverse"]))
    outs, ins = tuple(made[k] for k in kept), tuple(xs[i] for i in order)
    e.add(SCAN, outs, ins, "", numbers, (turn.tape,))
    e.spend(p["length"] * turn.cost, p["length"] * turn.xla, turn.compilation)
    _count(e, p["length"], turn)
    return [made.get(k, xs[consts + k] if k < carries else None) for k in range(len(eqn.outvars))]


def _turns(e, test, turn, a, b):
    """Estimate how often a loop turns, whose bodies have `a` and `b` constants."""
    if any(v.aval.size > SMALL for v in turn.invars):
        return UNKNOWN_TURNS
    if _counts(test, turn, a, b):
        return COUNTED_TURNS
    return UNKNOWN_TURNS if e.is_nested else UNNESTED_TURNS


def _counts(test, turn, a, b):
    """Whether a loop goes on while a carry, to which each turn adds a number, is below a bound."""
    if [eqn.primitive for eqn in test.eqns] != [lt_p]:
        return False
    counter = test.eqns[0].invars[0]
    places = [k for k, v in enumerate(test.invars[a:]) if v is counter]
    return any(
        eqn.primitive is add_p
        and eqn.outvars[0] is turn.outvars[k]
        and eqn.invars[0] is turn.invars[b + k]
        and isinstance(eqn.invars[1], Literal)
        for k in places
        for eqn in turn.eqns
    )


@emission.define(while_p)
def _while(e, eqn, xs):
    p = eqn.params
    test, turn = p["cond_jaxpr"].jaxpr, p["body_jaxpr"].jaxpr
    a, b = p["cond_nconsts"], p["body_nconsts"]
    test_consts, turn_consts, carry = split_operands(xs, a, b)
    same = invariant(turn, b, len(carry))
    fixed = [k for k in range(len(carry)) if same[k]]
    moving = [k for k in range(len(carry)) if not same[k]]
    test_order = [*range(a), *[a + k for k in fixed], *[a + k for k in moving]]
    turns = _turns(e, test, turn, a, b)
    asked = body(test, test_order, [0], (), e.divide, e.runs_of(turns))
    turn, turn_xs, b = _without_invariants(
        e, turn, [*turn_consts, *carry], b, [b + k for k in fixed]
    )
    first = b + len(fixed)
    turn_order = [*range(b), *[b + k for k in fixed], *[b + k for k in moving]]
    pairs = [(first + i, i) for i in range(len(moving))]
    turned = body(turn, turn_order, moving, pairs, e.divide, e.runs_of(turns))
    constant = [carry[k] for k in fixed]
    made = {k: e.new(memory_of(eqn.outvars[k].aval)) for k in moving}
    ins = [*test_consts, *constant, *turn_xs[:b], *constant, *[carry[k] for k in moving]]
    numbers = (a + len(fixed), first)
    e.add(WHILE, tuple(made.values()), tuple(ins), "", numbers, (asked.tape, turned.tape))
    compilation = asked.compilation + turned.compilation
    e.spend(turns * (asked.cost + turned.cost), turns * (asked.xla + turned.xla), compilation)
    _count(e, turns, asked, turned)
    return [made.get(k, carry[k]) for k in range(len(carry))]


@emission.define(bounded_while_p)
def _bounded_while(e, eqn, xs):
    return e.inline(program("plain", **eqn.params), xs)
