"""Operations that move elements: other places in the operand."""

import itertools
import math

import numpy as np

from evertrace._src.engines.fused import index as places
from evertrace._src.engines.fused.index import ZERO, Index
from evertrace._src.engines.fused.memory import NotFusible
from evertrace._src.engines.fused.rules import Rule, fusion
from evertrace._src.engines.fused.rules.elementwise import is_float
from evertrace._src.ops import convert, creation, slicing
from evertrace._src.ops import structural as ops


def one_by_one(rule, is_whole=lambda k, eqn, index: False):
    """Have a rule asked for the lanes of vectors that lie at fixed places one by one.

    Vectors are asked for of which `is_whole` says so.
    """

    def value(k, eqn, index):
        fixed = {c for p in index for c, _ in p.terms if c.lanes > 1 and c.text is None}
        if len(fixed) != 1 or is_whole(k, eqn, index):
            return rule(k, eqn, index)
        (counter,) = fixed
        return k.vector(
            [rule(k, eqn, places.at_lane(index, counter, i)) for i in range(counter.lanes)]
        )

    return value


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


@_moves(ops.squeeze_p)
def _squeeze(eqn, index):
    out = eqn.outvars[0].aval.shape
    long = iter([place for place, n in zip(index, out, strict=True) if n != 1])
    return tuple([ZERO if n == 1 else next(long) for n in eqn.invars[0].aval.shape])


def _before(eqn, index):
    """Return the place in a reshape's operand that has the same number, dimensions by dimensions.

    Raises:
      NotFusible: a dimension is divided along which there is a loop, or a vector.
    """
    found, at = [], iter(zip(index, eqn.outvars[0].aval.shape, strict=True))
    shape = iter(eqn.invars[0].aval.shape)
    for n in shape:
        if n == 1:
            found.append(ZERO)
            continue
        lengths, place, total = [n], ZERO, 1
        while total < math.prod(lengths) or total % math.prod(lengths):
            while total < math.prod(lengths):
                part, extent = next(at)
                place, total = _sum(place.moved(0, extent), part), total * extent
            while math.prod(lengths) < total:
                lengths.append(next(shape))
        found += _divided(eqn, place, lengths)
    return tuple(found)


def _sum(x, y):
    return Index(x.first + y.first, x.terms + y.terms)


def _divided(eqn, place, lengths):
    """Return the places in dimensions that together count up to a place."""
    if len([n for n in lengths if n != 1]) < 2:
        return [ZERO if n == 1 else place for n in lengths]
    if place.terms:
        raise NotFusible("a reshape divides a dimension", eqn.outvars[0])
    return [Index(int(i)) for i in np.unravel_index(place.first, lengths)]


def _reshape(k, eqn, index):
    return k.at(eqn.invars[0], _before(eqn, index))


def _is_undivided(k, eqn, index):
    """Whether no dimension is divided along which a vector lies."""
    try:
        _before(eqn, index)
    except NotFusible:
        return False
    return True


def _operand_at(k, eqn, index):
    """Return in which of the operands that are joined a place lies, and where each begins."""
    d = eqn.params["dimension"]
    *starts, _ = itertools.accumulate([x.aval.shape[d] for x in eqn.invars], initial=0)
    return k.piece(index[d], starts[1:]), starts


def _concatenate(k, eqn, index):
    """Return the element of the operand in which the place lies."""
    d = eqn.params["dimension"]
    n, starts = _operand_at(k, eqn, index)
    if n is None:
        raise NotFusible("arrays that are joined are read in a loop", eqn.outvars[0])
    return k.at(eqn.invars[n], (*index[:d], index[d].moved(-starts[n]), *index[d + 1 :]))


def _is_in_one(k, eqn, index):
    return _operand_at(k, eqn, index)[0] is not None


@one_by_one
def _stack(k, eqn, index):
    """Return the element of the operand that the place says."""
    d = eqn.params["axis"]
    if index[d].terms:
        raise NotFusible("arrays that are stacked are read in a loop", eqn.outvars[0])
    return k.at(eqn.invars[index[d].first], (*index[:d], *index[d + 1 :]))


def _unstack(k, eqn, x, index):
    """Return an element of one of the results."""
    d = eqn.params["axis"]
    return k.at(eqn.invars[0], (*index[:d], Index(eqn.outvars.index(x)), *index[d:]))


def _split(k, eqn, x, index):
    """Return an element of one of the results."""
    d, n = eqn.params["axis"], eqn.outvars.index(x)
    first = sum(eqn.params["sizes"][:n])
    return k.at(eqn.invars[0], (*index[:d], index[d].moved(first), *index[d + 1 :]))


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
    if not is_float(aval.dtype):
        return k.number(index[eqn.params["dimension"]], kind)
    counted = k.number(index[eqn.params["dimension"]], "i32")
    return k.cast("sitofp", counted, kind)


fusion.rules[creation.iota_p] = Rule(
    _iota, lambda eqn: eqn.outvars[0].aval.dtype.kind != "b" and eqn.outvars[0].aval.size < 2**31
)

fusion.rules[ops.reshape_p] = Rule(
    one_by_one(_reshape, _is_undivided), lambda eqn: eqn.params["dimensions"] is None, operations=0
)
fusion.rules[slicing.concatenate_p] = Rule(one_by_one(_concatenate, _is_in_one), operations=0)
fusion.rules[slicing.stack_p] = Rule(_stack, operations=0)
fusion.rules[slicing.split_p] = Rule(_slice, operations=0, element_of=_split)
fusion.rules[slicing.unstack_p] = Rule(_slice, operations=0, element_of=_unstack)
