"""What the distributions share: how their functions take arguments, and formulas that end well.

The functions of a distribution are written for arrays of one floating dtype. At points outside of
the support a formula is evaluated for a harmless argument in place of the given one, so that
neither values nor derivatives are NaN there.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.elementary import floor, where
from evertrace._src.numpy.promotion import promote_inexact
from evertrace._src.numpy.ufuncs import exp, expm1, log, log1p
from evertrace._src.ops.convert import convert
from evertrace._src.scipy.special.formulas import check_real
from evertrace._src.scipy.special.gamma import betaln
from evertrace._src.support import set_module

F = TypeVar("F", bound=Callable[..., Any])


def member(distribution: str) -> Callable[[F], F]:
    """Return the decorator for the functions of a distribution.

    The arguments arrive promoted to one real floating dtype, and checked to broadcast.
    """

    def decorate(method: F) -> F:
        name = f"{distribution}.{method.__name__}"
        signature = inspect.signature(method)

        @functools.wraps(method)
        def function(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            operands = promote_inexact(name, *[operand(name, x) for x in bound.args])
            dtype = operands[0].aval.dtype
            check_real(name, dtype)
            weak = all(x.aval.weak_type for x in operands)
            return method(*[convert(x, dtype, weak) for x in operands])

        return cast("F", set_module(f"evertrace.scipy.stats.{distribution}")(function))

    return decorate


def within(inside, formula, x, outside, harmless=1.0):
    """Return ``formula(x)`` where the condition holds, `outside` elsewhere, and NaN for NaN.

    `harmless` is what the formula sees in place of the points outside.
    """
    value = where(inside, formula(where(inside, x, harmless)), outside)
    return where(x == x, value, math.nan)


def unless(invalid, value):
    """Return the value, NaN where parameters are invalid."""
    return where(invalid, math.nan, value)


def is_count(x):
    """Whether numbers are 0, 1, 2 and so on."""
    return (x >= 0) & (x - floor(x) == 0)


def log_one_minus_exp(x):
    """Return ``log(1 - exp(-x))`` for positive `x`.

    Source: M. Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    is_small = x < math.log(2)
    small, large = where(is_small, x, 0.5), where(is_small, 1, x)
    return where(is_small, log(-expm1(-small)), log1p(-exp(-large)))


def log_choices(n, k):
    """Return the logarithm of the number of ways to choose k out of n."""
    return -log1p(n) - betaln(n - k + 1, k + 1)
