"""Writing LLVM's text: scopes of loops, values, instructions.

Text is written into *scopes*, one for each open loop. A value is written where all that it is made
of is known, which may be outside of the innermost loop: text of an outer scope ends up in front of
the inner loop's, since that is put there only when it is closed. So nothing is computed in a loop
that does not change in it.
"""

import functools
import struct
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.engines.fused.halves import HALVES, narrowed, widened

LANES = 16
"""Elements of a vector, whatever the processor has: so sums are the same on each."""

TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "i8",
    "uint16": "i16", "uint32": "i32", "uint64": "i64", "float16": "float", "bfloat16": "float",
    "float32": "float", "float64": "double",
}  # fmt: skip
"""The types of values by the names of dtypes; in memory they are `STORED`."""

STORED: dict[str, str] = {"i1": "i8", **dict.fromkeys(HALVES.values(), "i16")}
"""What is another type in memory than where it is computed with."""

SIZES = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8,
}  # fmt: skip

NONE: Any = None


class Scope:
    """A loop that is being written, or the function around all of them.

    Attributes:
      parent: the scope around it, or None.
      path: keys of the loops that are open, from the outermost on.
      depth: how many these are.
      lines: the text so far.
      first: label of the block that the text begins in.
      label: of the one that it ends in.
      values: what has been computed here, by what it is.
      turns: how often it runs, for estimates.
      counts: whether values in it depend on the turn.
    """

    __slots__ = (
        "children",
        "counts",
        "depth",
        "first",
        "label",
        "lines",
        "parent",
        "path",
        "turns",
        "values",
    )

    def __init__(self, parent, key, label, turns):
        self.parent, self.first, self.label = parent, label, label
        self.path = () if parent is None else (*parent.path, key)
        self.depth = len(self.path)
        self.lines, self.values, self.children = [], {}, {}
        self.counts = False
        self.turns = turns if parent is None else parent.turns * turns


class Value(NamedTuple):
    """A number, or as many as a vector has lanes.

    Attributes:
      text: its name, or what it is if that is known.
      type: of an element.
      lanes: 1, or the elements of the vector.
      scope: where it was written.
    """

    text: str
    type: str
    lanes: int
    scope: Any

    @property
    def is_known(self):
        return self.text[0] != "%"

    @property
    def full_type(self):
        return self.type if self.lanes == 1 else f"<{self.lanes} x {self.type}>"


@functools.cache
def type_of(dtype):
    """Return the type of values of a dtype: it is asked for each of them."""
    return TYPES[dtype.name]


def literal_text(value, kind):
    """Return a number as LLVM writes it in a type."""
    if kind in ("float", "double"):
        number = float(np.float32(value)) if kind == "float" else float(value)
        return "0x" + struct.pack(">d", number).hex().upper()
    if kind == "i1":
        return "true" if value else "false"
    return str(int(value))


def _short(kind, lanes):
    """Return a type as the names of functions have it."""
    short = "f32" if kind == "float" else "f64" if kind == "double" else kind
    return short if lanes == 1 else f"v{lanes}{short}"


