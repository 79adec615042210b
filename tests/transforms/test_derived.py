"""Jaxpr to jaxpr: the derived programs, their masks, and where they are kept."""

import gc
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.core.check import check_jaxpr
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.rules import LinearArg
from evertrace._src.transforms.batching import Axis, batch_flat, batch_jaxpr
from evertrace._src.transforms.jvp import jvp_flat, jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr, pushforward, tape_flat
from evertrace._src.transforms.staging import stage
from evertrace._src.transforms.transpose import pull, transpose_flat, transpose_jaxpr

AVAL = ev.ShapeDtypeStruct((3,), np.float32).aval
X = jnp.asarray(np.float32([1, 2, 3]))
T = jnp.asarray(np.float32([1, 10, 100]))


def staged(fun, *avals):
    return stage(fun, avals).jaxpr


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


TWO = staged(lambda x, y: [lax.mul(lax.sin(x), y), lax.cos(y)], AVAL, AVAL)


# ------------------------------------------------------------------ jvp


@pytest.mark.parametrize(
    ("nonzero", "found"),
    [((True, False), (True, False)), ((False, True), (True, True)), ((False, False), (False,) * 2)],
)
def test_jvp_has_only_the_tangents_that_are_there(nonzero, found):
    derived, out_nonzero = jvp_jaxpr(TWO, nonzero)
    check_jaxpr(derived)
    assert out_nonzero == found
    assert len(derived.invars) == 2 + sum(nonzero)
    assert len(derived.outvars) == 2 + sum(found)


def test_jvp_can_be_told_to_have_a_tangent():
    derived, out_nonzero = jvp_jaxpr(TWO, (True, False), instantiate=(True, True))
    assert out_nonzero == (True, True)
    outs = eval_jaxpr(derived, (), X, X, T)
    np.testing.assert_allclose(outs[2], np.cos(X) * T * X, rtol=1e-6)
    np.testing.assert_array_equal(outs[3], np.zeros(3))


def test_jvp_flat_returns_none_for_zero():
    outs, tangents = jvp_flat(lambda x, y: [lax.neg(x), y], [X, X], [T, None])
    np.testing.assert_array_equal(tangents[0], -np.asarray(T))
    assert tangents[1] is None
    assert outs[1] is X


# ------------------------------------------------------------------ linearize


def test_linearize_splits_value_from_derivative():
    parts = linearize_jaxpr(TWO, (True, False))
    check_jaxpr(parts.primal)
    check_jaxpr(parts.linear)
    assert parts.out_active == (True, False)
    assert names(parts.primal) == ["sin", "mul", "cos"]
    assert names(parts.linear) == ["cos", "mul", "mul"]
    # Its residuals are the two inputs, which are not returned again.
    assert sorted(parts.residuals) == [0, 1]
    assert len(parts.primal.outvars) == 2


def test_residuals_are_what_the_derivative_reads():
    chain = staged(lambda x: [lax.exp(lax.tanh(x))], AVAL)
    parts = linearize_jaxpr(chain, (True,))
    tanh, exp = parts.primal.eqns
    assert parts.residuals == (None, None)
    assert set(parts.primal.outvars) == {tanh.outvars[0], exp.outvars[0]}


def test_a_linear_program_has_no_residuals():
    parts = linearize_jaxpr(staged(lambda x: [lax.neg(lax.add(x, x))], AVAL), (True,))
    assert parts.residuals == ()
    assert names(parts.linear) == ["add_any", "neg"]


def test_tape_can_be_read_both_ways():
    tape, nodes, pairs = tape_flat(lambda x: [lax.mul(x, x), x], [X], [True])
    found = {nodes[0]: T}
    pushforward(tape.entries, found)
    np.testing.assert_array_equal(found[pairs[0][1]], 2 * np.asarray(X * T))
    cts = pull(tape.entries, [node for _, node in pairs], [T, T], nodes)
    np.testing.assert_array_equal(cts[0], np.asarray(2 * X * T + T))


# ------------------------------------------------------------------ transpose


LINEAR = staged(lambda c, x, y: [lax.mul(x, c), lax.add(x, y)], AVAL, AVAL, AVAL)


