"""Mistakes that people make with jit and arrays: what the errors say."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

CASES = {
    "arange of a traced end": (
        lambda: ev.jit(lambda n: jnp.arange(n))(jnp.int32(3)),
        ev.errors.ConcretizationTypeError,
        "arange: stop must be known",
    ),
    "bincount of traced values": (
        lambda: ev.jit(lambda x: jnp.bincount(x))(jnp.array([1, 2])),
        ev.errors.ConcretizationTypeError,
        r"bincount: the size of the result depends.*\n.*\n  Fix: pass `length=`, or call it",
    ),
    "choose by traced values": (
        lambda: ev.jit(lambda x: jnp.choose(x, [x, x]))(jnp.array([1, 0])),
        ev.errors.ConcretizationTypeError,
        r'choose: whether an index is out of bounds depends.*\n.*\n  Fix: pass `mode="clip"`',
    ),
    "set operation on traced values": (
        lambda: ev.jit(lambda x: jnp.setdiff1d(x, x))(jnp.array([1, 0])),
        ev.errors.ConcretizationTypeError,
        r"\n  Fix: pass `size=`, or call it outside of jit",
    ),
    "joining scalars": (
        lambda: jnp.concatenate([1, 2]),
        ev.errors.ShapeError,
        r"rank 0 have no axis to be joined along.*\n.*\n  Fix: use `stack`",
    ),
    "joining a scalar and a vector": (
        lambda: jnp.concatenate([1, jnp.ones(2)]),
        ev.errors.ShapeError,
        r"different numbers of dimensions: got \(\), \(2,\)",
    ),
    "transposing by one axis": (
        lambda: jnp.ones((2, 3)).transpose(0),
        ev.errors.AxisError,
        r"axes \(0,\) do not match an array of shape \(2, 3\)",
    ),
    "slice of a traced size": (
        lambda: ev.jit(lambda x, n: lax.dynamic_slice(x, (0,), (n,)))(jnp.ones(5), jnp.int32(2)),
        ev.errors.TracerIntegerConversionError,
        "an array as a Python integer.*it depends on n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_mistake_is_told(name):
    program, error, pattern = CASES[name]
    with pytest.raises(error, match=pattern):
        program()
