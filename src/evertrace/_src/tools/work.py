"""What equations cost: operations on numbers, bytes, and nanoseconds as tapes estimate them."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import source
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.engines.native.emit import tape_cost

_NS_PER_FLOP, _NS_PER_BYTE = 0.25, 0.1
"""Of what tapes have no kernels for."""

Place = tuple[str, int]
"""A file and a line of it."""


class Work(NamedTuple):
    """What one equation does, as often as it is done.

    Attributes:
      place: the line that it comes from, or None.
      program: the line that calls the jitted function that it is in, or None.
      flops: operations on inexact numbers; those of derivatives count like all others.
      size: bytes that it reads and writes, if each array is read once.
      ns: an estimate of its time.
    """

    place: Place | None
    program: Place | None
    flops: float
    size: float
    ns: float


def of_jaxpr(jaxpr: Any, program: Place | None = None, times: float = 1) -> Iterator[Work]:
    """Yield the work of a jaxpr's equations, those in loops and branches as often as they turn.

    A loop until something holds counts one turn, a branch as if each were as likely.

    Args:
      jaxpr: the program.
      program: the line that calls it, where it is a jitted function's.
      times: how often it is run.
    """
    for eqn in jaxpr.eqns:
        place, inner = place_of(eqn.src), list(subjaxprs(eqn.params))
        if not inner or eqn.primitive.host:
            avals = [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
            count, size = flops(eqn.primitive, *avals, eqn.params), _size_of(eqn)
            ns = _estimate(eqn, count, size)
            yield Work(place, program, times * count, times * size, times * ns)
            continue
        name = eqn.primitive.name
        turns = times * (eqn.params["length"] if name == "scan" else 1)
        called = place if name == "jit" and program is None else program
        for body in inner:
            yield from of_jaxpr(body, called, turns / (len(inner) if name == "cond" else 1))


def place_of(src: source.Source | None) -> Place | None:
    """Return the file and the line of a place."""
    if src is None:
        return None
    return src[0].co_filename, source.line_of(src)


def flops(primitive: Any, operands: list[Any], results: list[Any], params: Any) -> float:
    """Return the operations on inexact numbers of one application of a primitive.

    One for each element of an elementwise result. What sums along dimensions does one for each turn
    of all its loops, two where it multiplies operands first. What moves elements does none.
    """
    if not any(_is_inexact(aval) for aval in results):
        return 0.0
    if primitive.elementwise:
        return float(max(aval.size for aval in results))
    try:
        found = primitive.factors(operands, results, **params)
        return _turns(found, operands, results)
    except Exception:  # a primitive without the rule: what it does is not known
        return 0.0


def _turns(found: Any, operands: list[Any], results: list[Any]) -> float:
    """Return the operations of what sums factors away: those of its first operands."""
    sizes, kept = dict(found.sizes), {f for dims in found.results for fs in dims for f in fs}
    for aval, dims in zip(operands[:2], found.operands, strict=False):
        for size, factors in zip(aval.shape, dims, strict=True):
            if len(factors) == 1:
                sizes.setdefault(factors[0], size)
    summed = [{f for fs in dims for f in fs} - kept for dims in found.operands[:2]]
    turns = math.prod(sizes.values())
    if len(summed) == 1:  # what loses dimensions of one element alone moves elements
        return float(turns) if math.prod(sizes[f] for f in summed[0]) > 1 else 0.0
    if not summed[0] & summed[1]:
        return 0.0
    # Of a convolution the window and its places are in one piece.
    return (
        2.0
        * turns
        * _in_one_piece(operands[1], found.operands[1])
        * _in_one_piece(results[0], found.results[0])
    )


def _in_one_piece(aval: Any, dims: Any) -> int:
    return math.prod(size for size, fs in zip(aval.shape, dims, strict=True) if not fs)


def _is_inexact(aval: Any) -> bool:
    return isinstance(aval.dtype, np.dtype) and aval.dtype.kind in "fcV"


def _size_of(eqn: Any) -> float:
    read = {id(v): v.aval for v in eqn.invars if type(v) is not Literal}
    avals = [*read.values(), *[v.aval for v in eqn.outvars]]
    return float(sum(aval.size * getattr(aval.dtype, "itemsize", 8) for aval in avals))


def _estimate(eqn: Any, count: float, size: float) -> float:
    try:
        ns = tape_cost([eqn])
    except Exception:  # an explanation never makes a call fail
        ns = math.inf
    return ns if math.isfinite(ns) else count * _NS_PER_FLOP + size * _NS_PER_BYTE
