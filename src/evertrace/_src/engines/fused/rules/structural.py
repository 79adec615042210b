"""Operations that move elements: other places in the operand."""

from evertrace._src.engines.fused.index import ZERO
from evertrace._src.engines.fused.rules import Rule, fusion
from evertrace._src.ops import convert, creation, slicing
from evertrace._src.ops import structural as ops


def _moves(*prims, takes=lambda eqn: True):
    """Register what reads its first operand at the places that the function returns."""

    def register(function):
        def value(k, eqn, index):
            return k.at(eqn.invars[0], function(eqn, index))

        for prim in prims:
            fusion.rules[prim] = Rule(value, takes, operations=0)
        return function

    return register


@_moves(ops.broadcast_in_dim_p)
def _broadcast_in_dim(eqn, index):
    shape = eqn.invars[0].aval.shape
    dims = eqn.params["broadcast_dimensions"]
    return tuple([ZERO if n == 1 else index[d] for n, d in zip(shape, dims, strict=True)])


def _without_ones(shape):
    return [n for n in shape if n != 1]


def _only_moves_ones(eqn):
    shape, out = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    return eqn.params["dimensions"] is None and _without_ones(shape) == _without_ones(out)


@_moves(ops.squeeze_p)
@_moves(ops.reshape_p, takes=_only_moves_ones)
def _reshape(eqn, index):
    out = eqn.outvars[0].aval.shape
    long = iter([place for place, n in zip(index, out, strict=True) if n != 1])
    return tuple([ZERO if n == 1 else next(long) for n in eqn.invars[0].aval.shape])


@_moves(ops.transpose_p)
def _transpose(eqn, index):
    found = [ZERO] * len(index)
    for place, d in zip(index, eqn.params["permutation"], strict=True):
        found[d] = place
    return tuple(found)


@_moves(ops.rev_p)
def _rev(eqn, index):
    turned = eqn.params["dimensions"]
    shape = eqn.outvars[0].aval.shape
    return tuple([p.moved(shape[d] - 1, -1) if d in turned else p for d, p in enumerate(index)])


@_moves(slicing.slice_p)
def _slice(eqn, index):
    starts = eqn.params["start_indices"]
    steps = eqn.params["strides"] or [1] * len(starts)
    return tuple([p.moved(a, s) for p, a, s in zip(index, starts, steps, strict=True)])


@_moves(convert.copy_p, convert.stop_gradient_p)
def _same(eqn, index):
    return index


def _iota(k, eqn, index):
    aval = eqn.outvars[0].aval
    kind = k.kind(eqn.outvars[0])
    if aval.dtype.kind != "f":
        return k.number(index[eqn.params["dimension"]], kind)
    counted = k.number(index[eqn.params["dimension"]], "i32")
    return k.cast("sitofp", counted, kind)


fusion.rules[creation.iota_p] = Rule(
    _iota, lambda eqn: eqn.outvars[0].aval.dtype.kind in "iuf" and eqn.outvars[0].aval.size < 2**31
)
