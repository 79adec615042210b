"""Whether NaN may be a constant of a program, which rules then keep from XLA.

XLA's exponential converts to integers, which of a NaN that its compiler knows is anything: the
result is whatever was in its memory before.
"""

import numpy as np

from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.ops import elementwise as ops
from evertrace._src.ops import special

_MAKING = frozenset({
    *(ops.acos_p, ops.acosh_p, ops.asin_p, ops.atanh_p, ops.div_p, ops.log_p, ops.log1p_p),
    *(ops.pow_p, ops.rsqrt_p, ops.sqrt_p, special.digamma_p, special.lgamma_p),
})  # fmt: skip
"""Those that make NaN of finite numbers."""


def may_be_constant(jaxpr, consts):
    """Whether NaN is written in a jaxpr, or may be computed without its arguments.

    Args:
      jaxpr: to be lowered; jaxprs within it are looked at, too.
      consts: the values of its first variables.
    """
    return any(_is_nan(x) for x in consts) or _has(jaxpr, set())


def _has(jaxpr, known):
    for eqn in jaxpr.eqns:
        fixed = [type(x) is Literal or x in known for x in eqn.invars]
        if any(type(x) is Literal and _is_nan(x.val) for x in eqn.invars):
            return True
        if all(fixed):
            # A number that is written divides none by zero, and no rule looks at 0 / 0.
            by_number = eqn.primitive is ops.div_p and type(eqn.invars[1]) is Literal
            if eqn.primitive in _MAKING and not by_number:
                return True
            known.update(eqn.outvars)
        for inner in subjaxprs(eqn.params):
            same = len(inner.invars) == len(fixed)
            pairs = zip(inner.invars, fixed, strict=True) if same else ()
            if _has(inner, {v for v, is_fixed in pairs if is_fixed}):
                return True
    return False


def _is_nan(value):
    return np.ndim(value) == 0 and bool(value != value)
