"""Where gradients of a pullback go; what it keeps; mutable arrays in functions with own rules."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.ad import DidntWant, DontWant, GradRef, GradValue

pytestmark = pytest.mark.engine

W, X = jnp.arange(4.0).reshape(2, 2), jnp.array([1.0, -2.0])


def layer(w, x):
    return jnp.sin(w @ x)


def pulled(how):
    """Return the pullback of `layer`, and the gradients that it gives without refs."""
    _, pull_back = how(lambda w, x: ev.vjp(layer, w, x))(W, X)
    return pull_back, pull_back(jnp.ones(2))


HOWS = {"eager": lambda fun: fun, "jit": ev.jit}


@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_gradients_go_where_refs_say(how):
    pull_back, (dw, dx) = pulled(how)
    total = ev.new_ref(jnp.ones((2, 2)))
    assert pull_back.with_refs(total, GradValue())(jnp.ones(2))[0] == GradRef()
    found = pull_back.with_refs(DontWant(), GradValue())(jnp.ones(2))
    assert found[0] == DidntWant()
    assert jnp.array_equal(found[1], dx)
    pull_back.with_refs(total, DontWant())(jnp.ones(2))
    assert jnp.allclose(total[...], 1 + 2 * dw)


def test_entries_may_be_trees_and_stand_for_trees():
    _, pull_back = ev.vjp(lambda d, x: d["a"] * d["b"] * x, {"a": 2.0, "b": 3.0}, 5.0)
    ref = ev.new_ref(0.0)
    found = pull_back.with_refs({"a": ref, "b": GradValue()}, GradValue())(1.0)
    assert found == ({"a": GradRef(), "b": 10.0}, 6.0)
    assert ref[...] == 15.0
    assert pull_back.with_refs(DontWant(), GradValue())(1.0) == (DidntWant(), 6.0)


def test_nothing_is_computed_for_a_gradient_that_is_not_wanted():
    _, pull_back = ev.vjp(jnp.matmul, W, X)
    both = ev.make_jaxpr(lambda: pull_back(jnp.ones(2)))()
    one = ev.make_jaxpr(lambda: pull_back.with_refs(GradValue(), DontWant())(jnp.ones(2)))()
    assert [str(jaxpr).count("dot_general") for jaxpr in (both, one)] == [2, 1]


@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_gradients_with_respect_to_a_ref_are_those_of_what_was_in_it(how):
    def square_of_sine(ref):
        ref[...] = jnp.sin(ref[...])
        return ref[...] ** 2

    @how
    def run(ref, total):
        _, pull_back = ev.vjp(square_of_sine, ref)
        pull_back.with_refs(total)(1.0)

    ref, total = ev.new_ref(2.0), ev.new_ref(100.0)
    run(ref, total)
    assert jnp.allclose(total[...], 100 + 2 * jnp.sin(2.0) * jnp.cos(2.0))
    assert jnp.allclose(ref[...], jnp.sin(2.0))


def test_a_loop_adds_to_one_ref():
    def batch(xs):
        total = ev.new_ref(jnp.zeros(2))

        def step(_, x):
            out, pull_back = ev.vjp(lambda w: jnp.sum(jnp.sin(w * x)), jnp.ones(2))
            pull_back.with_refs(total)(1.0)
            return (), out

        ev.lax.scan(step, (), xs)
        return ev.freeze(total)

    xs = jnp.arange(6.0).reshape(3, 2)
    want = ev.grad(lambda w: sum(jnp.sum(jnp.sin(w * x)) for x in xs))(jnp.ones(2))
    assert jnp.allclose(ev.jit(batch)(xs), want, atol=1e-5)


@pytest.mark.parametrize(
    "refs", [(), (GradValue(),), (1, GradValue()), (GradValue(), {"a": GradValue()})]
)
def test_every_argument_needs_an_entry(refs):
    pull_back, _ = pulled(lambda fun: fun)
    said = (
        r"with_refs takes one entry for each of 2 arguments, got .*\n(.|\n)*GradValue(.|\n)*grad-"
    )
    with pytest.raises(TypeError, match=said):
        pull_back.with_refs(*refs)


@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_what_a_pullback_keeps_are_arguments_and_what_was_computed(how):
    _, pull_back = how(lambda w, x: ev.vjp(lambda w, x: jnp.sin(w) * 2 + x, w, x))(W, X)
    w, x = pull_back.args_res
    assert jnp.array_equal(w, W)
    assert repr(x) == "NotNeeded()"
    assert all(x.shape == (2, 2) for x in pull_back.opaque_residuals)
    assert len(ev.tree.leaves(pull_back)) == 1 + len(pull_back.opaque_residuals)


# ------------------------------------------------------------------------ rules of one's own


@ev.custom_vjp
def stash(ref, x):
    return 2 * x


def _backward(ref, ct):
    ref[...] = ct
    return None, 2 * ct


stash.defvjp(lambda ref, x: (2 * x, ref), _backward)


@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_a_rule_shares_a_ref_with_its_backward_function(how):
    ref = ev.new_ref(0.0)
    gradient = how(ev.grad(lambda x, ref: jnp.sin(stash(ref, x))))
    for x in (1.0, 2.0):
        assert jnp.allclose(gradient(x, ref), 2 * jnp.cos(2 * x))
        assert jnp.allclose(ref[...], jnp.cos(2 * x))
    assert how(stash)(ref, 3.0) == 6.0


def test_a_rule_for_forward_mode_gets_a_ref_as_it_is():
    @ev.custom_jvp
    def scaled(ref, x):
        return ref[...] * x

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), 7 * tangents[1]))
    ref = ev.new_ref(3.0)
    assert scaled(ref, 2.0) == 6.0
    assert ev.grad(scaled, 1)(ref, 2.0) == 7.0
