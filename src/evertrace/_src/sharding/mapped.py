"""`shard_map` as an equation, in the programs that people look at.

In the jaxpr that `make_jaxpr` returns, a mapped function is one equation, with its mesh, its specs
and the jaxpr of a part. It says the same as the operations on all parts, which are what every
other program has in its place: whoever evaluates it, or differentiates it in reverse mode, gets
these, and no engine ever meets it.
"""

from __future__ import annotations

from typing import Any

from evertrace._src.control.call import split_tangents
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import NamedAxis, observable
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.core.tracer import AxisScope, set_trace, state
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.sharding.layout import PartitionSpec, axes_of
from evertrace._src.sharding.parts import MapCall, of_whole, type_of_part
from evertrace._src.transforms.batching import BatchTrace, batch_jaxpr
from evertrace._src.transforms.jvp import JVPTrace, jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.staging import Stage, inline, restage, stage
from evertrace._src.transforms.transpose import transpose_jaxpr


def is_shown(trace: Any) -> bool:
    """Whether equations of a trace end in the program of `make_jaxpr`, and in none within it."""
    while isinstance(trace, (JVPTrace, BatchTrace)):
        trace = trace.parent
    made = trace.made_scalars
    is_stage = isinstance(trace, Stage) and made is not None
    return is_stage and made is not trace.parent.made_scalars


def mapped_program(call: MapCall, of_parts: Any, leaves: Any, specs: Any, out_specs: Any) -> Any:
    """Do what `of_whole` does, by one equation.

    A function that has effects, or reads what is no array, is none of a part alone: of it there are
    the operations on all parts.
    """
    avals = [type_of_part(call, x.aval, spec) for x, spec in zip(leaves, specs, strict=True)]
    with set_trace(_scope(call)):
        jaxpr, captured = stage(of_parts, avals, name=call.where)
    if observable(jaxpr.effects) or not all([type(x.aval) is ShapedArray for x in captured]):
        return of_whole(call, of_parts, leaves, specs, out_specs)
    specs = (*[PartitionSpec()] * len(captured), *specs)
    params = {
        "mesh": call.mesh,
        "in_specs": specs,
        "out_specs": tuple(out_specs()),
        "jaxpr": jaxpr,
        "check_vma": call.check,
        "newly_manual_axes": frozenset(call.axes),
    }
    _expanded(call.where, **params)  # what is wrong with the results names the function
    return shard_map_p.bind(*captured, *leaves, **params)


def _scope(call):
    sizes = dict(call.mesh.shape_tuple)
    return AxisScope(state.trace, [(name, sizes[name]) for name in call.axes], of_mesh=True)


def _call(where, mesh, check_vma, newly_manual_axes):
    axes = tuple([name for name in mesh.axis_names if name in newly_manual_axes])
    return MapCall(where, mesh, axes, check_vma)


def _expanded(where="shard_map", *, mesh, in_specs, out_specs, jaxpr, check_vma, newly_manual_axes):
    """Return the jaxpr of the operations on all parts, which the jaxpr of a part keeps."""
    key = ("shard_map", mesh, in_specs, out_specs, check_vma, newly_manual_axes)
    if key not in jaxpr.cache:
        call, sizes = _call(where, mesh, check_vma, newly_manual_axes), dict(mesh.shape_tuple)

        def whole(*leaves):
            of_parts = lambda *parts: eval_jaxpr(jaxpr, (), *parts)  # noqa: E731
            return of_whole(call, of_parts, leaves, in_specs, lambda: out_specs)

        avals = [
            _type_of_whole(v.aval, s, sizes) for v, s in zip(jaxpr.invars, in_specs, strict=True)
        ]
        jaxpr.cache[key] = restage(whole, avals)
    return jaxpr.cache[key]


def _type_of_whole(aval, spec, sizes):
    shape = list(aval.shape)
    for dim, entry in enumerate(spec):
        for name in axes_of(entry):
            shape[dim] *= sizes[name]
    return aval.update(shape=tuple(shape))


def _evaluate(*args, **params):
    return inline(_expanded(**params), *args)


def _stage(trace, operands, params):
    if is_shown(trace):
        return trace.record(shard_map_p, operands, params)
    return _evaluate(*operands, **params)


def _within(mesh, check_vma, newly_manual_axes, **_):
    """Return a context in which rules for the jaxpr of a part know the axes of the mesh."""
    return set_trace(_scope(_call("shard_map", mesh, check_vma, newly_manual_axes)))


def _jvp(primals, tangents, **params):
    nonzero = [t is not None for t in tangents]
    with _within(**params):
        derived, out_nonzero = jvp_jaxpr(params["jaxpr"], nonzero)
    params["jaxpr"] = derived
    for side, kept in (("in_specs", nonzero), ("out_specs", out_nonzero)):
        moving = [s for s, is_kept in zip(params[side], kept, strict=True) if is_kept]
        params[side] = (*params[side], *moving)
    outs = shard_map_p.bind(*primals, *[t for t in tangents if t is not None], **params)
    return split_tangents(outs, out_nonzero)


def _linearize(primals, tangents, **params):
    whole = _expanded(**params)
    parts = linearize_jaxpr(whole, tuple([t is not None for t in tangents]))
    results, n = inline(parts.primal, *primals), len(whole.outvars)
    extra = iter(results[n:])
    residuals = [next(extra) if i is None else primals[i] for i in parts.residuals]
    linear_outs = iter(inline(parts.linear, *residuals, *[t for t in tangents if t is not None]))
    return results[:n], [next(linear_outs) if a else None for a in parts.out_active]


def _transpose(cts, *operands, **params):
    linear = tuple(map(is_linear, operands))
    given = tuple([ct is not None for ct in cts])
    derived, found = transpose_jaxpr(_expanded(**params), linear, given)
    constants = [x for x in operands if not is_linear(x)]
    results = iter(inline(derived, *constants, *[ct for ct in cts if ct is not None]))
    by_unknown = iter([next(results) if f else None for f in found])
    return [next(by_unknown) if u else None for u in linear]


def _batch(axis, args, dims, **params):
    batched = [d is not None for d in dims]
    with _within(**params):
        derived, out_batched = batch_jaxpr(params["jaxpr"], axis, batched)
    params["jaxpr"] = derived
    for side, kept in (("in_specs", batched), ("out_specs", out_batched)):
        pairs = zip(params[side], kept, strict=True)
        params[side] = tuple([_behind_batch(s) if is_kept else s for s, is_kept in pairs])
    args = [
        x if d is None else move_batch_dim(x, d, 0, axis.size)
        for x, d in zip(args, dims, strict=True)
    ]
    outs = shard_map_p.bind(*args, **params)
    return outs, [0 if b else None for b in out_batched]


def _behind_batch(spec):
    return spec.update(partitions=(None, *spec))


def _effects(*, jaxpr, newly_manual_axes, **_):
    own = frozenset(map(NamedAxis, newly_manual_axes))
    return frozenset(jaxpr.effects) - own


shard_map_p: Primitive = Primitive(
    "shard_map",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, **params: [x.aval for x in _expanded(**params).outvars],
    effects=_effects,
    eager=_evaluate,
    stage=_stage,
    jvp_call=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch_call=_batch,
    divide=lambda divisions, divide_jaxpr, **params: divide_jaxpr(_expanded(**params), divisions),
)
