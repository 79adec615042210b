"""Which equations of a program become kernels.

Each kernel computes *roots*: values that something else reads, a kernel or an equation that stays
what it was. What roots are made of is computed within the kernel, down to what is *stored*: inputs,
results of other equations, roots of other kernels. A value becomes a root if it would be computed
again and again in a loop that does not change it.
"""

import functools
import heapq
import math
from collections import Counter
from typing import Any, NamedTuple

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused import machine
from evertrace._src.engines.fused.bodies import Bodies, is_loop
from evertrace._src.engines.fused.cuts import Cut
from evertrace._src.engines.fused.equations import (
    cone,
    form_of,
    held_by,
    in_order,
    readers,
    variables,
)
from evertrace._src.engines.fused.flat import Shared, flat
from evertrace._src.engines.fused.function import Function, long_dimensions
from evertrace._src.engines.fused.memory import NotFusible
from evertrace._src.engines.fused.probe import Probe, Trial
from evertrace._src.engines.fused.rules import fusion, is_long, is_put
from evertrace._src.engines.fused.writer import LANES
from evertrace._src.ops.structural import broadcast_in_dim_p

NS_PER_INSTRUCTION = 0.15
NS_PER_BYTE = 0.01
"""What a vector instruction takes, and what reads and writes of arrays do."""

MOST_NEIGHBOURS = 6
"""How many other values it is tried with to compute them in one kernel."""

JOINED_AT_MOST = 0.9
"""Which part of the time of two kernels one may take instead of them."""

MOST_REFUSED = 64
"""How many kernels that are not worth it are looked at."""

MOST_ALIKE = 40
"""How many values a result may need at most to be compared with others before it is written."""

MOST_WRITTEN = 100_000
"""How many instructions of a program are written to find its best kernels; then those that are
written first will do. It takes a second, and no program waits longer for what it may gain."""

MOST_SHARED = 2
"""How many values are looked at that a kernel may read instead of computing them again."""

APART_FROM = 20e3
"""Nanoseconds of a kernel from which on it is looked at whether numbers of its rows come first."""

MOST_TRIES = 16
"""How often a kernel is divided until it is left."""


class Group:
    """What a kernel computes.

    Attributes:
      makers: the equation of each value that is computed in it.
      roots: the values that are stored.
      levels: how many reductions of more than a few elements come one after the other, by value.
      stacks: those roots that a loop collects, turn by turn; then all are results of one loop.
      shape: lengths of the dimensions of the first root that loops go over.
      rows: the first ones of these, of all roots; None if there are no dimensions.
      kept: values that several loops need, and that are kept in memory within the kernel: with the
        number of loops around all of those.
      lanes: elements of a vector.
      is_looped: whether there is a loop around all others.
      is_by_lanes: whether several rows are reduced in one loop, one for each lane of the result.
      over: the shape that the loop goes over that stores the only root, see `Rule`, or None.
      cuts: where loops over roots are cut, by dimensions, see `cuts`.
    """

    def __init__(self, makers, roots, levels):
        self.makers, self.roots, self.levels = makers, roots, levels
        self.kept, self.lanes, self.cuts = {}, LANES, {}
        self.stacks = [x for x in makers.stacks(roots[0]) if x in roots]
        self.shape = shape = self.shape_of(roots[0])
        self.over = makers.over(roots[0])
        self.is_looped = bool(shape)
        self.rows, self.is_by_lanes = None, False
        if shape and self.over is None:
            depth = 0
            if not self.stacks:
                probe = Probe(self)
                depth, self.is_by_lanes = probe.depth, probe.is_by_lanes()
            depth = (not self.is_by_lanes and depth) or len(shape) - 1
            self.rows = tuple(shape[: min(depth, len(shape))])

    def first_of(self, root):
        """Return what a root is before a loop stores in it; itself if none does."""
        return root if self.over is None else self.makers[root].invars[0]

    def shape_of(self, root):
        """Return the lengths of the dimensions of a root that are looked at element by element."""
        body = self.makers.body_of(root)
        if body is None:
            return long_dimensions(root.aval.shape)
        return body.lead if root in self.stacks or body.is_shaped(root.aval) else ()


