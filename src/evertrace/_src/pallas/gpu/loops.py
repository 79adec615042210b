"""Rules of loops, branches and calls.

What a loop carries is numbers in registers, and blocks in memory that it writes parts of: these
stay where they are. Whether a block stays is found by writing the body: if it comes out as numbers,
the body is written again with numbers from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src.control import bounded
from evertrace._src.control import loop as whiles
from evertrace._src.control import scan as scans
from evertrace._src.core.jaxpr import Eqn, Literal
from evertrace._src.pallas.gpu.builder import INT32
from evertrace._src.pallas.gpu.lowering import Lowering, rule
from evertrace._src.pallas.gpu.memory import add, load
from evertrace._src.pallas.gpu.structure import part, put, reshaped
from evertrace._src.pallas.gpu.values import Tensor, Value, View


@rule("jit")
def _jit(lw: Lowering, eqn: Eqn, *xs: Value) -> list[Value]:
    return lw.run(eqn.params["jaxpr"].jaxpr, xs)


@rule("custom_jvp_call", "custom_vjp_call", "custom_vmap_call")
def _custom(lw: Lowering, eqn: Eqn, *xs: Value) -> list[Value]:
    return lw.run(eqn.params["call_jaxpr"].jaxpr, xs)


@rule("remat2")
def _remat(lw: Lowering, eqn: Eqn, *xs: Value) -> list[Value]:
    jaxpr = eqn.params["jaxpr"]
    return lw.run(getattr(jaxpr, "jaxpr", jaxpr), xs)


def _here(lw: Lowering, x: Value) -> Tensor:
    """Return a value in registers, written where we are (what is loaded is not remembered)."""
    found = load(lw, x) if isinstance(x, View) else lw.tensor(x)
    return Tensor(found.shape, found.dtype, lw.b.name(found))


@rule("bounded_while")
def _bounded_while(lw: Lowering, eqn: Eqn, *xs: Value) -> list[Value]:
    return lw.run(bounded.program("plain", **eqn.params), xs)


# ------------------------------------------------------------------------ branches


@rule("cond")
def _cond(lw: Lowering, eqn: Eqn, index: Value, *xs: Value) -> list[Value]:
    branches = [branch.jaxpr for branch in eqn.params["branches"]]
    which = lw.tensor(index)
    if which.const is not None:
        return lw.run(branches[min(max(int(which.const), 0), len(branches) - 1)], xs)
    lw.entered(xs)
    return _choose(lw, which, branches, xs, 0)


def _choose(lw, which, branches, xs, first):
    """Write the branches from number `first` on."""
    if first == len(branches) - 1:
        return lw.run(branches[first], xs, is_region=True)
    is_later = lw.b.compare("gt", which, lw.b.constant(first, which.dtype))

    def later():
        return _choose(lw, which, branches, xs, first + 1)

    def this():
        return lw.run(branches[first], xs, is_region=True)

    return branch(lw, is_later, later, this)


def branch(lw: Lowering, condition: Tensor, then: Callable, other: Callable) -> list[Value]:
    """Write two regions of which one is run, and return what comes out of them."""
    b, roots = lw.b, lw.roots
    condition_name = b.name(condition)
    opening = len(b.lines)
    before = [root.state() for root in roots]
    results, states, marks = [], [], []
    for region in (then, other):
        for root, state in zip(roots, before, strict=True):
            root.restore(state)
        lw.enter()
        begin = len(b.lines)
        results.append(region())
        states.append([root.state() for root in roots])
        marks.append((begin, len(b.lines), b._known.pop()))
        b._known.append({})
        lw.leave()
    return _merged(lw, roots, results, states, marks, opening, condition_name)


def _merged(lw, roots, results, states, marks, opening, condition):
    """Join two regions: what both leave in one place of memory stays there."""
    b = lw.b
    texts = [b.lines[begin:end] for begin, end, _ in marks]
    del b.lines[opening:]
    stays = [
        isinstance(x, View) and x.is_place_of(y)
        and _is_latest(roots, states[0], x) and _is_latest(roots, states[1], y)
        for x, y in zip(*results, strict=True)
    ]  # fmt: skip
    yielded = []
    for text, values, state, (_, _, known) in zip(texts, results, states, marks, strict=True):
        for root, s in zip(roots, state, strict=True):
            root.restore(s)
        lw.enter()
        b._known[-1].update(known)
        start = len(b.lines)
        b.lines += text
        numbers = [_here(lw, x) for x, s in zip(values, stays, strict=True) if not s]
        if numbers:
            b.line(_yield("scf.yield", numbers))
        states[len(yielded)] = [root.state() for root in roots]
        texts[len(yielded)] = b.lines[start:]
        del b.lines[start:]
        yielded.append(numbers)
        lw.leave()
    outs = [Tensor(x.shape, x.dtype) for x in yielded[0]]
    names = _results(b, outs)
    types = ", ".join([x.type for x in outs])
    b.line(f"{names}scf.if {condition}" + (f" -> ({types})" if outs else "") + " {")
    b.lines += texts[0]
    if texts[1]:
        b.line("} else {")
        b.lines += texts[1]
    b.line("}")
    for i, root in enumerate(roots):
        (u0, v0, s0, l0), (u1, v1, s1, l1) = states[0][i], states[1][i]
        root.restore((u0 and u1, max(v0, v1), s0 or s1, l0 or l1))
    numbers = iter(outs)
    return [
        x._replace(version=x.root.version) if s else next(numbers)
        for x, s in zip(results[0], stays, strict=True)
    ]


def _is_latest(roots, states, view):
    version = next(s[1] for r, s in zip(roots, states, strict=True) if r is view.root)
    return view.version == version


def _yield(op, values):
    names = ", ".join([x.name for x in values])
    return f"{op} {names} : {', '.join([x.type for x in values])}" if values else op


def _results(b, outs):
    """Name the results of an operation, and return what stands before it in its line."""
    if not outs:
        return ""
    name = b.fresh()
    for i, x in enumerate(outs):
        x.name = name if len(outs) == 1 else f"{name}#{i}"
    return f"{name} = " if len(outs) == 1 else f"{name}:{len(outs)} = "


# ------------------------------------------------------------------------ loops


class _Carry:
    """What a loop carries: numbers, and blocks that stay in memory.

    Args:
      lw: the lowering.
      values: at the beginning.
      stays: for each, whether it is a block that stays.
    """

    def __init__(self, lw, values, stays):
        self.lw, self.values, self.stays = lw, values, stays
        self.inits = [_here(lw, x) for x, s in zip(values, stays, strict=True) if not s]

    def enter(self, names):
        """Return the values in the body, whose arguments have some names."""
        names = iter(names)
        for x, stays in zip(self.values, self.stays, strict=True):
            if stays:  # an earlier turn may have stored, and loaded
                x.root.stored = x.root.loaded = True
                x.root.is_undefined = False
        return [
            x if stays else Tensor(x.shape, x.dtype, next(names))
            for x, stays in zip(self.values, self.stays, strict=True)
        ]

    def wrong(self, results):
        """Return which blocks that should stay come out of the body as something else."""
        return [
            s and not (isinstance(y, View) and x.is_place_of(y) and y.version == y.root.version)
            for x, y, s in zip(self.values, results, self.stays, strict=True)
        ]

    def leave(self, outs):
        """Return the values after the loop, whose results are some tensors."""
        outs = iter(outs)
        return [
            x._replace(version=x.root.version) if s else next(outs)
            for x, s in zip(self.values, self.stays, strict=True)
        ]


def _with_carry(lw: Lowering, values: Any, write: Callable) -> list[Value]:
    """Write a loop by a function of a `_Carry` to the results, or to which blocks cannot stay."""
    lw.entered(values)
    stays = [isinstance(x, View) and x.root.is_output for x in values]
    while True:
        mark, states = lw.b.mark(), [root.state() for root in lw.roots]
        found, wrong = write(_Carry(lw, values, stays))
        if found is not None:
            return found
        lw.b.back(mark)
        for root, state in zip(lw.roots, states, strict=True):
            root.restore(state)
        stays = [s and not w for s, w in zip(stays, wrong, strict=True)]


def counted(lw: Lowering, lower: Tensor, upper: Tensor, values: Any, body: Callable) -> list[Value]:
    """Write a loop over int32s.

    Args:
      lw: the lowering.
      lower: first index, an int32 scalar.
      upper: end of the range, likewise.
      values: what is carried, at the beginning.
      body: function of the index and what is carried to what is carried next.
    """
    b = lw.b

    def write(carry):
        bounds = [b.name(x) for x in (lower, upper, b.int32(1))]
        outs = [Tensor(x.shape, x.dtype) for x in carry.inits]
        head, index = _results(b, outs), b.fresh()
        names = [b.fresh() for _ in outs]
        given = ", ".join([f"{n} = {x.name}" for n, x in zip(names, carry.inits, strict=True)])
        types = ", ".join([x.type for x in outs])
        args = f" iter_args({given}) -> ({types})" if outs else ""
        start, stop, step = bounds
        b.line(f"{head}scf.for {index} = {start} to {stop} step {step}{args} : i32 {{")
        lw.enter()
        results = body(Tensor((), INT32, index), carry.enter(names))
        wrong = carry.wrong(results)
        if any(wrong):
            lw.leave()
            return None, wrong
        numbers = [_here(lw, x) for x, s in zip(results, carry.stays, strict=True) if not s]
        if numbers:
            b.line(_yield("scf.yield", numbers))
        lw.leave()
        b.line("}")
        return carry.leave(outs), None

    return _with_carry(lw, values, write)


class _Counters:
    """Which of the values that a body carries are counters, or never change.

    Args:
      jaxpr: of the body: constants, what is carried, and more -> what is carried, and more.
      num_consts: how many constants.
      num_carry: how many values are carried.
    """

    def __init__(self, jaxpr, num_consts, num_carry):
        made = {id(eqn.outvars[0]): eqn for eqn in jaxpr.eqns if len(eqn.outvars) == 1}
        self.steps: list[int | None] = []
        for i in range(num_carry):
            before, after = jaxpr.invars[num_consts + i], jaxpr.outvars[i]
            eqn, step = made.get(id(after)), None
            if after is before:
                step = 0
            elif before.aval.dtype == INT32 and eqn is not None and eqn.primitive.name == "add":
                x, y = eqn.invars
                if x is before and type(y) is Literal and not before.aval.shape:
                    step = int(y.val)
            self.steps.append(step)

    def ready(self, lw, carry):
        """Return what is carried, with counters in registers."""
        return [lw.tensor(x) if step else x for x, step in zip(carry, self.steps, strict=True)]

    def at(self, lw, turn, inits):
        """Return the counters of a turn, and None for what is carried in earnest."""
        found = []
        for x, step in zip(inits, self.steps, strict=True):
            if step is None:
                found.append(None)
            elif step == 0:
                found.append(x)
            else:
                by = turn if step == 1 else lw.b.binary("arith.muli", turn, lw.b.int32(step))
                found.append(add(lw, lw.tensor(x), by))
        return found

    def split(self, values):
        """Return what is carried in earnest."""
        return [x for x, step in zip(values, self.steps, strict=True) if step is None]

    def merge(self, known, values):
        """Undo `split`."""
        values = iter(values)
        return [
            next(values) if step is None else x for x, step in zip(known, self.steps, strict=True)
        ]


def _unwritten(lw, consts, carry):
    """Return what a body closes over, loaded where the body may write to it."""
    written = {id(x.root) for x in carry if isinstance(x, View) and x.root.is_output}
    return [lw.tensor(x) if isinstance(x, View) and id(x.root) in written else x for x in consts]


@rule("scan")
def _scan(lw: Lowering, eqn: Eqn, *operands: Value) -> list[Value]:
    p, b = eqn.params, lw.b
    jaxpr, length, num_carry = p["jaxpr"].jaxpr, p["length"], p["num_carry"]
    consts, carry, xs = scans.split_operands(operands, p["num_consts"], num_carry)
    consts, xs = _unwritten(lw, consts, carry), _unwritten(lw, xs, carry)
    counters = _Counters(jaxpr, len(consts), num_carry)
    carry = counters.ready(lw, carry)
    stacks: list = [b.full(0, v.aval.dtype, v.aval.shape) for v in eqn.outvars[num_carry:]]

    def body(turn, values):
        known = counters.at(lw, turn, carry)
        real = len(values) - len(stacks)
        now = counters.merge(known, values[:real])
        place = b.binary("arith.subi", b.int32(length - 1), turn) if p["reverse"] else turn
        items = [_item(lw, x, place) for x in xs]
        results = lw.run(jaxpr, [*consts, *now, *items], is_region=True)
        written = [
            _write_item(lw, stack, y, place)
            for stack, y in zip(values[real:], results[num_carry:], strict=True)
        ]
        return [*counters.split(results[:num_carry]), *written]

    begin = [*counters.split(carry), *stacks]
    found = counted(lw, b.int32(0), b.int32(length), begin, body)
    after = counters.at(lw, b.int32(length), carry)
    real = len(found) - len(stacks)
    return [*counters.merge(after, found[:real]), *found[real:]]


def _item(lw, x, index):
    starts = [index] + [lw.b.int32(0)] * (len(x.shape) - 1)
    return reshaped(lw, part(lw, x, starts, (1, *x.shape[1:])), x.shape[1:])


def _write_item(lw, stack, y, index):
    starts = [index] + [lw.b.int32(0)] * (len(stack.shape) - 1)
    one = (1, *stack.shape[1:])
    return put(lw, stack, reshaped(lw, lw.tensor(y), one), starts, one)


@rule("while")
def _while(lw: Lowering, eqn: Eqn, *operands: Value) -> list[Value]:
    p = eqn.params
    cond, body = p["cond_jaxpr"].jaxpr, p["body_jaxpr"].jaxpr
    cond_consts, consts, carry = whiles.split_operands(
        operands, p["cond_nconsts"], p["body_nconsts"]
    )
    cond_consts, consts = _unwritten(lw, cond_consts, carry), _unwritten(lw, consts, carry)
    counters = _Counters(body, len(consts), len(carry))
    carry = counters.ready(lw, carry)
    found = _as_counted(cond, len(cond_consts), counters, [*cond_consts, *carry])
    if found is not None:
        return _run_counted(lw, found, counters, body, consts, carry)
    return _run_while(lw, cond, cond_consts, body, consts, carry)


def _as_counted(cond, num_consts, counters, values):
    """Return the number of the counter and the bound, if a condition is that one is below it."""
    if len(cond.eqns) != 1 or cond.outvars[0] is not cond.eqns[0].outvars[0]:
        return None
    eqn = cond.eqns[0]
    if eqn.primitive.name != "lt" or eqn.invars[0].aval.dtype != INT32:
        return None
    places = [next((i for i, v in enumerate(cond.invars) if v is x), None) for x in eqn.invars]
    first, bound = places
    if first is None or first < num_consts or counters.steps[first - num_consts] != 1:
        return None
    if type(eqn.invars[1]) is Literal:
        return first - num_consts, np.int32(eqn.invars[1].val)
    if bound is None or (bound >= num_consts and counters.steps[bound - num_consts] != 0):
        return None
    return first - num_consts, values[bound]


def _run_counted(lw, found, counters, body, consts, carry):
    """Write a while loop that counts."""
    b, (place, bound) = lw.b, found
    first = lw.tensor(carry[place])
    bound = b.int32(int(bound)) if isinstance(bound, np.integer) else lw.tensor(bound)

    def turn(index, values):
        by = index
        if any(s not in (None, 0) for i, s in enumerate(counters.steps) if i != place):
            by = b.binary("arith.subi", index, first)
        known = counters.at(lw, by, carry)
        known[place] = index
        return counters.split(
            lw.run(body, [*consts, *counters.merge(known, values)], is_region=True)
        )

    found = counted(lw, first, bound, counters.split(carry), turn)
    last = b.binary("arith.maxsi", first, bound)
    after = counters.at(lw, b.binary("arith.subi", last, first), carry)
    after[place] = last
    return counters.merge(after, found)


def _run_while(lw, cond, cond_consts, body, consts, carry):
    """Write a loop that goes on while a condition holds."""
    b = lw.b

    def write(state):
        outs = [Tensor(x.shape, x.dtype) for x in state.inits]
        head = _results(b, outs)
        names = [b.fresh() for _ in outs]
        given = ", ".join([f"{n} = {x.name}" for n, x in zip(names, state.inits, strict=True)])
        types = ", ".join([x.type for x in outs])
        b.line(f"{head}scf.while ({given}) : ({types}) -> ({types}) {{")
        lw.enter()
        (goes_on,) = lw.run(cond, [*cond_consts, *state.enter(names)], is_region=True)
        passed = ", ".join(names)
        b.line(f"scf.condition({b.name(lw.tensor(goes_on))}) {passed} : {types}")
        lw.leave()
        b.line("} do {")
        lw.enter()
        names = [b.fresh() for _ in outs]
        typed = [f"{n}: {x.type}" for n, x in zip(names, outs, strict=True)]
        b.line(f"^bb0({', '.join(typed)}):")
        results = lw.run(body, [*consts, *state.enter(names)], is_region=True)
        wrong = state.wrong(results)
        if any(wrong):
            lw.leave()
            return None, wrong
        b.line(_yield("scf.yield", [
            _here(lw, x) for x, s in zip(results, state.stays, strict=True) if not s
        ]))  # fmt: skip
        lw.leave()
        b.line("}")
        return state.leave(outs), None

    return _with_carry(lw, carry, write)
