"""Which elementwise operations run as loops in C++ rather than by their `host` rules, and when.

A loop means what the rule means. It pays where NumPy takes several passes or has no vector
instructions, from a few elements on, and elsewhere where several threads share the work.
"""

import numpy as np

from evertrace._src import config, dtypes, extension, kernels
from evertrace._src.ops import bits, convert, elementwise, select, special

FEW, _MANY = 1 << 10, 1 << 16
"""Elements from which on a loop pays, of what is slow in NumPy and of all others."""

_SLOW_IN_NUMPY = frozenset({
    bits.clz_p, bits.population_count_p, bits.shift_right_arithmetic_p, bits.shift_right_logical_p,
    convert.convert_element_type_p, elementwise.div_p, elementwise.integer_pow_p,
    elementwise.logistic_p, elementwise.nextafter_p, elementwise.rem_p, elementwise.round_p,
    elementwise.rsqrt_p, elementwise.sign_p, elementwise.clamp_p, select.select_n_p,
    special.erf_inv_p, special.erf_p, special.erfc_p,
})  # fmt: skip

PARAM = {elementwise.integer_pow_p: "y", elementwise.round_p: "rounding_method"}
"""The param that is a number which a loop takes; a conversion has its dtype from the result."""


def param_of(prim, params):
    """Return the number that a loop takes besides operands."""
    return int(params[PARAM[prim]]) if prim in PARAM else 0


# NumPy has no vector instructions for these, so that everything is slow.
_NARROW = frozenset([np.dtype(np.float16), np.dtype(dtypes.bfloat16)])

_KNOWN = _NARROW | {np.dtype(name) for name in kernels.DTYPES - {"bfloat16"}}


def run(prim, operands, aval, params):
    """Return what a loop makes of operands, or None where the host rule is to be taken.

    Args:
      prim: the operation.
      operands: ndarrays or scalars.
      aval: of the result.
      params: of the operation.
    """
    size = aval.size
    if size < FEW or not (prim.elementwise or prim in _SLOW_IN_NUMPY):
        return None
    if size < _MANY and prim not in _SLOW_IN_NUMPY and operands[-1].dtype not in _NARROW:
        return None
    if not extension.is_built() or not config.current().native_kernels:
        return None
    if aval.dtype not in _KNOWN or not all(map(_is_readable, operands)):
        return None
    out = np.empty(aval.shape, aval.dtype)
    return out if kernels.loop(prim.name, operands, out, param_of(prim, params)) else None


def _is_readable(x):
    return x.dtype in _KNOWN and (x.ndim == 0 or x.flags.c_contiguous)
