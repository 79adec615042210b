"""Which equations of a program become kernels.

Each kernel computes *roots*: values that something else reads, a kernel or an equation that stays
what it was. What roots are made of is computed within the kernel, down to what is *stored*: inputs,
results of other equations, roots of other kernels. A value becomes a root if it would be computed
again and again in a loop that does not change it.
"""

import heapq
import math
from typing import Any, NamedTuple

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused import machine
from evertrace._src.engines.fused.flat import flat
from evertrace._src.engines.fused.kernel import (
    Kernel,
    NotFusible,
    Probe,
    long_dimensions,
)
from evertrace._src.engines.fused.rules import UNROLLED, fusion
from evertrace._src.engines.fused.writer import TYPES

NS_PER_INSTRUCTION = 0.15
NS_PER_BYTE = 0.01
"""What a vector instruction takes, and what reads and writes of arrays do."""

MOST_REFUSED = 64
"""How many kernels that are not worth it are looked at."""

MOST_TRIES = 16
"""How often a kernel is divided until it is left."""


class Group:
    """What a kernel computes.

    Attributes:
      makers: the equation of each value that is computed in it.
      roots: the values that are stored.
      levels: how many reductions of more than a few elements come one after the other, by value.
      rows: lengths of the dimensions of all roots that are looked at element by element; None if
        roots have no dimensions.
      kept: values that several loops need, and that are kept in memory within the kernel: with the
        number of loops around all of those.
      is_looped: whether there is a loop around all others.
    """

    def __init__(self, makers, roots, levels):
        self.makers, self.roots, self.levels, self.kept = makers, roots, levels, {}
        shape = long_dimensions(roots[0].aval.shape)
        self.is_looped = bool(shape)
        self.rows = None
        if shape:
            depth = Probe(self).depth or len(shape) - 1
            self.rows = tuple(shape[: min(depth, len(shape))])


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
    """

    parts: list[Any]
    outputs: list[Any]


def cost(work, variables):
    """Return the nanoseconds that so many vector instructions take, with arrays in memory."""
    size = sum([x.aval.size * x.aval.dtype.itemsize for x in variables])
    return NS_PER_INSTRUCTION * work + NS_PER_BYTE * size


def divided(jaxpr, is_worth):
    """Return the `Program` of a jaxpr, or None if it has no kernels.

    Args:
      jaxpr: the program.
      is_worth: from the equations that a kernel would hold and its cost, whether it is to be.
    """
    if not machine.is_there():
        return None
    eqns, outputs = flat(jaxpr)
    kernels = _Division(eqns, outputs, is_worth).kernels()
    if not kernels:
        return None
    return Program(_in_order(eqns, kernels, outputs), outputs)


def _is_held(eqn):
    """Whether kernels can hold an equation."""
    rule = fusion.find(eqn.primitive)
    if rule is None or eqn.effects or len(eqn.outvars) != 1:
        return False
    operands = [*eqn.invars, *eqn.outvars]
    if any(x.aval.dtype.name not in TYPES or not x.aval.size for x in operands):
        return False
    return rule.takes(eqn)


class _Makers:
    """The equations of what a kernel may compute: all that is not stored, and its root."""

    def __init__(self, makers, stored, root):
        self.makers, self.stored, self.root = makers, stored, root

    def __contains__(self, x):
        return x in self.makers and (x is self.root or x not in self.stored)

    def __getitem__(self, x):
        return self.makers[x]


class _Division:
    """Finds the kernels of a program.

    Attributes:
      makers: the equations of those values that kernels can compute.
      stored: what other equations or kernels read; `waiting` are those that are not yet looked at,
        the last ones first.
      refused: how many kernels were not worth it.
    """

    def __init__(self, eqns, outputs, is_worth):
        self.is_worth, self.refused = is_worth, 0
        self.makers = {eqn.outvars[0]: eqn for eqn in eqns if _is_held(eqn)}
        self.order = {x: i for i, eqn in enumerate(eqns) for x in eqn.outvars}
        self.stored, self.waiting = set(), []
        self._store([x for x in outputs if type(x) is not Literal])
        self.levels = {}
        for eqn in eqns:
            level = max([self.levels.get(x, 0) for x in _variables(eqn)], default=0)
            is_held = len(eqn.outvars) == 1 and eqn.outvars[0] in self.makers
            if not is_held:
                self._store(_variables(eqn))
            for x in eqn.outvars:
                self.levels[x] = level + (is_held and _is_long_reduction(eqn))

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
        while self.waiting and self.refused < MOST_REFUSED:
            root = heapq.heappop(self.waiting)[1]
            kernel = self._kernel(root)
            if kernel is None:
                self._store(_variables(self.makers.pop(root)))
            else:
                found.append(kernel)
        return found

    def _planned(self, group):
        """Write a kernel without a text, twice if it turns out that it should keep values."""
        planned = Kernel(group)
        planned.whole()
        group.kept = planned.wanted()
        if group.kept:
            planned = Kernel(group)
            planned.whole()
        return planned

    def _kernel(self, root):
        """Return a kernel that computes a value, or None."""
        for _ in range(MOST_TRIES):
            try:
                group = Group(_Makers(self.makers, self.stored, root), [root], self.levels)
                planned = self._planned(group)
            except NotFusible as error:
                if error.variable is None or error.variable is root:
                    return None
                self._store([error.variable])
                continue
            held = sorted(_held(group, planned.inputs), key=self._number)
            if not self.is_worth(held, cost(planned.work, [root, *[x for x, _ in planned.inputs]])):
                self.refused += 1
                return None
            kernel = Kernel(group, planned)
            text = kernel.whole()
            return Fused(group, text, kernel.inputs, kernel.units, planned.work, len(held))
        return None


def of_several(least):
    """Return what has kernels made of at least so many operations, however long they take.

    Operations that only move elements do not count.
    """

    def is_worth(eqns, _):
        return len([eqn for eqn in eqns if fusion[eqn.primitive].computes]) >= least

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


def _variables(eqn):
    return [x for x in eqn.invars if type(x) is not Literal]


def _is_long_reduction(eqn):
    rule = fusion.find(eqn.primitive)
    if rule is None or rule.extents is None:
        return False
    return math.prod(rule.extents(eqn)) > UNROLLED


def _held(group, inputs):
    """Return the equations that a group computes."""
    read, found, waiting = {x for x, _ in inputs}, {}, list(group.roots)
    while waiting:
        x = waiting.pop()
        if x in found or x in read or x not in group.makers:
            continue
        found[x] = group.makers[x]
        waiting += _variables(group.makers[x])
    return list(found.values())


def _in_order(eqns, kernels, outputs):
    """Return kernels and other equations that are needed, in an order in which they can run."""
    makers = {x: eqn for eqn in eqns for x in eqn.outvars}
    makers.update({x: kernel for kernel in kernels for x in kernel.outvars})
    parts, done = [], set()
    waiting = [makers[x] for x in reversed(outputs) if type(x) is not Literal and x in makers]
    waiting = [eqn for eqn in eqns if eqn.effects] + waiting
    opened = set()
    while waiting:
        part = waiting[-1]
        if id(part) in done:
            waiting.pop()
        elif id(part) in opened:
            waiting.pop()
            done.add(id(part))
            parts.append(part)
        else:
            opened.add(id(part))
            needed = [makers[x] for x in part.invars if type(x) is not Literal and x in makers]
            waiting += [p for p in needed if id(p) not in done]
    return parts
