"""Loops whose turns work element by element: carries stay in registers.

Each vector of elements makes all its turns before the next one begins. So it is for loops that are
counted, and for those that go on until nothing changes any more: loops in a batch, where each
element is left as it is once its own condition fails.
"""

from typing import Any, NamedTuple

from evertrace._src.control.loop import while_p
from evertrace._src.control.scan import scan_p
from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.flat import Copy, write
from evertrace._src.engines.fused.rules import Rule, fusion, is_held, is_long
from evertrace._src.ops.reduce import reduce_or_p
from evertrace._src.ops.select import select_n_p

LONGEST_BODY = 200
"""Operations of a turn."""


class Body(NamedTuple):
    """A turn of a loop.

    Attributes:
      makers: the equations of the values in it.
      constants: pairs of a variable of the body and the operand of the equation.
      carries: (variable of the body, first value, next one).
      slices: pairs of a variable of the body and the array whose elements it is, turn by turn.
      condition: the value of which one element has to hold for another turn, or None.
    """

    makers: dict[Any, Any]
    constants: list[Any]
    carries: list[Any]
    slices: list[Any]
    condition: Any = None


def _copies(variables):
    return [Copy(v.aval) for v in variables]


def _written(jaxpr, ins, eqns, seen):
    return write(jaxpr, dict(zip(jaxpr.invars, ins, strict=True)), eqns, seen)


def _of_scan(eqn):
    p, jaxpr = eqn.params, eqn.params["jaxpr"].jaxpr
    a, b = p["num_consts"], p["num_consts"] + p["num_carry"]
    if len(eqn.outvars) != p["num_carry"] or p["length"] == 0 or jaxpr.constvars:
        return None
    ins, eqns = _copies(jaxpr.invars), []
    outs = _written(jaxpr, ins, eqns, {})
    return Body(
        {x: e for e in eqns for x in e.outvars},
        list(zip(ins[:a], eqn.invars[:a], strict=True)),
        list(zip(ins[a:b], eqn.invars[a:b], outs, strict=True)),
        list(zip(ins[b:], eqn.invars[b:], strict=True)),
    )


def _of_while(eqn):
    """Return the body of a loop that leaves elements alone where its condition does not hold."""
    p = eqn.params
    test, turn = p["cond_jaxpr"].jaxpr, p["body_jaxpr"].jaxpr
    a, b = p["cond_nconsts"], p["body_nconsts"]
    if test.constvars or turn.constvars or not eqn.outvars:
        return None
    carries, eqns, seen = _copies(turn.invars[b:]), [], {}
    constants = {}  # one variable of each operand, to see what is the same in both jaxprs

    def given(x):
        return x if type(x) is Literal else constants.setdefault(x, Copy(x.aval))

    test_consts = [given(x) for x in eqn.invars[:a]]
    turn_consts = [given(x) for x in eqn.invars[a : a + b]]
    (asked,) = _written(test, [*test_consts, *carries], eqns, seen)
    outs = _written(turn, [*turn_consts, *carries], eqns, seen)
    makers = {x: e for e in eqns for x in e.outvars}
    last = makers.get(asked)
    if last is None or last.primitive is not reduce_or_p:
        return None
    condition = last.invars[0]
    if len(last.params["axes"]) != condition.aval.ndim:
        return None
    for x, out in zip(carries, outs, strict=True):
        made = makers.get(out)
        is_left = out is x or (
            made is not None
            and made.primitive is select_n_p
            and made.invars[0] is condition
            and made.invars[1] is x
        )
        if not is_left:
            return None
    del makers[asked]
    carried = list(zip(carries, eqn.invars[a + b :], outs, strict=True))
    return Body(makers, [(v, x) for x, v in constants.items()], carried, [], condition)


def body_of(eqn):
    """Return the `Body` of a loop if kernels can hold it, else None."""
    make = _of_scan if eqn.primitive is scan_p else _of_while
    body = make(eqn)
    if body is None or len(body.makers) > LONGEST_BODY:
        return None
    shapes = {x.aval.shape for x, _, _ in body.carries} - {()}
    if len(shapes) > 1:
        return None
    held = all(is_held(e) and not is_long(e) for e in body.makers.values())
    return body if held else None


def _value(k, eqn, index):
    """Return what all carries are in the end, at a place; None of those that have another shape.

    Numbers do not depend on arrays: who asks for a number, a counter, computes no others.
    """
    body = k.body(eqn)
    lanes = max([place.lanes for place in index], default=1)
    carries = [c for c in body.carries if c[0].aval.ndim in (0, len(index))]
    starts = []
    for x, start, _ in carries:
        at = index if x.aval.ndim else ()
        first = k.at(start, at if start.aval.ndim else ())
        starts.append(k.spread(first, lanes if x.aval.ndim else 1))
    for x, operand in body.constants:
        k.aliases[x] = operand
    length = eqn.params.get("length")

    def turn(scope, text, values):
        counter = k.counter((*scope.path, "at"), scope, text, 1)
        place = places.of(counter)
        if eqn.params.get("reverse"):
            place = place.moved(length - 1, -1)
        for x, array in body.slices:
            k.slices[x] = array, place
        for (x, _, _), value in zip(carries, values, strict=True):
            k.carried[x] = (index if x.aval.ndim else ()), value
        nexts = [k.at(after, index if x.aval.ndim else ()) for x, _, after in carries]
        if body.condition is None:
            return nexts, None
        return nexts, k.any_lane(k.at(body.condition, index), scope)

    found = k.turns(eqn.outvars[0], index, starts, turn, length)
    values = {x: value for (x, _, _), value in zip(carries, found, strict=True)}
    return [values[x] if x.aval.ndim == len(index) else None for x, _, _ in body.carries]


def _takes(eqn):
    return body_of(eqn) is not None


fusion.rules[scan_p] = fusion.rules[while_p] = Rule(
    _value, _takes, is_dear=lambda eqn: True, operations=LONGEST_BODY
)
