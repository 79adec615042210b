"""Reverse mode, second half: walking a tape backwards.

Each entry is a linear map. Its transpose comes from what the primitive declares: a transposition
rule where the operation is linear in the operand, multiplication by the derivative where it is
elementwise, and otherwise its jvp rule, taped as a function of the one tangent and walked back in
turn. There is no other source of vector-Jacobian products.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evertrace._src.core.jaxpr import Jaxpr, eval_jaxpr
from evertrace._src.core.primitive import JOINTLY, missing_rule
from evertrace._src.core.rules import LinearArg
from evertrace._src.core.tracer import set_trace, state
from evertrace._src.ops.collective import shared
from evertrace._src.ops.elementwise import add_any, mul_p
from evertrace._src.ops.structural import reduce_sum_p, zeros
from evertrace._src.source import in_derivative, user_source
from evertrace._src.transforms.linearize import Entry, TapeTrace
from evertrace._src.transforms.staging import restage


def backward(entries: Sequence[Entry], cotangents: dict[Any, Any]) -> None:
    """Carry cotangents, a dict by node that is added to, back along a tape."""
    previous = state.src
    here = user_source()  # of what ran at once, and noted no place
    try:
        for e in reversed(entries):
            if e.prim.multiple_results:
                ct = [None if n is None else cotangents.pop(n, None) for n in e.outs]
                if all(c is None for c in ct):
                    continue
            else:
                ct = cotangents.pop(e.outs[0], None)
                if ct is None:
                    continue
            state.src = in_derivative(e.src or here, e.prim.name, True)
            _back(e, ct, cotangents)
    finally:
        state.src = previous


def _back(e: Entry, ct: Any, cotangents: dict[LinearArg, Any]) -> None:
    """Add what one entry's outputs send to its operands."""
    prim, nodes = e.prim, e.nodes
    if prim.transpose and (e.unknown or prim.linear == JOINTLY):
        operands = [x if n is None else n for x, n in zip(e.operands, nodes, strict=True)]
        results = prim.transpose(ct, *operands, **e.params)
        for node, result in zip(nodes, results, strict=True):
            if node is not None and result is not None:
                accumulate(cotangents, node, result)
        return
    if prim.jvp and not prim.linear:
        _back_by_jvp(e, ct, cotangents)
        return
    for i, node in enumerate(nodes):
        if node is not None:
            result = _back_operand(e, i, node, ct)
            if result is not None:
                accumulate(cotangents, node, result)


def _back_operand(e: Entry, i: int, node: LinearArg, ct: Any) -> Any:
    prim = e.prim
    if prim.linear and i in prim.linear:
        operands = list(e.operands)
        operands[i] = node
        return prim.transpose(ct, *operands, **e.params)[i]
    if not prim.deriv:
        raise missing_rule(prim, "derivative", prim.deriv if prim.jvp is None else prim.jvp)
    derivative = prim.deriv[i]
    if derivative is None:
        return None
    return mul_p.bind(ct, derivative(e.out, *e.operands, **e.params))


def _back_by_jvp(e: Entry, ct: Any, cotangents: dict[LinearArg, Any]) -> None:
    tape = TapeTrace(state.trace)
    tangents = [None if n is None else tape.unknown(n) for n in e.nodes]
    with set_trace(tape):
        out = e.prim.jvp(tangents, e.operands, e.out, **e.params)
    outs, cts = (out, ct) if e.prim.multiple_results else ([out], [ct])
    for t, c in zip(outs, cts, strict=True):
        if tape.owns(t) and c is not None:
            accumulate(cotangents, t.node, c)
    backward(tape.entries, cotangents)


def accumulate(cotangents: dict[LinearArg, Any], node: LinearArg, ct: Any) -> None:
    """Add `ct` to what has gathered at `node`."""
    if ct.aval.shape != node.aval.shape:
        # The operand of rank 0 stood beside a larger one and was spread over it.
        assert node.aval.shape == (), (ct.aval, node.aval)
        ct = reduce_sum_p.bind(ct, axes=tuple(range(ct.aval.ndim)), out_sharding=None)
    present = cotangents.get(node)
    cotangents[node] = ct if present is None else add_any(present, ct)


