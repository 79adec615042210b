"""The user's function is called with what it does not take: errors name it and what it gets."""

import functools
import traceback

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, tree
from evertrace._src import config

V = jnp.ones(3)


def one(x):
    return jnp.sum(x * x)


def two(x, y):
    return x + y


class Model:
    def __call__(self, x):
        return one(x)

    def loss(self, x, scale=1.0):
        return one(x) * scale


def with_rules(kind, **rules):
    function = kind(lambda x: one(x))
    getattr(function, "defjvp" if kind is ev.custom_jvp else "defvjp")(**rules)
    return function


def good_fwd(x):
    return one(x), x


def pmapped():
    return ev.pmap(one)(V[:1], V[:1])


def shard_mapped():
    mesh, spec = ev.make_mesh((1,), ("i",)), ev.P("i")
    return ev.shard_map(one, mesh=mesh, in_specs=(spec, spec), out_specs=ev.P())(V[:1], V[:1])


TWICE = "(f32[3], f32[3])"
PASSED = "Fix: pass the arguments of `one(x)` (tests/errors/test_miscalls.py:"

RETURNED = {
    "grad": lambda: ev.grad(one)(V, V),
    "value_and_grad": lambda: ev.value_and_grad(one)(V, V),
    "vmap": lambda: ev.vmap(one)(V, V),
    "checkpoint": lambda: ev.checkpoint(one)(V, V),
    "make_jaxpr": lambda: ev.make_jaxpr(one)(V, V),
    "jacfwd": lambda: ev.jacfwd(one)(V, V),
    "jacrev": lambda: ev.jacrev(one)(V, V),
    "hessian": lambda: ev.hessian(one)(V, V),
    "timeit": lambda: ev.timeit(one)(V, V),
    "profile": lambda: ev.profile(one)(V, V),
    "pmap": pmapped,
    "shard_map": shard_mapped,
}


def raised(call):
    with config.override(traceback_filtering="auto"), pytest.raises(TypeError) as caught:
        call()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert "\n  at tests/errors/test_miscalls.py:" in str(caught.value)
    assert str(caught.value).endswith(" docs arguments`")
    return str(caught.value)


@pytest.mark.parametrize("name", RETURNED)
def test_returned_functions_say_how_they_were_called(name):
    text = raised(RETURNED[name])
    given = TWICE if "map" not in name or name == "vmap" else "(f32[1], f32[1])"
    assert text.startswith(
        f"{name}(one): one() takes 1 positional argument but 2 were given. It was called as "
        f"{name}(one){given}.\n"
    )
    assert PASSED in text


