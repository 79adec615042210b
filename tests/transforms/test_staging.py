"""Staging: what is captured, what inputs are called, what happens when a trace fails."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.core.effects import Effect
from evertrace._src.core.jaxpr import Var, eval_jaxpr
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import EVAL, set_trace, state
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.partial_eval import evaluate_known
from evertrace._src.transforms.staging import (
    Stage,
    close_jaxpr,
    hoist_consts,
    provenance,
    stage,
    stage_open,
)

AVAL = ev.ShapeDtypeStruct((3,), np.float32).aval
X = jnp.asarray(np.float32([1, 2, 3]))
print_effect = Effect("print")
print_p = Primitive(
    "print", abstract=lambda a: a, host=lambda x: x, effects=lambda: frozenset({print_effect})
)


# ------------------------------------------------------------------ capture


def test_captured_arrays_become_constvars_once():
    jaxpr, consts = stage_open(lambda x: [lax.add(lax.mul(x, X), X)], [AVAL])
    assert [v.aval for v in jaxpr.constvars] == [AVAL]
    assert consts[0] is X
    hoisted = hoist_consts(jaxpr)
    assert hoisted.constvars == []
    assert hoisted.invars == jaxpr.constvars + jaxpr.invars
    assert hoist_consts(hoisted) is hoisted


def test_scalars_are_literals_rather_than_captured():
    jaxpr, consts = stage_open(lambda x: [lax.mul(x, jnp.float32(2))], [AVAL])
    assert consts == []
    assert float(jaxpr.eqns[0].invars[1].val) == 2


def test_tracers_of_outer_traces_are_captured():
    outer = Stage(name="outer")
    with set_trace(outer):
        x = outer.new_input(AVAL)
        jaxpr, consts = stage(lambda y: [lax.mul(x, y)], [AVAL])
    assert consts[0] is x
    assert len(jaxpr.invars) == 2


def test_the_outer_stage_gains_inputs_while_inner_traces_are_active():
    outer = Stage(name="outer")
    with set_trace(outer):
        x = outer.new_input(AVAL)
        with set_trace(Stage(name="inner")) as inner:
            late = outer.new_input(AVAL, "late")
            inner_result = lax.add(late, x)
        assert inner_result._trace is inner
        jaxpr, _ = outer.close([lax.mul(x, late)])
    assert jaxpr.invars == [x, late]
    assert jaxpr.names == [None, "late"]


def test_results_that_are_captured_or_inputs():
    jaxpr, consts = stage_open(lambda x: [X, x, jnp.float32(3)], [AVAL])
    assert jaxpr.eqns == []
    assert jaxpr.outvars[0] is jaxpr.constvars[0]
    assert jaxpr.outvars[1] is jaxpr.invars[0]
    assert float(jaxpr.outvars[2].val) == 3
    assert consts[0] is X


def test_variables_become_plain_when_the_trace_ends():
    seen = []
    stage_open(lambda x: [seen.append((x, repr(x))) or x], [AVAL])
    ((var, text),) = seen
    assert type(var) is Var
    assert (text, repr(var)) == ("JitTracer(float32[3])", "Var<f32[3]>")
    assert (var == var, var != var) == (True, False)
    assert len({var}) == 1


def test_a_failed_trace_ends_too():
    seen = []

    def fails(x):
        seen.append(x)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        stage_open(fails, [AVAL])
    assert seen[0]._trace.closed
    assert state.trace is EVAL


def test_closed_form_is_memoised():
    jaxpr = stage(lambda x: [lax.sin(x)], [AVAL]).jaxpr
    assert close_jaxpr(jaxpr) is close_jaxpr(jaxpr)


# ------------------------------------------------------------------ provenance


def test_provenance_names_the_inputs_a_value_depends_on():
    trace = Stage(name="jit(f)")
    with set_trace(trace):
        x, y, z = (trace.new_input(AVAL, name) for name in ("x", "y['k']", None))
        a = lax.sin(x)
        b = lax.mul(a, z)
        c = lax.cos(y)
    assert list(provenance(a)) == ["x"]
    assert list(provenance(b)) == ["x", "argument 2"]
    assert list(provenance(c)) == ["y['k']"]
    assert list(provenance(y)) == ["y['k']"]


@pytest.mark.quotes_lines
def test_errors_on_traced_values_tell_their_provenance(rules):
    def f(params, x, n):
        y = x @ params["w"]
        return y if y.sum() > n else x

    with pytest.raises(ev.errors.TracerBoolConversionError) as caught:
        ev.jit(f)({"w": np.eye(3), "b": 1.0}, X, 3)
    message = str(caught.value)
    names = {"strict": "params['w'], x, n", "contract": "x, params['w'], n"}[rules]  # as used
    assert f"it depends on {names}." in message
    assert "called from jit(f):  return y if y.sum() > n else x" in message


# ------------------------------------------------------------------ dead code, effects


def test_dead_code_goes_and_effects_stay():
    jaxpr = stage(
        lambda x, y, z: [lax.sin(x), lax.cos(y), lax.exp(lax.tanh(print_p.bind(z)))], [AVAL] * 3
    ).jaxpr
    kept, used = dce_jaxpr(jaxpr, [True, False, False])
    assert [e.primitive.name for e in kept.eqns] == ["sin", "print"]
    assert used == (True, False, True)
    assert kept.invars == [jaxpr.invars[0], jaxpr.invars[2]]
    assert kept.effects == {print_effect}


def test_inputs_can_be_kept():
    jaxpr = stage(lambda x, y: [lax.sin(x)], [AVAL] * 2, names=["x", "y"]).jaxpr
    _, used = dce_jaxpr(jaxpr, [True], keep_inputs=range(2))
    assert used == (True, True)
    kept, used = dce_jaxpr(jaxpr, [True])
    assert used == (True, False)
    assert kept.names == ["x"]


def test_outputs_that_are_inputs_or_literals():
    jaxpr = stage(lambda x, y: [y, jnp.float32(1)], [AVAL] * 2).jaxpr
    kept, used = dce_jaxpr(jaxpr, [True, True])
    assert used == (False, True)
    assert kept.outvars == jaxpr.outvars


def passing(ct, x):
    return [ct]


note_p = Primitive(
    "note",
    abstract=lambda a: a,
    linear=(0,),
    transpose=passing,
    batch=lambda size, xs, dims: (note_p.bind(*xs), dims[0]),
    effects=lambda: frozenset({print_effect}),
)


@pytest.mark.parametrize(
    ("transform", "argument"),
    [
        (lambda f: f, 1.0),
        (ev.grad, 1.0),
        (ev.value_and_grad, 1.0),
        (ev.vmap, X),
        (lambda f: lambda x: ev.jvp(f, (x,), (x,)), 1.0),
        (lambda f: ev.vmap(ev.grad(ev.jit(f))), X),
        (lambda f: lambda x: lax.cond(True, f, f, x), 1.0),
        (lambda f: lambda x: lax.scan(lambda c, y: (f(c), y), x, X), 1.0),
    ],
)
def test_effects_survive_transformations(transform, argument):
    f = ev.jit(lambda x: note_p.bind(jnp.asarray(x)) * 2)
    assert print_effect in ev.make_jaxpr(transform(f))(argument).effects


# ------------------------------------------------------------------ partial evaluation


def test_known_equations_are_applied_at_once():
    jaxpr = stage(lambda x, t: [lax.mul(lax.cos(x), t), lax.sin(x)], [AVAL] * 2).jaxpr
    later, values = evaluate_known(jaxpr, [X])
    assert [e.primitive.name for e in later.eqns] == ["mul"]
    np.testing.assert_allclose(values[0], np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(values[1], np.sin(X), rtol=1e-6)
    outs = eval_jaxpr(later, (), *values, X)
    np.testing.assert_allclose(outs[0], np.cos(X) * X, rtol=1e-6)
    np.testing.assert_allclose(outs[1], np.sin(X), rtol=1e-6)


def test_effects_are_left_for_later():
    jaxpr = stage(lambda x, t: [lax.mul(print_p.bind(x), t)], [AVAL] * 2).jaxpr
    later, values = evaluate_known(jaxpr, [X])
    assert [e.primitive.name for e in later.eqns] == ["print", "mul"]
    assert values[0] is X
