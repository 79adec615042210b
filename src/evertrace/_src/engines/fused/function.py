"""The function of a group: a kernel with the loops over its results, in LLVM's text."""

import itertools

from evertrace._src.engines.fused import cuts
from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.index import ZERO
from evertrace._src.engines.fused.kernel import Kernel, Nest, Part
from evertrace._src.engines.fused.writer import STORED, Value

SHORT = 16
"""Elements of the last dimensions of a result that are written out."""


class Function(Kernel):
    """A kernel that computes the results of its group."""

    def whole(self):
        """Write the function; returns the text."""
        rows = self.group.rows
        if self.group.over is not None:
            self._put_all(*self.group.roots)
        elif rows is None:
            self._roots(self.entry, ())
        elif not rows:
            self._long_roots()
        else:
            self.units = rows[0]
            self._rows(self.entry, rows, ())
        return "" if self.is_dry else self._text()

    def _rows(self, scope, rows, index):
        if not rows:
            self._roots(scope, index)
            return
        d, twin = len(index), None
        for low, high in cuts.segments(self.group.cuts, d, rows[0]):

            def body(inner, text, _, at=(low, high - 1)):
                nonlocal twin
                twin = self.twins[inner.path[-1]] = twin or inner.path[-1]
                counter = self.counter((*inner.path, "at"), inner, text, 1, 0, at, (d, 0))
                self._rows(inner, rows[1:], (*index, places.of(counter)))
                return [], None

            begin, end, enters = str(low), str(high), None
            if not index:
                begin, end, enters = self._shared(low, high, high - low == rows[0])
            self.loop(scope, ("row", d, low), (begin, end, 1), [], body, high - low, enters)

    def _shared(self, low, high, is_all):
        """Return which units of some are this call's: from where to where, and if there are any."""
        if is_all:
            return "%begin", "%end", None
        begin, end = [Value(x, "i64", 1, self.entry) for x in ("%begin", "%end")]
        begin = self.call("smax", begin, self.constant(low, "i64"))
        end = self.call("smin", end, self.constant(high, "i64"))
        return begin.text, end.text, self.compare("slt", begin, end)

    def _long_roots(self):
        """Write roots whose first dimension is looked at vector by vector."""
        pieces, self.units = [], 0
        for low, high in cuts.segments(self.group.cuts, 0, self.group.shape[0]):
            lanes = min(self.group.lanes, high - low)
            count = -(-(high - low) // lanes)
            pieces.append((low, high - low, lanes, self.units, self.units + count))
            self.units += count
        for low, extent, lanes, first, last in pieces:
            begin, end, enters = self._shared(first, last, len(pieces) == 1)

            def body(inner, text, _, at=(low, extent, lanes, first, last)):
                self._vector_of_roots(inner, text, *at)
                return [], None

            self.loop(self.entry, ("row", 0, low), (begin, end, 1), [], body, last - first, enters)

    def _vector_of_roots(self, scope, text, low, extent, lanes, first, last):
        """Store a vector of roots of one dimension: which one of a segment, a counter says."""
        base = None
        if last - first > 1:
            base = Value(text, "i64", 1, scope)
            base = self.binary("sub", base, self.constant(first, "i64"), 0.0) if first else base
            base = self.binary("mul", base, self.constant(lanes, "i64"), 0.0)
            base = self.until(scope, base.text, extent - lanes)
        at = (0, extent - 1), (0, low)
        counter = self.counter((*scope.path, "at"), scope, base, lanes, 0, *at)
        place = places.of(counter) if lanes > 1 else ZERO
        self.visits += scope.turns
        for x in self.group.roots:
            self.put(x, (place.moved(low),), scope)

    def _put_all(self, x):
        """Write what a result begins with, then a loop that stores in it."""
        level = self.group.levels[x]
        for n, (shape, is_put) in enumerate(((x.aval.shape, False), (self.group.over, True))):
            nest = Nest(self.entry.path, shape, level + 1 + n, True)
            self.run(self.entry, nest, [Part(x, (), is_put=is_put)])

    def _roots(self, scope, index):
        for x in sorted(self.group.roots, key=self.group.levels.__getitem__):
            rest, level = tuple(self.group.shape_of(x)[len(index) :]), self.group.levels[x] + 1
            pieces = [cuts.segments(self.group.cuts, len(index) + d, n) for d, n in enumerate(rest)]
            for piece in itertools.product(*pieces) if rest else ():
                starts, extents = [low for low, _ in piece], [high - low for low, high in piece]
                nest = Nest(scope.path, tuple(extents), level, True)
                if nest.extents != rest:
                    nest = nest._replace(starts=tuple(starts), whole=rest)
                self.ensure(scope, nest, Part(x, index))
            if not rest:
                self.put(x, index, scope)

    def _text(self):
        lines = ["define void @kernel(ptr %slots, i64 %begin, i64 %end) #0 {", "entry:"]
        names = [f"%p{i}" for i in range(len(self.inputs))]
        names += [f"%r{i}" for i in range(len(self.group.roots))]
        for i, name in enumerate(names):
            lines.append(f"  {name}a = getelementptr ptr, ptr %slots, i64 {i}")
            lines.append(f"  {name} = load ptr, ptr {name}a, align 8")
        for name, kind, count in self.buffers.values():
            memory = STORED.get(kind, kind)
            lines.append(f"  {name} = alloca [{count} x {memory}], align 64")
        lines += self.entry.lines
        lines += ["  ret void", "}", ""]
        lines.append('attributes #0 = { nounwind "prefer-vector-width"="512" ')
        lines[-1] += '"min-legal-vector-width"="512" }'
        return "\n".join(lines)


def long_dimensions(shape):
    """Return the lengths without those of the last dimensions, if they are short."""
    kept, total = len(shape), 1
    while kept > 1 and total * shape[kept - 1] <= SHORT:
        kept -= 1
        total *= shape[kept]
    return shape[:kept]
