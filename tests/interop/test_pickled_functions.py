"""Transformed functions that are pickled work where they are read, or say why they cannot be."""

import copy
import functools
import pickle
import subprocess
import sys

import pytest

import evertrace as ev

TRANSFORMED = {
    "jit": (lambda f: ev.jit(f), 6.0),
    "grad": (lambda f: ev.grad(f), 2.0),
    "value_and_grad": (lambda f: ev.value_and_grad(f), (6.0, 2.0)),
    "vmap": (lambda f: ev.vmap(f), [6.0]),
    "jit of vmap of grad": (lambda f: ev.jit(ev.vmap(ev.grad(f))), [2.0]),
    "jacrev": (lambda f: ev.jacrev(f), 2.0),
    "checkpoint": (lambda f: ev.checkpoint(f), 6.0),
}


def make(name):
    return TRANSFORMED[name][0](lambda x: x * 2)


READ = """
import pickle, sys
import numpy as np
import evertrace.numpy as jnp
f, x, expected = pickle.load(sys.stdin.buffer)
y = f(jnp.asarray(x))
for a, b in zip(y if type(y) is tuple else [y], expected if type(y) is tuple else [expected]):
    np.testing.assert_array_equal(a, b)
"""


@pytest.mark.parametrize("name", TRANSFORMED)
def test_cloudpickled_functions_work_in_another_process(name):
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    expected = TRANSFORMED[name][1]
    x = [3.0] if isinstance(expected, list) else 3.0
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps((make(name), x, expected))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    subprocess.run([sys.executable, "-c", READ], input=data, check=True)


@ev.jit
def jitted(x):
    return x * 2


@ev.grad
def differentiated(x):
    return x * x


@ev.vmap
def mapped(x):
    return x * 2


@ev.custom_jvp
def with_a_jvp(x):
    return x * 2


@ev.custom_vjp
def with_a_vjp(x):
    return x * 2


@ev.checkpoint
def rematerialised(x):
    return x * 2


DECORATED = [jitted, differentiated, mapped, with_a_jvp, with_a_vjp, rematerialised]


@pytest.mark.parametrize("function", DECORATED, ids=lambda f: f.__name__)
def test_decorated_functions_are_pickled_and_copied_by_name_as_plain_ones_are(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.copy(function) is function
    assert copy.deepcopy([function])[0] is function
    bound = pickle.loads(pickle.dumps(functools.partial(function, 3.0)))
    assert bound.func is function


@pytest.mark.parametrize("make", [ev.grad, ev.vmap, ev.checkpoint])
def test_what_has_no_name_of_its_own_is_refused_by_the_functions(make):
    with pytest.raises(pickle.PicklingError, match="plain"):
        pickle.dumps(make(plain))


def plain(x):
    return x * x


MADE = {
    "jaxpr": (lambda f, x: ev.make_jaxpr(f)(x), "a jaxpr is not pickled"),
    "traced": (lambda f, x: ev.jit(f).trace(x), "the Traced of plain is not pickled"),
    "lowered": (lambda f, x: ev.jit(f).lower(x), "the Lowered of plain is not pickled"),
    "compiled": (lambda f, x: ev.jit(f).lower(x).compile(), "the Compiled of plain is"),
    "exported": (lambda f, x: ev.export.export(ev.jit(f))(x), "the exported plain is not pickled"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_was_made_of_a_function_for_certain_types_says_how_its_bytes_are_had(name):
    make, text = MADE[name]
    made = make(plain, 3.0)
    with pytest.raises(TypeError, match=rf"pickle: {text}(?s:.*)Fix: pickle .*serialize\("):
        pickle.dumps(made)
    if name != "jaxpr":
        assert copy.copy(made) is copy.deepcopy([made])[0] is made


def test_pickle_refuses_a_function_that_has_no_name():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(make("jit"))
