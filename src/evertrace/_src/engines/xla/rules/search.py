"""StableHLO of searchsorted: our own kernel on CPUs, else a binary search of gathers."""

from evertrace._src import native
from evertrace._src.engines.xla import kernels
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import bool_attr
from evertrace._src.ops import search as ops
from evertrace._src.transforms.staging import stage


@lowering.define(ops.searchsorted_p)
def _searchsorted(b, out, ordered, values, *, right, dtype):
    if kernels.usable(b, values.shape, values.dtype, known=native.REALS):
        operands = [ordered, values]
        return kernels.call(b, "evertrace_search_1", operands, [out], right=bool_attr(right))[0]

    def search(ordered, values):
        return [ops.by_halving(ordered, values, right=right, dtype=dtype)]

    return b.inline(stage(search, [ordered.aval, values.aval]).jaxpr, [ordered, values])[0]
