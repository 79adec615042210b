"""Tapes of functions, and their comparison with plain evaluation."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config
from evertrace._src.engines import eager as backend
from evertrace._src.engines.native.engine import compile_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, hoist_consts
from tests.support.closeness import assert_same


def tape_of(fun, *args):
    """Return the tape of a function of arrays, and the arrays to run it on."""
    jaxpr, inputs = jaxpr_of(fun, *args)
    made = compile_jaxpr(jaxpr, is_wanted=True)
    assert made.tape is not None, made.why
    return made.tape, inputs


def jaxpr_of(fun, *args):
    """Return the jaxpr of a function, captured arrays first, and the arrays to run it on."""
    args = [jnp.asarray(x) for x in args]
    closed = ev.make_jaxpr(fun)(*args)
    return hoist_consts(closed.jaxpr), [*closed.consts, *args]


def check(fun, *args, ulps=16):
    """Compare a tape with plain evaluation, twice; returns the tape's counts."""
    tape, inputs = tape_of(fun, *args)
    with config.override(engine="xla", native_kernels=False):  # what it is compared with
        wants = backend.interpret_jaxpr(close_jaxpr(jaxpr_of(fun, *args)[0]), inputs)
    for _ in range(2):
        outs = tape.run(inputs)
        assert len(outs) == len(wants)
        for got, want in zip(outs, wants, strict=True):
            assert_same(np.asarray(got), np.asarray(want._contents()), ulps, "array")
    return tape.counts()
