"""Derivatives agree with differences, in both modes and to second order, and are well typed."""

from evertrace._src.core.check import check_jaxpr
from evertrace._src.transforms.batching import Axis, batch_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.transpose import transpose_jaxpr
from tests.laws.rows import main_dtype, over_rows, rng_of
from tests.specs.opspec import is_inexact, numpy_dtype
from tests.support.gradcheck import check_grads
from tests.support.runtime import array, jaxpr_of

MAX_SIZE = 64  # elements of an operand in a numerical check


def differentiable(spec):
    """Whether the row has operands to differentiate by."""
    return spec.grads != () and any(is_inexact(numpy_dtype(d)) for d in spec.dtypes)


def grad_dtypes(spec):
    """Return float64 and complex128 where the row has such dtypes, at any width."""
    kinds = {numpy_dtype(d).kind for d in spec.dtypes if is_inexact(numpy_dtype(d))}
    return (["float64"] if kinds - {"c"} else []) + (["complex128"] if "c" in kinds else [])


def grad_cases(spec, dtype, rng):
    """Yield cases with operands, and the operands to differentiate by."""
    cases = spec.cases if spec.grad_cases is None else spec.grad_cases
    for case in cases:
        operands = spec.operands(case, dtype, rng, spec.grad_domain)
        if any(x.size > MAX_SIZE for x in operands) or not any(x.size for x in operands):
            continue
        active = range(len(operands)) if spec.grads is None else spec.grads
        yield case, operands, [i for i in active if is_inexact(operands[i].dtype)]


def function_of(spec, case, operands, active):
    """Return the row's function of its active operands alone."""

    def fun(*xs):
        args = [array(x) for x in operands]
        for i, x in zip(active, xs, strict=True):
            args[i] = x
        return spec.fun(*args, **case.kwargs)

    return fun


@over_rows(differentiable)
def test_derivatives_are_numerical_ones(spec):
    rng = rng_of(spec)
    for dtype in grad_dtypes(spec):
        for case, operands, active in grad_cases(spec, dtype, rng):
            fun = function_of(spec, case, operands, active)
            check_grads(fun, [operands[i] for i in active], spec.order, spec.modes)


@over_rows(differentiable)
def test_derived_jaxprs_are_well_typed(spec):
    rng = rng_of(spec)
    for case, operands, active in grad_cases(spec, main_dtype(spec), rng):
        fun = function_of(spec, case, operands, active)
        jaxpr, captured = jaxpr_of(fun, *[array(operands[i]) for i in active])
        given = [False] * len(captured) + [True] * len(active)
        check_jaxpr(jvp_jaxpr(jaxpr, given)[0])
        check_jaxpr(batch_jaxpr(jaxpr, Axis(2), given)[0])
        if "rev" not in spec.modes:
            continue
        parts = linearize_jaxpr(jaxpr, given)
        check_jaxpr(parts.primal)
        check_jaxpr(parts.linear)
        n = len(parts.residuals)
        linear = [i >= n for i in range(len(parts.linear.invars))]
        outs = [True] * len(parts.linear.outvars)
        check_jaxpr(transpose_jaxpr(parts.linear, linear, outs)[0])