BODIES = {
    "scan": (lambda: lax.scan(one, 0.0, V), "(carry, x)"),
    "fori_loop": (lambda: lax.fori_loop(0, 3, one, 0.0), "(i, value)"),
    "while_loop": (lambda: lax.while_loop(two, one, 0.0), "(value)"),
    "the body of a while_loop": (lambda: lax.while_loop(lambda c: c < 3, two, 0.0), "(value)"),
    "cond": (lambda: lax.cond(True, one, one, V, V), "the operands that follow the functions"),
    "switch": (
        lambda: lax.switch(1, [one, one], V, V), "the operands that follow the functions",
    ),
    "map": (lambda: lax.map(two, V), "(x), one item"),
    "associative_scan": (
        lambda: lax.associative_scan(one, V), "(a, b), two slices of the array",
    ),
    "reduce": (
        lambda: lax.reduce(V, 0.0, one, (0,)), "(a, b), what is reduced so far and what is next",
    ),
    "tree_map": (lambda: tree.map(one, [V], [V]), "one leaf of each tree"),
    "tree.reduce": (lambda: tree.reduce(one, [V, V]), "(so_far, leaf)"),
    "apply_along_axis": (
        lambda: jnp.apply_along_axis(two, 0, V), "a vector, and what follows the array",
    ),
    "piecewise": (
        lambda: jnp.piecewise(V, [V > 0], [two]), "the array, and what follows the functions",
    ),
    "fromfunction": (
        lambda: jnp.fromfunction(one, (2, 2)), "an array of indices for each dimension",
    ),
    "scan of a jitted function": (lambda: lax.scan(ev.jit(one), 0.0, V), "(carry, x)"),
    "scan in jit": (lambda: ev.jit(lambda x: lax.scan(one, 0.0, x))(V), "(carry, x)"),
    "scan in grad": (lambda: ev.grad(lambda x: lax.scan(one, 0.0, x)[0])(V), "(carry, x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_control_flow_says_what_a_body_gets(name):
    call, gets = BODIES[name]
    text = raised(call)
    what, fix = text.splitlines()[0], text.splitlines()[2]
    short = name.split(".")[-1].replace("the body of a ", "").split()[0]
    assert what.startswith(f"{short}: ")
    assert what.endswith(f"; {short} calls it with {gets}.")
    assert "Fix: have `one(x)` (tests" in fix or "Fix: have `two(x, y)` (tests" in fix
    assert fix.endswith(f") take {gets}.")


RULES = {
    "bwd": (
        lambda: ev.grad(with_rules(ev.custom_vjp, fwd=good_fwd, bwd=one))(V),
        "(residuals, cotangent), after what nondiff_argnums names",
    ),
    "bwd in jit": (
        lambda: ev.jit(ev.grad(with_rules(ev.custom_vjp, fwd=good_fwd, bwd=one)))(V),
        "(residuals, cotangent), after what nondiff_argnums names",
    ),
    "bwd in scan": (
        lambda: ev.grad(
            lambda x: lax.scan(
                lambda c, a: (c + with_rules(ev.custom_vjp, fwd=good_fwd, bwd=one)(a), None), 0.0, x
            )[0]
        )(V),
        "(residuals, cotangent), after what nondiff_argnums names",
    ),
    "fwd": (
        lambda: ev.grad(with_rules(ev.custom_vjp, fwd=two, bwd=two))(V),
        "the arguments of the function",
    ),
    "jvp": (
        lambda: ev.jvp(with_rules(ev.custom_jvp, jvp=one), (V,), (V,)),
        "(primals, tangents), after what nondiff_argnums names",
    ),
}  # fmt: skip


def test_the_rule_of_a_vectorisation():
    function = ev.custom_batching.custom_vmap(one)
    function.def_vmap(two)
    text = raised(lambda: ev.vmap(function)(jnp.ones((2, 3))))
    assert text.startswith("custom_vmap: two() takes 2 positional arguments but 3 were given; ")
    assert "calls it with (axis_size, in_batched) and the arguments of the function.\n" in text


@pytest.mark.parametrize("name", RULES)
def test_rules_of_derivatives(name):
    call, gets = RULES[name]
    text = raised(call)
    kind = "custom_jvp" if name == "jvp" else "custom_vjp"
    assert text.startswith(f"{kind}: ")
    assert f"; {kind} calls it with {gets}.\n" in text


@pytest.mark.parametrize(
    ("call", "what", "fix"),
    [
        (
            lambda: ev.jvp(one, (V, V), (V, V)),
            "jvp: one() takes 1 positional argument but 2 were given. It was called as jvp(one, ",
            PASSED,
        ),
        (
            lambda: ev.eval_shape(one), "eval_shape: one() missing 1 required positional argument",
            PASSED,
        ),
        (
            lambda: ev.make_jaxpr(two)(V),
            "make_jaxpr(two): two() missing 1 required positional argument: 'y'. It was called as "
            "make_jaxpr(two)(f32[3]).", "Fix: pass the arguments of `two(x, y)` (tests",
        ),
        (
            lambda: ev.grad(Model().loss)(V, scal=2.0),
            "grad(loss): loss() got an unexpected keyword argument 'scal'. It was called as "
            "grad(loss)(f32[3], scal=2.0).", "Fix: did you mean `scale`?",
        ),
        (lambda: ev.grad(Model())(V, V), "grad(Model): Model() takes 2 positional", "`Model(x)` ("),
        (
            lambda: ev.vmap(functools.partial(one))(V, V),
            "vmap(one): one() takes 1 positional argument", PASSED,
        ),
        (
            lambda: ev.jit(one, strict=True)(V, V),
            f"jit(one): one() takes 1 positional argument but 2 were given. It was called as "
            f"jit(one){TWICE}.", PASSED,
        ),
        (lambda: ev.grad(ev.jit(one))(V, V), f"grad(one): one() takes 1 positional argument but 2 "
         f"were given. It was called as grad(one){TWICE}.", PASSED),
        (lambda: ev.grad(ev.vmap(one))(V, V), "grad(one): one() takes 1 positional", PASSED),
        (
            lambda: with_rules(ev.custom_vjp, fwd=good_fwd, bwd=two)(V, V),
            "<lambda>: too many positional arguments. It was called as <lambda>(f32[3], f32[3]).",
            "Fix: call it as `<lambda>(x)`.",
        ),
        (
            lambda: ev.vjp(one, V)[1](V, V),
            "Pullback: Pullback() takes 2 positional arguments but 3 were given. It was called as "
            "Pullback(f32[3], f32[3]).", "Fix: pass the arguments of `Pullback(cotangent)`.",
        ),
        (
            lambda: ev.nn.initializers.normal()((3, 3)),
            "normal: init() missing 1 required positional argument: 'shape'. It was called as "
            "normal(...)((3, 3)).", "Fix: pass the arguments of `init(key, shape, ",
        ),
    ],
)  # fmt: skip
def test_other_calls(call, what, fix):
    text = raised(call)
    assert text.startswith(what)
    assert fix in text


def test_of_lambdas_with_one_name_the_one_is_shown_that_was_called():
    text = raised(lambda: lax.switch(1, [lambda x: x, lambda: 1.0], V))
    assert "have `<lambda>()` (" in text


def wrong_inside(x, *_):
    return two(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ev.grad(wrong_inside)(V),
        lambda: ev.jit(wrong_inside)(V),
        lambda: lax.scan(wrong_inside, 0.0, V),
        lambda: ev.jit(lambda x: lax.scan(wrong_inside, 0.0, x))(V),
        lambda: tree.map(wrong_inside, [V]),
    ],
)
def test_calls_that_the_user_makes_are_the_users(call):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == "two() missing 1 required positional argument: 'y'"


def test_defaults_are_shown_without_addresses():
    with pytest.raises(TypeError, match=r"operand=\.\.\.") as caught:
        lax.switch(1)
    assert " at 0x" not in str(caught.value)


BY_NAME = "; options go by name."
NOT_RETURNED = {
    "jit": (lambda: ev.jit(one, V), "jit: jit() takes from 0 to 1 positional", BY_NAME),
    "timeit": (lambda: ev.timeit(one, V), "timeit: timeit() takes 1 positional", BY_NAME),
    "profile": (lambda: ev.profile(one, V), "profile: profile() takes 1 positional", BY_NAME),
    "checkpoint": (lambda: ev.checkpoint(one, V), "checkpoint: checkpoint() takes 1", BY_NAME),
    "vectorize": (lambda: jnp.vectorize(one, V), "vectorize: vectorize() takes 1", BY_NAME),
    "make_jaxpr": (
        lambda: ev.make_jaxpr(one, V), "make_jaxpr(one): static_argnums must be an int or a tuple "
        "of ints, got f32[3].", ".",
    ),
    "vmap": (
        lambda: ev.vmap(one, V), "vmap(one): in_axes must be ints, None, or trees of them, got "
        "f32[3].", ".",
    ),
    "pmap": (lambda: ev.pmap(one, V), "pmap(one): axis_name must be a name, got f32[3].", "."),
    **{
        name: (
            functools.partial(getattr(ev, name), one, 1.0),
            f"{name}(one): argnums must be an int or a tuple of ints, got 1.0.", ".",
        )
        for name in ("grad", "jacfwd", "jacrev", "hessian")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_RETURNED)
def test_an_argument_that_is_given_as_an_option_is_refused_at_once(name):
    call, what, more = NOT_RETURNED[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(what)
    function = "one" if more == "." else "f"
    assert f"\n  Fix: call what it returns: `{name}({function})(x)`{more}\n" in str(caught.value)


def test_positions_may_be_any_integers():
    for number in (0, -1, np.int64(0), jnp.int32(0), [0], (0,)):
        assert len(tree.leaves(ev.grad(one, number)(V))) == 1
    assert ev.vmap(one, np.int64(0))(V).shape == (3,)
    assert ev.vmap(one, [0])(V).shape == (3,)
