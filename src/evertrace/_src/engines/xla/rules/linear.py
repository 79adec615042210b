"""StableHLO of linear maps with given transposes: the maps themselves."""

from evertrace._src.control import linear as ops
from evertrace._src.engines.xla.lower import lowering


@lowering.define(ops.linear_call_p)
def _linear_call(b, outs, *operands, fun, transpose, counts):
    consts, residuals = counts[0], counts[0] + counts[1]
    return b.inline(fun.jaxpr, [*operands[:consts], *operands[residuals:]])


@lowering.define(ops.linear_solve_p)
def _linear_solve(b, outs, *operands, solve, counts, **_):
    operator, solving, transposing = counts
    start = operator + solving
    return b.inline(solve.jaxpr, [*operands[operator:start], *operands[start + transposing :]])
