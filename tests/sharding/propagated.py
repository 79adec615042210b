"""What Shardy's own propagation says of where the results of an operation lie.

Only its passes are run, on the text that is written for XLA: nothing is compiled, and no device
has to be there.
"""

import importlib
import re

from evertrace._src.core.propagation import divide_jaxpr
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import Divided, lower_jaxpr

_RESULTS = re.compile(r"@main\(.*?\) -> (.*?) \{\n", re.DOTALL)
_TYPE = r"tensor<(?:[^<>]|<[^<>]*>)*>"
_SHARDING = re.compile(_TYPE + r"(?: \{[^{}]*?sdy\.sharding = #sdy\.sharding<@mesh, \[(.*?)\]>)?")
_FOREIGN = ("custom_call", "chlo.", "func.call")
_AXES = re.compile(r"\{([^{}]*)\}")


def by_shardy(jaxpr, sizes, inputs):
    """Return the divisions of the results of a jaxpr as Shardy propagates those of its inputs.

    And whether it knows all operations: kernels, functions and those of CHLO are nothing to it.
    """
    text, _ = lower_jaxpr(jaxpr, "row", divided=Divided(tuple(sizes.items()), inputs, None))
    module = compat.parse_module(text)
    passes = importlib.import_module("jaxlib.mlir.passmanager").PassManager
    with module.context:
        passes.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
    (results,) = _RESULTS.findall(str(module))
    found, said = [], _SHARDING.findall(results)
    for axes, v in zip(said, jaxpr.outvars, strict=True):
        dims = _AXES.findall(axes)[: v.aval.ndim] or [""] * v.aval.ndim
        found.append(tuple([tuple(re.findall(r'"([^"]*)"', dim)) for dim in dims]))
    return found, not any(name in text for name in _FOREIGN)


def by_factors(jaxpr, sizes, inputs):
    """Return the same as the factors of primitives say it."""
    return [tuple(map(tuple, d)) for d in divide_jaxpr(jaxpr, inputs, sizes)]


def ways(jaxpr):
    """Yield (sizes of the mesh, divisions) for each dimension of each input, divided alone."""
    avals = [v.aval for v in jaxpr.invars]
    for i, aval in enumerate(avals):
        for dim, size in enumerate(aval.shape):
            part = next((p for p in range(2, size + 1) if size % p == 0), None)
            if part is not None:
                one = tuple([("x",) if d == dim else () for d in range(aval.ndim)])
                inputs = [one if k == i else ((),) * a.ndim for k, a in enumerate(avals)]
                yield {"x": part}, inputs
