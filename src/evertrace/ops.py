"""Reductions over segments."""

from evertrace._src import lazy
from evertrace._src.numpy.segments import segment_max as segment_max
from evertrace._src.numpy.segments import segment_min as segment_min
from evertrace._src.numpy.segments import segment_prod as segment_prod
from evertrace._src.numpy.segments import segment_sum as segment_sum

lazy.refuse_others(__name__)

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
