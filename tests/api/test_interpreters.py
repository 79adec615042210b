"""What writers of interpreters build on: wrapped functions, partly known values, trace states."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import api_util, lax
from evertrace.extend import core, linear_util
from evertrace.extend.core import primitives
from evertrace.interpreters import batching, xla
from evertrace.interpreters import partial_eval as pe


def flat(fun, *args):
    leaves, in_tree = ev.tree.flatten(args)
    return leaves, *api_util.flatten_fun_nokwargs(linear_util.wrap_init(fun), in_tree)


def test_transformations_nest_outermost_last():
    @linear_util.transformation
    def doubled(*args):
        out = yield [2 * x for x in args], {}
        yield out

    @linear_util.transformation2
    def negated(inner, *args):
        return -inner(*args)

    f = negated(doubled(linear_util.wrap_init(lambda x, y: x + 10 * y)))
    assert f.call_wrapped(1, 2) == -42
    assert repr(f) == "WrappedFun(negated of doubled of <lambda>)"


def test_an_auxiliary_output_is_there_after_the_call():
    leaves, f, out_tree = flat(lambda d: {"s": d["a"] + d["b"]}, {"a": 1, "b": 2})
    with pytest.raises(linear_util.StoreException, match="asked for before the function was call"):
        out_tree()
    assert f.call_wrapped(*leaves) == [3]
    assert out_tree() == ev.tree.structure({"s": 0})


def test_two_calls_have_to_agree_on_the_auxiliary_output():
    _, f, _ = flat(lambda x: x if x > 0 else (x, x), 1)
    f.call_wrapped(1)
    with pytest.raises(linear_util.StoreException, match="two calls of a wrapped function gave"):
        f.call_wrapped(-1)


def test_one_of_two_functions_has_to_be_called():
    _, _, first = flat(lambda x: x, 1)
    _, _, second = flat(lambda x: x, 1)
    with pytest.raises(linear_util.StoreException, match="neither function was called"):
        linear_util.merge_linear_aux(first, second)


def test_kept_results_die_with_the_function():
    made = []
    keep = linear_util.cache(lambda fun, n: made.append(n) or len(made))

    def call(fun):
        wrapped = linear_util.wrap_init(fun)
        return keep(wrapped, 1), keep(wrapped, 1), keep(wrapped, 2)

    assert call(lambda: 0) == (1, 1, 2)
    assert call(lambda: 0) == (3, 3, 4)


def test_lists_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="safe_map: lists of lengths 2, 1"):
        api_util.safe_map(max, [1, 2], [3])


def test_python_looks_at_what_is_known():
    def fun(x, y):
        return [x + 1 if x > 0 else x, x * y, jnp.sum(jnp.arange(4.0))]

    pvals = [pe.PartialVal.known(jnp.float32(2)), pe.PartialVal.unknown(ev.typeof(jnp.ones(3)))]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(linear_util.wrap_init(fun), pvals)
    assert [p.is_known() for p in outs] == [True, False, True]
    assert float(outs[0].value) == 3
    assert float(outs[2].value) == 6
    assert [e.primitive.name for e in jaxpr.eqns] == ["mul"]
    (product,) = ev.core.eval_jaxpr(jaxpr, (), *consts, jnp.arange(3.0))
    assert product.tolist() == [0, 2, 4]


def test_a_jitted_call_on_unknowns_is_written_down():
    pvals = [pe.PartialVal.unknown(ev.typeof(jnp.ones(3)))]
    fun = linear_util.wrap_init(lambda x: [ev.jit(jnp.sin)(x), ev.jit(jnp.cos)(jnp.zeros(()))])
    _, outs, _ = pe.trace_to_jaxpr_nounits(fun, pvals)
    assert [p.is_known() for p in outs] == [False, True]


def test_rules_may_mention_the_batched_axis():
    seen = []
    total = core.Primitive("total_over_batch")
    total.def_impl(lambda x: x)
    total.def_abstract_eval(lambda x: x)

    def rule(size, name, trace_type, operands, dims):
        seen.append((size, name, trace_type))
        return operands[0] * size, dims[0]

    batching.axis_primitive_batchers[total] = rule
    assert ev.vmap(total.bind, axis_name="i")(jnp.ones(3)).tolist() == [3, 3, 3]
    assert seen == [(3, "i", None)]


def test_trace_states_are_equal_under_the_same_transformations():
    states = []

    def note(x):
        states.append(core.get_opaque_trace_state(convention="test"))
        return x

    def batch(x):
        note(note(x))
        first, again = states
        assert first == again
        assert hash(first) == hash(again)
        assert "vmap" in repr(first)
        return x

    ev.vmap(batch)(jnp.ones(2))
    ev.vmap(note)(jnp.ones(2))
    first, _, other = states
    assert first != other
    assert first != core.get_opaque_trace_state()
    assert repr(first) == "OpaqueTraceState(ended)"


def test_the_innermost_trace_of_some_values():
    def outer(x):
        def inner(y):
            assert core.find_top_trace([x, y]) is y._trace
            assert core.find_top_trace([x]) is x._trace
            assert core.find_top_trace([x]).main is not core.find_top_trace([y]).main
            return x * y

        return ev.vmap(inner)(jnp.ones(2)).sum()

    ev.jvp(outer, (1.0,), (1.0,))


def test_types_are_abstract_values_and_of_no_kind_that_a_library_derives():
    class Own(ev.core.AbstractValue):
        pass

    assert isinstance(ev.typeof(1.0), ev.core.AbstractValue)
    assert not isinstance(ev.typeof(1.0), Own)
    assert isinstance(Own(), ev.core.AbstractValue)


@pytest.mark.parametrize(("axis", "shape"), [(0, (2,)), (1, (3,)), (None, (3, 2))])
def test_types_of_examples(axis, shape):
    aval = ev.typeof(jnp.ones((3, 2)))
    size = aval.shape[axis or 0]
    assert core.mapped_aval(size, axis, aval).shape == shape
    assert core.unmapped_aval(size, axis, core.mapped_aval(size, axis, aval)) is aval


def test_a_batch_of_another_size_is_refused():
    with pytest.raises(ev.errors.ShapeError, match=r"dimension 0 of f32\[3\] has not the size 4"):
        core.mapped_aval(4, 0, ev.typeof(jnp.ones(3)))


def test_primitives_that_are_only_compared_with():
    with pytest.raises(NotImplementedError, match="closed_call: the primitive has no meaning here"):
        ev.make_jaxpr(primitives.closed_call_p.bind)(1.0)
    eqn = ev.make_jaxpr(ev.jit(jnp.sin))(1.0).jaxpr.eqns[0]
    assert eqn.primitive is primitives.jit_p
    assert {"jaxpr", "name"} <= set(eqn.params)


def test_a_registered_type_is_taken_as_an_array():
    class Boxed:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.array, dtype)

    assert not core.valid_jaxtype(Boxed([1.0]))
    xla.canonicalize_dtype_handlers[Boxed] = xla.canonicalize_dtype_handlers[np.ndarray]
    try:
        assert core.valid_jaxtype(Boxed([1.0]))
        assert ev.vmap(lambda x: x + 1)(Boxed(np.float32([1, 2]))).tolist() == [2, 3]
        assert jnp.add(jnp.negative(Boxed([1.0, 2.0])), Boxed(2.0)).tolist() == [1, 0]
        assert jnp.sum(Boxed([1.0, 2.0])) == 3
    finally:
        del xla.canonicalize_dtype_handlers[Boxed]


def test_params_of_an_equation_are_those_that_bind_takes():
    eqn = ev.make_jaxpr(lambda x: jnp.cumsum(x, axis=0))(jnp.ones(3)).eqns[0]
    params = eqn.primitive.get_bind_params(eqn.params)
    assert params == eqn.params
    assert params is not eqn.params
    found = eqn.primitive.bind(jnp.ones(3), **params)
    np.testing.assert_array_equal(found[0] if eqn.primitive.multiple_results else found, [1, 2, 3])


@ev.custom_jvp
def forward(x, y):
    return jnp.sin(x) * y


@ev.custom_vjp
def backward(x, y):
    return jnp.sin(x) * y


forward.defjvp(lambda primals, tangents: (forward(*primals), 7 * tangents[0]))
backward.defvjp(lambda x, y: (backward(x, y), None), lambda _, ct: (7 * ct, None))


@pytest.mark.parametrize("fun", [forward, backward], ids=["custom_jvp", "custom_vjp"])
def test_functions_of_a_call_are_handed_to_bind_as_subfuns(fun):
    eqn = ev.make_jaxpr(fun)(1.0, 2.0).eqns[0]
    params = eqn.primitive.get_bind_params(eqn.params)
    function, *rules = params["subfuns"]
    (value,) = function.call_wrapped(1.0, 2.0)
    assert not set(params) & {"call_jaxpr", "jvp", "fwd", "bwd"}
    assert value == eqn.primitive.bind(1.0, 2.0, **params)[0] == fun(1.0, 2.0)
    assert ev.grad(lambda x: eqn.primitive.bind(x, 2.0, **params)[0])(1.0) == 7
    doubled = linear_util.wrap_init(lambda *xs: [2 * x for x in function.call_wrapped(*xs)])
    params["subfuns"] = (doubled, *rules)
    assert eqn.primitive.bind(1.0, 2.0, **params)[0] == 2 * fun(1.0, 2.0)


@pytest.mark.parametrize("rules", [batching.primitive_batchers, batching.axis_primitive_batchers])
def test_batching_rules_are_given_tuples(rules):
    seen = []

    def rule(*args):
        seen.append([type(x) for x in args[-2:]])
        return operation.bind(*args[-2]), 0

    operation = core.Primitive("operation")
    operation.def_impl(lambda x: x)
    operation.def_abstract_eval(lambda x: x)
    rules[operation] = rule
    ev.vmap(operation.bind)(jnp.ones(2))
    assert seen == [[tuple, tuple]]


@ev.tree_util.register_pytree_node_class
class Dated:
    """A node that notes the trace in which it is made."""

    def __init__(self, value):
        self.value, self.trace = value, core.get_opaque_trace_state()

    def tree_flatten(self):
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


AUXILIARIES = {
    "grad": lambda f, x: ev.grad(f, has_aux=True)(x)[1],
    "value_and_grad": lambda f, x: ev.value_and_grad(f, has_aux=True)(x)[0][1],
    "vjp": lambda f, x: ev.vjp(f, x, has_aux=True)[2],
    "jvp": lambda f, x: ev.jvp(f, (x,), (x,), has_aux=True)[2],
    "linearize": lambda f, x: ev.linearize(f, x, has_aux=True)[2],
    "jacfwd": lambda f, x: ev.jacfwd(f, has_aux=True)(x)[1],
    "jacrev": lambda f, x: ev.jacrev(f, has_aux=True)(x)[1],
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", AUXILIARIES)
def test_what_a_function_returns_beside_its_value_is_made_outside_of_its_trace(name, jitted):
    found = []

    def run(x):
        aux = AUXILIARIES[name](lambda x: ((x**2).sum(), Dated(x * 2)), x)
        found.append(aux.trace == core.get_opaque_trace_state())
        return aux.value

    with ev.strict():
        value = (ev.jit(run) if jitted else run)(jnp.ones(3))
    assert found == [True]
    np.testing.assert_array_equal(value, [2, 2, 2])


def test_transformations_are_applied_to_wrapped_functions():
    _, in_tree = ev.tree.flatten(((1,), {}))
    text = r"linear_util: expected a WrappedFun, got a value of type int\."
    with pytest.raises(TypeError, match=text):
        api_util.flatten_fun(1, in_tree)


class Noted(ev.core.Tracer):
    """A value of `Noting`, of a library that hands a tracer's arguments over in JAX's order."""

    def __init__(self, trace, value):
        super().__init__(trace, ev.typeof(value))
        self.value = value


class Noting(ev.core.Trace):
    """Notes the primitives that a function applies, and hands them to the trace outside."""

    def __init__(self, outside):
        super().__init__()
        self.outside, self.names = outside, []

    def process_primitive(self, primitive, tracers, params):
        self.names.append(str(primitive))
        values = [x.value if isinstance(x, Noted) else x for x in tracers]
        avals = [ev.typeof(x) for x in values]
        out = primitive.bind_with_trace(self.outside, values, avals, params)
        return ev.tree.map(lambda x: Noted(self, x), out)


@pytest.mark.parametrize("around", [lambda f: f, ev.jit, ev.vmap], ids=["plain", "jit", "vmap"])
def test_a_trace_of_ones_own_by_jaxs_names(around):
    names = []

    def run(x):
        with core.take_current_trace() as outside:
            trace = Noting(outside)
            with core.set_current_trace(trace):
                out = lax.mul(lax.sin(Noted(trace, x)), 2.0)
        names.extend(trace.names)
        return out.value

    x = jnp.arange(3.0)
    np.testing.assert_allclose(around(run)(x), 2 * np.sin(np.arange(3.0)), rtol=1e-6)
    assert names == ["sin", "mul"]


def test_primitives_are_bound_under_traces():
    text = r"bind_with_trace: expected a trace, got f32\[2\]\."
    with pytest.raises(TypeError, match=text):
        lax.sin_p.bind_with_trace(jnp.ones(2), [1.0], {})