class _FusedPrimitive:
    """What stands in the place of a primitive where a kernel stands in the place of an equation."""

    name, multiple_results, physical = "fused", True, None

    def abstract(self):
        """Not called: it tells in which module the rules of engines are to be found."""


fused_p = _FusedPrimitive()


class Fused(NamedTuple):
    """A kernel in the place of equations.

    Attributes:
      group: what it computes.
      text: of the function.
      inputs: (variable, permutation or None) of the arrays that it reads.
      units: into how many pieces its outermost loop can be divided.
      work: vector instructions that it executes, as an estimate.
      equations: how many of the program it holds.
    """

    primitive = fused_p
    effects = frozenset()
    src = None

    group: Group
    text: str
    inputs: list
    units: int
    work: float
    equations: int

    @property
    def cost(self):
        """Nanoseconds that it takes, as an estimate."""
        return cost(self.work, [*self.outvars, *self.invars])

    def size(self):
        """Return the bytes of the arrays that it reads and writes."""
        return _size(dict.fromkeys([*self.outvars, *self.invars]))

    def extents(self):
        """Return in words over which elements its outermost loops go."""
        shape = self.outvars[0].aval.shape if self.group.over is None else self.group.over
        rows = shape[: max(1, len(self.group.rows or ()))]
        return "everything" if not shape else f"{' x '.join(map(str, rows))} rows"

    def compiled(self):
        """Return the machine code."""
        return machine.compiled(self.text)

    @property
    def outvars(self):
        """What it computes."""
        return self.group.roots

    @property
    def invars(self):
        """What it reads."""
        return [x for x, _ in self.inputs]


class Program(NamedTuple):
    """A program in parts.

    Attributes:
      parts: equations and kernels, in an order in which they can run.
      outputs: variables and literals.
      left: how many operations are no part of a kernel, by their name and the reason.
    """

    parts: list[Any]
    outputs: list[Any]
    left: dict[tuple[str, str], int]


def cost(work, variables):
    """Return the nanoseconds that so many vector instructions take, with arrays in memory."""
    return NS_PER_INSTRUCTION * work + NS_PER_BYTE * _size(variables)


def _size(variables):
    return sum([x.aval.size * x.aval.dtype.itemsize for x in variables])


def divided(jaxpr, is_worth, most=lambda eqns: math.inf, is_hopeless=None):
    """Return the `Program` of a jaxpr; its equations as they are if there are no kernels.

    Args:
      jaxpr: the program.
      is_worth: from the equations that a kernel would hold and its cost, whether it is to be.
      most: from the equations that kernels can hold, how many instructions may be written to find
        those; then the rest is left.
      is_hopeless: from the equations that a result needs, whether no kernel is written for it; nor
        is one then for another result of the same form as one whose kernel was not worth it.
    """
    if not machine.is_there():
        return Program(jaxpr.eqns, jaxpr.outvars, {})
    eqns, outputs = flat(jaxpr)
    division = _Division(eqns, outputs, is_worth, most, is_hopeless)
    kernels, left = division.kernels(), division.left()
    if not kernels:
        return Program(jaxpr.eqns, jaxpr.outvars, left)
    return Program(in_order(eqns, kernels, outputs), outputs, left)


FEW_REGISTERS = 4
"""For each element of a loop that turns: of so many vectors may be wide."""


