"""Which loops kernels can hold, and how: what turns element by element, and what is written out."""

import math
from typing import Any, NamedTuple

from evertrace._src.control.loop import while_p
from evertrace._src.control.scan import scan_p
from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.cumulative import CUMULATIVE, Turn
from evertrace._src.engines.fused.flat import Copy, write
from evertrace._src.engines.fused.rules import LOOP_OPERATIONS, fusion, is_held, is_long, is_put
from evertrace._src.ops.reduce import reduce_or_p
from evertrace._src.ops.select import select_n_p

MOST_REGISTERS = 64
"""Elements of carries that are written out."""

FOLLOWING = 20
"""Operations of a turn that may follow each other before one is computed ahead."""


class Body(NamedTuple):
    """A turn of a loop.

    Attributes:
      makers: the equations of the values in it.
      constants: variables of the body to operands of the equation.
      carries: (variable of the body, first value, next one).
      slices: pairs of a variable of the body and the array whose elements it is, turn by turn.
      stacks: pairs of a result that collects values and the variable of these in the body.
      length: how many turns there are, or None.
      is_reverse: whether the first one is that of the last slices.
      axis: the dimension of slices and stacks that turns go along.
      condition: the value of which one element has to hold for another turn, or None.
      lead: the first dimensions of arrays, at which turns look element by element.
      ahead: values that are computed before those that are made of many others.
    """

    makers: dict[Any, Any]
    constants: dict[Any, Any]
    carries: list[Any]
    slices: list[Any]
    stacks: list[Any]
    length: int | None = None
    is_reverse: bool = False
    axis: int = 0
    condition: Any = None
    lead: tuple[int, ...] = ()
    ahead: tuple[Any, ...] = ()

    def is_shaped(self, aval):
        """Whether an array has the first dimensions."""
        return aval.shape[: len(self.lead)] == self.lead

    def along(self, place, index):
        """Return where elements of a turn are in slices and stacks."""
        return (*index[: self.axis], place, *index[self.axis :])


def is_loop(eqn):
    """Whether an equation is a loop."""
    return eqn.primitive in _makers


class Bodies:
    """The bodies of the loops of a program.

    Args:
      can_be: from the bodies, a loop and its `Body`, why that cannot be written, or None.
    """

    def __init__(self, can_be):
        self.can_be, self.found, self.reasons = can_be, {}, {}

    def holds(self, eqn):
        """Whether kernels can hold an equation."""
        if not is_held(eqn):
            return False
        return not is_loop(eqn) or self.of(eqn) is not None

    def why(self, eqn):
        """Return why kernels cannot hold an equation."""
        if eqn.outvars[0] in self.reasons:
            return self.reasons[eqn.outvars[0]]
        if eqn.effects:
            return "it has effects"
        is_known = fusion.find(eqn.primitive) is not None
        return "it is not done so for these types or sizes" if is_known else "it has no rule"

    def of(self, eqn):
        """Return the `Body` of a loop, or None if kernels cannot hold it."""
        key = eqn.outvars[0]
        if key not in self.found:
            self.found[key] = None
            self.found[key] = self._of(eqn, key)
        return self.found[key]

    def collects(self, eqn):
        """Whether an equation is a loop that stores values turn by turn."""
        return is_loop(eqn) and bool(self.of(eqn).stacks)

    def _of(self, eqn, key):
        body = _makers[eqn.primitive](eqn)
        if body is None or len(body.makers) > LOOP_OPERATIONS:
            self.reasons[key] = "its turns are long"
            return None
        self.reasons[key] = f"more than {MOST_REGISTERS} elements turn together"
        for lead in _leads(body):
            found = _with(eqn, body, lead)
            if found is None:
                continue
            other = next((e for e in found.makers.values() if not self._turns(e)), None)
            if other is not None:
                self.reasons[key] = f"{other.primitive.name} is in its turns"
                continue
            found = self.found[key] = found._replace(ahead=tuple(_ahead(found)))
            refused = self.can_be(self, eqn, found)
            if refused is None:
                return found
            self.reasons[key] = refused
        return None

    def _turns(self, eqn):
        """Whether an equation can be one of a turn."""
        return not (not self.holds(eqn) or is_long(eqn) or is_put(eqn) or self.collects(eqn))


