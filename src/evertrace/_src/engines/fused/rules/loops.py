"""Loops whose carries stay in registers.

A loop looks at the first dimensions of its arrays element by element, if its turns do: each vector
of elements makes all its turns before the next one begins. What dimensions follow are a register
for each element, so a turn may mix them. See `bodies`.
"""

import itertools
from typing import Any, NamedTuple

from evertrace._src.control.loop import while_p
from evertrace._src.control.scan import scan_p
from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.cumulative import CUMULATIVE
from evertrace._src.engines.fused.index import Index
from evertrace._src.engines.fused.memory import NotFusible
from evertrace._src.engines.fused.rules import LOOP_OPERATIONS, Rule, fusion

UNKNOWN_TURNS = 50
"""How often a loop is taken to turn that goes on until something holds."""

WAITS = 4.0
"""How many times as long an instruction takes on single numbers, each of which waits for others."""


class Turn(NamedTuple):
    """The turn of a loop that is being written.

    Attributes:
      loop: what the loop is known by: its first result.
      scope: in which its values are written.
      values: what has been computed in it.
      given: variables of the body to functions from places to elements.
    """

    loop: Any
    scope: Any
    values: dict[Any, Any]
    given: dict[Any, Any]


def _element(k, eqn, x, index):
    """Return an element of what a carry is in the end."""
    body, n = k.body(eqn), eqn.outvars.index(x)
    if n >= len(body.carries):
        raise NotFusible("what a loop collects is stored", x)
    is_shaped = body.is_shaped(x.aval)
    depth = len(body.lead) if is_shaped else 0
    found = turned(k, eqn, index[:depth], is_shaped)
    return _picked(k, found[n], index[depth:], x)


def turned(k, eqn, at, is_shaped):
    """Write a loop, if it is not there yet.

    Args:
      k: the kernel.
      eqn: the loop.
      at: the place of the elements that turn, in the first dimensions.
      is_shaped: whether arrays turn that have those dimensions; otherwise only those turn that have
        not, which do not depend on the others.

    Returns:
      From the number of a carry, its elements by their place in the other dimensions.
    """
    values, key = k.memo(eqn.outvars[0], at)[0], ("turned", id(eqn.outvars[0]), at, is_shaped)
    found = values.get(key)
    if found is None:
        found = values[key] = _Loop(k, eqn, at, is_shaped).written()
    return found


