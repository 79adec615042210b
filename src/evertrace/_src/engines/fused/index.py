"""Places in arrays, as sums of counters of loops: ``first + step_0 counter_0 + ...``."""

from typing import Any, NamedTuple


class Counter:
    """What a loop counts, or the lanes of a vector that has a fixed place.

    Attributes:
      key: what it is known by: equal counters count the same.
      scope: of the loop.
      text: name of the counter, or None if there is no loop.
      lanes: how many places are looked at together, from the counter on.
      base: the first place, if there is no loop.
      range: the first and the last number that is counted, if they are known.
      along: the dimension of a result that is counted, and where in it the count begins, if the
        loop may be cut in two, see `cuts`.
    """

    __slots__ = ("along", "base", "key", "lanes", "range", "scope", "text")

    def __init__(self, key, scope, text, lanes, base=0, range_=None, along=None):
        self.key, self.scope, self.text, self.lanes, self.base = key, scope, text, lanes, base
        self.range, self.along = range_, along

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


class Index(NamedTuple):
    """A place along one dimension.

    Attributes:
      first: a number.
      terms: pairs of a counter and how much it counts.
    """

    first: int = 0
    terms: tuple[tuple[Any, int], ...] = ()

    def moved(self, first, step=1):
        """Return ``first + step * self``."""
        terms = self.terms if step == 1 else tuple((c, step * s) for c, s in self.terms)
        return Index(first + step * self.first, terms)

    def range(self):
        """Return the first and the last place that it may be, or None."""
        low = high = self.first
        for counter, step in self.terms:
            if counter.range is None:
                return None
            ends = [step * end for end in counter.range]
            low, high = low + min(ends), high + max(ends)
        return low, high

    @property
    def lanes(self):
        """How many places it stands for."""
        return max([c.lanes for c, _ in self.terms], default=1)


ZERO = Index()


def of(counter):
    """Return the place that a counter counts."""
    return Index(counter.base, ((counter, 1),))


def innermost(index, outermost):
    """Return the scope in which all of some places are known."""
    scope = outermost
    for place in index:
        for counter, _ in place.terms:
            if counter.scope.depth > scope.depth:
                scope = counter.scope
    return scope


def counters(index):
    """Return the counters of places."""
    return {counter for place in index for counter, _ in place.terms}


def at_lane(index, counter, i):
    """Return the places of one lane of a vector that has a fixed place."""
    found = []
    for place in index:
        moved = sum([step * i for c, step in place.terms if c == counter])
        terms = tuple([(c, step) for c, step in place.terms if c != counter])
        found.append(Index(place.first + moved, terms))
    return tuple(found)


def row(index, counter, one, i):
    """Return the places of one lane of a vector; `one` counts as its counter does, by itself."""
    if counter.text is None:
        return at_lane(index, counter, i)
    found = []
    for place in index:
        steps = sum([step for c, step in place.terms if c == counter])
        terms = [(one if c == counter else c, step) for c, step in place.terms]
        found.append(Index(place.first + steps * i, tuple(terms)))
    return tuple(found)


def every(extents):
    """Return all places of some dimensions."""
    found = [()]
    for extent in extents:
        found = [(*place, Index(i)) for place in found for i in range(extent)]
    return found
