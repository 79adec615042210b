"""Traces nest and end as they should, in every thread on its own."""

import copy
import functools
import threading

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import errors
from evertrace._src.core import operators
from evertrace._src.core.operators import Operators
from evertrace._src.core.tracer import EVAL, Tracer, concrete_value, set_trace, state
from evertrace._src.transforms.staging import Stage
from evertrace.errors import UnexpectedTracerError

X = np.float32([1, 2, 3])


def test_the_bottom_is_restored():
    ev.jit(ev.grad(lambda x: lax.sin(x)))(1.0)
    assert state.trace is EVAL
    assert state.src is None


@pytest.mark.parametrize(
    "transform",
    [
        ev.jit, ev.grad, ev.vmap, ev.make_jaxpr, ev.hessian,
        lambda f: lambda x: ev.jvp(f, (x,), (x,)),
        lambda f: lambda x: ev.jit(ev.vmap(ev.grad(ev.jit(f))))(x),
    ],
)  # fmt: skip
def test_the_bottom_is_restored_after_an_error(transform):
    def fails(x):
        lax.sin(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        transform(fails)(X)
    assert state.trace is EVAL
    assert state.src is None


def test_transform_stack_names_the_transformations_innermost_first():
    seen = []

    def step(x):
        seen.append(errors.transform_stack())
        return lax.sin(x)

    ev.jit(ev.vmap(ev.grad(step)))(X)
    assert seen == [("grad(step)", "vmap(step)", "jit(step)")]
    assert errors.transform_stack() == ()


def test_each_thread_has_its_own_trace():
    seen = []
    with set_trace(Stage(name="here")):
        thread = threading.Thread(target=lambda: seen.append(state.trace))
        thread.start()
        thread.join()
    assert seen == [EVAL]


def test_set_trace_restores_what_was_before():
    one, other = Stage(), Stage()
    with set_trace(one):
        with set_trace(other):
            assert state.trace is other
        assert state.trace is one
    assert state.trace is EVAL


@pytest.mark.usefixtures("rules")
def test_tracers_look_like_arrays():
    def f(x):
        assert isinstance(x, Tracer)
        assert isinstance(x, ev.Array) or not isinstance(x, np.ndarray)
        assert (x.shape, x.dtype, x.ndim, x.size, x.weak_type) == ((3,), X.dtype, 1, 3, False)
        assert copy.copy(x) is x
        assert copy.deepcopy(x) is not x  # as of an array
        return x

    for transform in (ev.jit, ev.make_jaxpr, lambda f: lambda x: ev.vmap(f)(x.reshape(1, 3))):
        transform(f)(jnp.asarray(X))


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (functools.partial(ev.jit, strict=True), "JitTracer(float32[3])"),
        (
            lambda f: lambda x: ev.jvp(f, (2.0,), (1.0,)),
            "JVPTracer(primal=2.0, tangent=1.0)",
        ),
        (
            lambda f: lambda x: ev.jvp(f, (x,), (2 * x,)),
            "JVPTracer(primal=[1. 2. 3.], tangent=[2. 4. 6.])",
        ),
        (
            lambda f: lambda x: ev.vjp(f, x),
            "GradTracer(primal=[1. 2. 3.], typeof(tangent)=f32[3])",
        ),
        (lambda f: lambda x: ev.grad(f)(2.0), "GradTracer(primal=2.0, typeof(tangent)=f32[])"),
        (
            lambda f: lambda x: ev.vmap(f)(np.stack([x, x])),
            "VmapTracer(aval=float32[3], batched=float32[2,3])",
        ),
        (
            lambda f: lambda x: ev.vmap(ev.grad(f))(x),
            "GradTracer(primal=VmapTracer(aval=float32[], batched=float32[3]), "
            "typeof(tangent)=f32[])",
        ),
    ],
)
def test_repr_shows_what_a_tracer_stands_for(transform, text):
    seen = []

    def f(x):
        seen.append(repr(x))
        return x

    transform(f)(jnp.asarray(X))
    assert seen == [text]


def test_concrete_values_are_found_behind_tracers():
    def f(x):
        found = concrete_value(x)
        assert type(found) is ev.Array
        np.testing.assert_array_equal(found, X)
        return x.sum()

    ev.grad(f)(X)
    ev.jvp(lambda x: ev.grad(f)(x), (X,), (X,))
    ev.jit(lambda x: (concrete_value(x) is None) and x)(X)


@pytest.mark.usefixtures("rules")
def test_a_traced_value_cannot_be_hashed_while_it_is_traced():
    with pytest.raises(TypeError, match=r"unhashable type: a traced array f32\[3\]"):
        ev.jit(lambda x: {x: 1})(jnp.asarray(X))


LEAKS = {
    "jit": ev.jit,
    "grad": lambda f: ev.grad(lambda x: f(x).sum()),
    "vmap": lambda f: lambda x: ev.vmap(f)(np.stack([x, x])),
    "jvp": lambda f: lambda x: ev.jvp(f, (x,), (x,)),
}
USES = {
    "eagerly": lambda x: lax.sin(x),
    "in jit": lambda x: ev.jit(lambda y: lax.add(x, y))(X),
    "as an argument of jit": lambda x: ev.jit(lax.sin)(x),
    "in vmap": lambda x: ev.vmap(lambda y: lax.mul(x, y))(np.stack([X, X])),
    "in grad": lambda x: ev.grad(lambda y: lax.mul(x, y).sum())(X),
    "in a branch": lambda x: lax.cond(True, lax.sin, lax.cos, x),
}


@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("leak", LEAKS)
def test_leaked_tracers_are_found(leak, use):
    leaked = []

    def train_step(x):
        leaked.append(lax.mul(x, x))
        return lax.sin(x)

    LEAKS[leak](train_step)(X)
    with pytest.raises(UnexpectedTracerError) as caught:
        USES[use](leaked[0])
    message = str(caught.value)
    assert "a traced value f32[3] of" in message
    assert f"{leak}(" in message
    assert "test_tracer.py" in message
    assert "Fix: return the value" in message


@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("use", [lambda x: bool(x[0] > 0), lambda x: np.sin(x)])
def test_a_leaked_tracer_of_jit_has_no_value(use):
    leaked = []
    ev.jit(lambda x: leaked.append(x) or x)(X)
    with pytest.raises(UnexpectedTracerError, match="of jit"):
        use(leaked[0])


@pytest.mark.usefixtures("strict_rules")
@pytest.mark.quotes_lines
def test_error_of_a_leak_names_the_line_of_the_use():
    leaked = []
    ev.jit(lambda x: leaked.append(x) or x)(X)

    def use():
        return lax.sin(leaked[0])

    line = use.__code__.co_firstlineno + 1
    with pytest.raises(UnexpectedTracerError) as caught:
        use()
    assert str(caught.value).split("\n")[1] == (
        f"  at {_here()}:{line} in use:  return lax.sin(leaked[0])"
    )


def _here():
    return errors.source.describe(errors.source.user_source()).file


def test_a_leak_inside_an_outer_trace_is_found():
    leaked = []

    def outer(x):
        ev.vmap(lambda y: leaked.append(lax.sin(y)) or y)(x)
        return lax.add(leaked[0], 1.0)

    with pytest.raises(UnexpectedTracerError, match="vmap"):
        ev.jit(outer)(X)


@pytest.mark.parametrize("name", Operators.__annotations__)
def test_every_operator_is_found(name):
    found = operators._load(name)
    assert found is Operators.__dict__[name]
    function = found.fget if isinstance(found, property) else found
    assert function is None or function.__module__ != "evertrace._src.core.operators"