class _Makers:
    """The equations of what a kernel may compute: all that is not stored, and its roots.

    Attributes:
      bodies: of loops; the equations in those that are used are found here, too.
    """

    def __init__(self, makers, stored, roots, bodies):
        self.makers, self.stored, self.roots, self.bodies = makers, stored, roots, bodies
        self.inner, self.owners, self.used = {}, {}, {}

    def __contains__(self, x):
        if x in self.inner:
            return True
        return x in self.makers and (x not in self.stored or x in self.roots)

    def __getitem__(self, x):
        return self.inner.get(x) or self.makers[x]

    def owner(self, x):
        """Return what the loop is known by in whose turns a value is computed, or None."""
        return self.owners.get(x)

    def body(self, eqn):
        """Return the body of a loop, whose values are found from now on."""
        loop = eqn.outvars[0]
        body = self.bodies.of(eqn)
        if self.used.get(loop) is not body:
            self.used[loop] = body
            self.inner.update(body.makers)
            owned = [*body.makers, *[x for x, *_ in body.carries], *[x for x, _ in body.slices]]
            self.owners.update(dict.fromkeys(owned, loop))
        return body

    def body_of(self, x):
        """Return the body of the loop of which a value is a result, or None."""
        eqn = self.makers.get(x)
        return None if eqn is None or not is_loop(eqn) else self.body(eqn)

    def over(self, x):
        """Return the shape that the loop goes over that stores a value, or None."""
        eqn = self.makers.get(x)
        rule = None if eqn is None else fusion.find(eqn.primitive)
        return None if rule is None or rule.over is None else rule.over(eqn)

    def stacks(self, x):
        """Return what the loop collects of which a value is a result."""
        body = self.body_of(x)
        return () if body is None else [v for v, _ in body.stacks]

    def is_turning(self):
        """Whether there are loops, of few registers for each element."""
        registers = [
            sum([x.aval.size / max(1, math.prod(body.lead)) for x, _, _ in body.carries])
            for body in self.used.values()
        ]
        return bool(registers) and max(registers) <= FEW_REGISTERS


def _can_be(bodies, eqn, body):
    """Return why a loop cannot be written with a body, or None."""
    return Trial(_Makers({}, (), (), bodies), eqn, body).why_not()


