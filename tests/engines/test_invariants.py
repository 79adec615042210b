"""What a loop would compute anew in each turn is computed once before it, if it is dear."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.native import invariants

pytestmark = pytest.mark.usefixtures("needs_native")

N = 96
A = np.random.default_rng(0).normal(size=(N, N)).astype("float32")
X = np.linspace(-1, 1, N).astype("float32")


def by_scan(a, x):
    def turn(x, _):
        return jnp.tanh(x @ (a @ a)) / N, x[0]

    return lax.scan(turn, x, length=3)


def by_fori(a, x):
    return lax.fori_loop(0, 3, lambda i, x: jnp.tanh(x @ (a @ a)) / N, x)


def by_while(a, x):
    def turn(s):
        i, x = s
        return i + 1, jnp.tanh(x @ (a @ a)) / N

    return lax.while_loop(lambda s: s[0] < 3, turn, (0, x))[1]


def by_carry(a, x):
    """Carries an array that no turn changes."""
    return lax.scan(
        lambda s, _: ((s[0], jnp.tanh(s[1] @ (s[0] @ s[0])) / N), None), (a, x), length=3
    )


LOOPS = {"scan": by_scan, "fori_loop": by_fori, "while_loop": by_while, "a carry": by_carry}


def lifted(fun, *args):
    """Return the programs that run before the loops of a function, and their bodies then."""
    (eqn,) = [e for e in ev.make_jaxpr(fun)(*args).eqns if e.primitive.name in ("scan", "while")]
    p = eqn.params
    body = (p.get("jaxpr") or p["body_jaxpr"]).jaxpr
    consts = p["num_consts"] if "jaxpr" in p else p["body_nconsts"]
    carries = range(consts, len(body.invars))
    same = [
        i for i in carries if body.invars[i] in body.outvars and body.invars[i].aval.shape == (N, N)
    ]
    return invariants.lifted(body, [*range(consts), *same]), body


def products(jaxpr):
    return sum([e.primitive.name == "dot_general" for e in jaxpr.eqns])


@pytest.mark.parametrize("loop", LOOPS)
def test_product_of_what_no_turn_changes_is_made_before_the_loop(loop):
    found, body = lifted(LOOPS[loop], A, X)
    before, rest = found
    assert (products(body), products(before), products(rest)) == (2, 1, 1)


@pytest.mark.parametrize("loop", LOOPS)
def test_results_are_those_of_xla(loop):
    got = ev.jit(LOOPS[loop], engine="native")(A, X)
    want = ev.jit(LOOPS[loop], engine="xla")(A, X)
    for g, w in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loop", LOOPS)
def test_derivatives_are_those_of_xla(loop):
    def total(a, x):
        return sum([jnp.sum(v) for v in ev.tree.leaves(LOOPS[loop](a, x))])

    if loop == "while_loop":
        total = lambda a, x: jnp.sum(ev.jvp(by_while, (a, x), (a, x))[1])  # noqa: E731
    else:
        total = ev.grad(total, argnums=(0, 1))
    got, want = [ev.jit(total, engine=e)(A, X) for e in ("native", "xla")]
    for g, w in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-4)


def test_what_is_cheap_stays_in_the_loop():
    found, _ = lifted(lambda a, x: lax.fori_loop(0, 3, lambda i, x: x + jnp.exp(a)[0], x), A, X)
    assert found is None


def test_what_only_a_lifted_product_needs_is_lifted_with_it():
    def fun(a, x):
        return lax.fori_loop(0, 3, lambda i, x: x @ (a @ jnp.eye(N)), x)

    (before, rest), _ = lifted(fun, A, X)
    assert [e.primitive.name for e in before.eqns][-1] == "dot_general"
    assert "iota" in [e.primitive.name for e in before.eqns]
    assert "iota" not in [e.primitive.name for e in rest.eqns]


def test_short_sums_are_lifted_and_what_is_made_of_them_is_not():
    def fun(a, x):
        return lax.fori_loop(0, 3, lambda i, x: x + ev.nn.log_softmax(a)[0], x)

    (before, rest), _ = lifted(fun, A[:9], X)
    names = [[e.primitive.name for e in jaxpr.eqns] for jaxpr in (before, rest)]
    assert ["reduce_sum" in n for n in names] == ["reduce_max" in n for n in names] == [True, False]
    assert ["exp" in n for n in names] == [True, False]
    assert ["gather" in n or "dynamic_slice" in n or "slice" in n for n in names] == [False, True]
    got, want = [ev.jit(fun, engine=e)(A[:9], X) for e in ("native", "xla")]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_product_that_is_the_result_itself():
    fun = lambda a, x: lax.fori_loop(0, 3, lambda i, y: a @ a, a)  # noqa: E731
    np.testing.assert_array_equal(ev.jit(fun, engine="native")(A, X), ev.jit(lambda a: a @ a)(A))


@pytest.mark.parametrize("turns", [0, 1])
def test_loop_that_may_not_turn(turns):
    @ev.jit
    def fun(a, x, n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] @ (a @ a)), (0, x))[1]

    with np.errstate(all="raise"):
        bad = np.full((N, N), np.inf, "float32")
        got = fun(bad, X, turns)
    assert bool(np.isfinite(got).all()) == (turns == 0)


def test_loops_in_loops():
    def fun(a, x):
        def outer(i, x):
            return lax.fori_loop(0, 2, lambda j, x: jnp.tanh(x @ (a @ a)) / N, x) + i

        return lax.fori_loop(0, 3, outer, x)

    got, want = [ev.jit(fun, engine=e)(A, X) for e in ("native", "xla")]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_callbacks_are_called_in_each_turn():
    seen = []

    def fun(a, x):
        def turn(i, x):
            ev.debug.callback(lambda v: seen.append(float(v)), (a @ a)[0, 0])
            return x + 1

        return lax.fori_loop(0, 3, turn, x)

    ev.jit(fun, engine="native")(A, X).block_until_ready()
    ev.effects_barrier()
    assert seen == seen[:1] * 3
