"""A walk through a user's own primitive, with every rule, and JAX's places to register them."""

import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import extend, lax
from evertrace.interpreters import ad, batching, mlir
from evertrace.test_util import check_grads

X = np.float32([0.5, 1.0, 2.0])


# ------------------------------------------------------------------ a primitive of ours: k * sin(x)


def wave_host(x, *, k):
    return (k * np.sin(x)).astype(x.dtype)


wave_p = extend.Primitive("wave", host=wave_host, abstract=lambda x, *, k: x)


@wave_p.define("jvp")
def wave_jvp(tangents, primals, out, *, k):
    (dx,), (x,) = tangents, primals
    return lax.mul(dx, wave(x + np.pi / 2, k))


@wave_p.define("batch")
def wave_batch(size, operands, dims, *, k):
    return wave_p.bind(*operands, k=k), dims[0]


extend.register_lowering(
    wave_p, extend.lower_fun(lambda x, *, k: k * jnp.sin(x), multiple_results=False)
)


def wave(x, k):
    return wave_p.bind(jnp.asarray(x), k=float(k))


# ------------------------------------------------------------------ and as one writes it for JAX

jax_wave_p = extend.core.Primitive("jax_wave")
jax_wave_p.def_impl(lambda x, *, k: k * jnp.sin(x))
jax_wave_p.def_abstract_eval(lambda x, *, k: extend.core.ShapedArray(x.shape, x.dtype))


def jax_wave_jvp(primals, tangents, *, k):
    (x,), (dx,) = primals, tangents
    return jax_wave_p.bind(x, k=k), k * jnp.cos(x) * ad.instantiate_zeros(dx)


ad.primitive_jvps[jax_wave_p] = jax_wave_jvp
batching.primitive_batchers[jax_wave_p] = lambda args, dims, *, k: (
    jax_wave_p.bind(*args, k=k),
    dims[0],
)
mlir.register_lowering(
    jax_wave_p, mlir.lower_fun(lambda x, *, k: k * jnp.sin(x), multiple_results=False)
)


def jax_wave(x, k):
    return jax_wave_p.bind(jnp.asarray(x), k=float(k))


waves = pytest.mark.parametrize("wave", [wave, jax_wave])


@waves
def test_values_of_every_engine(wave):
    want = 2 * np.sin(X)
    np.testing.assert_allclose(wave(X, 2), want, rtol=1e-6)
    np.testing.assert_allclose(ev.jit(wave, static_argnums=1)(X, 2), want, rtol=1e-6)
    np.testing.assert_allclose(ev.vmap(lambda x: wave(x, 2))(X), want, rtol=1e-6)


@waves
@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_derivatives(wave, run):
    check_grads(run(lambda x: wave(x, 3)), (X,), order=2)
    grads = run(ev.vmap(ev.grad(lambda x: wave(x, 3))))(X)
    np.testing.assert_allclose(grads, 3 * np.cos(X), rtol=1e-5)


@waves
def test_inside_of_loops_and_branches(wave):
    def f(x):
        y = lax.fori_loop(0, 3, lambda i, c: wave(c, 1), x)
        return lax.cond(y > 0, lambda y: wave(y, 2), lambda y: y, y)

    want = np.sin(np.sin(np.sin(0.5)))
    np.testing.assert_allclose(ev.jit(f)(0.5), 2 * np.sin(want), rtol=1e-6)


# ------------------------------------------------------------------ linear, and in StableHLO

double_p = extend.Primitive("double")
double_p.def_abstract_eval(lambda x: x)
extend.register_lowering(double_p, lambda b, out, x: b.op("stablehlo.add", [x, x], out))
ad.deflinear2(double_p, lambda ct, x: [double_p.bind(ct)])
batching.defvectorized(double_p)


def test_lowering_in_stablehlo_text():
    np.testing.assert_array_equal(double_p.bind(jnp.asarray(X)), 2 * X)
    text = ev.jit(double_p.bind).lower(X).as_text()
    assert "stablehlo.add" in text


def test_linear_primitives_are_transposed():
    np.testing.assert_allclose(ev.grad(lambda x: jnp.sum(double_p.bind(x) ** 2))(X), 8 * X)
    (transposed,) = ev.linear_transpose(double_p.bind, X)(X)
    np.testing.assert_array_equal(transposed, 2 * X)
    np.testing.assert_array_equal(ev.vmap(double_p.bind, 1, 1)(jnp.ones((2, 3))), 2)


