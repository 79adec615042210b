"""Traces functions of one captured NumPy array: what the tests of its stand-in share."""

import numpy as np

import evertrace.numpy as enp
from evertrace._src.arrays.interop import as_operand, aval_of
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.operators import Operators
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.transforms.staging import stage_open


class Recorder:
    """Traces a function of a captured array, and runs it: just enough of the real one."""

    def __init__(self, original):
        self.original, self.inputs, self.demands = original, 0, 0

    def run(self, fun, *args):
        """Return the result of ``fun(captured, *args)``; the array is then as it left it."""
        self.aval = aval_of(self.original)
        jaxpr, consts = stage_open(
            lambda x, *rest: self._trace(fun, x, rest), [self.aval, *map(aval_of, args)]
        )
        self.host.closed = True
        *outs, final = eval_jaxpr(jaxpr, consts, *map(enp.asarray, (self.original, *args)))
        if self.host.written:
            self.original[...] = final
        return outs[0] if outs else self.plain

    def _trace(self, fun, x, rest):
        def as_input(aval):
            assert aval is self.aval
            self.inputs += 1
            return x

        def demand_bytes():
            self.demands += 1

        self.host = host = HostArray(
            self.original, self.aval, as_input, demand_bytes, lambda what: None
        )
        out = fun(host, *rest)
        outs = [as_operand(out)] if isinstance(out, Operators) else []
        self.plain = out
        return [*outs, as_operand(host.__jax_array__())]


def check(fun, original, *args, demands=0):
    """Check that `fun` does to a captured array what it does to a NumPy array; return both."""
    plain = np.array(original)
    recorder = Recorder(np.array(original))
    wanted = fun(plain, *args)
    found = recorder.run(fun, *args)
    np.testing.assert_array_equal(np.asarray(found, np.asarray(wanted).dtype), wanted)
    np.testing.assert_array_equal(recorder.original, plain, strict=True)
    assert (recorder.demands > 0) == (demands > 0)
    return recorder


VECTOR = np.float32([3, 1, 2])
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
X = np.float32([10, 20, 30])
