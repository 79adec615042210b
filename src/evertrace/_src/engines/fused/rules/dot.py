"""Products of matrices that are short sums, or of one vector: reductions of products."""

import math

from evertrace._src.engines.fused.rules import UNROLLED, Rule, fusion
from evertrace._src.engines.fused.rules.elementwise import is_float
from evertrace._src.engines.fused.rules.reduce import FEW, Reduction
from evertrace._src.engines.fused.writer import type_of
from evertrace._src.ops.dot import dot_general_p


def _extents(eqn):
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return tuple([eqn.invars[0].aval.shape[d] for d in contracted])


def _free(shape, contracted, batch):
    return [d for d in range(len(shape)) if d not in contracted and d not in batch]


def _takes(eqn):
    """Whether matrices are multiplied as well without tiles: each is read about once."""
    dtypes = {x.aval.dtype for x in (*eqn.invars, *eqn.outvars)}
    if len(dtypes) != 1 or not all(is_float(dtype) for dtype in dtypes):
        return False
    if math.prod(_extents(eqn)) <= UNROLLED:
        return True
    return any(
        math.prod([x.aval.shape[d] for d in _free(x.aval.shape, c, b)]) == 1
        for x, c, b in zip(eqn.invars, *eqn.params["dimension_numbers"], strict=True)
    )


def _element(k, eqn, index, place):
    """Return the product of two elements."""
    contracted, batches = eqn.params["dimension_numbers"]
    batch, rest = index[: len(batches[0])], list(index[len(batches[0]) :])
    factors = []
    for x, c, b in zip(eqn.invars, contracted, batches, strict=True):
        at = dict(zip(c, place, strict=True)) | dict(zip(b, batch, strict=True))
        at |= {d: rest.pop(0) for d in _free(x.aval.shape, c, b)}
        factors.append(k.at(x, tuple([at[d] for d in range(x.aval.ndim)])))
    return (k.binary("fmul", *factors),)


def _value(k, eqn, index):
    if not _extents(eqn):
        return _element(k, eqn, index, ())[0]
    kind = type_of(eqn.outvars[0].aval.dtype)
    sums = Reduction(((0, kind),), lambda k, x, y: (k.binary("fadd", x[0], y[0]),), True)
    return k.reduced(eqn, index, _extents(eqn), sums)


def _is_along_rows(eqn):
    (contracted, _), _ = eqn.params["dimension_numbers"]
    x, y = eqn.invars
    if x.aval.size < y.aval.size:
        x, contracted = y, eqn.params["dimension_numbers"][0][1]
    return x.aval.ndim - 1 in contracted


def _is_dear(eqn):
    return math.prod(_extents(eqn)) in range(FEW, UNROLLED + 1)


fusion.rules[dot_general_p] = Rule(_value, _takes, _extents, _element, _is_along_rows, _is_dear)