# ------------------------------------------------------------------ several results

sum_difference_p = extend.Primitive("sum_difference", multiple_results=True)
sum_difference_p.def_abstract_eval(lambda x, y: (x, y))
mlir.register_lowering(sum_difference_p, mlir.lower_fun(lambda x, y: (x + y, x - y)))
sum_difference_p.linear = extend.JOINTLY


def transpose_sum_difference(cts, x, y):
    ct_sum, ct_difference = map(ad.instantiate_zeros, cts)
    assert ad.is_undefined_primal(x) or ad.is_undefined_primal(y)
    return [ct_sum + ct_difference, ct_sum - ct_difference]


ad.primitive_transposes[sum_difference_p] = transpose_sum_difference


@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_several_results(run):
    def f(x, y):
        total, _ = sum_difference_p.bind(x, y)
        return jnp.sum(total**2)

    x, y = jnp.asarray(X), jnp.ones(3)
    assert run(f)(x, y) == np.sum((X + 1) ** 2)
    for got in run(ev.grad(f, (0, 1)))(x, y):
        np.testing.assert_allclose(got, 2 * (X + 1))


product_p = extend.Primitive("product")
product_p.def_abstract_eval(lambda x, y: x)
mlir.register_lowering(product_p, mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
ad.defjvp(product_p, lambda dx, x, y: dx * y, lambda dy, x, y: x * dy)


def test_a_rule_per_operand():
    check_grads(lambda x: product_p.bind(x, jnp.sin(x)), (jnp.asarray(X),), order=2)
    exponential_p = extend.Primitive("exponential")
    exponential_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(exponential_p, mlir.lower_fun(jnp.exp, multiple_results=False))
    ad.defjvp2(exponential_p, lambda dx, out, x: dx * out)
    check_grads(exponential_p.bind, (X,), order=2)


def test_lowering_of_a_function_with_constants():
    table = jnp.asarray(X)
    prim = extend.Primitive("shifted")
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: x + table, multiple_results=False))
    np.testing.assert_array_equal(ev.jit(prim.bind)(jnp.ones(3)), 1 + X)


# ------------------------------------------------------------------ what is missing is said

empty_p = extend.Primitive("empty")
empty_p.def_abstract_eval(lambda x: x)
empty_p.def_impl(lambda x: x)

MISSING = {
    "lowering": (lambda: ev.jit(empty_p.bind)(1.0), "empty has no rule for the XLA engine"),
    "derivative": (lambda: ev.grad(empty_p.bind)(1.0), "empty has no derivative"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_rules(name):
    call, text = MISSING[name]
    with pytest.raises(NotImplementedError, match=text):
        call()


def test_registration_errors():
    with pytest.raises(TypeError, match="the rule must be a function, got str"):
        extend.register_lowering(empty_p, "stablehlo.add")
    with pytest.raises(
        ValueError, match=r"there is no platform 'abacus'(.|\n)*one of 'cpu', 'gpu'"
    ):
        extend.register_lowering(empty_p, lambda *_: None, platform="abacus")
    with pytest.raises(TypeError, match=r"register_lowering: expected a function, got .* str"):
        mlir.register_lowering(empty_p, "stablehlo.add")


def test_mappings_of_rules():
    assert ad.primitive_jvps[jax_wave_p] is jax_wave_jvp
    assert jax_wave_p in list(ad.primitive_jvps)
    ad.primitive_jvps[empty_p] = jax_wave_jvp
    del ad.primitive_jvps[empty_p]
    assert empty_p not in ad.primitive_jvps


def test_zeros():
    zero = ad.Zero.from_primal_value(1.0)
    assert repr(zero) == "Zero(f32[])"
    assert ad.add_tangents(zero, 2.0) == ad.add_tangents(2.0, zero) == 2.0
    assert ad.add_tangents(jnp.ones(()), jnp.ones(())) == 2
    assert ad.add_jaxvals(ad.zeros_like_aval(zero.aval), jnp.ones(())) == 1


def test_jaxprs_as_functions():
    closed = ev.make_jaxpr(lambda x: jnp.sin(x) + X)(1.0)
    (out,) = extend.core.jaxpr_as_fun(closed)(2.0)
    np.testing.assert_allclose(out, np.sin(2.0) + X, rtol=1e-6)
    extend.core.check_jaxpr(closed.jaxpr)
    assert closed.jaxpr.effects == extend.core.no_effects


def test_what_libraries_ask_of_primitives_and_types():
    assert extend.core.primitives.jit_p.call_primitive is False
    aval = ev.typeof(jnp.ones(2))
    assert aval.sharding.is_fully_replicated
    assert aval.sharding.mesh.empty
    assert ev.core.ShapedArray((2,), "float32", sharding=aval.sharding) is aval
    assert aval.update(sharding=None) is aval
    assert ev.typeof(jnp.ones(2)).to_tangent_aval() is ev.typeof(jnp.ones(2))
    assert ev.typeof(jnp.arange(2)).to_tangent_aval().str_short() == "float0[2]"


@pytest.mark.parametrize("value", [2.0, np.float32(2), np.full(3, 2, np.float32)], ids=type)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        ev.jit,
        ev.vmap,
        lambda f: lambda x: ev.jvp(f, (x,), (jnp.ones(3),))[0],
        lambda f: lambda x: ev.vjp(f, x)[0],
    ],
    ids=["eager", "jit", "vmap", "jvp", "vjp"],
)
def test_primitives_take_numpy_arrays_and_python_scalars(value, transform):
    if transform is ev.vmap:
        value = np.ravel(value)[0]
    found = transform(lambda x: lax.sub_p.bind(x, value))(jnp.full(3, 6.0))
    np.testing.assert_array_equal(found, np.full(3, 4.0))


