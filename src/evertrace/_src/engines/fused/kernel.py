"""One function of machine code: a nest of loops that computes the results of a group.

A value is a function of places: `Kernel.at` writes down how an element, or a vector of them, comes
about from the elements of operands, down to those of the arrays that the kernel reads. Places are
`Index`es. So what only moves elements costs nothing, and what one loop needs is computed in it.

What has to be a loop of its own is a *part*: a reduction of more than `UNROLLED` elements, or the
results themselves. Parts of one scope, with loops of one length, of which none needs another,
become one loop with several accumulators. To find them, the function is written twice, the first
time without a text (`is_dry`), which also estimates what it costs.
"""

import itertools
import math
from typing import Any, NamedTuple

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused import cuts
from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.index import ZERO, Counter, Index
from evertrace._src.engines.fused.joins import across, in_pairs, listed, of_rows, put_back
from evertrace._src.engines.fused.memory import Memory, NotFusible, offset
from evertrace._src.engines.fused.rules import UNROLLED, fusion
from evertrace._src.engines.fused.rules.loops import turned
from evertrace._src.engines.fused.writer import LANES, SIZES, Value

WIDE = ((64, 10.0), (32, 18.0))
"""Elements of the vectors of loops of so many instructions at most.

Several registers each, since a sum of one waits for itself. So do loops that turn in registers.
"""

MOST_IN_TURN = 32.0
"""Instructions of turns in registers that may still be wide: others need registers, too."""

CHUNKS = 4
"""Vectors of a loop that is written out."""

BLOCK = 64
"""Turns after which a sum begins anew, so that its error does not grow with its length."""

DEEPEST = 60
"""Operations that follow each other within a kernel."""

LONGEST = 4000
"""Names in the text of a kernel, and values that are computed for it."""

MOST_KEPT = 1 << 14
"""Bytes of a value that is kept within a kernel."""


class Part(NamedTuple):
    """What a loop computes.

    Attributes:
      variable: of which it is.
      place: where in the result of a reduction, or in the first dimensions of a stored value.
      reduction: what joins two elements, or None if they are stored.
      is_kept: whether they are stored within the kernel; then `place` is None where all are.
      is_put: whether they are joined with what is stored, so that each is looked at once.
      is_lane: whether it is one of several reductions whose results are lanes of a vector, which
        are joined together: see `Kernel.by_lanes`.
    """

    variable: Any
    place: tuple
    reduction: Any = None
    is_kept: bool = False
    is_put: bool = False
    is_lane: bool = False


class Nest(NamedTuple):
    """A nest of loops.

    Attributes:
      path: of the scope in which it is.
      extents: how long each dimension is.
      level: of what it computes, see `Group.levels`.
      is_vector: whether the last dimension is looked at vector by vector.
      starts: where its dimensions begin, if it is a segment of one that is cut.
      whole: the extents of that one.
    """

    path: tuple
    extents: tuple
    level: int
    is_vector: bool
    starts: tuple = ()
    whole: tuple = ()


