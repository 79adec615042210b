"""Transformations of an operation without a rule say that there is none, and why."""

import functools

import pytest

import evertrace as ev
from evertrace._src.core.primitive import Undefined
from tests.laws.rows import ROWS, main_dtype, rng_of
from tests.support.runtime import array, flat

SLOTS = ("jvp", "deriv", "transpose", "batch")
LACKING = [
    spec
    for spec in ROWS
    if any(isinstance(getattr(p, s), Undefined) for p in spec.prims for s in SLOTS)
]
TRANSFORMED = {
    "jvp": lambda fun, xs: ev.jvp(fun, xs, tuple(map(_ones, xs))),
    "linearize": lambda fun, xs: ev.linearize(fun, *xs),
    "vjp": lambda fun, xs: ev.vjp(fun, *xs)[1](ev.tree.map(_ones, ev.eval_shape(fun, *xs))),
    "linear_transpose": lambda fun, xs: ev.linear_transpose(fun, *xs)(
        ev.tree.map(_ones, ev.eval_shape(fun, *xs))
    ),
    "vmap": lambda fun, xs: ev.vmap(fun, axis_size=1)(*[x[None] for x in xs]),
}


def _ones(x):
    inexact = ev.numpy.issubdtype(x.dtype, ev.numpy.inexact)
    return ev.numpy.ones(x.shape, x.dtype if inexact else ev.float0)


def of(spec):
    """Return the function and operands of a row's first case."""
    case = spec.cases[0]
    operands = spec.operands(case, main_dtype(spec), rng_of(spec))
    return flat(functools.partial(spec.fun, **case.kwargs)), tuple(map(array, operands))


def test_many_operations_lack_a_rule():
    assert len(LACKING) > 30


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("spec", LACKING, ids=lambda spec: spec.name)
def test_what_has_no_rule_is_refused_in_words(spec, name):
    fun, operands = of(spec)
    fun(*operands)
    error = None
    try:
        TRANSFORMED[name](fun, operands)
    except Exception as raised:
        error = raised
    assert error is None or "\n  at " in str(error)
