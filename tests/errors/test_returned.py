"""Functions and methods that public functions return have doors, and show no frames of ours."""

import json
import traceback

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, scipy
from evertrace._src import config
from evertrace.example_libraries import optimizers, stax
from evertrace.flatten_util import ravel_pytree

V = jnp.ones(3)
ADAM, DENSE, SERIAL = optimizers.adam(0.1), stax.Dense(3), stax.serial(stax.Dense(3), stax.Relu)
REF = ev.new_ref(V)
_, UNRAVEL = ravel_pytree({"a": V})


def square(x):
    return jnp.sum(x * x)


def write(index, value):
    REF[index] = value


def imports(statement):
    # As a program of its own: pytest's own frames are other ones.
    exec(compile(statement, __file__, "exec"), {})


CASES = {
    "the update of an optimizer": (
        lambda: ADAM.update_fn(0, {"a": V}, ADAM.init_fn(V)),
        "optimizer: gradients must have the structure of the parameters",
    ),
    "one with too few arguments": (
        lambda: ADAM.update_fn(0, V),
        "adam.update_fn: adam.update_fn() missing 1 required positional argument: 'opt_state'. It "
        "was called as adam.update_fn(0, f32[3]).",
    ),
    "parameters of no state": (
        lambda: ADAM.params_fn(3),
        "adam.params_fn: 'int' object has no attribute 'tree_def'. It was called as "
        "adam.params_fn(3).",
    ),
    "an optimizer": (lambda: optimizers.sgd("a"), "make_schedule: a step size must be a scalar"),
    "a schedule": (
        lambda: optimizers.exponential_decay(1.0, 2, 0.5)("a"),
        "exponential_decay(...): unsupported operand type(s) for /: 'str' and 'int'. It was called "
        "as exponential_decay(...)('a').",
    ),
    "a layer": (
        lambda: DENSE[1]([], V),
        "Dense.apply_fun: not enough values to unpack (expected 2, got 0). It was called as "
        "Dense.apply_fun([], f32[3]).",
    ),
    "layers": (
        lambda: SERIAL[1]([], V), "serial: got 0 parameters for 2 layers.",
    ),
    "layers side by side": (
        lambda: stax.parallel(stax.Relu, stax.Relu)[1]([()], [V, V]),
        "parallel: got 1 parameters for 2 layers.",
    ),
    "parameters of a layer": (
        lambda: DENSE[0](ev.random.key(0)),
        "Dense.init_fun: Dense.init_fun() missing 1 required positional argument: 'input_shape'.",
    ),
    "a value for a part of a Ref": (
        lambda: write(0, V), "set: a value of shape (3,) does not go into a part of shape ()",
    ),
    "an index of a Ref": (lambda: write((0, 0), 1.0), "Too many indices: array is 1-dimensional"),
    "a view of a Ref": (lambda: REF.at["a"], "String indexing is not supported"),
    "the length of a Ref": (lambda: len(ev.new_ref(1.0)), "len() of unsized object"),
    "a Ref as a condition": (lambda: bool(REF), "bool: a Ref is a place for an array"),
    "a Ref for NumPy": (lambda: np.asarray(REF), "numpy.asarray: a Ref is a place"),
    "gradients into refs": (
        lambda: ev.vjp(square, V)[1].with_refs(V)(1.0, 2.0), "vjp(square): with_refs takes one ",
    ),
    "an export": (
        lambda: export.export(ev.jit(square))(V, V),
        "export(square): square() takes 1 positional argument but 2 were given.",
    ),
    "a vector for a tree": (
        lambda: UNRAVEL(jnp.ones(5)), "unravel: expected a vector of shape (3,), got (5,).",
    ),
    "a vectorized function": (
        lambda: jnp.vectorize(square)(V, V),
        "vectorize(square): square() takes 1 positional argument but 2 were given.",
    ),
    "sizes of a vectorized function": (
        lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(V, jnp.ones(4)),
        "vectorize: inconsistent sizes for axis 'n': 3 and 4.",
    ),
    "a module that is not there": (
        lambda: imports("from evertrace import optax"),
        "module 'evertrace' has no attribute 'optax'.",
    ),
    "one in a package": (
        lambda: imports("import evertrace.numpy.lnalg"),
        "module 'evertrace.numpy' has no attribute 'lnalg'.",
    ),
    "a function of Python's library inside": (
        lambda: scipy.stats.norm.logpdf(), "logpdf: missing a required argument: 'x'.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_frames_of_ours_or_of_what_we_call(name):
    call, text = CASES[name]
    with config.override(traceback_filtering="auto"), pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    assert str(caught.value).startswith(text)
    assert "\n  at tests/errors/test_returned.py:" in str(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}


def test_missing_arguments_of_a_function_with_a_signature_are_its_own():
    with pytest.raises(TypeError, match="Fix: call it as `logpdf\\(x, loc=0, scale=1\\)`"):
        scipy.stats.norm.logpdf()


def test_what_a_library_raises_for_the_user_keeps_its_frames():
    with (
        config.override(traceback_filtering="auto"),
        pytest.raises(json.JSONDecodeError) as caught,
    ):
        ev.jit(lambda x: json.loads("nothing"))(V)
    assert "\n  at " not in str(caught.value)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[-1].endswith("decoder.py")


def test_functions_of_the_users_have_no_door():
    def schedule(step):
        return step

    assert optimizers.make_schedule(schedule) is schedule
    assert type(ADAM) is optimizers.Optimizer