class _Loop:
    """A loop that is being written.

    Attributes:
      registers: (number of a carry, its place in all dimensions, that in the last ones).
    """

    def __init__(self, k, eqn, at, is_shaped):
        self.k, self.eqn, self.body, self.at, self.is_shaped = k, eqn, k.body(eqn), at, is_shaped
        self.lanes = max([place.lanes for place in at], default=1)
        self.registers = []
        for n, (x, _, _) in enumerate(self.body.carries):
            lead = self._lead(x)
            if lead is not None:
                for rest in elements(x.aval.shape[len(lead) :]):
                    self.registers.append((n, (*lead, *rest), tuple([p.first for p in rest])))

    def _lead(self, x):
        """Return the place in the first dimensions of an array; None if it does not turn."""
        if self.body.is_shaped(x.aval):
            return self.at if self.is_shaped else None
        return ()

    def written(self):
        k, body = self.k, self.body
        k.aliases.update(body.constants)
        outer = k.turning[-1].scope if k.turning else places.innermost(self.at, k.entry)
        starts = []
        for n, place, _ in self.registers:
            x, start, _ = body.carries[n]
            value = k.at(start, place)
            starts.append(k.spread(value, self.lanes if body.is_shaped(x.aval) else 1))
        scope = max([outer, *[value.scope for value in starts]], key=lambda s: s.depth)
        length = body.length
        bounds = ("0", str(length), 1)
        turns, enters = UNKNOWN_TURNS if length is None else length, None
        if body.condition is not None:
            enters, asked = self._goes_on(scope, starts)
            starts += asked
        key = ("turns", self.eqn.outvars[0], self.at, self.is_shaped)
        waits = 1.0 if self.at else WAITS
        before = k.work
        found = k.loop(scope, key, bounds, starts, self._turn, turns * waits, enters)
        k.in_turn = max(k.in_turn, (k.work - before) / (scope.turns * turns * waits))
        return self._by_carry(found[: len(self.registers)])

    def _by_carry(self, values):
        found = {}
        for (n, _, rest), value in zip(self.registers, values, strict=True):
            found.setdefault(n, {})[rest] = value
        return found

    def _turn(self, scope, text, values):
        """Write a turn; returns the next values of the registers, and whether there is another."""
        k, body, before = self.k, self.body, self.k.turning
        counter = k.counter((*scope.path, "at"), scope, text, 1)
        place = places.of(counter)
        if body.is_reverse:
            place = place.moved(body.length - 1, -1)
        given, known = self._given(values[: len(self.registers)]), {}
        for asked_at, value in zip(self._asked(), values[len(self.registers) :], strict=True):
            known[id(body.condition), asked_at] = value
        for x, array in body.slices:
            given[x] = lambda index, array=array: k.at(array, body.along(place, index))
        k.turning = [*before, Turn(self.eqn.outvars[0], scope, known, given)]
        for x in body.ahead if self.is_shaped else ():
            for rest in elements(x.aval.shape[len(self.at) :]):
                k.at(x, (*self.at, *rest))
        nexts = [k.at(body.carries[n][2], place) for n, place, _ in self.registers]
        if self.is_shaped:
            for x, collected in body.stacks:
                for rest in elements(collected.aval.shape[len(self.at) :]):
                    index = (*self.at, *rest)
                    k.collect(x, (body.along(place, index), index), collected, scope)
        k.turning = before
        if body.condition is None:
            return nexts, None
        goes_on, asked = self._goes_on(scope, nexts)
        return nexts + asked, goes_on

    def _given(self, values):
        """Return the carries of the body, whose registers have these values."""
        k, given = self.k, {}
        for n, held in self._by_carry(values).items():
            x = self.body.carries[n][0]
            given[x] = _reader(k, x, self._lead(x), held)
        return given

    def _asked(self):
        """Return the places of the condition; none if it is no array of a loop."""
        x = self.body.condition
        if x is None:
            return []
        return [(*self.at, *rest) for rest in elements(x.aval.shape[len(self.at) :])]

    def _goes_on(self, scope, values):
        """Return whether there is another turn after these values, and the condition's elements."""
        k, x, before = self.k, self.body.condition, self.k.turning
        k.turning = [*before, Turn(self.eqn.outvars[0], scope, {}, self._given(values))]
        found = [k.spread(k.at(x, place), self.lanes) for place in self._asked()]
        k.turning = before
        total = found[0]
        for asked in found[1:]:
            total = k.binary("or", total, asked)
        return k.any_lane(total, scope), found


def _reader(k, x, lead, held):
    def element(index):
        if index[: len(lead)] != lead:
            raise NotFusible("a loop moves elements")
        return _picked(k, held, index[len(lead) :], x)

    return element


def _picked(k, held, rest, x):
    """Return the register of an element, or a vector of several."""
    lanes = max([place.lanes for place in rest], default=1)
    if any(c.text is not None for place in rest for c, _ in place.terms):
        raise NotFusible("an element of a loop's carries is chosen", x)
    found = []
    for i in range(lanes):
        place = [p.first + sum([step * i for _, step in p.terms]) for p in rest]
        found.append(held[tuple(place)])
    if lanes == 1:
        return found[0]
    if any(value.lanes > 1 for value in found):
        raise NotFusible("an array is looked at along two dimensions", x)
    return k.vector(found)


def elements(shape):
    """Return all places of some dimensions."""
    return [tuple(map(Index, place)) for place in itertools.product(*map(range, shape))]


def _is_collected(k, eqn, x, index):
    raise NotFusible("what a loop collects is stored", x)


def _value(k, eqn, index):
    """Not asked: loops have results of several shapes."""
    raise NotImplementedError


fusion.rules[scan_p] = fusion.rules[while_p] = Rule(
    _value, is_dear=lambda eqn: True, operations=LOOP_OPERATIONS, element_of=_element
)

for _prim in CUMULATIVE:
    fusion.rules[_prim] = Rule(
        _value, is_dear=lambda eqn: True, operations=2, element_of=_is_collected
    )
