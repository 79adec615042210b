"""What tests below the public interface need: engines, arrays from ndarrays and back."""

import sys

import numpy as np
import pytest

from evertrace._src import config, extension
from evertrace._src.arrays.array import from_host
from evertrace._src.core import engine
from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines import eager as backend
from evertrace._src.transforms.staging import close_jaxpr, stage

ENGINES = ("native", "fused", "xla") if extension.is_built() else ("xla",)
"""Those that are there and take whole programs."""

lends_buffers = pytest.mark.skipif(
    sys.version_info < (3, 12) and not extension.is_built(),
    reason="classes in Python lend buffers from Python 3.12 on",
)

if engine.resolver is None:
    engine.resolver = lambda: backend


def array(x, weak_type=False):
    """Return an array with a copy of an ndarray, in its own dtype also without x64."""
    x = np.array(x)
    return from_host(x, ShapedArray(x.shape, x.dtype, weak_type))


def to_numpy(x):
    """Return the contents of an array or literal."""
    return np.asarray(x._contents())


def flat(fun):
    """Return `fun` as a function that returns a list."""

    def flat_fun(*args):
        out = fun(*args)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    return flat_fun


def jaxpr_of(fun, *args):
    """Return the jaxpr (captured values as first inputs) of `fun` and the captured values."""
    return stage(flat(fun), [x.aval for x in args])


def run_compiled(fun, *args):
    """Stage `fun` and run it with XLA; returns a list of ndarrays."""
    jaxpr, captured = jaxpr_of(fun, *args)
    with config.override(engine="xla"):
        outs = backend.call_jaxpr(close_jaxpr(jaxpr), [*captured, *args])
    return [to_numpy(x) for x in outs]
