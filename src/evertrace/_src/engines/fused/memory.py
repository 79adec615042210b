"""Arrays in memory: what a kernel reads, and where it writes."""

import functools
from collections import defaultdict
from typing import Any

from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.halves import HALVES
from evertrace._src.engines.fused.index import Index
from evertrace._src.engines.fused.writer import SIZES, Value, Writer, type_of

REUSED = 8
"""How often an element has to be read for its array to be transposed first."""

JOINED = 10.0
"""Instructions that a load takes of what a store just before may have changed, measured."""


class NotFusible(Exception):
    """A group cannot be one kernel.

    Attributes:
      variable: what has to be computed by another kernel first, or None.
    """

    def __init__(self, reason, variable=None):
        super().__init__(reason)
        self.variable = variable


@functools.cache
def _in_memory(dtype):
    return HALVES.get(dtype.name) or type_of(dtype)


class Memory(Writer):
    """A writer that knows arrays.

    Attributes:
      inputs: (variable, permutation or None) of the arrays that are read, in the order of slots.
      loads: what part of `work` reads them, by variables.
    """

    def __init__(self, is_dry, inputs):
        super().__init__(is_dry)
        self.loads: defaultdict[Any, float] = defaultdict(float)
        self.inputs: list[Any] = inputs
        self.slots = {key: i for i, key in enumerate(inputs)}

    def kind(self, x):
        """Return the type of an operand's elements."""
        return type_of(x.aval.dtype)

    def memory_kind(self, x):
        """Return the kind that memory has of an operand's elements."""
        return _in_memory(x.aval.dtype)

    def number(self, index, kind):
        """Return a place as a number."""
        total = self.constant(index.first, kind)
        for counter, step in index.terms:
            term = self.steps(kind, counter.lanes)
            if counter.text is not None:
                base = Value(counter.text, "i64", 1, counter.scope)
                base = self.cast("trunc", base, kind)
                term = base if counter.lanes == 1 else self.binary("add", base, term)
            else:
                term = term._replace(scope=counter.scope)
            total = self.binary("add", total, self.binary("mul", term, self.constant(step, kind)))
        return total

    def read(self, x, index):
        """Load elements of an array."""
        shape = x.aval.shape
        along = [d for d, place in enumerate(index) if place.lanes > 1]
        order = None
        if len(along) == 1 and along[0] != len(shape) - 1:
            turned = (*[d for d in range(len(shape)) if d != along[0]], along[0])
            if (x, turned) in self.slots or self._pays_transposition(x, index, along[0]):
                order = turned
        pointer = self.pointer(x, order)
        order = order or range(len(shape))
        place, before = offset([index[d] for d in order], [shape[d] for d in order]), self.work
        found = self.load_from(pointer, place, self.memory_kind(x))
        self.loads[x] += self.work - before
        return found

    def _pays_transposition(self, x, index, d):
        scope = places.innermost(index, self.entry)
        return scope.turns * index[d].lanes >= REUSED * x.aval.size

    def pointer(self, x, order=None):
        """Return the address of an array."""
        key = (x, order)
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = len(self.inputs)
            self.inputs.append(key)
        return Value(f"%p{slot}", "ptr", 1, self.entry)

    def result(self, number):
        """Return the address of a result."""
        return Value(f"%r{number}", "ptr", 1, self.entry)

    def load_from(self, pointer, offset, kind, within=None):
        """Load elements at an offset of memory, which is written in the scope `within`, if any."""
        moving = {}
        for counter, step in offset.terms:
            moving[counter] = moving.get(counter, 0) + step
        vectors = [c for c in moving if c.lanes > 1 and moving[c] != 0]
        if len(vectors) > 1:
            raise NotFusible("an array is read along two dimensions")
        first = offset.first
        terms = [(c, step) for c, step in moving.items() if step and c.text is not None]
        lanes = vectors[0].lanes if vectors else 1
        step = moving[vectors[0]] if vectors else 1
        address = self.place(pointer, first, terms, kind)
        found = [within or self.entry, *[c.scope for c, s in moving.items() if s]]
        scope = max(found, key=lambda s: s.depth)
        if lanes == 1 or step == 1:
            return self.load(address, kind, lanes, scope)
        return self._gather(pointer, first, terms, kind, (lanes, step), scope)

    def _gather(self, pointer, first, terms, kind, strided, scope):
        lanes, step = strided
        addresses = [self.place(pointer, first + i * step, terms, kind) for i in range(lanes)]
        found = [self.loaded(address, kind, 1, scope) for address in addresses]
        return self.from_memory(self.vector(found), kind)

    def looked_up(self, x, offsets):
        """Return the elements of an array that numbers say: as many as these have lanes."""
        pointer, kind, before = self.pointer(x), self.memory_kind(x), self.work
        found = []
        for i in range(offsets.lanes):
            offset = self.lane(offsets, i)
            address = self.address(pointer, offset, kind)
            found.append(self.loaded(address, kind, 1, address.scope))
        self.loads[x] += self.work - before
        return self.from_memory(self.vector(found) if offsets.lanes > 1 else found[0], kind)

    def joined_at(self, pointer, offset, value, join, scope):
        """Store what `join` makes of the elements from an offset on, read anew, and others."""
        address = self.address(pointer, offset, value.type)
        old = Value(self.name(), value.type, value.lanes, scope)
        self.spend(scope, JOINED, old.lanes)
        if not self.is_dry:
            line = f"load {old.full_type}, ptr {address.text}, align {SIZES[old.type]}"
            scope.lines.append(f"  {old.text} = {line}")
        self.store(join(old, value), address, scope, value.type)

    def place(self, pointer, first, terms, kind):
        """Return the address of ``first + sum of step * counter``; counters of loops only."""
        total = None
        for counter, step in sorted(terms, key=lambda term: term[0].scope.depth):
            term = Value(counter.text, "i64", 1, counter.scope)
            if step != 1:
                term = self.binary("mul", term, self.constant(step, "i64"), 0.0)
            total = term if total is None else self.binary("add", total, term, 0.0)
        if total is None:
            return self.address(pointer, self.constant(first, "i64"), kind)
        address = self.address(pointer, total, kind)
        return self.address(address, self.constant(first, "i64"), kind) if first else address

    def put_at(self, value, pointer, index, shape, scope, kind=None):
        """Store elements of an array of some shape, which the pointer leads to.

        They are those of a value, as it is, or of another kind of memory.
        """
        kind = kind or value.type
        found = offset(index, shape)
        value = self.spread(value, max([place.lanes for place in index], default=1))
        apart = max([s for c, s in found.terms if c.lanes > 1], default=1)
        terms = [(c, s) for c, s in found.terms if c.text is not None]
        if apart == 1:
            self.store(value, self.place(pointer, found.first, terms, kind), scope, kind)
            return
        for i in range(value.lanes):
            address = self.place(pointer, found.first + i * apart, terms, kind)
            self.store(self.lane(value, i), address, scope, kind)


def offset(index, shape):
    """Return where a place lies in memory."""
    first, terms, step = 0, (), 1
    for place, n in zip(reversed(index), reversed(shape), strict=True):
        first += step * place.first
        terms += tuple([(c, step * s) for c, s in place.terms])
        step *= n
    return Index(first, terms)