def pull(
    entries: Sequence[Entry],
    outs: Sequence[LinearArg | None],
    cts: Sequence[Any],
    nodes: Sequence[LinearArg | None],
    inputs: Sequence[Any] = (),
) -> list[Any]:
    """Return the cotangent (or None) at each of `nodes`, given those at the output nodes.

    Within a function that is mapped over named axes, `inputs` are the values at the nodes.
    """
    cotangents: dict[LinearArg, Any] = {}
    for node, ct in zip(outs, cts, strict=True):
        if node is not None and ct is not None:
            accumulate(cotangents, node, ct)
    backward(entries, cotangents)
    found: list[Any] = [None if n is None else cotangents.get(n) for n in nodes]
    for i, x in enumerate(inputs):
        found[i] = None if found[i] is None else shared(found[i], x)
    return found


def leading_to(entries: Iterable[Entry], nodes: Iterable[LinearArg | None]) -> list[Entry]:
    """Return those entries of a tape by which cotangents reach one of `nodes`."""
    reached = {n for n in nodes if n is not None}
    found: list[Entry] = []
    for e in entries:
        kept = [n if n in reached else None for n in e.nodes]
        if any(n is not None for n in kept):
            reached.update(n for n in e.outs if n is not None)
            found.append(Entry(e.prim, e.operands, kept, e.outs, e.out, e.params, e.src, e.unknown))
    return found


def transpose_flat(
    fun: Callable[..., Sequence[Any]], operands: Sequence[Any], cts: Sequence[Any]
) -> list[Any]:
    """Transpose `fun` (flat values -> list), linear in the operands given as `LinearArg`s.

    Returns a cotangent or None per operand (None for the constants). Operands that share one
    `LinearArg` share one cotangent, the sum: give each its own.
    """
    tape = TapeTrace(state.trace, "transpose")
    args = [tape.unknown(x) if type(x) is LinearArg else x for x in operands]
    with set_trace(tape):
        outs = fun(*args)
    out_nodes = [x.node if tape.owns(x) else None for x in outs]
    nodes = [x if type(x) is LinearArg else None for x in operands]
    return pull(tape.entries, out_nodes, cts, nodes)


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: Sequence[bool], given: Sequence[bool], instantiate: bool = False
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the jaxpr of the transpose of `jaxpr`, and which cotangents it returns.

    Args:
      jaxpr: a jaxpr without constvars.
      linear: per input, whether it is one of the unknowns.
      given: per output, whether there is a cotangent for it.
      instantiate: whether to return zeros for unknowns that get no cotangent.

    The inputs of the result are the other inputs, then the given cotangents; its outputs are the
    cotangents of the unknowns that have one.
    """
    key = ("transpose", tuple(linear), tuple(given), instantiate)
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _transpose_jaxpr(jaxpr, key[1], key[2], instantiate)
    return jaxpr.cache[key]


def _transpose_jaxpr(
    jaxpr: Jaxpr, linear: Sequence[bool], given: Sequence[bool], instantiate: bool
) -> tuple[Jaxpr, tuple[bool, ...]]:
    found: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        values = iter(args)
        operands = [
            LinearArg(v.aval) if is_unknown else next(values)
            for v, is_unknown in zip(jaxpr.invars, linear, strict=True)
        ]
        cts = [next(values) if g else None for g in given]
        out = transpose_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), operands, cts)
        out = [ct for ct, is_unknown in zip(out, linear, strict=True) if is_unknown]
        if instantiate:
            avals = [v.aval for v, u in zip(jaxpr.invars, linear, strict=True) if u]
            out = [zeros(a) if ct is None else ct for ct, a in zip(out, avals, strict=True)]
        found[:] = [ct is not None for ct in out]
        return [ct for ct in out if ct is not None]

    avals = [v.aval for v, u in zip(jaxpr.invars, linear, strict=True) if not u]
    avals += [v.aval for v, g in zip(jaxpr.outvars, given, strict=True) if g]
    return restage(fun, avals), tuple(found)
