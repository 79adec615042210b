"""Callbacks: functions of Python in the middle of a tape, called in the order of the program."""

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import CALL, emission, memory_of
from evertrace._src.ops.callback import call_back, debug_callback_p, io_callback_p, pure_callback_p


@emission.define(pure_callback_p, io_callback_p)
def _with_results(e, eqn, xs):
    return _call(e, eqn, xs, eqn.params["result_avals"])


@emission.define(debug_callback_p)
def _without_results(e, eqn, xs):
    return _call(e, eqn, xs, None)


def _call(e, eqn, xs, result_avals):
    function = _function(eqn.params["callback"], result_avals, [v.aval for v in eqn.invars])
    outs = [e.new(memory_of(v.aval)) for v in eqn.outvars]
    e.add(CALL, tuple(outs), xs, eqn.params["callback"].name, (), (function,))
    e.spend(costs.CALL_NS, costs.XLA_CALL_NS)
    return outs


def _function(callback, result_avals, avals):
    """Return what a tape calls: a function of the operands' bytes to a list of the results'."""

    def function(*operands):
        arrays = list(map(_read, avals, operands))
        return [x.tobytes() for x in call_back(callback, result_avals, arrays)]

    return function


def _read(aval, data):
    """Return bytes as an array."""
    shape, dtype = aval.shape, aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        shape, dtype = (*shape, *dtype.physical_suffix), dtype.physical_dtype
    return Array(aval, np.ndarray(shape, dtype, data))
