"""StableHLO of calls: a nested jit is a private function."""

from evertrace._src.control import call as ops
from evertrace._src.control.custom_partitioning import custom_partitioning_p
from evertrace._src.engines.xla.lower import lowering


@lowering.define(ops.jit_p, custom_partitioning_p)
def _jit(b, outs, *operands, jaxpr, name, **_):
    return b.call(jaxpr.jaxpr, operands, name)