class _Division:
    """Finds the kernels of a program.

    Attributes:
      makers: the equations of those values that kernels can compute.
      stored: what other equations or kernels read; `waiting` are those that are not yet looked at,
        the last ones first.
      refused: how many kernels were not worth it; `forms` are theirs, see `form_of`.
      written: how many instructions were written to find them; `most` are, see `divided`.
      reasons: why equations are left to the tape, by their first results.
      readers: the first results of equations that read a value and are needed, by the value.
      found: the kernel of each value that one computes; `earliest` is the first of these values.
      plans: of what was written to find kernels, by what is computed.
    """

    def __init__(self, eqns, outputs, is_worth, most, is_hopeless):
        self.is_worth, self.is_hopeless = is_worth, is_hopeless
        self.refused, self.forms, self.reasons = 0, {()}, {}
        self.written = 0
        self.found, self.earliest = {}, math.inf
        self.plans: dict[Any, Any] = {}
        self.bodies = Bodies(_can_be)
        self.makers, holdable = {}, []
        for eqn in eqns:
            if self.bodies.holds(eqn):
                holdable.append(eqn)
                self.makers.update(dict.fromkeys(eqn.outvars, eqn))
            elif eqn.outvars:
                self.reasons[eqn.outvars[0]] = self.bodies.why(eqn)
        self.most = most(holdable)
        self.all_makers = {x: eqn for eqn in eqns for x in eqn.outvars}
        self.order = {x: i for i, x in enumerate([x for eqn in eqns for x in eqn.outvars])}
        self.stored, self.waiting = set(), []
        self._store([x for x in outputs if type(x) is not Literal])
        self.levels = {}
        read = {x for eqn in eqns for x in variables(eqn)}.union(self.stored)
        for eqn in eqns:
            if eqn.outvars and eqn.outvars[0] in self.makers and self.bodies.collects(eqn):
                self._store([x for x in eqn.outvars if x in read])
            if is_put(eqn) or any(type(x) is Shared for x in eqn.outvars):
                self._store(eqn.outvars)
            level = max([self.levels.get(x, 0) for x in variables(eqn)], default=0)
            if eqn.outvars and eqn.outvars[0] in self.makers:
                level += is_long(eqn)
            else:
                self._store(variables(eqn))
            for x in eqn.outvars:
                self.levels[x] = level

        self.readers = readers(eqns, outputs)

    def _number(self, eqn):
        return self.order[eqn.outvars[0]]

    def _store(self, values):
        for x in values:
            if x in self.makers and x not in self.stored:
                self.stored.add(x)
                heapq.heappush(self.waiting, (-self.order[x], x))

    def kernels(self):
        """Return the kernels, from the last one to the first."""
        found = []
        while self.waiting and self.refused < MOST_REFUSED and self.written <= self.most:
            root = heapq.heappop(self.waiting)[1]
            if root not in self.makers or root in self.found:
                continue
            kernel = self._kernel(root)
            if kernel is None:
                self._leave(root)
                continue
            found.append(kernel)
            self.found.update(dict.fromkeys(kernel.outvars, kernel))
            self.earliest = min([self.earliest, *[self.order[x] for x in kernel.outvars]])
        if self.waiting:
            held = {x for k in found for eqn in held_by(k.group, k.inputs) for x in eqn.outvars}
            unseen = {eqn.outvars[0] for x, eqn in self.makers.items() if x not in held}
            self.reasons.update(dict.fromkeys(unseen, "finding its kernel would not pay"))
        return found

    def left(self):
        """Return how many operations are no part of a kernel, by their name and the reason."""
        found = Counter()
        for x, reason in self.reasons.items():
            eqn = self.all_makers[x]
            rule = fusion.find(eqn.primitive)
            if rule is None or rule.operations:
                found[eqn.primitive.name, reason] += 1
        return dict(found)

    def _leave(self, root):
        """Leave an equation to the tape, and what kernels it reads from."""
        eqn = self.makers[root]
        self.reasons[eqn.outvars[0]] = self.reason
        for x in eqn.outvars:
            del self.makers[x]
        self._store(variables(eqn))

    def _plan(self, roots):
        """Return the plan of a kernel, which is written once for what it computes."""
        makers = _Makers(self.makers, self.stored, roots, self.bodies)
        key = (*roots, frozenset(cone(makers, roots)[0]))
        if key not in self.plans:
            try:
                self.plans[key] = self._new_plan(Group(makers, roots, self.levels))
            except NotFusible as error:  # which holds the frames that it has gone through
                self.plans[key] = functools.partial(NotFusible, str(error), error.variable)
        plan = self.plans[key]
        if type(plan) is _Plan:
            return plan
        raise plan()

    def _new_plan(self, group):
        """Return the plan of a group, written twice if it turns out that it should keep values."""
        written = self._written(group)
        group.kept, group.lanes = written.wanted(), written.lanes()
        if group.kept or group.lanes != LANES:
            written = self._written(group)
        arrays = [*group.roots, *[x for x, _ in written.inputs]]
        return _Plan(group, written, cost(written.work, arrays))

    def _written(self, group):
        """Return a kernel of a group, as it is written first."""
        while True:
            kernel = Function(group)
            try:
                kernel.whole()
            except Cut as cut:
                group.cuts = cut.cuts
                continue
            finally:
                self.written += max(kernel.written, kernel.computations)
            return kernel

    def _plan_one(self, root):
        """Return the plan of a kernel of one root, after others have been found if need be.

        Results of a loop that turn together are stored together.
        """
        makers = _Makers(self.makers, self.stored, [root], self.bodies)
        roots, body = [root], makers.body_of(root)
        if body is not None:
            others = [x for x in self.makers[root].outvars if x is not root and x in self.stored]
            stacks = makers.stacks(root)
            is_shaped = {x: x in stacks or body.is_shaped(x.aval) for x in [root, *others]}
            roots += [x for x in others if is_shaped[x] == is_shaped[root]]
        for _ in range(MOST_TRIES):
            try:
                return self._plan(roots)
            except NotFusible as error:
                self.reason = str(error)
                if error.variable is None or error.variable is root:
                    return None
                self._store([error.variable])
        return None

    def _kernel(self, root):
        """Return a kernel that computes a value, and others that gain by it; or None."""
        form = self._form(root)
        if form in self.forms:
            self.refused, self.reason = self.refused + 1, "a kernel would not pay"
            return None
        self.reason = "too much comes first"
        plan = self._plan_one(root)
        if plan is None:
            return None
        plan = self._with_rows_apart(self._without_what_others_need(plan))
        self.reason = "a kernel would not pay"
        for _, other in heapq.nsmallest(MOST_NEIGHBOURS, self.waiting):
            if self.written > min(MOST_WRITTEN, self.most):
                break
            if other not in {*plan.group.roots, *self.found} and other in self.makers:
                plan = self._joined(plan, other) or plan
        group, written, ns = plan
        held = sorted(held_by(group, written.inputs), key=self._number)
        if not self.is_worth(held, ns):
            self.refused += 1
            self.forms.update([form] if form else [])
            return None
        kernel = Function(group, written)
        text = kernel.whole()
        return Fused(group, text, kernel.inputs, kernel.units, written.work, len(held))

    def _form(self, root):
        """Return the form of what a result needs, that of nothing if it is hopeless, or None."""
        if self.is_hopeless is None:
            return None
        makers = _Makers(self.makers, self.stored, [root], self.bodies)
        held, read = cone(makers, [root])
        if len(held) > MOST_ALIKE or any(type(x) is Shared for x in read):  # in the same kernel
            return None
        is_hopeless = self.is_hopeless(list({id(eqn): eqn for eqn in held.values()}.values()))
        return () if is_hopeless else form_of(makers, root)

    def _without_what_others_need(self, plan):
        """Return a plan that reads what is made of long reductions, if other kernels need it too.

        Otherwise those are computed by each of them.
        """
        levels = self._levels(plan)
        shared = [
            x
            for x, level in levels.items()
            if level and x not in self.stored and not levels.keys() >= {*self.readers.get(x, ())}
        ]
        for x in shared[: -MOST_SHARED - 1 : -1]:
            self.stored.add(x)
            try:
                found = self._plan(plan.group.roots)
            except NotFusible:
                found = None
            self.stored.remove(x)
            if found is not None and found.ns + NS_PER_BYTE * _size([x]) < JOINED_AT_MOST * plan.ns:
                self._store([x])
                return found
        return plan

    def _with_rows_apart(self, plan):
        """Return a plan that reads numbers of rows, if a kernel of their own makes them sooner.

        In a loop over rows they are computed one by one, in a loop over them as vectors.
        """
        if plan.ns < APART_FROM:
            return plan
        levels, rows = self._levels(plan), {}
        for eqn in held_by(plan.group, plan.written.inputs):
            x = self._unmoved(eqn.invars[0]) if eqn.primitive is broadcast_in_dim_p else None
            if x is None or levels.get(x, 1) or x in self.stored:
                continue
            is_shorter = LANES < x.aval.size < eqn.outvars[0].aval.size
            if is_shorter and fusion[self.makers[x].primitive].operations:
                rows.setdefault(x.aval.shape, {})[x] = None
        if not rows:
            return plan
        apart = list(max(rows.values(), key=len))
        self.stored.update(apart)
        try:
            ns, found = self._plan(apart).ns, self._plan(plan.group.roots)
        except NotFusible:
            ns, found = math.inf, plan
        self.stored.difference_update(apart)
        if found.ns + ns > JOINED_AT_MOST * plan.ns:
            return plan
        self._store(apart)
        return found

    def _unmoved(self, x):
        """Return the value whose elements, as many, are those of a value in another shape."""
        while x in self.makers and not fusion[self.makers[x].primitive].operations:
            moved = variables(self.makers[x])
            if len(moved) != 1 or moved[0].aval.size != x.aval.size:
                break
            (x,) = moved
        return x

    def _levels(self, plan):
        """Return how many long reductions come after each other for what a kernel computes."""
        levels = {}
        for eqn in sorted(held_by(plan.group, plan.written.inputs), key=self._number):
            level = max([levels.get(x, 0) for x in variables(eqn)], default=0) + is_long(eqn)
            levels.update(dict.fromkeys(eqn.outvars, level))
        return levels

    def _joined(self, plan, other):
        """Return the plan of a kernel with one more root, if that is right and better."""
        rows, shape = plan.group.rows, other.aval.shape
        if plan.group.stacks or plan.group.over is not None or is_put(self.makers[other]):
            return None
        is_alike = rows and long_dimensions(shape)[: len(rows)] == rows
        if not is_alike and shape != plan.group.roots[0].aval.shape:
            return None
        roots, least = [*plan.group.roots, other], 1 - JOINED_AT_MOST
        if self._spared(plan, other) < least * plan.ns:
            return None
        try:
            alone = self._plan([other])
            if self._spared(plan, other, alone) < least * (plan.ns + alone.ns):
                return None
            both = self._plan(roots)
        except NotFusible:
            return None
        same = alone.group.rows == rows == both.group.rows
        if not same or both.ns > JOINED_AT_MOST * (plan.ns + alone.ns):
            return None
        read = [x for x, _ in both.written.inputs]
        return None if self._depends(read, set(roots)) else both

    def _spared(self, plan, other, alone: Any = None):
        """Return how many nanoseconds one more root spares at most if it is not alone.

        That is what reads what both read, or what one reads and the other computes. If both compute
        something that is no move of elements, nobody knows before it is written.
        """
        inside, read = cone(_Makers(self.makers, self.stored, [other], self.bodies), [other])
        held, here = cone(plan.group.makers, plan.group.roots)
        shared = [x for x in held if x in inside and fusion[inside[x].primitive].operations]
        linked = read.intersection(plan.group.roots)
        if shared or (linked and alone is None):
            return math.inf
        both = here & {*read, other}
        loads = sum([plan.written.loads[x] for x in both])
        loads += sum([alone.written.loads[x] for x in linked]) if linked else 0
        return cost(loads, both | linked)

    def _depends(self, values, roots):
        """Whether values that are computed elsewhere are made of some of the roots.

        A kernel that is found reads all that it reads before it has any of its results.
        """
        first = min([self.earliest, *[self.order[x] for x in roots]])
        waiting, seen = list(values), set()
        while waiting:
            x = waiting.pop()
            if x in roots:
                return True
            if x in seen or self.order.get(x, -1) < first:
                continue
            seen.add(x)
            kernel = self.found.get(x)
            waiting += variables(self.all_makers[x]) if kernel is None else kernel.invars
        return False


class _Plan(NamedTuple):
    """A kernel that may be written: its group, what a first writing has found, its nanoseconds."""

    group: Group
    written: Any
    ns: float


def of_several(least):
    """Return what has kernels made of at least so many operations, however long they take.

    Operations that only move elements do not count.
    """

    def is_worth(eqns, _):
        return sum([fusion[eqn.primitive].operations for eqn in eqns]) >= least

    return is_worth


def of_gain(cost_of, gain, least):
    """Return what has kernels made that are faster.

    Args:
      cost_of: from equations, the nanoseconds that they take otherwise.
      gain: how many times as long that has to be.
      least: how much longer at least, in nanoseconds.
    """

    def is_worth(eqns, ns):
        otherwise = cost_of(eqns)
        return otherwise > gain * ns and otherwise - ns > least

    return is_worth
