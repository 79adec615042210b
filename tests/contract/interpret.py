"""Running jitted programs equation by equation instead of compiling them.

What `jit` promises about state does not depend on who computes the arrays; without XLA's compiler
more programs can be tried. Only programs of 32 bits, without callbacks.
"""

import contextlib
from unittest import mock

from evertrace._src.arrays.interop import as_array
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.jit.program import Program, _delete_donated
from evertrace._src.ops.convert import convert


def _run(self, args):
    outs = None
    if not self.trivial:
        with set_trace(EVAL):
            inputs = [
                convert(as_array(args[i]), v.aval.dtype, v.aval.weak_type)
                for i, v in zip(self.kept, self.jaxpr.invars, strict=True)
            ]
            outs = [as_array(x) for x in eval_jaxpr(self.jaxpr, (), *inputs)]
    results = [self._forwarded(source, args, outs) for source in self.sources]
    if self.donated:
        _delete_donated(args, self.donated)
    return results


@contextlib.contextmanager
def interpreted():
    """Have every program interpreted in a block."""
    with mock.patch.object(Program, "run", _run):
        yield
