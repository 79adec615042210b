"""JAX's own rules, by option or by argument: what is captured is a constant, nothing is lifted."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("strict_rules")]
X = np.float32([1, 2, 3])


def square(x):
    """Square a number."""
    return x * x


def info(f):
    now = f.cache_info()
    return now.hits, now.misses, now.currsize


# ------------------------------------------------------------------ what happens once per trace


def counted(**options):
    """Return a jitted function and the list to which each of its traces adds one."""
    traces = []

    def f(x, *rest):
        traces.append(1)
        return x

    return ev.jit(f, **options), traces


def test_side_effects_happen_once_per_trace():
    f, traces = counted()
    for x in (X, X, 1.0, 2.0, (X, X), [X, X], 1.0):
        f(x)
    assert len(traces) == 4
    assert info(f) == (3, 4, 4)


def test_an_argument_makes_one_function_strict():
    with ev.strict(False):
        (one, traces), (lifted, calls) = counted(strict=True), counted()
        for _ in range(3):
            one(X)
            lifted(X)
    assert (len(traces), len(calls)) == (1, 3)


def test_static_values_are_told_apart_by_type():
    seen = []
    f = ev.jit(lambda x, c: seen.append(c) or x, static_argnums=1)
    for c in (1, 1.0, True, 1, True, (1, 2), (1, 2)):
        f(X, c)
    assert [(type(c), c) for c in seen] == [(int, 1), (float, 1.0), (bool, True), (tuple, (1, 2))]


def test_keywords_and_positions_are_two_signatures():
    f = ev.jit(lambda x, y: x)
    for _ in range(2):
        f(X, 1.0)
        f(X, y=1.0)
        f(y=1.0, x=X)
    assert info(f) == (3, 3, 3)


def test_functions_of_one_code_do_not_share_variants():
    def make(k):
        return lambda x: x * k

    outs = [ev.jit(make(k))(1.0) for k in (2.0, 3.0)]
    assert list(map(float, outs)) == [2, 3]


def test_nested_functions_are_traced_once_per_type():
    traces = []

    @ev.jit
    def inner(x):
        traces.append(1)
        return x * 2

    ev.jit(lambda x: inner(inner(x)))(X)
    ev.jit(lambda x: inner(x) + 1)(X)
    ev.vmap(inner)(X)  # another type: f32[]
    ev.grad(inner)(1.0)  # f32[] weak
    assert len(traces) == 3


def test_a_trace_that_captured_a_tracer_is_not_kept():
    traces = []

    def outer(x):
        @ev.jit
        def inner(y):
            traces.append(1)
            return x * y

        return inner(2.0) + inner(3.0)

    f = ev.jit(outer)
    f(X)
    f(X)
    assert len(traces) == 2
    assert info(f) == (1, 1, 1)


def test_eval_shape_lower_and_trace_fill_the_same_cache():
    f, traces = counted()
    f.trace(X)
    f.lower(X)
    f.eval_shape(X)
    f.lower(ev.ShapeDtypeStruct((3,), np.float32)).compile()
    f(X)
    assert len(traces) == 1


def test_an_executable_is_made_once_per_program():
    f = ev.jit(lambda x: x + 1, engine="xla")
    f(X)
    (variant,) = f._strict.variants.all()
    (executable,) = variant.program.executables.values()
    f.lower(X).compile()(X)
    assert list(variant.program.executables.values()) == [executable]


# ------------------------------------------------------------------ what is captured


def test_captured_numpy_arrays_are_copied_when_traced():
    c = np.zeros(3, np.float32)
    f = ev.jit(lambda x: x + c)
    np.testing.assert_array_equal(f(X), X)
    c[:] = 5
    np.testing.assert_array_equal(f(X), X)


def test_captured_values_are_those_of_the_trace():
    scale, weights = 2.0, jnp.ones(3)
    f = ev.jit(lambda x: x * scale + weights)
    np.testing.assert_array_equal(f(X), 2 * X + 1)
    scale, weights = 5.0, jnp.zeros(3)
    np.testing.assert_array_equal(f(X), 2 * X + 1)


# ------------------------------------------------------------------ what is refused


def test_a_number_has_no_value():
    f = ev.jit(lambda x: x if x > 1 else -x)
    with pytest.raises(ev.errors.TracerBoolConversionError):
        f(2.0)


def test_a_self_must_be_a_tree():
    class Model:
        @ev.jit
        def double(self, x):
            return 2 * x

    with pytest.raises(TypeError, match=r"jit\(double\): argument self of type Model is not"):
        Model().double(1.0)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("a", r"jit\(<lambda>\): argument x of type str is not an array"),
        ({"k": [1, object()]}, r"argument x\['k'\]\[1\] of type object"),
        (np.array(["a"]), "argument x of type ndarray"),
        (range(3), "argument x of type range"),
    ],
)
def test_arguments_must_be_arrays(argument, text):
    with pytest.raises(TypeError, match=text) as caught:
        ev.jit(lambda x: x)(argument)
    assert "test_strict.py" in str(caught.value)
    assert "static_argnames" in str(caught.value)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("a", r"jit\(<lambda>\): the function returned a str at result, which is not an array"),
        ({"k": [1, object()]}, r"returned a object at result\['k'\]\[1\]"),
        ((i for i in ()), "returned a generator at result"),
    ],
)
def test_results_must_be_arrays(result, text):
    with pytest.raises(TypeError, match=text):
        ev.jit(lambda x: result)(X)


def test_nested_jits_stay_calls():
    inner = ev.jit(square)
    jaxpr = ev.make_jaxpr(ev.jit(lambda x: inner(inner(x))))(X).jaxpr
    (outer,) = jaxpr.eqns
    assert [e.primitive.name for e in outer.params["jaxpr"].eqns] == ["jit", "jit"]
