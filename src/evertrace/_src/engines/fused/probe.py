"""Kernels that are looked at without their loops: each place is a name."""

import math

from evertrace._src.engines.fused import cuts
from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.index import Counter
from evertrace._src.engines.fused.kernel import Kernel
from evertrace._src.engines.fused.memory import NotFusible
from evertrace._src.engines.fused.rules import UNROLLED, fusion
from evertrace._src.engines.fused.rules.loops import turned
from evertrace._src.engines.fused.writer import LANES


class _Symbolic(Kernel):
    """A kernel without loops of its own."""

    def _check_turns(self, x, index, scope):
        """Refuse nothing: there are no loops."""

    def named(self, key):
        """Return a place along one dimension."""
        return places.of(Counter(("dimension", key), self.entry, "%counter", 1))


class Probe(_Symbolic):
    """Finds out along which dimensions of a result its reductions are.

    Attributes:
      depth: of how many dimensions of the result reductions along rows depend.
      rows: of these reductions, the lengths, and how many instructions there are for an element.
    """

    def __init__(self, group):
        super().__init__(group)
        self.depth, root, self.rows = 0, group.roots[0], []
        self._places = [self.named(d) for d in range(len(group.shape))]
        rest = [places.ZERO] * (root.aval.ndim - len(self._places))  # each is written out
        self.at(root, (*self._places, *rest))

    def piece(self, place, bounds):
        """Return the number of its piece, or of the one that is most of what is divided."""
        first, last = cuts.pieces(place, bounds) or (0, len(bounds))
        return first if first == last else min(1, len(bounds))

    def reduced(self, eqn, index, extents, reduction):
        """Note of which dimensions the result depends."""
        is_long = math.prod(extents) > UNROLLED
        if is_long and fusion[eqn.primitive].is_along_rows(eqn):
            known = {place.terms[0][0]: d + 1 for d, place in enumerate(self._places)}
            used = [known.get(c, 0) for c in places.counters(index)]
            self.depth = max([self.depth, *used])
        inner = [self.named((eqn.outvars[0], d)) for d in range(len(extents))]
        before = self.written
        element = fusion[eqn.primitive].element(self, eqn, index, tuple(inner))
        if is_long and fusion[eqn.primitive].is_along_rows(eqn):
            self.rows.append((math.prod(extents), self.written - before))
        return reduction.finish(self, element)

    def is_by_lanes(self):
        """Whether several rows are better reduced in one loop: short ones, of few instructions.

        To join the lanes of a vector takes as long as a short row; those of several rows are joined
        together. The text of an element is written as often as there are rows.
        """
        is_vector = len(self._places) == 1 and self.group.shape[0] >= LANES
        return (
            is_vector
            and bool(self.rows)
            and all(n <= SHORT_ROW and few <= FEW_INSTRUCTIONS for n, few in self.rows)
        )


SHORT_ROW = 64
"""Elements of a row of which a vector's lanes are a part that counts."""

FEW_INSTRUCTIONS = 8
"""Of an element of such a row, in several of which it is written."""


class Nobody:
    """A group of nothing.

    Attributes:
      makers: the equations of the bodies of loops.
    """

    roots, stacks, lanes, levels, over, is_by_lanes = (), (), LANES, None, None, False

    def __init__(self, makers):
        self.makers, self.kept, self.cuts = makers, {}, {}


class Trial(_Symbolic):
    """Finds out whether the turns of a loop look at elements as its body says."""

    def __init__(self, makers, eqn, body):
        super().__init__(Nobody(makers))
        self.eqn, self.body_ = eqn, body

    def why_not(self):
        """Return why it cannot be written, or None."""
        at = tuple([self.named(d) for d in range(len(self.body_.lead))])
        try:
            turned(self, self.eqn, at, True)
            if not all(self.body_.is_shaped(x.aval) for x, _, _ in self.body_.carries):
                turned(self, self.eqn, (), False)
        except NotFusible as error:
            return str(error)
        return None
