"""The checker accepts what tracing makes, and says what is wrong with the rest."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.core.check import check_jaxpr
from evertrace._src.core.jaxpr import Jaxpr
from evertrace.errors import JaxprTypeError
from tests.core.golden_programs import PROGRAMS

X = np.float32([1, 2, 3])


@pytest.mark.parametrize("name", PROGRAMS)
def test_traced_programs_are_well_formed(name):
    check_jaxpr(PROGRAMS[name](ev).jaxpr)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: ev.grad(lambda x: f(x).sum()),
        lambda f: ev.vmap(f),
        lambda f: lambda x: ev.jvp(f, (x,), (x,)),
        lambda f: lambda x: ev.linearize(f, x)[1](x),
        lambda f: ev.jacrev(f),
        lambda f: ev.jit(ev.vmap(ev.grad(lambda x: f(x)))),
    ],
)
def test_derived_programs_are_well_formed(transform):
    inner = ev.jit(lambda x: lax.mul(lax.tanh(x), x))
    check_jaxpr(ev.make_jaxpr(transform(inner))(X).jaxpr)


def traced():
    return ev.make_jaxpr(lambda x: lax.add(lax.sin(x), x))(X).jaxpr


def test_result_without_equation():
    with pytest.raises(JaxprTypeError, match=r"outputs: a variable of type f32\[3\] is used but"):
        check_jaxpr(traced().replace(eqns=[]))


def test_use_before_definition():
    jaxpr = traced()
    with pytest.raises(JaxprTypeError, match=r"add: a variable of type f32\[3\] is used but"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[::-1]))


def test_second_definition():
    jaxpr = traced()
    with pytest.raises(JaxprTypeError, match=r"sin: variable of type f32\[3\] is defined twice"):
        check_jaxpr(jaxpr.replace(eqns=[jaxpr.eqns[0], *jaxpr.eqns]))
    with pytest.raises(JaxprTypeError, match="input: variable"):
        check_jaxpr(jaxpr.replace(invars=jaxpr.invars * 2))


def test_output_of_another_type_than_the_rule_gives():
    jaxpr = traced()
    other = ev.make_jaxpr(lambda x: lax.sin(x))(np.ones(4, np.float32)).jaxpr
    sin = jaxpr.eqns[0].replace(outvars=other.eqns[0].outvars)
    with pytest.raises(JaxprTypeError, match=r"sin: outputs are \['f32\[4\]'\], want f32\[3\]"):
        check_jaxpr(jaxpr.replace(eqns=[sin], outvars=sin.outvars))


def test_wrong_program_inside_a_call():
    outer = ev.make_jaxpr(ev.jit(lax.sin))(X).jaxpr
    (eqn,) = outer.eqns
    inner = eqn.params["jaxpr"]
    broken = inner.replace(jaxpr=inner.jaxpr.replace(eqns=[]))
    call = eqn.replace(params={**eqn.params, "jaxpr": broken})
    with pytest.raises(JaxprTypeError, match="used but not defined"):
        check_jaxpr(outer.replace(eqns=[call]))


def test_empty_program_is_fine():
    check_jaxpr(Jaxpr([], [], [], []))
