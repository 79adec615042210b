"""Loops over results that are cut where what they compute is made otherwise.

What is padded, joined or has a window put into it is one thing up to some place and another one
from there on. To ask so of each element would cost more than most of what is computed; so the loop
over that dimension of the result is cut there, into *segments*, each with a text of its own.
"""

import bisect
import itertools
import math

from evertrace._src.engines.fused.memory import NotFusible

MOST_SEGMENTS = 9
"""How many texts a kernel may have for parts of its results: a frame around an image has nine."""


class Cut(NotFusible):
    """A kernel is to be written again with more cuts.

    Attributes:
      cuts: those of all dimensions.
    """

    def __init__(self, cuts):
        super().__init__("its results are made otherwise in places")
        self.cuts = cuts


def segments(cuts, d, extent):
    """Return the first place of each segment of a dimension, and that after its last one."""
    ends = [0, *[cut for cut in cuts.get(d, ()) if cut < extent], extent]
    return list(itertools.pairwise(ends))


def pieces(place, bounds):
    """Return the first and the last piece in which a place may lie; None if that is not known."""
    known = place.range()
    return None if known is None else [bisect.bisect_right(bounds, end) for end in known]


def piece(cuts, place, bounds):
    """Return in which piece of a dimension a place lies, of those that bounds divide it into.

    Returns:
      The number of the piece, or None if that is not known.

    Raises:
      Cut: it will be, if the loop is cut.
    """
    known = pieces(place, bounds)
    if known is None:
        return None
    first, last = known
    if first == last:
        return first
    found = _with(cuts, place, bounds[first:last])
    if found is not None:
        raise Cut(found)
    return None


def _with(cuts, place, bounds):
    """Return the cuts with those after which a place is below or from bounds on, or None."""
    if len(place.terms) != 1:
        return None
    ((counter, step),) = place.terms
    if counter.along is None or abs(step) != 1:
        return None
    d, start = counter.along
    at = [b - place.first if step == 1 else place.first - b + 1 for b in bounds]
    found = {**cuts, d: tuple(sorted({*cuts.get(d, ()), *[start + cut for cut in at]}))}
    return found if math.prod(len(x) + 1 for x in found.values()) <= MOST_SEGMENTS else None