def test_a_primitive_tells_how_it_is_computed():
    assert lax.sin_p.impl(jnp.zeros(2)).tolist() == [0.0, 0.0]

    def rule(x):
        return x

    mine = extend.Primitive("mine")
    mine.def_impl(rule)
    assert mine.impl is rule


@pytest.mark.parametrize("args", [(2.0, 3), (jnp.float32(2), 3.0), (np.full(3, 2.0), 3.0)])
def test_rules_for_concrete_calls_get_arrays_and_may_return_numpys(args):
    mine = extend.Primitive("mine")
    pair = extend.Primitive("pair", multiple_results=True)
    kinds = []

    @mine.def_impl
    def _(x, y):
        kinds.extend((type(x), type(y)))
        return np.add(np.multiply(x, y), 1)

    pair.def_impl(lambda x, y: (np.asarray(x), 2.0))
    assert isinstance(mine.bind(*args), ev.Array)
    assert set(kinds) == {ev.Array}
    np.testing.assert_array_equal(mine.bind(*args), np.full(np.shape(args[0]), 7.0))
    first, second = pair.bind(*args)
    assert (np.shape(first), float(second)) == (np.shape(args[0]), 2.0)


def test_a_rule_for_concrete_calls_is_given_none_but_concrete_values():
    """A derivative that applies the primitive to a tangent needs a rule for the way back."""
    double = extend.Primitive("double")
    kinds = set()

    @double.def_impl
    def _(x):
        kinds.add(type(x))
        return np.multiply(x, 2)

    double.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[double] = lambda primals, tangents: (
        double.bind(*primals),
        double.bind(*tangents),
    )
    assert ev.jvp(double.bind, (3.0,), (1.0,)) == (6.0, 2.0)
    with pytest.raises(NotImplementedError, match=r"^double has no transposition rule\.\n"):
        ev.grad(double.bind)(3.0)
    assert kinds == {ev.Array}
    ad.primitive_transposes[double] = lambda ct, x: [double.bind(ct)]
    assert ev.grad(double.bind)(3.0) == 2.0


def test_a_primitive_without_rules_says_what_it_lacks():
    with pytest.raises(NotImplementedError, match="nothing has no type rule"):
        extend.Primitive("nothing").bind(1.0)


def test_what_a_function_says_how_to_compile_runs_on_a_tape_too(needs_native):
    @functools.partial(ev.jit, engine="native")
    def f(x):
        return sum_difference_p.bind(x, 2 * x)

    total, difference = f(jnp.arange(3.0))
    assert total.tolist() == [0.0, 3.0, 6.0]
    assert difference.tolist() == [0.0, -1.0, -2.0]
