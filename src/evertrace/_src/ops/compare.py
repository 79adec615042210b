"""Comparisons: elementwise predicates of two arrays of one dtype.

NaN is unequal to everything and not ordered; complex numbers are not ordered either.
"""

import numpy as np

from evertrace._src.ops.builders import ANY, FLOATING, ORDERED, predicate

eq_p = predicate("eq", ANY, host=np.equal)
ne_p = predicate("ne", ANY, host=np.not_equal)
lt_p = predicate("lt", ORDERED, host=np.less)
le_p = predicate("le", ORDERED, host=np.less_equal)
gt_p = predicate("gt", ORDERED, host=np.greater)
ge_p = predicate("ge", ORDERED, host=np.greater_equal)

is_finite_p = predicate("is_finite", FLOATING, host=np.isfinite)
