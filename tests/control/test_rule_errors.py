"""What custom rules must return: each usual mistake, and what is said of it."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

pytestmark = pytest.mark.usefixtures("rules")
X = np.array([0.5, -1.0, 2.0], np.float32)

# Rules for a function of one array that returns it; messages when that is differentiated.
JVPS = [
    (lambda p, t: p[0], "the jvp rule must return a pair (output, output tangent), got"),
    (lambda p, t: (p[0], t[0], 1), "the jvp rule must return a pair (output, output tangent), got"),
    (
        lambda p, t: (p[0], (t[0],)),
        "output and output tangent of the jvp rule differ in structure at the root",
    ),
    (
        lambda p, t: (p[0], t[0][:2]),
        "the jvp rule returns a tangent of type f32[2] for an output of type f32[3]",
    ),
    (
        lambda p, t: (p[0], t[0].astype("float16")),
        "the jvp rule returns a tangent of type f16[3] for an output of type f32[3]",
    ),
]
STAGED_JVPS = [
    (
        lambda p, t: ((p[0], p[0]), (t[0], t[0])),
        "outputs of the function and of the jvp rule differ in structure at the root: the "
        "function has a leaf",
    ),
    (
        lambda p, t: (p[0][:2], t[0][:2]),
        "the jvp rule returns an output of type f32[2], where the function returns f32[3]",
    ),
    (
        lambda p, t: (p[0].astype("float16"), t[0].astype("float16")),
        "the jvp rule returns an output of type f16[3], where the function returns f32[3]",
    ),
]
VJPS = [
    (lambda a: a, lambda r, c: (c,), "the forward function must return a pair (output, residuals)"),
    (lambda a: (a, None), lambda r, c: c, "must return a tuple of 1 cotangents, one per"),
    (lambda a: (a, None), lambda r, c: (c, c), "must return a tuple of 1 cotangents, one per"),
    (lambda a: (a, None), lambda r, c: ((c,),), "a cotangent from the backward function has the"),
    (
        lambda a: (a, None), lambda r, c: (c[:2],),
        "the backward function returns a cotangent of type f32[2] for an argument of type f32[3]",
    ),
    (
        lambda a: (a, None), lambda r, c: (c.astype("float16"),),
        "the backward function returns a cotangent of type f16[3] for an argument of type f32[3]",
    ),
]  # fmt: skip
STAGED_VJPS = [
    (
        lambda a: ((a, a), None),
        lambda r, c: (c[0],),
        "outputs of the function and of the forward function differ in structure at the root",
    ),
    (
        lambda a: (a[:2], None),
        lambda r, c: (jnp.ones(3),),
        "the forward function returns an output of type f32[2], where the function returns f32[3]",
    ),
]

# By JAX's rules and by the contract, whether the function has been traced before its rule runs.
DIRECT = [
    lambda f: ev.grad(lambda x: total(f(x)))(X),
    lambda f: ev.jit(ev.grad(lambda x: total(f(x))))(X),
    lambda f: ev.vmap(ev.grad(lambda x: total(f(x))))(X[None]),
]
STAGED = [
    lambda f: ev.grad(ev.jit(lambda x: total(f(x))))(X),
    lambda f: ev.grad(ev.checkpoint(lambda x: total(f(x))))(X),
]


def total(out):
    return sum(jnp.sum(x) for x in ev.tree.leaves(out))


def with_jvp(rule):
    fun = ev.custom_jvp(lambda a: a * 1)
    fun.defjvp(rule)
    return fun


def with_vjp(fwd, bwd):
    fun = ev.custom_vjp(lambda a: a * 1)
    fun.defvjp(fwd, bwd)
    return fun


def check(run, fun, text):
    with pytest.raises((TypeError, ValueError)) as caught:
        run(fun)
    assert text in str(caught.value)
    assert str(caught.value).startswith("<lambda>: ")


@pytest.mark.parametrize("run", DIRECT + STAGED)
@pytest.mark.parametrize(("rule", "text"), JVPS)
def test_jvp_rules(rule, text, run):
    check(run, with_jvp(rule), text)


@pytest.mark.parametrize("run", STAGED)
@pytest.mark.parametrize(("rule", "text"), STAGED_JVPS)
def test_jvp_rules_of_traced_functions(rule, text, run):
    check(run, with_jvp(rule), text)


@pytest.mark.parametrize("run", DIRECT + STAGED)
@pytest.mark.parametrize(("fwd", "bwd", "text"), VJPS)
def test_vjp_rules(fwd, bwd, text, run):
    check(run, with_vjp(fwd, bwd), text)


@pytest.mark.parametrize("run", STAGED)
@pytest.mark.parametrize(("fwd", "bwd", "text"), STAGED_VJPS)
def test_vjp_rules_of_traced_functions(fwd, bwd, text, run):
    check(run, with_vjp(fwd, bwd), text)


# ---------------------------------------------------------------- symbolic zeros


def test_symbolic_zeros_of_a_vjp():
    seen = []

    @ev.custom_vjp
    def fun(x, y):
        return x * y, x + y

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        x, y = custom_vjp_primal_tree_values((x, y))
        return fun(x, y), (x, y)

    def bwd(residuals, cts):
        seen.append([type(ct) is SymbolicZero for ct in cts])
        _, y = residuals
        return cts[0] * y, None

    fun.defvjp(fwd, bwd, symbolic_zeros=True)
    with ev.strict():
        assert ev.grad(lambda x: fun(x, 3.0)[0])(2.0) == 3.0
    assert seen == [(True, False), [False, True]]


def test_zeros_of_values():
    zeros = zero_from_primal({"a": jnp.ones(2), "n": 3})
    np.testing.assert_array_equal(zeros["a"], np.zeros(2))
    assert zeros["n"].dtype == ev.float0
    symbolic = zero_from_primal({"a": jnp.ones(2), "n": 3}, symbolic_zeros=True)
    assert (type(symbolic["a"]), symbolic["a"].shape) == (SymbolicZero, (2,))
    assert symbolic["n"].dtype == ev.float0


def test_values_of_primals():
    tree = (CustomVJPPrimal(1.0, True), {"k": CustomVJPPrimal(2.0, False)})
    assert custom_vjp_primal_tree_values(tree) == (1.0, {"k": 2.0})
    with pytest.raises(TypeError, match="a leaf is no CustomVJPPrimal but a float"):
        custom_vjp_primal_tree_values((1.0,))


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit, ev.checkpoint])
def test_names_of_arguments_that_are_not_differentiated(wrap):
    jvp = ev.custom_jvp(lambda x, scale: x * scale, nondiff_argnames=("scale",))
    jvp.defjvp(lambda scale, p, t: (p[0] * scale, t[0] * scale * 10))
    vjp = ev.custom_vjp(lambda x, scale: x * scale, nondiff_argnames=("scale",))
    vjp.defvjp(lambda x, scale: (x * scale, None), lambda scale, r, ct: (ct * scale * 10,))
    for fun in (jvp, vjp):
        for call in (lambda x, fun=fun: fun(x, 3.0), lambda x, fun=fun: fun(x, scale=3.0)):
            assert ev.grad(wrap(call))(1.0) == 30.0


def test_optimize_remat_runs_the_forward_rule_only_for_the_backward_pass():
    @ev.custom_vjp
    def fun(x):
        return jnp.sin(x)

    fun.defvjp(lambda x: (jnp.tanh(x), jnp.cosh(x)), lambda r, ct: (ct * r,), optimize_remat=True)
    value, grad = ev.value_and_grad(ev.checkpoint(fun))(0.5)
    np.testing.assert_allclose(value, np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(grad, np.cosh(0.5), rtol=1e-6)
