"""Policies of checkpoint: what each keeps, that derivatives stay, and saved residuals in words."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.api.checkpoint import saved_residuals
from evertrace.ad_checkpoint import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
    print_saved_residuals,
)

pytestmark = pytest.mark.usefixtures("rules")
cp = ev.checkpoint_policies
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
W = np.linspace(0.1, 0.9, 9, dtype=np.float32).reshape(3, 3)


def layers(x, w):
    y = checkpoint_name(jnp.sin(x @ w), "a")
    return jnp.sum(jnp.cos(checkpoint_name(jnp.cos(y @ w), "b")))


def with_scan(x, w):
    def turn(c, _):
        return jnp.sin(checkpoint_name(c @ w, "a")), jnp.sum(c)

    c, ys = lax.scan(turn, x, None, length=3)
    return jnp.sum(c) + jnp.sum(ys)


def with_branch(x, w):
    y = lax.cond(
        x[0, 0] < 0, lambda: jnp.sin(checkpoint_name(x @ w, "a")), lambda: checkpoint_name(x, "b")
    )
    return jnp.sum(y * y)


def with_call(x, w):
    return jnp.sum(ev.jit(lambda y: jnp.exp(checkpoint_name(y @ w, "a")))(x) ** 2)


def batched_product(x, w):
    return jnp.sum(jnp.sin(jnp.einsum("bi,bi->b", jnp.cos(x), x)) * w[0, 0])


A, B = "named 'a'", "named 'b'"
DOT, SIN, COS = "output of dot_general", "output of sin", "output of cos"
SCAN, COND, CALL = "output of scan", "output of cond", "output of jit"
only_a = cp.save_only_these_names("a")
offload = cp.save_and_offload_only_these_names(
    names_which_can_be_saved=["a"],
    names_which_can_be_offloaded=["b"],
    offload_src="device",
    offload_dst="pinned_host",
)

KEPT = [
    (layers, None, []),
    (layers, cp.nothing_saveable, []),
    (layers, cp.dots_saveable, [DOT, DOT]),
    (layers, cp.checkpoint_dots, [DOT, DOT]),
    (layers, cp.dots_with_no_batch_dims_saveable, [DOT, DOT]),
    (layers, cp.checkpoint_dots_with_no_batch_dims, [DOT, DOT]),
    (layers, cp.offload_dot_with_no_batch_dims("device", "pinned_host"), [DOT, DOT]),
    (layers, only_a, [A]),
    (layers, cp.save_only_these_names("c"), []),
    (layers, cp.save_any_names_but_these("a"), [B]),
    (layers, cp.save_anything_except_these_names("a", "b"), [DOT, SIN, DOT, COS]),
    (layers, cp.save_from_both_policies(only_a, cp.save_only_these_names("b")), [A, B]),
    (layers, cp.save_from_both_policies(only_a, cp.dots_saveable), [DOT, A, DOT]),
    (layers, offload, [A, B]),
    (layers, lambda prim, *avals, **_: Saveable if prim.name == "cos" else Recompute, [COS]),
    (layers, lambda prim, *_, **__: prim.name == "sin" and Offloadable("a", "b"), [SIN]),
    (with_scan, only_a, [SCAN]),
    (with_scan, cp.dots_saveable, [SCAN]),
    (with_branch, only_a, [COND]),
    (with_branch, cp.save_only_these_names("a", "b"), [COND, COND]),
    (with_call, only_a, [CALL]),
    (with_call, cp.save_only_these_names("b"), []),
    (batched_product, cp.dots_saveable, [DOT]),
    (batched_product, cp.dots_with_no_batch_dims_saveable, []),
]


@pytest.mark.parametrize(("fun", "policy", "kept"), KEPT)
def test_what_is_kept(fun, policy, kept):
    lines = [text for _, text in saved_residuals(ev.checkpoint(fun, policy=policy), X, W)]
    computed = [text.split(" from ")[0] for text in lines if not text.startswith("from")]
    assert computed == kept


@pytest.mark.parametrize(("fun", "policy", "kept"), [*KEPT, (layers, cp.everything_saveable, [])])
def test_derivatives_stay(fun, policy, kept):
    held = ev.checkpoint(fun, policy=policy)
    plain, kept_grad = ev.grad(fun, (0, 1)), ev.grad(held, (0, 1))
    for a, b in zip(ev.jit(kept_grad)(X, W), plain(X, W), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    batch = np.stack([X, 2 * X, -X])
    expected = np.stack([plain(x, W)[0] for x in batch])
    found = ev.vmap(kept_grad, (0, None))(batch, W)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("policy", [None, only_a, cp.dots_saveable, cp.everything_saveable])
@pytest.mark.parametrize("fun", [layers, with_scan, with_branch])
def test_second_derivatives_stay(fun, policy):
    held = ev.checkpoint(fun, policy=policy)
    for outer, inner in ((ev.jacrev, ev.grad), (ev.jacfwd, ev.grad), (ev.jacrev, ev.jacfwd)):
        found, expected = outer(inner(held))(X, W), ev.jacfwd(ev.grad(fun))(X, W)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_is_kept_is_not_computed_again():
    def again(policy):
        jaxpr = ev.make_jaxpr(ev.grad(ev.checkpoint(layers, policy=policy)))(X, W).jaxpr
        (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == "remat2"]
        return [e.primitive.name for e in eqn.params["jaxpr"].eqns]

    assert again(None).count("dot_general") == 4  # two again, two for the cotangents
    assert again(cp.dots_saveable).count("dot_general") == 2
    assert again(None).count("sin") == again(only_a).count("sin") + 1


def test_printed_residuals(capsys):
    print_saved_residuals(
        lambda d, *rest, k: jnp.sum(jnp.sin(d["w"]) * rest[0] * k), {"w": X}, X, k=2.0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["f32[2,3] from the argument d['w']", "f32[2,3] from the argument args[1]"]
    assert lines[2] == "f32[] from the argument k"
    assert lines[3].startswith("f32[2,3] output of sin from tests/control/test_policies.py:")
    assert lines[3].endswith("(<lambda>)")


def test_answers_in_words():
    assert (repr(Saveable), repr(Recompute)) == ("Saveable", "Recompute")
    assert Offloadable(src="a", dst="b") == ("a", "b")


def test_a_policy_is_a_function():
    with pytest.raises(TypeError, match="checkpoint: a policy is a function, got str"):
        ev.checkpoint(layers, policy="dots_saveable")
