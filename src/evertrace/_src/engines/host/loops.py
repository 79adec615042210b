"""Which elementwise operations run as loops in C++ rather than by their `host` rules, and when.

A loop means what the rule means. It pays where NumPy takes several passes or has no vector
instructions, from a few elements on, and elsewhere where several threads share the work.
"""

import numpy as np

from evertrace._src import config, dtypes, kernels, native

_FEW, _MANY = 1 << 10, 1 << 16

_SLOW_IN_NUMPY = [
    "clamp", "clz", "convert_element_type", "div", "erf", "erf_inv", "erfc", "integer_pow",
    "logistic", "nextafter", "population_count", "rem", "round", "rsqrt", "select_n",
    "shift_right_arithmetic", "shift_right_logical", "sign",
]  # fmt: skip
_QUICK_IN_NUMPY = [
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2", "atanh",
    "cbrt", "ceil", "cos", "cosh", "eq", "exp", "exp2", "expm1", "floor", "ge", "gt", "is_finite",
    "le", "log", "log1p", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow", "shift_left",
    "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "xor",
]  # fmt: skip

# Elements from which on a loop pays, by name.
_LEAST = dict.fromkeys(_SLOW_IN_NUMPY, _FEW) | dict.fromkeys(_QUICK_IN_NUMPY, _MANY)

# The param that a loop takes, by name. `convert_element_type` has its dtype from the result.
_PARAM = {"integer_pow": "y", "round": "rounding_method"}

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
    least = _LEAST.get(prim.name)
    if least is None or size < _FEW or (size < least and operands[-1].dtype not in _NARROW):
        return None
    if not native.is_built() or not config.current().native_kernels:
        return None
    if aval.dtype not in _KNOWN or not all(map(_is_readable, operands)):
        return None
    param = params[_PARAM[prim.name]] if prim.name in _PARAM else 0
    out = np.empty(aval.shape, aval.dtype)
    return out if kernels.loop(prim.name, operands, out, param) else None


def _is_readable(x):
    return x.dtype in _KNOWN and (x.ndim == 0 or x.flags.c_contiguous)