@pytest.mark.parametrize(
    ("given", "found"),
    [((True, True), (True, True)), ((True, False), (True, False)), ((False, False), (False,) * 2)],
)
def test_transpose_gives_the_cotangents_that_are_there(given, found):
    derived, out_found = transpose_jaxpr(LINEAR, (False, True, True), given)
    check_jaxpr(derived)
    assert out_found == found
    assert len(derived.invars) == 1 + sum(given)
    assert len(derived.outvars) == sum(found)


def test_transpose_can_be_told_to_give_zeros():
    derived, found = transpose_jaxpr(LINEAR, (False, True, True), (True, False), instantiate=True)
    assert found == (True, True)
    gx, gy = eval_jaxpr(derived, (), X, T)
    np.testing.assert_array_equal(gx, X * T)
    np.testing.assert_array_equal(gy, np.zeros(3))


def test_transpose_flat_returns_none_for_constants_and_zeros():
    found = transpose_flat(
        lambda x, c, y: [lax.mul(x, c)], [LinearArg(AVAL), X, LinearArg(AVAL)], [T]
    )
    np.testing.assert_array_equal(found[0], X * T)
    assert found[1:] == [None, None]


def test_a_cotangent_of_an_operand_spread_over_others_is_summed():
    """An operand of rank 0 may stand beside larger ones."""
    scalar = jnp.float32(2)
    grads = ev.grad(lambda s: lax.mul(s, X).sum())(scalar)
    assert float(grads) == 6
    grads = ev.grad(lambda s: lax.add(X, s).sum())(scalar)
    assert float(grads) == 3


# ------------------------------------------------------------------ batching


@pytest.mark.parametrize(
    ("batched", "found"),
    [((True, False), (True, False)), ((False, True), (True, True)), ((False, False), (False,) * 2)],
)
def test_batching_leaves_alone_what_is_not_batched(batched, found):
    derived, out_batched = batch_jaxpr(TWO, Axis(5), batched)
    check_jaxpr(derived)
    assert out_batched == found
    assert [v.aval.shape for v in derived.invars] == [(5, 3) if b else (3,) for b in batched]
    assert [v.aval.shape for v in derived.outvars] == [(5, 3) if f else (3,) for f in found]


def test_batching_can_be_told_to_batch():
    derived, out_batched = batch_jaxpr(TWO, Axis(5), (False, False), out_batched=(True, False))
    assert out_batched == (True, False)
    assert [v.aval.shape for v in derived.outvars] == [(5, 3), (3,)]


def test_batch_flat_returns_dims():
    outs, dims = batch_flat(lambda x, y: [lax.sin(x), y], Axis(3), [X, T], [0, None])
    assert dims == [0, None]
    assert outs[1] is T


# ------------------------------------------------------------------ keeping


@pytest.mark.parametrize(
    "derive",
    [
        lambda j: jvp_jaxpr(j, (True, False)),
        lambda j: linearize_jaxpr(j, (True, False)),
        lambda j: batch_jaxpr(j, Axis(3), (True, False)),
        lambda j: transpose_jaxpr(j, (False, False), (True, True)),
    ],
)
def test_derived_programs_are_made_once_and_die_with_theirs(derive):
    jaxpr = TWO.replace()
    derived = derive(jaxpr)
    assert derive(jaxpr) is derived
    assert derive(jaxpr.replace()) is not derived
    alive = weakref.ref(derived[0])
    del derived, jaxpr
    gc.collect()
    assert alive() is None


def test_other_masks_are_other_programs():
    jaxpr = TWO.replace()
    assert jvp_jaxpr(jaxpr, (True, False)) is not jvp_jaxpr(jaxpr, (True, True))
    assert jvp_jaxpr(jaxpr, (True, False)) is jvp_jaxpr(jaxpr, [True, False])
    three, four, named = [
        batch_jaxpr(jaxpr, axis, (True, False)) for axis in (Axis(3), Axis(4), Axis(3, "i"))
    ]
    assert three is not four
    assert three is not named


def test_a_nested_call_is_derived_once_for_all_its_calls():
    inner = ev.jit(lambda x: jnp.sin(x) * x)
    jaxpr = ev.make_jaxpr(lambda x: ev.vjp(lambda x: inner(inner(inner(x))), x)[1](x))(X)
    calls = [e.params["jaxpr"].jaxpr for e in jaxpr.eqns if e.primitive.name == "jit"]
    assert len(calls) == 6
    assert len(set(map(id, calls))) == 2  # one forward program, one backward program
