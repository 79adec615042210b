"""Public functions have the names by which they are public, as JAX's have."""

import importlib
import inspect
import pickle
import types

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import tree, tree_util
from evertrace._src import native

MODULES = """
evertrace numpy numpy.fft numpy.linalg lax lax.linalg nn nn.initializers random scipy.fft
scipy.linalg scipy.ndimage scipy.signal scipy.special scipy.stats.norm image ops tree tree_util
dtypes debug export flatten_util ad_checkpoint custom_batching custom_derivatives monitoring
experimental.checkify experimental.sparse experimental.jet experimental.ode
"""

OTHERS = {
    "experimental.sparse.jacobian": "jacrev",
    "nn.hard_swish": "hard_silu",
    "nn.initializers.kaiming_normal": "he_normal",
    "nn.initializers.kaiming_uniform": "he_uniform",
    "nn.initializers.xavier_normal": "glorot_normal",
    "nn.initializers.xavier_uniform": "glorot_uniform",
    "nn.swish": "silu",
}
"""Aliases that are the function itself, with its name, in JAX as well."""


def functions():
    """Yield the public functions: path, public name, function."""
    kinds = (types.FunctionType, type(jnp.sin))
    for name in MODULES.split():
        path = "evertrace" if name == "evertrace" else f"evertrace.{name}"
        module = importlib.import_module(path)
        for public in dir(module):
            value = None if public.startswith("_") else getattr(module, public)
            if isinstance(value, kinds):
                yield f"{name}.{public}", public, value


def test_functions_have_their_public_names():
    checked = 0
    for path, public, function in functions():
        checked += 1
        assert function.__name__ == OTHERS.get(path, public), path
    assert checked > 1000


@pytest.mark.parametrize(
    "function",
    [jnp.abs, jnp.around, jnp.mod, ev.jacobian, ev.remat, tree.map, tree_util.tree_flatten],
    ids=lambda function: function.__name__,
)
def test_functions_under_other_names_are_pickled_by_these(function):
    assert pickle.loads(pickle.dumps(function)) is function


def test_functions_under_other_names_do_the_same():
    assert jnp.abs(-2) == jnp.absolute(-2) == 2
    assert jnp.around(1.26, decimals=1) == jnp.round(1.26, 1)
    assert "name=abs" in str(ev.make_jaxpr(ev.jit(jnp.abs))(1.0))
    assert tree_util.tree_leaves({"a": 1, "b": (2,)}) == [1, 2]


def test_an_alias_keeps_defaults_keywords_and_signature():
    def scale(x, by=2, *, plus: int = 0):
        """Scale."""
        return by * x + plus

    triple = native.alias("triple", scale, "somewhere")
    assert (triple.__name__, triple.__qualname__, triple.__module__) == ("triple",) * 2 + (
        "somewhere",
    )
    assert triple(2, plus=1) == 5
    assert inspect.signature(triple) == inspect.signature(scale)
    assert triple.__doc__ == "Scale."
    assert triple.__code__.co_name == "triple"
