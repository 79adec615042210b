"""The host engine: primitives on host memory, at once, with their `host` rules."""

import contextvars
from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.engines.host import loops
from evertrace._src.engines.inputs import as_input
from evertrace._src.engines.protocol import Offer

# Division by zero and the like give XLA's values, without NumPy's warnings: NumPy looks up what to
# do about them in the current context. Running a rule in a copy of this one costs a tenth of
# `np.errstate`, and is safe in threads and where a rule runs another.
_QUIET = contextvars.Context()
_QUIET.run(np.seterr, all="ignore")


noting: Any = None
"""While a profile is taken, what notes a call: a function of a name, a function, its arguments."""


def apply(prim, args, params) -> Any:
    """Apply `prim` to arrays and literals whose contents are host memory."""
    if noting is not None:
        return noting(prim.name, _apply, prim, args, params)
    return _apply(prim, args, params)


def _apply(prim, args, params):
    avals = prim.typing(args, params).out
    if prim.physical is not None and prim.moves_physical(avals):
        params = prim.physical(*[x.aval for x in args], **params)
    operands = [x._contents() for x in args]
    if not prim.multiple_results and avals.size >= loops.FEW:
        out = loops.run(prim, operands, avals, params)
        if out is not None:
            return Array(avals, out)
    out = _QUIET.copy().run(prim.host, *operands, **params)
    if prim.multiple_results:
        return [_wrap(a, x) for a, x in zip(avals, out, strict=True)]
    return _wrap(avals, out)


def _wrap(aval, out):
    dtype, out = aval.dtype, out if type(out) is np.ndarray else np.asarray(out)
    if out.dtype is not dtype and isinstance(dtype, np.dtype) and out.dtype != dtype:
        out = out.astype(dtype)  # NumPy computes integers of fewer than 8 bits in bytes
    return Array(aval, out)


def interpret(jaxpr, consts, args):
    """Run a jaxpr on arrays and literals, equation by equation."""
    with set_trace(EVAL):
        return eval_jaxpr(jaxpr, consts, *args)


class Interpreted:
    """A program that is run equation by equation."""

    anywhere, places, seconds = True, False, (None, None)

    def __init__(self, jaxpr):
        self._jaxpr, self.executables = jaxpr, {}

    def run(self, args):
        """Run once; returns one array for each output."""
        inputs = [as_input(x, v.aval) for x, v in zip(args, self._jaxpr.invars, strict=True)]
        outs = interpret(self._jaxpr, (), inputs)
        return [as_input(x, x.aval) for x in outs]

    def flat(self):
        """Nothing: C++ does not run it."""
        return


def offer(jaxpr, request):
    """Offer to run a jaxpr without constvars; see `engines.protocol`."""
    del request
    return Offer(Interpreted(jaxpr), "nothing is compiled")
