"""How a method written in formulas becomes a public function of arrays."""

import functools

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.control.custom import SymbolicZero
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.control.incomplete import derivative
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import add_any
from evertrace._src.ops.formula import Formula
from evertrace._src.ops.structural import spread, zeros
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.special")


def special(*slopes, complex_too=False, weak=False, narrowest: type = np.float32):
    """Decorate a method as a public function of one result or a tuple of them.

    Arguments are promoted to one floating dtype and shape.

    Args:
      *slopes: per operand a function ``(out, *operands)`` that returns the derivative (a tuple of
        them for a tuple of results), or None where it is 0. Without any, the method itself is
        differentiated.
      complex_too: whether complex arguments are allowed.
      weak: whether weakly typed arguments give a weakly typed result.
      narrowest: dtype that narrower floats are computed in.
    """
    least = np.dtype(narrowest)

    def decorate(method):
        name, rule = method.__name__.lstrip("_"), _with_slopes(method, slopes)

        @functools.wraps(method)
        def function(*args):
            operands = promote_inexact(name, *args)
            dtype = operands[0].aval.dtype
            if not complex_too:
                check_real(name, dtype)
            shape = next((x.aval.shape for x in operands if x.aval.shape), ())
            working = least if dtype.itemsize < least.itemsize else dtype
            outs = rule(*[convert(spread(x, shape), working) for x in operands])
            keeps = weak and all(x.aval.weak_type for x in operands)
            return _restored(outs, dtype, working, keeps)

        return public(function)

    return decorate


def _restored(outs, dtype, working, weak):
    """Return results in the dtype of the arguments, complex results of real ones as they are."""
    if isinstance(outs, tuple):
        return tuple(_restored(x, dtype, working, weak) for x in outs)
    return convert(outs, dtype if outs.aval.dtype == working else outs.aval.dtype, weak)


def _with_slopes(method, slopes):
    """Return the method as a function of arrays, with its derivatives."""
    rule = _on_arrays(method)
    if slopes:
        rule = custom_jvp(rule)
        rule.defjvp(_jvp_of(rule, slopes), symbolic_zeros=True)
    return rule


def _on_arrays(method):
    @functools.wraps(method)
    def run(*xs):
        out = method(*map(Formula, xs))
        return tuple(y.x for y in out) if isinstance(out, tuple) else out.x

    return run


def _jvp_of(rule, slopes):
    """Return the jvp rule: slopes by operands without a tangent are not computed."""

    def jvp(operands, tangents):
        out = rule(*operands)
        results = out if isinstance(out, tuple) else (out,)
        at = [tuple(map(Formula, out)) if isinstance(out, tuple) else Formula(out)]
        at += map(Formula, operands)
        totals = [None] * len(results)
        for slope, tangent in zip(slopes, tangents, strict=True):
            if slope is None or type(tangent) is SymbolicZero:
                continue
            found = slope(*at)
            for i, one in enumerate(found if isinstance(found, tuple) else (found,)):
                term = (one * Formula(tangent)).x
                totals[i] = term if totals[i] is None else add_any(totals[i], term)
        pushed = [zeros(x.aval) if t is None else t for x, t in zip(results, totals, strict=True)]
        return out, tuple(pushed) if isinstance(out, tuple) else pushed[0]

    return jvp


def slope_of(method, i):
    """Return the slope by operand `i` as the forward derivative of the method itself."""

    def slope(out, *operands):
        def along(y):
            return method(*operands[:i], y, *operands[i + 1 :])

        return derivative(along, operands[i])[1]

    return slope


def is_complex(x):
    """Whether a formula is complex."""
    return dtypes.issubdtype(x.x.aval.dtype, np.complexfloating)


def check_real(name, dtype):
    """Raise for complex arguments."""
    if dtypes.issubdtype(dtype, np.complexfloating):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: is not defined for complex numbers, got dtype {dtype}.",
            fix="take `.real` and `.imag`, or the magnitude with `abs`.",
            anchor="dtype",
        )
