"""StableHLO of searchsorted: our own kernel on CPUs, else a binary search of gathers."""

from evertrace._src import kernels
from evertrace._src.engines.xla import kernel_calls
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import bool_attr
from evertrace._src.ops import search as ops
from evertrace._src.transforms.staging import stage


@lowering.define(ops.searchsorted_p)
def _searchsorted(b, out, ordered, values, *, right, dtype):
    if kernel_calls.usable(b, values.shape, values.dtype, known=kernels.REALS):
        operands = [ordered, values]
        side = bool_attr(right)
        return kernel_calls.call(b, "evertrace_search_1", operands, [out], right=side)[0]

    def search(ordered, values):
        return [ops.by_halving(ordered, values, right=right, dtype=dtype)]

    return b.inline(stage(search, [ordered.aval, values.aval]).jaxpr, [ordered, values])[0]
