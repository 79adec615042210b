"""Running primitives on host memory with their `host` rules."""

import contextvars
from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.engines.host import loops

# Division by zero and the like give XLA's values, without NumPy's warnings: NumPy looks up what to
# do about them in the current context. Running a rule in a copy of this one costs a tenth of
# `np.errstate`, and is safe in threads and where a rule runs another.
_QUIET = contextvars.Context()
_QUIET.run(np.seterr, all="ignore")


def run(prim, args, params) -> Any:
    """Apply `prim` to arrays and literals whose contents are host memory."""
    avals = prim.typing(args, params).out
    if prim.physical is not None and prim.moves_physical(avals):
        params = prim.physical(*[x.aval for x in args], **params)
    operands = [x.host() for x in args]
    if not prim.multiple_results:
        out = loops.run(prim, operands, avals, params)
        if out is not None:
            return Array(avals, out)
    out = _QUIET.copy().run(prim.host, *operands, **params)
    if prim.multiple_results:
        return [_wrap(a, x) for a, x in zip(avals, out, strict=True)]
    return _wrap(avals, out)


def _wrap(aval, out):
    return Array(aval, out if type(out) is np.ndarray else np.asarray(out))
