"""Running primitives on host memory with their `host` rules."""

import numpy as np

from evertrace._src.arrays.array import Array


def run(prim, args, params):
    """Apply `prim` to arrays and literals whose contents are host memory."""
    avals = prim.infer(args, params)
    if prim.moves_physical(avals):
        params = prim.physical(*[x.aval for x in args], **params)
    # Division by zero and the like give XLA's values, without NumPy's warnings.
    with np.errstate(all="ignore"):
        out = prim.host(*[x.host() for x in args], **params)
    if prim.multiple_results:
        return [_wrap(a, x) for a, x in zip(avals, out, strict=True)]
    return _wrap(avals, out)


def _wrap(aval, out):
    if type(out) is not np.ndarray:
        out = np.asarray(out)
    return Array(aval, out)
