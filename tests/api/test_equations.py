"""What interpreters of jaxprs ask of equations, and what JAX's extenders call besides."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import extend
from evertrace.extend import source_info_util
from evertrace.extend.core import Primitive
from evertrace.interpreters import ad, batching
from evertrace.interpreters import partial_eval as pe

X = jnp.array([0.5, 1.0, 2.0])


def scoped(x):
    with ev.named_scope("outer"):
        y = jnp.sin(x)
        with ev.named_scope("inner"):
            return y * y


def evaluate(jaxpr, consts, *args):
    """Interpret a jaxpr as programs written for JAX do: each equation in its own context."""
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
    for eqn in jaxpr.eqns:
        values = [v.val if isinstance(v, extend.core.Literal) else env[v] for v in eqn.invars]
        info = eqn.source_info
        names = source_info_util.current_name_stack() + info.name_stack
        context = source_info_util.user_context(info.traceback, name_stack=names)
        with context, eqn.ctx.manager:
            out = eqn.primitive.bind(*values, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, outs, strict=True))
    return [env[v] for v in jaxpr.outvars]


def stacks(closed):
    return [str(eqn.source_info.name_stack) for eqn in closed.eqns]


def test_interpreters_hand_on_scopes_and_places():
    closed = ev.make_jaxpr(scoped)(X)
    assert stacks(closed) == ["outer", "outer/inner"]
    replayed = ev.make_jaxpr(lambda x: evaluate(closed.jaxpr, closed.consts, x)[0])(X)
    assert stacks(replayed) == stacks(closed)
    places = [source_info_util.summarize(e.source_info) for e in (closed.eqns[0], replayed.eqns[0])]
    assert places[0] == places[1]
    assert "(scoped)" in places[0]
    with ev.named_scope("again"):
        within = ev.make_jaxpr(lambda x: evaluate(closed.jaxpr, closed.consts, x)[0])(X)
    assert stacks(within) == ["again/outer", "again/outer/inner"]
    np.testing.assert_array_equal(evaluate(closed.jaxpr, closed.consts, X)[0], scoped(X))


def test_derivatives_are_told_apart_by_their_scopes():
    found = stacks(ev.make_jaxpr(ev.grad(lambda x: jnp.sum(scoped(x))))(X))
    assert "transpose(jvp(outer))" in found
    assert stacks(ev.make_jaxpr(ev.vmap(jnp.sin))(X)) == [""]


def test_equations_are_replaced_with_their_place():
    (eqn,) = ev.make_jaxpr(ev.named_call(jnp.sin, name="layer"))(X).eqns
    other = eqn.replace(primitive=extend.core.primitives.cos_p, ctx=eqn.ctx)
    bare = other.replace(source_info=source_info_util.new_source_info())
    assert [str(e.source_info.name_stack) for e in (other, bare)] == ["layer", ""]
    made = extend.core.new_jaxpr_eqn(
        eqn.invars, eqn.outvars, eqn.primitive, {}, extend.core.no_effects, eqn.source_info, eqn.ctx
    )
    assert made.source_info == eqn.source_info


def fail_in_scopes():
    doubled = source_info_util.transform_name_stack("double")
    with source_info_util.extend_name_stack("a"), doubled:
        raise KeyError(str(source_info_util.current().name_stack))


def test_scopes_are_put_back_after_an_error():
    with pytest.raises(KeyError, match=r"double\(a\)"):
        fail_in_scopes()
    assert source_info_util.current_name_stack() == source_info_util.new_name_stack()


def primitive(name, host, abstract=lambda *avals, **params: avals[0]):
    prim = Primitive(name)
    prim.def_impl(host)
    prim.def_abstract_eval(abstract)
    return prim


def test_bilinear_primitives():
    prim = primitive("scaled", lambda x, y, *, k: k * x * y)
    ad.defbilinear(prim, lambda ct, x, y, *, k: k * ct * y, lambda ct, x, y, *, k: k * ct * x)
    f = lambda x, y: jnp.sum(prim.bind(x, y, k=2.0) ** 2)  # noqa: E731
    dx, dy = ev.grad(f, (0, 1))(X, 3 * X)
    np.testing.assert_allclose(dx, 8 * X * (3 * X) ** 2, rtol=1e-6)
    np.testing.assert_allclose(dy, 8 * X**2 * 3 * X, rtol=1e-6)
    _, out = ev.jvp(lambda x, y: prim.bind(x, y, k=2.0), (X, X), (X, 5 * X))
    np.testing.assert_allclose(out, 12 * X * X, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="no transposition rule was registered for sin"):
        ad.get_primitive_transpose(extend.core.primitives.sin_p)


def test_batching_rules_that_are_told_the_axis():
    prim, told = primitive("told", lambda x: x), []

    def rule(axis, operands, dims, **params):
        told.append((axis.size, axis.name, dims))
        return operands[0], dims[0]

    batching.fancy_primitive_batchers[prim] = rule
    ev.vmap(prim.bind, axis_name="i", in_axes=1)(jnp.ones((2, 3)))
    assert told == [(3, "i", (1,))]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_reducers_and_broadcasting_primitives_in_batches(dim):
    total = primitive(
        "total",
        lambda x, *, axes: jnp.sum(x, axes),
        lambda x, *, axes: x.update(shape=tuple(np.delete(x.shape, axes).tolist())),
    )
    batching.defreducer(total)
    x = jnp.arange(24.0).reshape(2, 3, 4)
    for axes in ((0,), (1,), (0, 1)):
        got = ev.vmap(lambda v, axes=axes: total.bind(v, axes=axes), dim)(x)
        want = [np.sum(np.take(np.asarray(x), i, dim), axes) for i in range(x.shape[dim])]
        np.testing.assert_array_equal(got, want)
    plus = primitive("plus", lambda x, y: x + y)
    batching.defbroadcasting(plus)
    got = ev.vmap(plus.bind, (dim, None))(x, jnp.ones(x.shape[:dim] + x.shape[dim + 1 :]))
    np.testing.assert_array_equal(got, np.moveaxis(np.asarray(x), dim, 0) + 1)


def test_dead_code_and_flat_functions():
    jaxpr = ev.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 2.0).jaxpr
    smaller, used = pe.dce_jaxpr(jaxpr, [False, True])
    assert ([e.primitive.name for e in smaller.eqns], used) == (["cos"], [False, True])
    kept, used = pe.dce_jaxpr(jaxpr, [False, True], instantiate=True)
    assert (len(kept.invars), used) == (2, [True, True])
    table = X + 0
    fun = extend.linear_util.wrap_init(lambda x: [x + table])
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(fun, [ev.typeof(X)])
    assert avals == [ev.typeof(X)]
    assert len(jaxpr.constvars) == len(consts) == 1
    np.testing.assert_array_equal(evaluate(jaxpr, consts, X)[0], 2 * X)


def test_what_is_active():
    seen = []

    def note(x):
        seen.append(
            (
                extend.core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                extend.core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                extend.core.unsafe_get_axis_names_DO_NOT_USE(),
                extend.core.nonempty_axis_env_DO_NOT_USE(),
            )
        )
        return x

    note(X)
    ev.jit(note)(X)
    ev.vmap(note, axis_name="i")(X)
    assert seen[0] == (False, False, [], False)
    assert seen[1] == (True, False, [], False)
    assert seen[2] == (False, True, ["i"], True)
    with pytest.raises(ev.errors.ConcretizationTypeError, match=r"while tracing.* It is the size"):
        ev.jit(lambda x: extend.core.concrete_or_error(int, x, "It is the size."))(jnp.ones(()))