class Kernel(Memory):
    """A kernel that is being written.

    Attributes:
      group: what it computes.
      parts: the parts of each nest of loops, by their variables and indices.
      units: pieces into which the outermost loop can be divided.
      sites: where dear values are computed: the paths of scopes.
      buffers: memory within the kernel: its name and (type, elements) by what is kept there.
      turning: the turns of loops in registers that are being written, see `rules.loops`.
      in_turn: the most instructions of a turn of a loop in registers.
      aliases: variables of the bodies of loops to operands of the loops.
      twins: keys of loops over segments of a dimension to that of the first one.
    """

    def __init__(self, group, first=None):
        super().__init__(first is None, [] if first is None else first.inputs)
        self.group = group
        self.parts = {} if first is None else first.parts
        self.units = 1
        self.done, self.live = {}, {}
        self.sites, self.buffers, self.open = {}, {}, []
        self.deep, self.turning, self.visits, self.in_turn = 0, [], 0.0, 0.0
        self.computations = 0
        self.aliases, self.twins = {}, {}
        self.names = {} if first is None else first.names

    # ------------------------------------------------------------ values

    def at(self, x, index):
        """Return the element of an operand at a place, or the elements from there on."""
        if type(x) is Literal:
            return self.constant(_number_at(x.val, index), self.kind(x))
        if x in self.aliases:
            return self.at(self.aliases[x], index)
        values, around = self.memo(x, index)
        if around and x in self.turning[around - 1].given:
            return self.turning[around - 1].given[x](index)
        key = (id(x), index)
        found = values.get(key)
        if found is None:
            inside, self.turning = self.turning, self.turning[:around]
            if x in self.group.makers:
                found = self.kept_at(x, index) or self.computed(x, index)
            elif around:
                raise NotFusible("the numbers of a loop depend on its arrays")
            else:
                found = self.read(x, index)
            self.turning = inside
            values[key] = found
        return found

    def memo(self, x, index):
        """Return what is known of values at a place, and how many loops turn around a value."""
        owner = self.group.makers.owner(x)
        if owner is not None:  # it is another value in each turn of the loop that it is in
            for around in range(len(self.turning), 0, -1):
                if self.turning[around - 1].loop is owner:
                    return self.turning[around - 1].values, around
        return places.innermost(index, self.entry).values, 0

    def stored(self, x):
        """Return what an operand is called that is in memory, before anything is looked up there.

        Raises:
          NotFusible: it is not; then another kernel has to compute it first.
        """
        while x in self.aliases:
            x = self.aliases[x]
        if type(x) is Literal or any(x in turn.given for turn in self.turning):
            raise NotFusible("an element of a loop's values is looked up")
        if x in self.group.makers:
            raise NotFusible("elements of it are looked up", x)
        return x

    def chosen(self, key, value, lanes=1):
        """Return the place that a number says, or places from there on; the key says what it is.

        In a loop that turns, it may be one number before a turn and another after it.
        """
        if value.is_known and lanes == 1:
            return Index(int(value.text))
        key = (*key, value.text) if self.turning else key
        value = self.cast("sext", value, "i64")
        counter = self.live[key] = Counter(key, value.scope, value.text, lanes)
        return places.of(counter)

    def body(self, eqn):
        """Return the body of a loop."""
        return self.group.makers.body(eqn)

    def computed(self, x, index):
        """Compute an element of a value of the group."""
        eqn = self.group.makers[x]
        rule = fusion[eqn.primitive]
        if self.is_dry and rule.is_dear(eqn) and not self.turning:
            scope = places.innermost(index, self.entry)
            self._check_turns(x, index, scope)
            self.sites.setdefault(x, set()).add(self._site(scope))
        if self.deep == DEEPEST:
            raise NotFusible("too many operations follow each other", x)
        self.computations += 1
        if self.is_dry and max(self.written, self.computations) > LONGEST:
            raise NotFusible("it is long")
        self.deep += 1
        if rule.element_of is None:
            found = rule.value(self, eqn, index)
            if rule.operations and not rule.is_exact:
                found = self.rounded(found, self.memory_kind(x))
        else:
            found = rule.element_of(self, eqn, x, index)
        self.deep -= 1
        return found

    # ------------------------------------------------------------ values that are kept

    def piece(self, place, bounds):
        """Return in which piece of a dimension a place lies, see `cuts.piece`."""
        return cuts.piece(self.group.cuts, place, bounds)

    def _site(self, scope):
        """Return the path of a scope; it is that of one segment for all."""
        nest = self.open[-1] if self.open else None
        if nest is None or not nest.starts:
            return self._uncut(scope.path)
        return (*self._uncut(nest.path), "segment")

    def _uncut(self, path):
        return tuple([self.twins.get(key, key) for key in path])

    def lanes(self):
        """Return how many elements the vectors of the kernel should have, by what loops do."""
        ends = [(nest.whole or nest.extents)[-1] for nest in self.parts if nest.is_vector]
        if self.group.rows == ():
            ends.append(self.group.shape[0])
        instructions = self.work / max(1.0, self.visits)
        if self.group.makers.is_turning() and self.in_turn <= MOST_IN_TURN:
            instructions = 0.0  # they turn in registers, as long as there are enough
        for lanes, most in WIDE:
            if instructions <= most and ends and min(ends) >= 2 * lanes:
                return lanes
        return LANES

    def wanted(self):
        """Return what several loops compute that is dear: values -> depth of what is around all."""
        found = {}
        for x, paths in self.sites.items():
            if len(paths) > 1:
                same = itertools.takewhile(
                    lambda keys: len(set(keys)) == 1, zip(*paths, strict=False)
                )
                found[x] = len(list(same))
        return found

    def kept_at(self, x, index):
        """Return an element from memory, if the value is kept and not just being computed."""
        depth = None if self.turning else self.group.kept.get(x)
        scope = places.innermost(index, self.entry)
        if depth is None or scope.depth < depth:
            return None
        around: Any = scope
        while around.depth > depth:
            around = around.parent
        is_free = [_runs_below(place, depth) for place in index]
        extents = [n for n, free in zip(x.aval.shape, is_free, strict=True) if free]
        known = all(_counts_all(place) for place, free in zip(index, is_free, strict=True) if free)
        if not known or not extents or math.prod(extents) * SIZES[self.kind(x)] > MOST_KEPT:
            return None
        place = tuple([None if free else p for p, free in zip(index, is_free, strict=True)])
        nest = Nest(around.path, tuple(extents), self.group.levels[x] + 1, True)
        if nest in self.open:
            return None
        buffer = self._buffer(x, place, extents)
        self.ensure(around, nest, Part(x, place, None, True))
        free = [p for p, is_one in zip(index, is_free, strict=True) if is_one]
        return self.load_from(buffer, offset(free, extents), self.kind(x), around)

    def _buffer(self, x, place, extents):
        key = (x, place)
        if key not in self.buffers:
            self.buffers[key] = f"%b{len(self.buffers)}", self.kind(x), math.prod(extents)
        return Value(self.buffers[key][0], "ptr", 1, self.entry)

    # ------------------------------------------------------------ parts

    def reduced(self, eqn, index, extents, reduction):
        """Return what a reduction has at a place; `extents` are those of the reduced dimensions."""
        element = fusion[eqn.primitive].element
        if self.group.over is not None:  # by itself it is done for vectors of results
            raise NotFusible("a reduction comes first", eqn.outvars[0])
        if math.prod(extents) <= UNROLLED:
            found = [element(self, eqn, index, place) for place in places.every(extents)]
            return reduction.finish(self, in_pairs(self, reduction, found))
        x, scope = eqn.outvars[0], places.innermost(index, self.entry)
        self._check_turns(x, index, scope)
        if scope is self.entry and self.group.is_looped:
            raise NotFusible("a reduction of everything comes first", x)
        is_vector = all(place.lanes == 1 for place in index)
        if self.group.is_by_lanes and not is_vector and fusion[eqn.primitive].is_along_rows(eqn):
            return self.by_lanes(x, index, extents, reduction)
        key = Nest(scope.path, tuple(extents), self.group.levels[x], is_vector)
        return self.ensure(scope, key, Part(x, index, reduction))

    def by_lanes(self, x, index, extents, reduction):
        """Return what a reduction has at several places, each of which is a row of its own.

        Rows are looked at in one loop, vector by vector, with a total for each.
        """
        scope = places.innermost(index, self.entry)
        (counter,) = [c for c in places.counters(index) if c.lanes > 1]
        one = counter
        if counter.text is not None:
            at = counter.range and (counter.range[0], counter.range[1] - counter.lanes + 1)
            one = self.counter((counter.key, "lane"), counter.scope, counter.text, 1, 0, at)
        rows = [places.row(index, counter, one, i) for i in range(counter.lanes)]
        nest = Nest(scope.path, tuple(extents), self.group.levels[x], True)
        found = [self.ensure(scope, nest, Part(x, row, reduction, is_lane=True)) for row in rows]
        return reduction.finish(self, of_rows(self, reduction, found))

    def _check_turns(self, x, index, scope):
        """Refuse what would be computed again and again in a loop that does not change it."""
        found = [c.scope for c in places.counters(index)]
        around: Any = scope
        while around is not None:
            if around.counts and around not in found:
                raise NotFusible("it would be computed again in a loop", x)
            around = around.parent

    def ensure(self, scope, nest, part):
        """Write the loop of a part, if it is not there yet; returns what the part computes."""
        name = (part.variable, part.place, nest.starts)
        if self.is_dry:
            known = self.parts.setdefault(nest, {})
            if name not in known:
                known[name] = part
                self.done[name] = self.run(scope, nest, [part])[0]
        elif name not in self.done:
            parts = sorted(self.parts[nest].values(), key=lambda part: not part.is_kept)
            parts = [self._alive(part, scope) for part in parts if self._is_next(nest, part)]
            for one, value in zip(parts, self.run(scope, nest, parts), strict=True):
                self.done[one.variable, one.place, nest.starts] = value
        return self.done[name]

    def _is_next(self, nest, part):
        """Whether a part of the first writing is not done, and the numbers are there it is at."""
        counted = [c for place in part.place if place for c, _ in place.terms if c.text is not None]
        is_there = all(c.key in self.live for c in counted)
        return is_there and (part.variable, part.place, nest.starts) not in self.done

    def _alive(self, part, scope):
        """Return a part of the first writing with the counters of this one."""
        index = []
        for place in part.place:
            if place is None:
                index.append(None)
                continue
            terms = tuple([(self._own(c, scope), step) for c, step in place.terms])
            index.append(Index(place.first, terms))
        return part._replace(place=tuple(index))

    def _own(self, counter, scope):
        """Return this writing's counter in the place of the first one's; vectors may be new."""
        if counter.text is None and counter.key not in self.live:
            while scope.path != counter.scope.path:
                scope = scope.parent
            self.counter(counter.key, scope, None, counter.lanes, counter.base)
        return self.live[counter.key]

    def counter(self, key, scope, text, lanes, base=0, range_=None, along=None):
        """Return a new counter; see there."""
        if text is None:
            range_ = (0, lanes - 1)
        elif self.group.stacks or self.group.over is not None:
            along = None
        made = self.live[key] = Counter(key, scope, text, lanes, base, range_, along)
        scope.counts = scope.counts or text is not None
        return made

    # ------------------------------------------------------------ loops

    def run(self, scope, nest, parts):
        """Write a nest of loops; returns a result for each part, None of what is stored."""
        self.open.append(nest)
        totals = self._along(scope, nest, parts, (), {})
        self.open.pop()
        return [self._total(nest, n, part, totals) for n, part in enumerate(parts)]

    def _total(self, nest, n, part, totals):
        if part.reduction is None:
            return None
        reduction, found = part.reduction, []
        for (owner, _), xs in sorted(totals.items()):
            if owner == n:
                is_whole = nest.is_vector and not part.is_lane
                found.append(across(self, reduction, xs) if is_whole else xs)
        if part.is_lane:
            return found
        return reduction.finish(self, in_pairs(self, reduction, found))

    def _along(self, scope, nest, parts, index, totals):
        """Write the loop of the next dimension and those in it; returns new totals."""
        d = len(index)
        if d == len(nest.extents):
            if nest.starts:
                index = tuple([p.moved(a) for p, a in zip(index, nest.starts, strict=True)])
            return self._add(scope, parts, index, totals)
        extent = nest.extents[d]
        if extent == 1:
            return self._along(scope, nest, parts, (*index, ZERO), totals)
        if not (nest.is_vector and d == len(nest.extents) - 1):
            return self._count(scope, (nest, d), extent, 1, parts, index, totals, self._lanes)
        return self._in_vectors(scope, nest, parts, index, totals)

    def _in_vectors(self, scope, nest, parts, index, totals):
        extent, lanes = nest.extents[-1], self.group.lanes
        done = 0
        if extent // lanes > CHUNKS:
            key = (nest, len(index))
            totals = self._count(
                scope, key, extent, lanes, parts, index, totals, lambda *_: [lanes]
            )
            is_all = all(_may_overlap(part) for part in parts)
            done = extent if is_all else extent - extent % lanes
        for count in _pieces(extent - done, lanes):
            place = self._chunk(scope, extent, done, count)
            totals = self._along(scope, nest, parts, (*index, place), totals)
            done += count
        return totals

    def _chunk(self, scope, extent, first, lanes):
        """Return the fixed place of one vector of a dimension."""
        if lanes == 1:
            return Index(first)
        key = (*scope.path, "chunk", extent, first)
        return places.of(self.counter(key, scope, None, lanes, first))

    def _lanes(self, nest, part):
        """Return how many lanes the totals of a part have in a nest of loops."""
        if nest.is_vector:
            extent, lanes = nest.extents[-1], self.group.lanes
            return sorted({*([lanes] if extent >= lanes else []), *_pieces(extent % lanes, lanes)})
        return [max([place.lanes for place in part.place if place], default=1)]

    def _count(self, scope, key, extent, step, parts, index, totals, lanes):
        """Write a loop over a dimension, in which totals have the lanes that a function returns."""
        reduced = [(n, part) for n, part in enumerate(parts) if part.reduction]
        wanted = [(n, count) for n, part in reduced for count in lanes(key[0], part)]
        overlaps = step > 1 and all(_may_overlap(part) for part in parts)
        nest = key[0]
        first = -(nest.starts[-1] % LANES) if overlaps and nest.starts else 0
        turns = -(-(extent - first) // step) if overlaps else extent // step

        def body(inner, text, flat):
            if overlaps:
                text = self.until(inner, text, extent - step, is_early=first < 0)
            name = (*inner.path, "at")
            along = self._along_result(nest, len(index), parts)
            counter = self.counter(name, inner, text, step, 0, (0, extent - 1), along)
            within = dict(totals)
            put_back(within, wanted, parts, flat)
            at = (*index, places.of(counter))
            return listed(self._along(inner, nest, parts, at, within), wanted), None

        end = first + turns * step
        starts = [totals.get(w) or self._identity(parts[w[0]].reduction, w[1]) for w in wanted]
        carried = [x for xs in starts for x in xs]
        if turns > 2 * BLOCK and any(part.reduction and part.reduction.adds for part in parts):
            flat = self._in_blocks(scope, key, (end, step), wanted, parts, carried, body)
        else:
            flat = self.loop(scope, key, (str(first), str(end), step), carried, body, turns)
        totals = dict(totals)
        put_back(totals, wanted, parts, flat)
        return totals

    def _along_result(self, nest, d, parts):
        """Return the dimension of results that a loop goes along, and where it begins, or None."""
        if any(part.reduction or part.is_kept or part.is_put for part in parts):
            return None
        return len(parts[0].place) + d, nest.starts[d] if nest.starts else 0

    def until(self, scope, text, most, is_early=False):
        """Return a counter, but at most a number: the last vector overlaps with the one before.

        So does the first one if the count is early, for the others to lie on lines of memory.
        """
        counter = Value(text, "i64", 1, scope)
        if is_early:
            counter = self.call("smax", counter, self.constant(0, "i64"), cost=0.0)
        return self.call("smin", counter, self.constant(most, "i64"), cost=0.0).text

    def _in_blocks(self, scope, key, range_, wanted, parts, carried, body):
        """Write a loop whose totals begin anew after some turns."""
        end, step = range_
        zeros = [x for n, count in wanted for x in self._identity(parts[n].reduction, count)]

        def block(outer, text, flat):
            first = Value(text, "i64", 1, outer)
            after = self.binary("add", first, self.constant(BLOCK * step, "i64"), 0.0)
            stop = self.call("smin", after, self.constant(end, "i64"), cost=0.0).text
            found = self.loop(outer, key, (text, stop, step), zeros, body, BLOCK)
            return self._joined(wanted, parts, flat, found), None

        turns = end / (BLOCK * step)
        bounds = ("0", str(end), BLOCK * step)
        return self.loop(scope, ("blocks", *key), bounds, carried, block, turns)

    def _joined(self, wanted, parts, xs, ys):
        old, new = {}, {}
        put_back(old, wanted, parts, xs)
        put_back(new, wanted, parts, ys)
        joined = {w: parts[w[0]].reduction.join(self, old[w], new[w]) for w in wanted}
        return listed(joined, wanted)

    def _identity(self, reduction, lanes):
        return tuple([self.spread(self.constant(*x), lanes) for x in reduction.identity])

    def _add(self, scope, parts, index, totals):
        """Write what is done for one place of a nest of loops."""
        self.visits += scope.turns
        for n, part in enumerate(parts):
            if part.reduction is None:
                if part.is_kept:
                    self._keep(part, index, scope)
                elif part.is_put:
                    eqn = self.group.makers[part.variable]
                    fusion[eqn.primitive].put(self, eqn, index, scope)
                else:
                    self.put(part.variable, (*part.place, *index), scope)
                continue
            eqn = self.group.makers[part.variable]
            xs = fusion[eqn.primitive].element(self, eqn, part.place, index)
            lanes = max(place.lanes for place in (*part.place, *index))
            xs = tuple([self.spread(x, lanes) for x in xs])
            before = totals.get((n, lanes))
            totals = dict(totals)
            totals[n, lanes] = xs if before is None else part.reduction.followed(self, before, xs)
        return totals

    def put(self, x, index, scope):
        """Store elements of a result: all those of its short dimensions."""
        if x in self.group.stacks:
            turned(self, self.group.makers[x], index, True)
            return
        for rest in places.every(x.aval.shape[len(index) :]):
            whole = (*index, *rest)
            pointer = self.result(self.group.roots.index(x))
            value = self.at(self.group.first_of(x), whole)
            self.put_at(value, pointer, whole, x.aval.shape, scope, self.memory_kind(x))

    def _keep(self, part, index, scope):
        """Compute elements that are kept, which those beside them in the loop need not read."""
        x, free = part.variable, iter(index)
        whole = tuple([next(free) if p is None else p for p in part.place])
        key = (id(x), whole)
        value = scope.values.get(key)
        if value is None:
            value = scope.values[key] = self.computed(x, whole)
        extents = [n for n, p in zip(x.aval.shape, part.place, strict=True) if p is None]
        self.put_at(value, self._buffer(x, part.place, extents), index, extents, scope)

    def collect(self, x, where, collected, scope):
        """Store an element of a result that a loop collects, in the turn that makes it.

        `where` is its place in the result, and that in the values of the turn.
        """
        if x in self.group.roots:
            whole, index = where
            value, pointer = self.at(collected, index), self.result(self.group.roots.index(x))
            self.put_at(value, pointer, whole, x.aval.shape, scope, self.memory_kind(x))


def _number_at(value, index):
    """Return the number of a literal at a place; one that has dimensions is that of a window."""
    if not value.ndim:
        return value
    return value[tuple([p.first if n > 1 else 0 for p, n in zip(index, value.shape, strict=True)])]


def _may_overlap(part):
    """Whether the last vector of a loop may overlap with the one before."""
    return part.reduction is None and not part.is_put


def _runs_below(place, depth):
    """Whether a place changes in loops deeper than this, or stands for a vector."""
    return any(c.lanes > 1 or c.scope.depth > depth for c, _ in place.terms)


def _counts_all(place):
    """Whether a place is that of one counter."""
    return place.terms == ((place.terms[0][0], 1),) and place.first == place.terms[0][0].base


def _pieces(count, lanes):
    """Return the lanes of vectors that are so many elements together."""
    found = [lanes] * (count // lanes)
    count %= lanes
    while lanes > LANES:
        lanes //= 2
        found += [lanes] * (count // lanes)
        count %= lanes
    return [*found, *([count] if count else [])]
