"""`jit` as a primitive: a call of a jaxpr that stays a call in every transformation."""

from evertrace._src.control import guarded
from evertrace._src.core import engine
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.propagation import of_call
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.staging import close_jaxpr
from evertrace._src.transforms.transpose import transpose_jaxpr


def call(jaxpr, args, name):
    """Bind a call of a jaxpr without constvars."""
    return jit_p.bind(*args, jaxpr=close_jaxpr(jaxpr), name=name)


def _jit_eager(*args, jaxpr, name):
    return engine.backend().call_jaxpr(jaxpr, args, name=name)


def _jit_jvp(primals, tangents, *, jaxpr, name):
    nonzero = tuple(t is not None for t in tangents)
    derived, out_nonzero = jvp_jaxpr(jaxpr.jaxpr, nonzero)
    outs = call(derived, [*primals, *[t for t in tangents if t is not None]], name)
    return split_tangents(outs, out_nonzero)


def split_tangents(outs, out_nonzero):
    """Split flat results into outputs and, per output, a tangent or None."""
    n = len(out_nonzero)
    given = iter(outs[n:])
    return outs[:n], [next(given) if nz else None for nz in out_nonzero]


def _jit_linearize(primals, tangents, *, jaxpr, name):
    active = tuple(t is not None for t in tangents)
    parts = linearize_jaxpr(jaxpr.jaxpr, active)
    results = call(parts.primal, primals, name)
    n = len(jaxpr.jaxpr.outvars)
    outs, extra = results[:n], iter(results[n:])
    residuals = [next(extra) if i is None else primals[i] for i in parts.residuals]
    given = [t for t in tangents if t is not None]
    linear_outs = iter(call(parts.linear, [*residuals, *given], name))
    return outs, [next(linear_outs) if a else None for a in parts.out_active]


def _jit_transpose(cts, *operands, jaxpr, name):
    linear = tuple(map(is_linear, operands))
    given = tuple(ct is not None for ct in cts)
    derived, found = transpose_jaxpr(jaxpr.jaxpr, linear, given)
    constants = [x for x in operands if not is_linear(x)]
    results = iter(call(derived, [*constants, *[ct for ct in cts if ct is not None]], name))
    by_unknown = iter([next(results) if f else None for f in found])
    return [next(by_unknown) if u else None for u in linear]


def _jit_batch(axis, args, dims, *, jaxpr, name):
    batched = tuple(d is not None for d in dims)
    derived, out_batched = batch_jaxpr(jaxpr.jaxpr, axis, batched)
    args = [
        x if d is None else move_batch_dim(x, d, 0, axis.size)
        for x, d in zip(args, dims, strict=True)
    ]
    return call(derived, args, name), [0 if b else None for b in out_batched]


jit_p: Primitive = Primitive(
    "jit",
    divide=of_call("jaxpr"),
    multiple_results=True,
    is_call=True,
    cache_types=False,
    show=("name", "jaxpr"),
    abstract=lambda *avals, jaxpr, name: jaxpr.out_avals,
    effects=lambda *, jaxpr, name: jaxpr.effects,
    eager=_jit_eager,
    jvp_call=_jit_jvp,
    linearize=_jit_linearize,
    transpose=_jit_transpose,
    batch_call=_jit_batch,
)


def _guard(chosen, operands, params):
    return [chosen, *operands], {**params, "jaxpr": guarded.closed(params["jaxpr"])}


guarded.within[jit_p] = _guard
