"""Jaxprs as data: literals, equations, evaluation, and programs that walk them."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.core.effects import Effect
from evertrace._src.core.jaxpr import Jaxpr, eval_jaxpr, literal, subjaxprs
from evertrace._src.core.primitive import Primitive

F32 = np.dtype("float32")
X = np.float32([1, 2, 3])


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0.0, -0.0)],
)
def test_literals_that_compare_equal_stay_apart(one, other):
    assert one == other
    assert literal(one, F32) is not literal(other, F32)


def test_sign_of_zero_and_nan_survive():
    assert np.signbit(literal(-0.0, F32).val)
    assert not np.signbit(literal(0.0, F32).val)
    assert np.isnan(literal(float("nan"), F32).val)


def test_literals_are_interned():
    assert literal(2.5, F32) is literal(2.5, F32)
    assert literal(2.5, F32, True) is not literal(2.5, F32)
    assert literal(2.5, F32).aval.dtype == F32


def test_programs_can_be_walked():
    closed = ev.make_jaxpr(lambda x, y: lax.add(lax.sin(x), y))(X, 2.0)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["sin", "add"]
    sin, add = closed.eqns
    assert sin.invars[0] is closed.jaxpr.invars[0]
    assert add.invars == [sin.outvars[0], closed.jaxpr.invars[1]]
    assert closed.jaxpr.outvars == add.outvars
    assert [a.str_short() for a in closed.in_avals] == ["f32[3]", "f32[]"]
    assert [a.str_short() for a in closed.out_avals] == ["f32[3]"]
    assert len({*closed.jaxpr.invars, *closed.jaxpr.outvars}) == 3


def test_params_are_those_of_the_operation():
    (eqn,) = ev.make_jaxpr(lambda x: lax.transpose(x, (1, 0)))(np.ones((2, 3))).eqns
    assert eqn.params == {"permutation": (1, 0)}


def test_constants_are_captured_once():
    c = ev.device_put(X)
    closed = ev.make_jaxpr(lambda x: lax.add(lax.mul(x, c), c))(X)
    assert len(closed.jaxpr.constvars) == len(closed.consts) == 1
    assert closed.consts[0] is c


def test_evaluation_gives_the_functions_value():
    c = ev.device_put(X)
    closed = ev.make_jaxpr(lambda x: (lax.mul(lax.sin(x), c), 3.0, x))(X)
    outs = eval_jaxpr(closed.jaxpr, closed.consts, ev.device_put(X))
    np.testing.assert_allclose(outs[0], np.sin(X) * X, rtol=1e-6)
    assert float(outs[1].val) == 3.0
    np.testing.assert_array_equal(outs[2], X)


def test_replace_starts_with_an_empty_cache():
    jaxpr = ev.make_jaxpr(lax.sin)(X).jaxpr
    jaxpr.cache["derived"] = 1
    changed = jaxpr.replace(outvars=jaxpr.invars)
    assert changed.cache == {}
    assert changed.outvars == jaxpr.invars
    assert changed.eqns == jaxpr.eqns
    eqn = jaxpr.eqns[0].replace(params={"k": 1})
    assert (eqn.params, eqn.primitive) == ({"k": 1}, jaxpr.eqns[0].primitive)


def test_inner_jaxprs_are_found():
    inner = ev.jit(lax.sin)
    (eqn,) = ev.make_jaxpr(inner)(X).eqns
    assert list(subjaxprs(eqn.params)) == [eqn.params["jaxpr"].jaxpr]
    (eqn,) = ev.make_jaxpr(lambda x: lax.cond(True, lax.sin, lax.cos, x))(X).eqns[-1:]
    assert [j.eqns[0].primitive.name for j in subjaxprs(eqn.params)] == ["cos", "sin"]


def test_effects_are_the_union_of_the_equations():
    one, other = Effect("one"), Effect("other", ordered=True)
    noted = {}
    for effect in (one, other):
        noted[effect] = Primitive(
            effect.name, abstract=lambda a: a, effects=lambda effect=effect: frozenset({effect})
        )
    closed = ev.make_jaxpr(lambda x: noted[other].bind(noted[one].bind(x)))(ev.device_put(X))
    assert closed.effects == {one, other}
    assert closed.eqns[0].effects == {one}
    assert repr(one) == "one"
    assert Jaxpr([], [], [], []).effects == frozenset()
