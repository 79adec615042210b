"""Comparisons: elementwise predicates of two arrays of one dtype.

NaN is unequal to everything and not ordered; complex numbers are not ordered either. In the total
order, of the primitives whose names end with ``to``, floats are ordered by their bits.
"""

import numpy as np

from evertrace._src import dtypes
from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.builders import ANY, FLOATING, ORDERED, predicate

eq_p: Primitive = predicate("eq", ANY, host=np.equal)
ne_p: Primitive = predicate("ne", ANY, host=np.not_equal)
lt_p: Primitive = predicate("lt", ORDERED, host=np.less)
le_p: Primitive = predicate("le", ORDERED, host=np.less_equal)
gt_p: Primitive = predicate("gt", ORDERED, host=np.greater)
ge_p: Primitive = predicate("ge", ORDERED, host=np.greater_equal)

is_finite_p: Primitive = predicate("is_finite", FLOATING, host=np.isfinite)

# ---------------------------------------------------------------- total order


def _ordinals(x):
    """Return integers in the total order of IEEE 754 for floats; other arrays as they are.

    In that order -0 is below 0, NaN above all numbers, NaN with a sign below them.
    """
    if not dtypes.issubdtype(x.dtype, np.floating):
        return x
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _totally_ordered(name, host):
    return predicate(name, ORDERED, host=lambda x, y: host(_ordinals(x), _ordinals(y)))


eq_to_p: Primitive = _totally_ordered("eq_to", np.equal)
le_to_p: Primitive = _totally_ordered("le_to", np.less_equal)
lt_to_p: Primitive = _totally_ordered("lt_to", np.less)