class Writer:
    """Text that is being written.

    Attributes:
      entry: the outermost scope.
      is_dry: whether nothing is written, but only estimated what would be.
      written: how many names there are so far.
      work: what runs, in vector instructions, as an estimate.
      names: numbers of loops, by where they are and what they are known by.
      narrow: the bits of floats that are halves, by their names and lanes.
    """

    def __init__(self, is_dry):
        self.is_dry, self.work = is_dry, 0.0
        self.written, self.names, self.narrow = 0, {}, {}
        self.entry = Scope(None, None, "entry", 1.0)

    def name(self):
        """Return a new name."""
        self.written += 1
        return f"%v{self.written}"

    # ------------------------------------------------------------ values

    def constant(self, value, kind):
        """Return a number that is known."""
        return Value(literal_text(value, kind), kind, 1, self.entry)

    def write(self, scope, line, kind, lanes, cost=1.0):
        """Append an instruction; the same one in the same scope is not written twice."""
        key = (line, lanes)
        found = scope.values.get(key)
        if found is None:
            found = scope.values[key] = Value(self.name(), kind, lanes, scope)
            self.spend(scope, cost, lanes)
            if not self.is_dry:
                scope.lines.append(f"  {found.text} = {line}")
        return found

    def spend(self, scope, cost, lanes):
        """Count an instruction on so many lanes."""
        self.work += cost * scope.turns * max(1.0, lanes / 16)

    def spread(self, x, lanes):
        """Return a vector of one number."""
        if x.lanes == lanes:
            return x
        if x.is_known:
            return Value(f"splat ({x.type} {x.text})", x.type, lanes, x.scope)
        vector = f"<{lanes} x {x.type}>"
        line = f"insertelement {vector} poison, {x.type} {x.text}, i64 0"
        first = self.write(x.scope, line, x.type, lanes, 0.5)
        zeros = f"<{lanes} x i32> zeroinitializer"
        line = f"shufflevector {vector} {first.text}, {vector} poison, {zeros}"
        return self.write(x.scope, line, x.type, lanes, 0.5)

    def alike(self, xs):
        """Return values as vectors of one length, the lanes, and the scope of them all."""
        lanes, scope = 1, self.entry
        for x in xs:
            if x.lanes > lanes:
                lanes = x.lanes
            if x.scope.depth > scope.depth:
                scope = x.scope
        return [x if x.lanes == lanes else self.spread(x, lanes) for x in xs], lanes, scope

    # ------------------------------------------------------------ instructions

    def binary(self, op, x, y, cost=1.0):
        """Write an instruction on two numbers of one type."""
        (x, y), lanes, scope = self.alike((x, y))
        return self.write(scope, f"{op} {x.full_type} {x.text}, {y.text}", x.type, lanes, cost)

    def unary(self, op, x):
        """Write an instruction on a number, such as fneg."""
        return self.write(x.scope, f"{op} {x.full_type} {x.text}", x.type, x.lanes)

    def compare(self, predicate, x, y):
        """Compare two numbers."""
        (x, y), lanes, scope = self.alike((x, y))
        op = "fcmp" if x.type in ("float", "double") else "icmp"
        line = f"{op} {predicate} {x.full_type} {x.text}, {y.text}"
        return self.write(scope, line, "i1", lanes)

    def choose(self, which, x, y):
        """Return `x` where a boolean holds, else `y`."""
        (which, x, y), lanes, scope = self.alike((which, x, y))
        line = (
            f"select {which.full_type} {which.text}, {x.full_type} {x.text}, {y.full_type} {y.text}"
        )
        return self.write(scope, line, x.type, lanes)

    def cast(self, op, x, kind):
        """Convert a number to a type."""
        if x.type == kind:
            return x
        target = kind if x.lanes == 1 else f"<{x.lanes} x {kind}>"
        line = f"{op} {x.full_type} {x.text} to {target}"
        return self.write(x.scope, line, kind, x.lanes)

    def saturated(self, op, x, kind):
        """Convert a float to the nearest integer of a type; NaN is 0."""
        target = Value("", kind, x.lanes, x.scope)
        names = [_short(kind, x.lanes), _short(x.type, x.lanes)]
        function = ".".join([f"@llvm.{op}.sat", *names])
        line = f"call {target.full_type} {function}({x.full_type} {x.text})"
        return self.write(x.scope, line, kind, x.lanes, 4.0)

    def call(self, name, *xs, cost=1.0):
        """Call an intrinsic function of numbers of one type."""
        xs, lanes, scope = self.alike(xs)
        kind = xs[0].type
        suffix = _short(kind, lanes)
        args = ", ".join(f"{x.full_type} {x.text}" for x in xs)
        line = f"call {xs[0].full_type} @llvm.{name}.{suffix}({args})"
        return self.write(scope, line, kind, lanes, cost)

    def lane(self, x, i):
        """Return one number of a vector."""
        if x.lanes == 1:
            return x
        return self.write(x.scope, f"extractelement {x.full_type} {x.text}, i64 {i}", x.type, 1)

    def lane_of(self, x, number):
        """Return the one number of a vector that another says."""
        if x.lanes == 1:
            return x
        scope = max(x.scope, number.scope, key=lambda s: s.depth)
        line = f"extractelement {x.full_type} {x.text}, i64 {number.text}"
        return self.write(scope, line, x.type, 1)

    def with_lane(self, x, value, number):
        """Return a vector with another number at the place that a third one says."""
        if x.lanes == 1:
            return value
        scope = max(x.scope, value.scope, number.scope, key=lambda s: s.depth)
        line = f"insertelement {x.full_type} {x.text}, {x.type} {value.text}, i64 {number.text}"
        return self.write(scope, line, x.type, x.lanes)

    def leading_zeros(self, x):
        """Return how many of the first bits of a number are not set."""
        name = f"@llvm.ctlz.{_short(x.type, x.lanes)}"
        line = f"call {x.full_type} {name}({x.full_type} {x.text}, i1 false)"
        return self.write(x.scope, line, x.type, x.lanes, 2.0)

    def any_lane(self, x, scope):
        """Return whether a boolean holds for any lane, in a scope at least."""
        if x.lanes == 1:
            return x
        line = f"call i1 @llvm.vector.reduce.or.v{x.lanes}i1({x.full_type} {x.text})"
        return self.write(max(x.scope, scope, key=lambda s: s.depth), line, "i1", 1)

    def shuffled(self, x, first, lanes):
        """Return a vector of some lanes of a vector, from the first one on."""
        mask = ", ".join([f"i32 {i}" for i in range(first, first + lanes)])
        line = (
            f"shufflevector {x.full_type} {x.text}, {x.full_type} poison, <{lanes} x i32> <{mask}>"
        )
        return self.write(x.scope, line, x.type, lanes)

    def halves(self, x, y, lanes):
        """Return, of pieces of so many lanes that vectors are made of, the first and last halves.

        Those of the second vector follow those of the first one, if there is a second one.
        """
        half, full, found = lanes // 2, x.lanes * (1 if y is None else 2), []
        second = "poison" if y is None else y.text
        scope = x.scope if y is None else max(x.scope, y.scope, key=lambda s: s.depth)
        for first in (0, half):
            which = [i for i in range(full) if first <= i % lanes < first + half]
            mask = ", ".join([f"i32 {i}" for i in which])
            line = (
                f"shufflevector {x.full_type} {x.text}, {x.full_type} {second}, "
                f"<{len(which)} x i32> <{mask}>"
            )
            found.append(self.write(scope, line, x.type, len(which)))
        return found

    def beside(self, x, y):
        """Return a vector of the lanes of two."""
        if x.lanes == 1:
            return self.vector([x, y])
        mask = ", ".join([f"i32 {i}" for i in range(2 * x.lanes)])
        scope = max(x.scope, y.scope, key=lambda s: s.depth)
        line = (
            f"shufflevector {x.full_type} {x.text}, {x.full_type} {y.text}, "
            f"<{2 * x.lanes} x i32> <{mask}>"
        )
        return self.write(scope, line, x.type, 2 * x.lanes)

    def turned_by(self, x, number):
        """Return the lanes of a vector, as many as a power of two, from a number on, around."""
        by = 1
        while by < x.lanes:
            mask = ", ".join([f"i32 {(i + by) % x.lanes}" for i in range(x.lanes)])
            line = (
                f"shufflevector {x.full_type} {x.text}, {x.full_type} poison, "
                f"<{x.lanes} x i32> <{mask}>"
            )
            turned = self.write(x.scope, line, x.type, x.lanes)
            bit = self.binary("and", number, self.constant(by, number.type))
            x = self.choose(self.compare("ne", bit, self.constant(0, bit.type)), turned, x)
            by *= 2
        return x

    def vector(self, xs):
        """Return a vector of numbers."""
        lanes = len(xs)
        vector = Value("poison", xs[0].type, lanes, self.entry)
        for i, x in enumerate(xs):
            line = f"insertelement {vector.full_type} {vector.text}, {x.type} {x.text}, i64 {i}"
            scope = max(x.scope, vector.scope, key=lambda s: s.depth)
            vector = self.write(scope, line, x.type, lanes)
        return vector

    def steps(self, kind, lanes):
        """Return the vector 0, 1, 2, ..."""
        text = ", ".join(f"{kind} {i}" for i in range(lanes))
        return Value(f"<{text}>" if lanes > 1 else "0", kind, lanes, self.entry)

    # ------------------------------------------------------------ memory

    def address(self, pointer, offset, kind):
        """Return the address of an element."""
        memory = STORED.get(kind, kind)
        line = f"getelementptr {memory}, ptr {pointer.text}, {offset.type} {offset.text}"
        scope = max(pointer.scope, offset.scope, key=lambda s: s.depth)
        return self.write(scope, line, "ptr", 1, 0.0)

    def load(self, address, kind, lanes, scope):
        """Read numbers that lie side by side."""
        return self.from_memory(self.loaded(address, kind, lanes, scope), kind)

    def loaded(self, address, kind, lanes, scope):
        """Read numbers as they are in memory."""
        memory: Any = STORED.get(kind, kind)
        full = memory if lanes == 1 else f"<{lanes} x {memory}>"
        line = f"load {full}, ptr {address.text}, align {SIZES[kind]}"
        found = scope.values.get(line)
        if found is None:
            found = scope.values[line] = Value(self.name(), memory, lanes, scope)
            self.spend(scope, 1.0, lanes)
            if not self.is_dry:
                scope.lines.append(f"  {found.text} = {line}")
        return found

    def from_memory(self, x, kind):
        """Return numbers that are read from memory as they are computed with."""
        if kind == "i1":
            return self.compare("ne", x, self.constant(0, "i8"))
        if kind not in STORED:
            return x
        return self._half(self.cast("zext", x, "i32"), kind)

    def to_memory(self, x, kind):
        """Return numbers as memory has them."""
        if kind == "i1":
            return self.cast("zext", x, "i8")
        if kind not in STORED:
            return x
        bits = self.narrow.get((x.text, x.lanes))
        if bits is None or bits.scope is not x.scope:  # those of a turn are not there after a loop
            bits = narrowed(self, x, kind)
        return self.cast("trunc", bits, "i16")

    def rounded(self, x, kind):
        """Return the nearest numbers of a kind of memory, as they are computed with."""
        return self._half(narrowed(self, x, kind), kind) if kind in HALVES.values() else x

    def _half(self, bits, kind):
        found = widened(self, bits, kind)
        self.narrow[found.text, found.lanes] = bits
        return found

    def store(self, x, address, scope, kind):
        """Write numbers side by side; those of a kind that memory has otherwise are of it."""
        x = self.to_memory(x, kind)
        self.spend(scope, 1.0, x.lanes)
        if not self.is_dry:
            scope.lines.append(
                f"  store {x.full_type} {x.text}, ptr {address.text}, align {SIZES[kind]}"
            )

    # ------------------------------------------------------------ loops

    def loop(self, parent, key, bounds, carried, body, turns, enters=None):
        """Write a loop that runs at least once, if it is not said whether it does.

        Args:
          parent: the scope in which it is.
          key: its name in paths.
          bounds: (first, end, step), the first two as text of i64; the end is None if it is not
            counted.
          carried: numbers that change from turn to turn.
          body: from the scope, the name of the counter and the numbers, returns the next ones, and
            whether there is another turn: None if that is counted.
          turns: how often it runs, as an estimate.
          enters: whether there is a first turn.

        Returns:
          The numbers after the last turn.
        """
        key = self.names.setdefault((parent.path, key), len(self.names))
        scope = parent.children.get(key) if self.is_dry else None
        label = f"loop{self.written}"
        self.written += 1
        if scope is None:
            scope = Scope(parent, key, label, turns)
            if self.is_dry:
                parent.children[key] = scope
        counter = self.name()
        inner = [Value(self.name(), x.type, x.lanes, scope) for x in carried]
        nexts, goes_on = body(scope, counter, inner)
        nexts = [self.spread(x, y.lanes) for x, y in zip(nexts, carried, strict=True)]
        if not self.is_dry:
            nexts = self._close(scope, (counter, *bounds), (inner, carried, nexts), enters, goes_on)
        return [x._replace(scope=parent) for x in nexts]

    def _close(self, scope, counted, carries, enters, goes_on):
        """Append the text of a loop to what is around it; returns the numbers after it."""
        counter, first, end, step = counted
        inner, carried, nexts = carries
        parent, last = scope.parent, scope.label
        label, after = scope.first, f"after{self.written}"
        self.written += 1
        lines, before = parent.lines, parent.label
        goes = f"label %{label}"
        lines.append(
            f"  br {goes if enters is None else f'i1 {enters.text}, {goes}, label %{after}'}"
        )
        lines.append(f"{label}:")
        lines.append(f"  {counter} = phi i64 [ {first}, %{before} ], [ {counter}n, %{last} ]")
        for x, y, z in zip(inner, carried, nexts, strict=True):
            lines.append(_merged(x, (y, before), (z, last)))
        lines += scope.lines
        lines.append(f"  {counter}n = add nsw i64 {counter}, {step}")
        again = f"{counter}c"
        if goes_on is None:
            lines.append(f"  {again} = icmp slt i64 {counter}n, {end}")
        else:
            again = goes_on.text
        lines.append(f"  br i1 {again}, label %{label}, label %{after}")
        lines.append(f"{after}:")
        parent.label = after
        if enters is None:
            return nexts
        ends = [Value(self.name(), x.type, x.lanes, parent) for x in inner]
        for end, y, z in zip(ends, carried, nexts, strict=True):
            lines.append(_merged(end, (y, before), (z, last)))
        return ends


def _merged(x, *sources):
    """Return the instruction for a value that comes from one of several blocks."""
    found = ", ".join([f"[ {value.text}, %{block} ]" for value, block in sources])
    return f"  {x.text} = phi {x.full_type} {found}"