def _leads(body):
    """Yield what may be the first dimensions: as many as possible come first."""
    shapes = [x.aval.shape for x, _, _ in body.carries]
    shapes += [x.aval.shape for _, x in body.stacks]
    longest = max(shapes, key=lambda shape: (math.prod(shape), len(shape)), default=())
    for n in range(len(longest), -1, -1):
        yield longest[:n]


def _with(eqn, body, lead):
    """Return a body with these first dimensions, or None if that cannot be."""
    body = body._replace(lead=lead)
    sizes = [
        x.aval.size // (_size(lead) if body.is_shaped(x.aval) else 1) for x, _, _ in body.carries
    ]
    if sum(sizes) > MOST_REGISTERS:
        return None
    if any(not body.is_shaped(x.aval) for _, x in body.stacks):
        return None
    if eqn.primitive is while_p and lead:
        body = _by_elements(body)
    return body


def _size(shape):
    return max(1, math.prod(shape))


def _by_elements(body):
    """Return the body of a while loop that leaves elements alone whose condition does not hold."""
    asked = body.makers.get(body.condition)
    if asked is None or asked.primitive is not reduce_or_p:
        return None
    condition = asked.invars[0]
    if type(condition) is Literal or len(asked.params["axes"]) != condition.aval.ndim:
        return None
    for x, _, after in body.carries:
        made = body.makers.get(after)
        is_left = after is x or (
            made is not None
            and made.primitive is select_n_p
            and made.invars[0] is condition
            and made.invars[1] is x
        )
        if not is_left:
            return None
    if not body.is_shaped(condition.aval):
        return None
    makers = {x: eqn for x, eqn in body.makers.items() if x is not body.condition}
    return body._replace(condition=condition, makers=makers)


def _ahead(body):
    """Yield every value that so many others come before that they are better computed first."""
    depths = {}
    for x, eqn in body.makers.items():
        if not fusion[eqn.primitive].operations:
            depths[x] = max([depths.get(v, 0) for v in _variables(eqn)], default=0)
            continue
        depths[x] = 1 + max([depths.get(v, 0) for v in _variables(eqn)], default=0)
        is_few = x.aval.size // _size(body.lead) <= MOST_REGISTERS
        if depths[x] >= FOLLOWING and body.is_shaped(x.aval) and is_few:
            depths[x] = 0
            yield x


def _variables(eqn):
    return [x for x in eqn.invars if type(x) is not Literal]


def _copies(variables):
    return [Copy(v.aval) for v in variables]


def _written(jaxpr, ins, eqns, seen):
    return write(jaxpr, dict(zip(jaxpr.invars, ins, strict=True)), eqns, seen)


def _of_scan(eqn):
    p, jaxpr = eqn.params, eqn.params["jaxpr"].jaxpr
    a, b = p["num_consts"], p["num_consts"] + p["num_carry"]
    if p["length"] == 0 or jaxpr.constvars:
        return None
    ins, eqns = _copies(jaxpr.invars), []
    outs = _written(jaxpr, ins, eqns, {})
    return Body(
        {x: e for e in eqns for x in e.outvars},
        dict(zip(ins[:a], eqn.invars[:a], strict=True)),
        list(zip(ins[a:b], eqn.invars[a:b], outs[: b - a], strict=True)),
        list(zip(ins[b:], eqn.invars[b:], strict=True)),
        list(zip(eqn.outvars[b - a :], outs[b - a :], strict=True)),
        p["length"],
        p["reverse"],
    )


def _of_cumulative(eqn):
    turn, axis = Turn(eqn), eqn.params["axis"]
    slices, stacks = [(turn.x, eqn.invars[0])], [(eqn.outvars[0], turn.out)]
    length, is_reverse = eqn.invars[0].aval.shape[axis], eqn.params["reverse"]
    return Body(turn.makers, {}, turn.carries, slices, stacks, length, is_reverse, axis)


def _of_while(eqn):
    """Return the body of a loop; what is computed both in it and its condition is there once."""
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
    carried = list(zip(carries, eqn.invars[a + b :], outs, strict=True))
    constants = {v: x for x, v in constants.items()}
    return Body(makers, constants, carried, [], [], condition=asked)


_makers = {scan_p: _of_scan, while_p: _of_while, **dict.fromkeys(CUMULATIVE, _of_cumulative)}
"""From an equation, the body of the loop that it is, or None."""
