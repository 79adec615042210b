"""What is said of attributes that arrays, places in them and modules do not have."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn
from evertrace._src import absent
from evertrace._src.arrays import missing
from evertrace.example_libraries import optimizers
from evertrace.scipy import interpolate, special

X = jnp.arange(3.0)


@pytest.fixture(name="as_users_see_them")
def _as_users_see_them():
    before = ev.config.traceback_filtering
    ev.config.update("traceback_filtering", "auto")
    yield
    ev.config.update("traceback_filtering", before)


def delete(x):
    del x[0]


MISSING = {
    "unsqueeze": (
        lambda x: x.unsqueeze(0), "use `jnp.expand_dims(x, axis)`.",
        lambda x: jnp.expand_dims(x, 0),
    ),
    "a function": (lambda x: x.exp(), "it is a function, `jnp.exp(x)`.", jnp.exp),
    "a function of nn": (lambda x: x.relu(), "it is a function, `nn.relu(x)`.", nn.relu),
    "a function of two": (
        lambda x: x.matmul(x), "it is a function, `jnp.matmul(x, ...)`.",
        lambda x: jnp.matmul(x, x),
    ),
    "detach": (lambda x: x.detach(), "use `lax.stop_gradient(x)`.", lax.stop_gradient),
    "append": (
        lambda x: x.append(3.0), "use `jnp.append(x, values)`, which returns a longer array.",
        lambda x: jnp.append(x, 3.0),
    ),
    "at without an index": (
        lambda x: x.at.set(1.0), "say where, `x.at[index].set(...)`; `x.at[...].set(...)` is",
        lambda x: (x.at[0].set(1.0), x.at[...].set(1.0)),
    ),
    "a deletion": (
        delete, "use `x = jnp.delete(x, index)`, which returns a shorter array.",
        lambda x: jnp.delete(x, 0),
    ),
    "a module's name": (
        lambda _: optimizers.adamw, "did you mean `adam", lambda _: optimizers.adam,
    ),
    "a name of SciPy's": (
        lambda _: interpolate.interp1d, "use `evertrace.numpy.interp(x, xp, fp)`.",
        lambda x: jnp.interp(1.5, x, x),
    ),
    "a name that is misspelt": (lambda _: special.erff, "did you mean `erf", lambda _: special.erf),
}  # fmt: skip


@pytest.mark.usefixtures("as_users_see_them")
@pytest.mark.parametrize("transformed", [lambda f: f, ev.jit])
@pytest.mark.parametrize("name", MISSING)
def test_the_repair_is_there_plainly_and_in_jit(name, transformed):
    call, fix, repaired = MISSING[name]
    with pytest.raises((AttributeError, TypeError)) as caught:
        transformed(lambda x: (call(x), x)[1])(X)
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert said.count("  Fix: ") == 1
    assert f"  Fix: {fix}" in said
    transformed(lambda x: (repaired(x), x)[1])(X)


def test_numpy_of_an_array():
    with pytest.raises(AttributeError, match=r"use `np\.asarray"):
        X.numpy()
    assert np.asarray(X).shape == (3,)


def test_the_traceback_ends_at_the_users_line():
    with pytest.raises(AttributeError) as caught:
        X.unsqueeze(0)
    traceback = caught.value.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback.tb_frame.f_code.co_filename == __file__


@pytest.mark.parametrize("name", sorted(missing.OTHERS | missing.FUNCTIONS))
def test_a_missing_method_is_not_there(name):
    assert not any(name in vars(cls) for cls in ev.Array.__mro__[1:])  # it hides none
    assert not hasattr(X, name)
    assert not hasattr(ev.Array, name)
    assert name not in dir(X)
    assert name not in dir(ev.Array)
    assert "see `dir(x)`" not in absent.of_array(name)
    assert getattr(X, name, None) is None


def test_each_repair_of_a_method_has_its_method():
    assert frozenset(absent.OF_ARRAYS) == missing.OTHERS


def test_the_error_is_python_s_and_can_be_pickled():
    with pytest.raises(AttributeError) as caught:
        X.exp()
    assert caught.value.name == "exp"
    for made in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(made) is AttributeError
        assert str(made) == str(caught.value)
    shown = "\n".join(_shown("x.exp()"))
    assert "AttributeError: 'Array' object has no attribute 'exp'\n  Fix: it is" in shown
    assert "Did you mean" not in shown


def test_a_place_s_method_that_is_misspelt_is_python_s_to_guess():
    assert "Did you mean: 'set'?" in _shown("x.at[0].sett(1.0)")[-1]


def _shown(line):
    """Return the lines that a process shows that fails at a line of code."""
    code = f"import evertrace.numpy as jnp\nx = jnp.arange(3.0)\n{line}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return ran.stderr.strip().splitlines()
