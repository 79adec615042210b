"""Rows of what is bound for its effect or its place in a jaxpr, and of the hidden generator."""

import numpy as np

from evertrace._src.ops.rng_uniform import rng_uniform_p
from evertrace._src.ops.sharding_constraint import sharding_constraint_p
from evertrace._src.ops.sink import dce_sink_p
from tests.specs.opspec import ALL, INTEGER, OpSpec, case


def sunk(x, *, prevent_mlir_dce):
    """Sink an array and return it."""
    dce_sink_p.bind(x, prevent_mlir_dce=prevent_mlir_dce)
    return x


def constrained(x, *, unconstrained_dims):
    """Bind the constraint without a sharding, which no rule looks at."""
    return sharding_constraint_p.bind(x, sharding=None, unconstrained_dims=unconstrained_dims)


def drawn(a, *, shape):
    """Draw from the one integer that there is between two neighbours."""
    return rng_uniform_p.bind(a, a + np.ones((), a.dtype), shape=shape)


SPECS = [
    OpSpec(
        "dce_sink",
        [dce_sink_p],
        sunk,
        lambda x, **_: x,
        ulps=0,
        dtypes=ALL,
        cases=[case((2, 3), prevent_mlir_dce=False), case((), prevent_mlir_dce=True)],
    ),
    OpSpec(
        "sharding_constraint",
        [sharding_constraint_p],
        constrained,
        lambda x, **_: x,
        ulps=0,
        dtypes=ALL,
        linear=[(0,)],
        cases=[
            case((2, 3), unconstrained_dims=frozenset()),
            case((0, 2, 1), unconstrained_dims=frozenset({1})),
        ],
    ),
    OpSpec(
        "rng_uniform",
        [rng_uniform_p],
        drawn,
        lambda a, shape: np.full(shape, a, a.dtype),
        ulps=0,
        dtypes=(*INTEGER, "int16"),
        wide=False,
        grads=(),
        vmap=False,
        cases=[case((), shape=(2, 3)), case((), shape=()), case((), shape=(0,))],
    ),
]
