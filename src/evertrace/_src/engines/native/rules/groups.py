"""Kernels of the fused engine, which stand among the equations."""

from evertrace._src.engines.fused.groups import fused_p
from evertrace._src.engines.native.emit import FUNCTION, emission, kind_of
from evertrace._src.engines.native.rules.structural import permuted


@emission.define(fused_p)
def _fused(e, kernel, xs):
    ins = [
        x if order is None else permuted(e, x, v.aval.shape, order)
        for x, (v, order) in zip(xs, kernel.inputs, strict=True)
    ]
    outs = [e.new(kind_of(v.aval)) for v in kernel.outvars]
    e.code.append((FUNCTION, tuple(outs), tuple(ins), "", (), (kernel,)))
    e.fused.append(kernel)
    e.spend(kernel.cost)
    return outs
