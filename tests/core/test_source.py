"""Equations remember the user's line, also those that transformations make from them."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src import source

X = np.float32([1, 2, 3])


def program(x):
    y = lax.sin(x)
    z = lax.mul(y, x)
    return lax.reduce_sum(z, (0,))


FIRST = program.__code__.co_firstlineno
LINES = {"sin": FIRST + 1, "cos": FIRST + 1, "mul": FIRST + 2, "reduce_sum": FIRST + 3}


def lines(jaxpr):
    """Return (primitive, line, function) per equation."""
    places = [(eqn.primitive.name, source.describe(eqn.src)) for eqn in jaxpr.eqns]
    return [(name, place.line, place.function) for name, place in places]


def test_equations_have_the_users_line():
    found = lines(ev.make_jaxpr(program)(X))
    assert found == [(name, LINES[name], "program") for name in ("sin", "mul", "reduce_sum")]


@pytest.mark.parametrize("argument", [np.float32(2), 2.0])
def test_operators_have_the_line_of_their_expression(argument):
    def expression(x):
        return x * argument + 1

    line = expression.__code__.co_firstlineno + 1
    assert {found for _, found, _ in lines(ev.make_jaxpr(expression)(X))} == {line}


TRANSFORMS = {
    "grad": lambda f: ev.grad(f),
    "grad of jit": lambda f: ev.grad(ev.jit(f)),
    "jvp": lambda f: lambda x: ev.jvp(f, (x,), (x,))[1],
    "linearize": lambda f: lambda x: ev.linearize(f, x)[1](x),
    "vmap": lambda f: lambda x: ev.vmap(f)(x.reshape(1, 3)),
    "vmap of grad": lambda f: lambda x: ev.vmap(ev.grad(f))(x.reshape(1, 3)),
    "hessian": ev.hessian,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derived_equations_inherit_the_line(name):
    """Every equation on sin and mul points into the program, whoever wrote it."""
    jaxpr = ev.make_jaxpr(TRANSFORMS[name](program))(X)
    found = [x for x in _all_lines(jaxpr.jaxpr) if x[0] in ("sin", "cos")]
    assert found
    assert {(line, function) for _, line, function in found} == {(FIRST + 1, "program")}


def _all_lines(jaxpr):
    found = lines(jaxpr)
    for eqn in jaxpr.eqns:
        if "jaxpr" in eqn.params:
            found += _all_lines(eqn.params["jaxpr"].jaxpr)
    return found


def test_backward_pass_points_at_the_forward_line():
    def loss(x):
        y = lax.exp(x)
        return lax.reduce_sum(lax.mul(y, y), (0,))

    found = lines(ev.make_jaxpr(ev.grad(loss))(X))
    exp_line = loss.__code__.co_firstlineno + 1
    assert found[-1] == ("mul", exp_line, "loss")  # the cotangent times exp(x)
    assert {function for _, _, function in found} == {"loss"}


def test_call_sites_of_a_nested_jit_have_their_own_lines():
    inner = ev.jit(lax.sin)

    def outer(x):
        y = inner(x)
        return inner(y)

    line = outer.__code__.co_firstlineno
    assert [found for _, found, _ in lines(ev.make_jaxpr(outer)(X))] == [line + 1, line + 2]
